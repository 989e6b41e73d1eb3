"""The dual form: columns are kernels at training rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.model.basis import Basis
from sdgm.core.model.design import kernel_design, matrix_design, pivoted_cholesky
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.model.kernels import (
    Kernel,
    KernelBasis,
    KernelName,
    PolynomialKernel,
    PrecomputedBasis,
    make_kernel,
)
from sdgm.estimators.forms import FindScale, RequireRank, numbers_of_components
from sdgm.estimators.parameters import OpenSettings, positive_number
from sdgm.estimators.problem import LARGEST_VALUE, Columns, Problem
from sdgm.scale.checkpoint import words_for
from sdgm.scale.memory import SMALL_NUMBERS, explicit_bytes, gram_bytes, require_memory

PRECOMPUTED = "precomputed"
# rows that can become relevance vectors of a model that learns from a teacher
MAX_CANDIDATES = 1_000
# inputs up to which several components per class are tried
MIXED_INPUTS = 7
# kernels whose scale can be chosen
WITH_SCALE = (KernelName.RBF.value, KernelName.POLY.value)
# number of candidates above which only spread-out rows can, unless the kernel has few explicit
# features: half as many rows as a sample has, so that small tables keep all of theirs
MANY_CANDIDATES = 8_192
# number of spread-out rows: for 16,384 rows the design takes 32 MB
MAX_VECTORS = 256
# or until the residual of the others is this share of the largest kernel value: their columns are
# then nearly linear combinations of the selected ones
SPREAD_TOLERANCE = 1e-2


@dataclass(frozen=True)
class KernelForm:
    """Weights on kernel values between a row and the training rows.

    Attributes
    ----------
    kernel : name, "precomputed" or callable
    gamma : float, "scale" or None
    degree, coef0
        Of a polynomial kernel.
    default_gamma : float or "scale"
        What gamma is when it is None.
    """

    kernel: Any
    gamma: Any
    degree: Any
    coef0: Any
    default_gamma: float | str

    replicates: ClassVar[float] = 32.0
    # 1,000 rows of 26 classes with 500 shared columns gain 3.5 points of error; 600 rows of 200
    # classes would have 50,000 weights and take twice the time
    rows_per_shared_weight: ClassVar[float] = 0.05

    @property
    def is_precomputed(self) -> bool:
        """Whether X holds kernel values instead of inputs."""
        return isinstance(self.kernel, str) and self.kernel == PRECOMPUTED

    def check(self) -> None:
        """Refuse an unknown kernel, and invalid values of its parameters."""
        kernel, gamma = self.kernel, self.gamma
        if not (callable(kernel) or self.is_precomputed or kernel in set(KernelName)):
            known = ", ".join(repr(str(name)) for name in KernelName)
            raise ValueError(
                f"kernel must be one of 'auto', {known}, 'precomputed' or a callable, got "
                f"{kernel!r}."
            )
        if isinstance(gamma, str) and gamma != "scale":
            raise ValueError(f"gamma must be a positive number, 'scale' or 'auto', got {gamma!r}.")
        if gamma is not None and not isinstance(gamma, str):
            positive_number("gamma", gamma)
        if kernel == KernelName.POLY:
            PolynomialKernel(self.degree, coef0=self.coef0)

    def columns(self, problem: Problem, require_rank: RequireRank) -> Columns:
        """Kernels at the rows of a problem that can become relevance vectors."""
        if self.is_precomputed:
            return precomputed_columns(problem)
        gamma = self._gamma_at(problem)
        kernel = make_kernel(self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0)
        X, new = problem.X, first_of_equals(problem)
        candidates, user_rows = X[new], problem.first_user_row[new]
        N, D = X.shape
        with np.errstate(over="ignore", invalid="ignore"):
            spread = spread_candidates(kernel, candidates)
            if spread is None:
                if len(candidates) ** 2 > SMALL_NUMBERS:  # no design has more columns than rows
                    self._require_kernel(kernel, *candidates.shape)
                grown = partial(require_rank, len(candidates) + 1)
                design = kernel_design(kernel, candidates, grown)
                design = design.at_rows(np.cumsum(new) - 1)
            else:
                self._require_gram(N, D, len(spread))
                candidates, user_rows = candidates[spread], user_rows[spread]
                design = matrix_design(kernel.gram(X, candidates))
            largest = np.abs(design.Z).max() * np.abs(design.Rt).max()
        if not largest < LARGEST_VALUE:
            raise ValueError(
                f"kernel values are too large (largest input {np.abs(X).max():.3g}, gamma "
                f"{gamma:.3g}); use standardize=True or a smaller gamma."
            )
        basis = KernelBasis(kernel, candidates, user_rows, problem.X_user[user_rows], gamma)
        return Columns(design, basis, X)

    def _gamma_at(self, problem: Problem) -> float:
        """The value of gamma as a number."""
        gamma = self.default_gamma if self.gamma is None else self.gamma
        if isinstance(gamma, str):
            X, share = problem.X, problem.s / problem.s.sum()
            total = float((share @ (X - share @ X) ** 2).sum())
            # inputs without variance, or with one that underflows, have no scale
            gamma = 1.0 / total if total > np.finfo(float).tiny else 1.0
        return float(gamma)

    def require(self, n_rows: int, n_inputs: int, settings: OpenSettings) -> None:
        """Refuse a kernel matrix that does not fit, where the kernel tells its size."""
        if self.is_precomputed:
            self._require_gram(n_rows, n_inputs, n_rows)
        if settings.chooses("kernel") or self.is_precomputed:
            return  # an rbf kernel is tried first, and its rank is not known beforehand
        kernel = make_kernel(self.kernel, degree=self.degree, coef0=self.coef0)
        if kernel.diagonal(np.zeros((1, n_inputs))) is None:  # no pivots
            self._require_kernel(kernel, n_rows, n_inputs)

    def _require_kernel(self, kernel: Kernel, N: int, D: int) -> None:
        """Refuse columns that do not fit: explicit features, or in their place the kernel matrix.

        The rank of an rbf kernel is usually far below the number of rows, and found during the
        factorisation.
        """
        size = kernel.explicit_size(D)
        if size is not None and size < N:
            what = f"The {size} monomials of {D} inputs on {N} rows"
            require_memory(explicit_bytes(N, D, size), what, self.remedies())
        elif kernel.diagonal(np.zeros((1, D))) is None:
            self._require_gram(N, D, N)

    def _require_gram(self, N: int, D: int, n_columns: int) -> None:
        what = f"The kernel matrix of {N} rows x {n_columns} columns"
        require_memory(gram_bytes(N, D, n_columns), what, self.remedies())

    def remedies(self) -> list[str]:
        """Words for what would make the design smaller."""
        match self.kernel if isinstance(self.kernel, str) else None:
            case KernelName.POLY:
                return ["fewer rows", "fewer inputs", "a lower degree"]
            case KernelName.RBF:
                return ["fewer rows", "a smaller gamma"]
            case KernelName.LINEAR:
                return ["fewer rows", "fewer inputs"]
            case _:
                return ["fewer rows"]

    def key(self, basis: Basis) -> str:
        """Words for what the columns are."""
        assert isinstance(basis, KernelBasis | PrecomputedBasis)
        name = self.kernel
        if callable(name):  # several callables may have one name, such as <lambda>
            mark = hashlib.blake2b(words_for(name).encode(), digest_size=4).hexdigest()
            name = f"{getattr(name, '__name__', type(name).__name__)} {mark}"
        degree, coef0 = np.asarray(self.degree).tolist(), np.asarray(self.coef0).tolist()
        return f"kernel={name!r} with gamma={basis.gamma}, degree={degree!r}, coef0={coef0!r}"

    def candidate_basis(self, n_inputs: int) -> None:
        """Columns depend on the rows."""
        return

    def finds(self, model: FittedModel, problem: Problem) -> bool:
        """Whether any relevance vector is among the rows."""
        if self.is_precomputed:
            return True
        rows = {row.tobytes() for row in problem.X}
        return any(vector in rows for vector in model.basis.column_keys())

    def continuing(self, model: FittedModel) -> KernelForm:
        """The form with the scale that the weights of an earlier model are for."""
        gamma = self.default_gamma if self.gamma is None else self.gamma
        if isinstance(gamma, str) and gamma == "scale" and not self.is_precomputed:
            assert isinstance(model.basis, KernelBasis)
            return replace(self, gamma=model.basis.gamma)
        return self

    def with_settings(self, settings: OpenSettings) -> KernelForm:
        """The form with another kernel or scale."""
        return replace(self, kernel=settings["kernel"], gamma=settings["gamma"])

    def basis_at(
        self, problem: Problem, n_rows: int, max_columns: int = MAX_CANDIDATES
    ) -> KernelBasis:
        """Kernels at the first rows of a problem, spread evenly where they are many."""
        gamma = self._gamma_at(problem)
        kernel = make_kernel(self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0)
        rows = np.flatnonzero(first_of_equals(problem)[:n_rows])
        if len(rows) > max_columns:
            rows = rows[np.linspace(0, len(rows) - 1, max_columns).astype(np.intp)]
        return KernelBasis(kernel, problem.X[rows], rows, problem.X_user[rows], gamma)

    def rounds(
        self,
        settings: OpenSettings,
        shape: tuple[int, int],
        n_classes: int,
        find_scale: FindScale,
    ) -> Iterator[Sequence[dict[str, Any]]]:
        """Both kernels, then more quadratic components."""
        kernels: tuple[Any, ...] = (settings["kernel"],)
        if settings.chooses("kernel"):
            kernels = (KernelName.RBF.value, KernelName.POLY.value)

        def candidate(kernel: Any, n_components: Any) -> dict[str, Any]:
            gamma = settings.given["gamma"]
            if settings.chooses("gamma"):
                has_scale = isinstance(kernel, str) and kernel in WITH_SCALE
                gamma = find_scale(kernel) if has_scale else "scale"
            return {"kernel": kernel, "n_components": n_components, "gamma": gamma}

        first, *more = numbers_of_components(settings, n_classes)
        yield [candidate(kernel, first) for kernel in kernels]
        # more components of an rbf kernel, or of many inputs, add little to a single one
        if shape[1] <= MIXED_INPUTS:
            for n_components in more:
                yield [candidate(kernels[-1], n_components)]


def precomputed_columns(problem: Problem) -> Columns:
    """Kernel values that the user passes."""
    n_rows, n_columns = problem.X_user.shape
    if n_rows != n_columns:
        raise ValueError(
            f"X has shape {problem.X_user.shape}; with kernel='precomputed' it must be the "
            "square matrix of kernel values between the training rows."
        )
    used = problem.first_user_row
    design = matrix_design(problem.X[:, used])
    return Columns(design, PrecomputedBasis(used), design.Z)


def first_of_equals(problem: Problem) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which rows can have a column: if rows are merged, only those that differ from the row before.

    Rows of different class may be equal, and are then next to each other.
    """
    new = np.ones(len(problem.X), dtype=bool)
    if problem.recipe.preparation.merge_rows:
        new[1:] = (problem.X[1:] != problem.X[:-1]).any(axis=1)
    return new


def spread_candidates(kernel: Kernel, candidates: FloatArray) -> IntArray | None:
    """Which rows can be relevance vectors; None for all.

    With many rows and a kernel without few explicit features, the pivots of a Cholesky
    factorisation span nearly the same functions as all rows.
    """
    size = kernel.explicit_size(candidates.shape[1])
    rank = len(candidates) if size is None else min(len(candidates), size)
    if rank <= MAX_VECTORS or len(candidates) <= MANY_CANDIDATES:
        return None
    diagonal = kernel.diagonal(candidates)
    if diagonal is None:  # without a diagonal there are no pivots
        return np.linspace(0, len(candidates) - 1, MAX_VECTORS).astype(np.intp)
    spread = pivoted_cholesky(kernel, candidates, diagonal, SPREAD_TOLERANCE, MAX_VECTORS)[1]
    return np.sort(spread)
