"""Array aliases; shapes stay in docstrings and trailing comments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]
# class indices (N,), or frequencies of the classes (N, C)
LabelArray = NDArray[Any]
