"""Kernels k(x, z) of the dual form, their explicit features, and the columns made of them.

With psi(x)'psi(z) = k(x, z) the Gram matrix of N rows is a product of two thin factors, which is
what keeps the dual form as small as the original one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, combinations_with_replacement
from numbers import Integral, Real
from typing import Any, ClassVar, Protocol

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.model.basis import Basis

KernelFunction = Callable[[FloatArray, FloatArray], FloatArray]


class Kernel(Protocol):
    """What the dual form asks of a kernel."""

    def gram(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Gram matrix ``k(x_n, z_m)`` between the rows of X and of Z: (N, N')."""
        ...

    def explicit(self, X: FloatArray) -> FloatArray | None:
        """Features psi with ``psi(X) @ psi(Z).T == gram(X, Z)``, or None where there are none."""
        return None

    def explicit_size(self, n_features: int) -> int | None:
        """Number of explicit features of D variables, or None where there are none."""
        return None

    def diagonal(self, X: FloatArray) -> FloatArray | None:
        """``k(x_n, x_n)`` of a kernel known to be positive semi-definite, else None: (N,)."""
        return None

    def formula(self) -> str:
        """The kernel in words, with v a relevance vector."""
        return f"k(x, v) by {type(self).__name__}"


@dataclass(frozen=True)
class PolynomialKernel(Kernel):
    """``k(x, z) = (gamma x'z + coef0)^degree``; with the defaults, the kernel of the paper.

    The paper calls this phi'phi. That holds only when the linear and cross terms of phi are scaled
    by sqrt(2), which is what ``explicit`` does.

    Parameters
    ----------
    degree : int
        Positive.
    gamma : float
        Scale of the input, positive.
    coef0 : float
        Not negative; zero leaves the monomials of the highest degree only.

    Examples
    --------
    >>> kernel = PolynomialKernel()
    >>> x, z = np.array([[1.0, 2.0]]), np.array([[3.0, 1.0]])
    >>> kernel.gram(x, z)
    array([[36.]])
    >>> (kernel.explicit(x) @ kernel.explicit(z).T).round(12)
    array([[36.]])
    """

    degree: int = 2
    gamma: float = 1.0
    coef0: float = 1.0

    def __post_init__(self) -> None:
        degree, coef0 = self.degree, self.coef0
        if isinstance(degree, bool) or not isinstance(degree, Integral) or degree < 1:
            raise ValueError(
                f"degree must be a positive integer, got {degree!r}; the paper uses 2."
            )
        _check_gamma(self.gamma)
        if not (isinstance(coef0, Real) and 0.0 <= coef0 < math.inf):
            raise ValueError(
                f"coef0 must be a number that is not negative, got {coef0!r}; the paper uses 1."
            )

    def formula(self) -> str:
        return f"k(x, v) = ({self.gamma:.4g} x'v + {self.coef0:.4g})^{self.degree}"

    def gram(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        gram: FloatArray = X @ Z.T  # (N, N')
        gram *= self.gamma
        gram += self.coef0
        if self.degree == 2:
            np.square(gram, out=gram)
        elif self.degree > 2:
            np.power(gram, float(self.degree), out=gram)
        return gram

    def explicit(self, X: FloatArray) -> FloatArray:
        """Scaled monomials psi(X), in the order of phi (Eq. 2) for degree 2.

        The kernel is ``(e(x)'e(z))^degree`` with e(x) = [sqrt(coef0), sqrt(gamma) x]. The power of
        this sum over entries is a sum over all products of ``degree`` entries, each counted as
        often as it can be reordered: the square root of that count is the scale.

        Returns
        -------
        psi : (N, explicit_size(D)) array, column-major
        """
        bias = np.full((int(self.coef0 > 0), len(X)), math.sqrt(self.coef0))
        entries = np.concatenate([bias, math.sqrt(self.gamma) * X.T])  # (D + 1 or D, N)
        choices = chain.from_iterable(
            combinations_with_replacement(range(len(entries)), self.degree)
        )
        index = np.fromiter(choices, dtype=np.intp).reshape(-1, self.degree).T
        psi = entries[index[0]]  # (n_choices, N)
        for factor in index[1:]:
            psi *= entries[factor]
        psi *= np.sqrt(_n_reorderings(index))[:, None]
        return psi.T

    def explicit_size(self, n_features: int) -> int:
        n_entries = n_features + int(self.coef0 > 0)
        return math.comb(n_entries + self.degree - 1, self.degree)

    def diagonal(self, X: FloatArray) -> FloatArray:
        return (self.gamma * np.einsum("nd,nd->n", X, X) + self.coef0) ** self.degree


def _n_reorderings(index: IntArray) -> FloatArray:
    """Multinomial coefficient ``degree! / prod(repeats!)`` of each sorted choice: (n_choices,)."""
    n_reorderings = np.ones(index.shape[1])
    repeats = np.ones(index.shape[1])  # length of the run of equal entries that ends here
    for position in range(1, len(index)):
        repeats = np.where(index[position] == index[position - 1], repeats + 1.0, 1.0)
        n_reorderings *= (position + 1) / repeats
    return n_reorderings


@dataclass(frozen=True)
class RBFKernel(Kernel):
    """``k(x, z) = exp(-gamma |x - z|^2)``.

    Parameters
    ----------
    gamma : float
        Inverse squared width, positive.

    Examples
    --------
    >>> RBFKernel(gamma=0.5).gram(np.zeros((1, 2)), np.array([[0.0, 0.0], [1.0, 1.0]])).round(4)
    array([[1.    , 0.3679]])
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        _check_gamma(self.gamma)

    def formula(self) -> str:
        return f"k(x, v) = exp(-{self.gamma:.4g} |x - v|^2)"

    def gram(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        # distances do not depend on the origin, but |x|^2 + |z|^2 - 2 x'z cancels far away from it
        origin = Z.mean(axis=0) if len(Z) else 0.0
        x, z = X - origin, Z - origin
        gram: FloatArray = x @ z.T  # (N, N')
        gram *= -2.0
        gram += np.einsum("nd,nd->n", x, x)[:, None]
        gram += np.einsum("nd,nd->n", z, z)
        np.maximum(gram, 0.0, out=gram)  # rounding must not lift k above one
        gram *= -self.gamma
        return np.exp(gram, out=gram)

    def diagonal(self, X: FloatArray) -> FloatArray:
        return np.ones(len(X))


@dataclass(frozen=True)
class LinearKernel(Kernel):
    """``k(x, z) = x'z``.

    Examples
    --------
    >>> LinearKernel().gram(np.array([[1.0, 2.0]]), np.array([[3.0, 1.0]]))
    array([[5.]])
    """

    def formula(self) -> str:
        return "k(x, v) = x'v"

    def gram(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        gram: FloatArray = X @ Z.T  # (N, N')
        return gram

    def explicit(self, X: FloatArray) -> FloatArray:
        """The input itself: (N, D)."""
        return X

    def explicit_size(self, n_features: int) -> int:
        return n_features

    def diagonal(self, X: FloatArray) -> FloatArray:
        return np.einsum("nd,nd->n", X, X)


@dataclass(frozen=True)
class CallableKernel(Kernel):
    """A kernel of the user's own, called as scikit-learn's ``SVC`` calls it.

    Parameters
    ----------
    function : callable
        ``function(X, Z)`` of (N, D) and (N', D) arrays returns the (N, N') Gram matrix. It may be
        indefinite or asymmetric.

    Examples
    --------
    >>> from sklearn.metrics.pairwise import laplacian_kernel
    >>> CallableKernel(laplacian_kernel).gram(np.zeros((3, 2)), np.ones((4, 2))).shape
    (3, 4)
    """

    function: KernelFunction

    def formula(self) -> str:
        return f"k(x, v) by {getattr(self.function, '__name__', 'a function')}"

    def gram(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        gram: FloatArray = np.asarray(self.function(X, Z), dtype=np.float64)
        name = getattr(self.function, "__name__", repr(self.function))
        if gram.shape != (len(X), len(Z)):
            raise ValueError(
                f"The kernel {name} returned shape {gram.shape} instead of {(len(X), len(Z))}; it "
                f"must map two matrices to their Gram matrix, which for a function of two vectors "
                f"is sklearn.metrics.pairwise.pairwise_kernels(X, Z, metric={name})."
            )
        if not np.isfinite(gram).all():
            raise ValueError(
                f"The kernel {name} returned NaN or infinity; scale the input or check the kernel."
            )
        return gram


class KernelName(StrEnum):
    """The kernels known by name."""

    POLY = "poly"
    RBF = "rbf"
    LINEAR = "linear"

    @classmethod
    def _missing_(cls, value: object) -> KernelName:
        known = ", ".join(repr(str(member)) for member in cls)
        raise ValueError(f"kernel must be one of {known} or a callable, got {value!r}.")


def make_kernel(
    kernel: str | KernelFunction, *, gamma: float = 1.0, degree: int = 2, coef0: float = 1.0
) -> Kernel:
    """The kernel of a name, or around a callable; parameters that it does not have are ignored.

    Parameters
    ----------
    kernel : {"poly", "rbf", "linear"} or callable
    gamma, degree, coef0 :
        As in `PolynomialKernel` and `RBFKernel`.

    Examples
    --------
    >>> make_kernel("poly", gamma=0.5)
    PolynomialKernel(degree=2, gamma=0.5, coef0=1.0)
    """
    if callable(kernel):
        return CallableKernel(kernel)
    kind = KERNELS[KernelName(kernel)]
    given = {"gamma": gamma, "degree": degree, "coef0": coef0}
    return kind(**{name: given[name] for name in kind.__dataclass_fields__})


# the kernels that users, model files and exports call by name
KERNELS: dict[KernelName, Any] = {
    KernelName.POLY: PolynomialKernel,
    KernelName.RBF: RBFKernel,
    KernelName.LINEAR: LinearKernel,
}


def name_of(kernel: Kernel) -> KernelName | None:
    """The name of a kernel, or None of one that has none."""
    return next((name for name, kind in KERNELS.items() if type(kernel) is kind), None)


def _check_gamma(gamma: float) -> None:
    if not (isinstance(gamma, Real) and 0.0 < gamma < math.inf):
        raise ValueError(f"gamma must be a positive number, got {gamma!r}; try 1 / n_features.")


# --- columns of the dual form: kernels at training rows ---


@dataclass(frozen=True, eq=False)
class KernelBasis(Basis):
    """Columns ``k(., z)``.

    Attributes
    ----------
    kernel : Kernel
    vectors : (n, D) array
        Standardised z of each column.
    user_rows : (n,) array
        Training row of each column.
    user_vectors : (n, D) array
        The rows as the user gave them.
    gamma : float
        The number that the parameter gamma stood for, which not every kernel has.
    """

    kernel: Kernel
    vectors: FloatArray
    user_rows: IntArray
    user_vectors: FloatArray
    gamma: float

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def n_stored_numbers(self) -> int:
        """Inputs of the vectors, without those that are zero in all."""
        return len(self) * int(self.vectors.any(axis=0).sum())

    def transform(self, X: FloatArray) -> FloatArray:
        """Kernel values at standardised rows: (N, n)."""
        return self.kernel.gram(X, self.vectors)

    def take(self, indices: IntArray) -> KernelBasis:
        return replace(
            self,
            vectors=self.vectors[indices],
            user_rows=self.user_rows[indices],
            user_vectors=self.user_vectors[indices],
        )

    def at_rows(self, user_rows: IntArray) -> KernelBasis:
        return replace(self, user_rows=user_rows[self.user_rows])

    def at_inputs(self, inputs: IntArray, n_inputs: int) -> KernelBasis:
        """The same columns, where input i is input ``inputs[i]``; the others are zero."""
        vectors = np.zeros((len(self), n_inputs))
        vectors[:, inputs] = self.vectors
        return replace(self, vectors=vectors)

    def only_inputs(self, inputs: IntArray, n_inputs: int) -> KernelBasis:
        """The same columns of these inputs alone, where the vectors have no others."""
        return replace(self, vectors=self.vectors[:, inputs])

    def inputs_read(self, n_inputs: int) -> IntArray:
        """All inputs, or those of a product that is not with zeros, in order."""
        if isinstance(self.kernel, PolynomialKernel | LinearKernel) or not len(self):
            return np.flatnonzero((self.vectors != 0.0).any(axis=0))
        return np.arange(n_inputs)

    def column_keys(self) -> list[Hashable]:
        """Vectors that are equal to the last bit are the same column."""
        return [vector.tobytes() for vector in self.vectors]


@dataclass(frozen=True, eq=False)
class PrecomputedBasis(Basis):
    """Columns of kernel values that the user hands in, by training row."""

    user_rows: IntArray
    user_vectors: ClassVar[None] = None
    gamma: ClassVar[float] = np.nan
    n_stored_numbers: ClassVar[int] = 0

    def __len__(self) -> int:
        return len(self.user_rows)

    def transform(self, X: FloatArray) -> FloatArray:
        """Kernel values of the relevance vectors: (N, n)."""
        return X[:, self.user_rows]

    def take(self, indices: IntArray) -> PrecomputedBasis:
        return PrecomputedBasis(self.user_rows[indices])

    def at_rows(self, user_rows: IntArray) -> PrecomputedBasis:
        return PrecomputedBasis(user_rows[self.user_rows])

    def inputs_read(self, n_inputs: int) -> IntArray:
        """Kernel values with the relevance vectors."""
        return np.unique(self.user_rows)

    def column_keys(self) -> list[Hashable]:
        """Training rows."""
        return list(self.user_rows.tolist())
