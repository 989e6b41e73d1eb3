"""Ripley's problem and synthetic ones, from their generators or from files."""

from sdgm.datasets.dataset import Dataset
from sdgm.datasets.files import DamagedDataError, MissingDataError, data_folder
from sdgm.datasets.ripley import load_ripley, make_ripley
from sdgm.datasets.synthetic import make_checkerboard, make_waveform

__all__ = [
    "DamagedDataError",
    "Dataset",
    "MissingDataError",
    "data_folder",
    "load_ripley",
    "make_checkerboard",
    "make_ripley",
    "make_waveform",
]
