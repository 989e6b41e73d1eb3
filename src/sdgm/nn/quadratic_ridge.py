"""A quadratic score per class in closed form, and the few directions that carry it.

Kernel ridge regression on the classes with the kernel ``(g x'z / D + 1)^2``: its scores are
quadratic in x, every row is predicted exactly as if it had been left out, and on these predictions
compression, scale, ridge and calibration are chosen. The quadratic forms of the classes are then
confined to one subspace, that of the largest sum of their squares at the rows; constants make up
for the mean of what is lost.

With many rows, a sample of them makes these choices, and the scores are fitted to all rows by sums
over blocks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh

from sdgm._typing import FloatArray
from sdgm.core.data.rows import RowSource
from sdgm.ensemble.fitting import QUADRATIC
from sdgm.ensemble.many_rows import fitted_to_all
from sdgm.ensemble.members import KernelScorer, KernelSpec, Member, whitener
from sdgm.ensemble.ridge import smoother_of_features, smoother_of_kernel
from sdgm.ensemble.rows import LabelledRows, labelled_rows
from sdgm.ensemble.sampling import spread_sample
from sdgm.ensemble.spaces import Space
from sdgm.scale.memory import require_memory
from sdgm.scale.sampling import Picked
from sdgm.scale.threads import one_blas_thread

# rows that kernels are centred at: an eigendecomposition of this size takes two seconds. Up to so
# many rows per centre all rows are centres
MAX_CENTERS, EXACT_SHARE = 2048, 1.25
# matrices of rows and centres at a time
MATRICES = 4
# rate of the compression times the mean size of a feature: on the features of PACS 1, 4 and 16 have
# log losses of .417, .413 and .415, and without compression it is .439
RATE = 4.0
# of the largest variance, that of a component that is rounding
LEAST_VARIANCE = 1e-10


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """Features as the scores see them: ``(asinh(rate x) - center) inverse_scale``.

    Attributes
    ----------
    rate : float
        Zero for features that are not compressed.
    center : (D,) array
    inverse_scale : float
        One for all features, such that their mean square is one.
    """

    rate: float
    center: FloatArray
    inverse_scale: float

    @classmethod
    def of(cls, X: FloatArray, rate: float) -> FeatureMap:
        """From training rows."""
        Z = compressed(X, rate)
        center = Z.mean(axis=0)
        return cls(rate, center, float(1.0 / np.sqrt(np.square(Z - center).mean())))

    def __call__(self, X: FloatArray) -> FloatArray:
        return (compressed(X, self.rate) - self.center) * self.inverse_scale


def compressed(X: FloatArray, rate: float) -> FloatArray:
    """``asinh(rate x)``, or x itself where the rate is zero."""
    return np.arcsinh(rate * X) if rate else X


@dataclass(frozen=True, eq=False)
class QuadraticScores:
    """Logits ``constant_c + z'linear_c + sum_m coef_mc (z'center_m)^2`` of mapped features z.

    Attributes
    ----------
    inputs : FeatureMap
    covariance : (D, D) array
        Of z at the training rows.
    constant, linear, coef : (C,), (D, C) and (M, C) arrays
    centers : (M, D) array
    loss : float
        Mean log loss of the training rows, each predicted without it.
    """

    inputs: FeatureMap
    covariance: FloatArray
    constant: FloatArray
    linear: FloatArray
    coef: FloatArray
    centers: FloatArray
    loss: float


@dataclass(frozen=True, eq=False)
class LowRankScores:
    """Logits ``constant_c + z'linear_c + (P z)' form_c (P z)`` of mapped features z.

    Attributes
    ----------
    inputs : FeatureMap
    projection : (r, D) array
        P; its products have mean square one at the training rows.
    constant, linear, forms : (C,), (D, C) and (C, r, r) arrays
    """

    inputs: FeatureMap
    projection: FloatArray
    constant: FloatArray
    linear: FloatArray
    forms: FloatArray


def fit_scores(
    table: RowSource, sample: Picked, n_classes: int, rates: Iterable[float]
) -> QuadraticScores:
    """The scores of the smallest leave-one-out log loss, by compression and then by scale.

    Parameters
    ----------
    table : RowSource
        With features in place of Z.
    sample : Picked
        Rows of the table, some of whose features vary, or all of them.
    n_classes : int
    rates : iterable of float
        Of compression, to choose from.
    """
    one_hot, factors = np.eye(n_classes)[sample.y], np.ones(n_classes)
    factors[sample.y] = sample.s
    rows, _ = labelled_rows(sample.X, one_hot, factors)
    numbers = MATRICES * len(rows.s) * min(len(rows.s), MAX_CENTERS) + 4 * rows.X.size
    require_memory(8.0 * numbers, f"A head for {len(rows.s)} rows", ["fewer rows"])
    first, *others = QUADRATIC[::-1]
    with one_blas_thread():
        maps = [FeatureMap.of(rows.X, rate) for rate in rates]
        found = [fit_member(first, inputs, rows) for inputs in maps]
        best = min(range(len(maps)), key=lambda i: found[i].calibration.loss)
        members = [found[best], *(fit_member(spec, maps[best], rows) for spec in others)]
        member = min(members, key=lambda each: each.calibration.loss)
        if len(sample.y) < len(table):
            (member,) = fitted_to_all([member], table, among_all(rows, sample, one_hot))
        return expanded(member, maps[best], rows)


def among_all(rows: LabelledRows, sample: Picked, one_hot: FloatArray) -> LabelledRows:
    """Rows of a sample as some of all, each with its own weight, and as important as they were."""
    among, _ = labelled_rows(sample.X, one_hot)
    return replace(among, cases=replace(among.cases, weight=rows.cases.weight))


def fit_member(spec: KernelSpec, inputs: FeatureMap, rows: LabelledRows) -> Member:
    """Ridge regression with a kernel on mapped features."""
    N, D = rows.X.shape
    n_centers = min(MAX_CENTERS, (D + 1) * (D + 2))  # twice the monomials span them safely
    if EXACT_SHARE * n_centers >= N:
        space = Space("mapped", inputs, inputs(rows.X))
        smoother = smoother_of_kernel(space.at_centers().gram(spec.kernel), rows)
    else:
        centers = spread_sample(rows.X, rows.Y.argmax(axis=1), n_centers)
        space = Space("mapped", inputs, inputs(rows.X[centers]))
        gram = space.at(rows.X).gram(spec.kernel)
        smoother = smoother_of_features(gram, rows, whitener(space, spec.kernel))
    return spec.at(smoother, space, explicit=False)


def expanded(member: Member, inputs: FeatureMap, rows: LabelledRows) -> QuadraticScores:
    """The calibrated scores of a member, sorted by powers of z."""
    scorer, calibration = member.scorer, member.calibration
    assert isinstance(scorer, KernelScorer)
    Z, centers = inputs(rows.X), scorer.space.centers
    coef = calibration.slope * scorer.coef
    # (g z'c / D + 1)^2 = 1 + 2 (g / D) z'c + (g / D)^2 (z'c)^2
    g = scorer.kernel.scale / Z.shape[1]
    constant = calibration.slope * scorer.constant + calibration.bias + coef.sum(axis=0)
    covariance = (Z * rows.s[:, None]).T @ Z / rows.s.sum()
    linear = 2.0 * g * (centers.T @ coef)
    return QuadraticScores(
        inputs, covariance, constant, linear, g**2 * coef, centers, calibration.loss
    )


def confined(scores: QuadraticScores, rank: int) -> LowRankScores:
    """The quadratic forms in the subspace of the largest sum of their squares."""
    V, root = components(scores.covariance)
    H, A = scores.centers @ (V * root), scores.coef
    # with G_c = H' diag(a_c) H the form of whitened components, sum_c G_c^2 = H' (A A' * H H') H
    squares = H.T @ ((A @ A.T) * (H @ H.T)) @ H
    U = eigh(squares, check_finite=False)[1][:, : -rank - 1 : -1]
    HU = H @ U
    forms = np.stack([(HU * a[:, None]).T @ HU for a in A.T])
    lost = np.square(H).sum(axis=1) @ A - np.trace(forms, axis1=1, axis2=2)
    projection = ((V / root) @ U).T
    return LowRankScores(scores.inputs, projection, scores.constant + lost, scores.linear, forms)


def components(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Principal components (D, p) and their standard deviations, where these are not zero."""
    w, V = eigh(covariance, check_finite=False)
    kept = w > LEAST_VARIANCE * w[-1]
    return V[:, kept], np.sqrt(w[kept])
