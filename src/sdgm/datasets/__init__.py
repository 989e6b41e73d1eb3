"""Data sets of the paper, from files or from their generators."""

from sdgm.datasets.catalog import Entry, catalog, verify
from sdgm.datasets.dataset import Dataset
from sdgm.datasets.files import DamagedDataError, MissingDataError, data_folder
from sdgm.datasets.ida import IDA_NAMES, load_ida, redrawn
from sdgm.datasets.ripley import load_ripley, make_ripley
from sdgm.datasets.synthetic import make_checkerboard, make_waveform
from sdgm.datasets.titanic import make_titanic

__all__ = [
    "IDA_NAMES",
    "DamagedDataError",
    "Dataset",
    "Entry",
    "MissingDataError",
    "catalog",
    "data_folder",
    "load_ida",
    "load_ripley",
    "make_checkerboard",
    "make_ripley",
    "make_titanic",
    "make_waveform",
    "redrawn",
    "verify",
]
