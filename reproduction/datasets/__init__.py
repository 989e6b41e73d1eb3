"""Data sets of the paper's experiments: benchmark files, and generators where there are some."""

from reproduction.datasets.catalog import Entry, catalog, verify
from reproduction.datasets.ida import IDA_NAMES, load_ida, redrawn
from reproduction.datasets.titanic import make_titanic
from sdgm.datasets import make_checkerboard, make_ripley, make_waveform

__all__ = [
    "IDA_NAMES",
    "Entry",
    "catalog",
    "load_ida",
    "make_checkerboard",
    "make_ripley",
    "make_titanic",
    "make_waveform",
    "redrawn",
    "verify",
]
