"""Data sets of the paper, from files or from their generators."""

from sdgm.datasets.dataset import Dataset
from sdgm.datasets.files import DamagedDataError, MissingDataError, data_folder
from sdgm.datasets.ripley import load_ripley, make_ripley

__all__ = [
    "DamagedDataError",
    "Dataset",
    "MissingDataError",
    "data_folder",
    "load_ripley",
    "make_ripley",
]
