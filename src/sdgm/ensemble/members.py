"""Members of the ensemble: their definitions, and how they are fitted to rows.

A member computes scores of the classes, by kernel ridge regression or Gaussian classes, and is
calibrated on leave-one-out predictions. The ridge or shrinkage parameter is chosen on them too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky

from sdgm._typing import FloatArray
from sdgm.core.model.kernels import PolynomialKernel
from sdgm.ensemble.calibration import Calibration, calibrated
from sdgm.ensemble.gaussians import GaussianClasses, Moments
from sdgm.ensemble.kernels import Kind, MemberKernel
from sdgm.ensemble.ridge import (
    Smoother,
    left_out,
    smoother_of_features,
    smoother_of_kernel,
    squared_error,
)
from sdgm.ensemble.rows import LabelledRows
from sdgm.ensemble.spaces import Space, View

# ridges in units of the mean diagonal of the kernel matrix
RIDGES = 10.0 ** np.arange(-5.0, 1.6, 0.5)
# shrinkage of the covariances towards a sphere
SHRINKAGES = (0.003, 0.01, 0.03, 0.1, 0.3, 0.6)
# fraction of the mean diagonal that is added to the kernel matrix of inducing points before it is
# factorised
JITTER = 1e-8


@dataclass(frozen=True, eq=False)
class KernelScorer:
    """``Phi(x) coef + constant``, Phi of kernel values with the centres or of monomials.

    Attributes
    ----------
    space : Space
    kernel : MemberKernel
    explicit : bool
        Whether Phi are monomials.
    coef : (p, C) array
    constant : (C,) array
    """

    space: Space
    kernel: MemberKernel
    explicit: bool
    coef: FloatArray
    constant: FloatArray

    def features(self, view: View) -> FloatArray:
        """Phi of rows in the space of the member: (n, p)."""
        return monomials(view, self.kernel) if self.explicit else view.gram(self.kernel)

    def whitener(self) -> FloatArray | None:
        """L of which ``Phi (L L')^-1 Phi'`` is the kernel matrix; None where ``Phi Phi'`` is."""
        return None if self.explicit else whitener(self.space, self.kernel)

    def scores(self, view: View) -> FloatArray:
        """Of rows in the space of the member: (n, C)."""
        return self.features(view) @ self.coef + self.constant


@dataclass(frozen=True, eq=False)
class GaussianScorer:
    """Log densities of Gaussian classes."""

    space: Space
    classes: GaussianClasses

    def scores(self, view: View) -> FloatArray:
        """Of rows in the space of the member: (n, C)."""
        return self.classes.scores(view.Z)


Scorer = KernelScorer | GaussianScorer


@dataclass(frozen=True, eq=False)
class Member:
    """A fitted member.

    Attributes
    ----------
    spec : Spec
    scorer : Scorer
    calibration : Calibration
    P : (N, C) array
        Probabilities at the rows.
    P_left_out : (U, C) array
        Probabilities of the cases, each without it.
    """

    spec: Spec
    scorer: Scorer
    calibration: Calibration
    P: FloatArray
    P_left_out: FloatArray

    @property
    def name(self) -> str:
        """Name of the inputs and of the method."""
        return f"{self.scorer.space.name} {self.spec.name}"


@dataclass(frozen=True)
class KernelSpec:
    """Specification of a member: kernel ridge regression."""

    kernel: MemberKernel

    @property
    def name(self) -> str:
        return self.kernel.name

    def fit(self, view: View, rows: LabelledRows) -> Member:
        """Fitted to rows, of which the view is."""
        space, kernel = view.space, self.kernel
        explicit = n_monomials(kernel, view.Z.shape[1]) < min(len(rows.s), len(space.centers))
        if explicit:
            smoother = smoother_of_features(monomials(view, kernel), rows)
        elif view.Z is space.centers:
            smoother = smoother_of_kernel(view.gram(kernel), rows)
        else:
            smoother = smoother_of_features(view.gram(kernel), rows, whitener(space, kernel))
        return self.at(smoother, space, explicit=explicit)

    def at(self, smoother: Smoother, space: Space, *, explicit: bool) -> Member:
        """The member with the best ridge at the rows of a smoother."""
        chosen = chosen_ridge(smoother)
        scorer = KernelScorer(
            space, self.kernel, explicit, *smoother.spectrum.coefficients(chosen.value)
        )
        return chosen.member(self, scorer, smoother.fitted(np.array([chosen.value]))[:, 0])


@dataclass(frozen=True)
class GaussianSpec:
    """Specification of a member: Gaussian classes, with one covariance for all or one for each."""

    shared: bool

    @property
    def name(self) -> str:
        return "linear discriminant" if self.shared else "quadratic discriminant"

    def fit(self, view: View, rows: LabelledRows) -> Member:
        """Fitted to rows, of which the view is."""
        moments = Moments(view.Z, rows, shared=self.shared)
        chosen = chosen_shrinkage(moments, rows)
        scorer = GaussianScorer(view.space, moments.model(chosen.value))
        return chosen.member(self, scorer, scorer.scores(view))


Spec = KernelSpec | GaussianSpec


@dataclass(frozen=True, eq=False)
class Chosen:
    """A value of a parameter, with its leave-one-out predictions."""

    value: float
    calibration: Calibration
    F_left_out: FloatArray

    def member(self, spec: Spec, scorer: Scorer, F: FloatArray) -> Member:
        """The member of this value, with scores F at the rows."""
        proba = self.calibration.proba
        return Member(spec, scorer, self.calibration, proba(F), proba(self.F_left_out))


def chosen_ridge(smoother: Smoother) -> Chosen:
    """The ridge with the smallest leave-one-out squared error, refined by the log loss nearby."""
    rows, ridges = smoother.rows, smoother.spectrum.scale * RIDGES
    h = smoother.leverages(ridges)  # (N, n_ridges)
    coarse = slice(None, None, 2)
    F = smoother.fitted(ridges[coarse])  # (N, n_coarse, C)
    errors = [squared_error(F[:, i], h[:, 2 * i], rows) for i in range(F.shape[1])]
    start = 2 * int(np.argmin(errors))

    def scores(i: int) -> FloatArray:
        return left_out(smoother.fitted(ridges[i : i + 1])[:, 0], h[:, i], rows)

    return downhill(ridges, start, scores, rows)


def chosen_shrinkage(moments: Moments, rows: LabelledRows) -> Chosen:
    """The shrinkage with the smallest leave-one-out log loss."""
    values = np.array(SHRINKAGES)
    return downhill(values, len(values) // 2, lambda i: moments.left_out(values[i]), rows)


def downhill(
    values: FloatArray, start: int, scores: Callable[[int], FloatArray], rows: LabelledRows
) -> Chosen:
    """Moves to neighbouring values as long as the calibrated log loss decreases."""
    cases = rows.cases
    best: Chosen | None = None
    seen: dict[int, Chosen] = {}

    def at(i: int) -> Chosen:
        if i not in seen:
            F = scores(i)
            near = best.calibration if best else None
            seen[i] = Chosen(float(values[i]), calibrated(F, cases.label, cases.weight, near), F)
        return seen[i]

    i, best = start, at(start)
    for way in (-1, 1):
        while 0 <= i + way < len(values):
            other = at(i + way)
            if other.calibration.loss >= best.calibration.loss:
                break
            i, best = i + way, other
    return best


def n_monomials(kernel: MemberKernel, D: int) -> float:
    """Monomials of a kernel that has finitely many."""
    match kernel.kind:
        case Kind.LINEAR:
            return D
        case Kind.QUADRATIC:
            return (D + 1) * (D + 2) // 2
        case _:
            return np.inf


def monomials(view: View, kernel: MemberKernel) -> FloatArray:
    """Features whose inner products are the kernel, a new array: (n, p)."""
    D = view.Z.shape[1]
    if kernel.kind == Kind.LINEAR:
        return view.Z / np.sqrt(D)
    return PolynomialKernel(gamma=kernel.scale / D).explicit(view.Z)


def whitener(space: Space, kernel: MemberKernel) -> FloatArray:
    """Cholesky factor of the kernel matrix of the centres: (M, M)."""
    K = space.at_centers().gram(kernel)
    K.flat[:: len(K) + 1] += JITTER * np.trace(K) / len(K)
    return cholesky(K, lower=True, overwrite_a=True, check_finite=False)
