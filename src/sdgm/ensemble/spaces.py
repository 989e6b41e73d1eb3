"""Transformed inputs of some members, with the matrices that their kernels share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sdgm._typing import FloatArray
from sdgm.ensemble.inputs import Inputs
from sdgm.ensemble.kernels import MemberKernel, distances


@dataclass(frozen=True, eq=False)
class Space:
    """Transformed inputs of some members, and the centres of their kernels.

    Attributes
    ----------
    name : str
    inputs : Inputs
    centers : (M, D) array
    """

    name: str
    inputs: Inputs
    centers: FloatArray

    def at(self, X: FloatArray) -> View:
        """Rows of the user's inputs in this space."""
        return View(self, self.inputs(X))

    def at_centers(self) -> View:
        """The centres themselves."""
        return View(self, self.centers)


class View:
    """Rows in a space: one matrix of distances for the kernels of all scales."""

    def __init__(self, space: Space, Z: FloatArray) -> None:
        self.space, self.Z = space, Z

    @cached_property
    def inner_products(self) -> FloatArray:
        """With the centres: (n, M)."""
        return self.Z @ self.space.centers.T

    @cached_property
    def distances(self) -> FloatArray:
        """To the centres: (n, M)."""
        A = distances(self.Z, self.space.centers)
        if self.Z is self.space.centers:  # rounding leaves more than zero
            np.fill_diagonal(A, 0.0)
        return A

    def gram(self, kernel: MemberKernel) -> FloatArray:
        """Kernel values with the centres, a new array: (n, M)."""
        A = self.distances if kernel.of_distances else self.inner_products
        return kernel.of(A, self.Z.shape[1])
