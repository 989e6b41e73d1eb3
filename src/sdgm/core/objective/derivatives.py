"""The whitened model: log posterior, gradient and precision as sums over rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sdgm._typing import FloatArray, IntArray, LabelArray
from sdgm.core.data.rows import Rows, RowSource, Sums
from sdgm.core.model.posterior import row_posterior, scores
from sdgm.core.model.state import State
from sdgm.core.objective.pairwise import Pairs, pairs_pay
from sdgm.core.objective.products import informations, products_pay, products_width
from sdgm.core.objective.whitening import Whitening


class Mixture(NamedTuple):
    """The model in the coordinates of Z: all that is needed to compute posteriors of rows."""

    V: FloatArray  # (p, K)
    log_pi: FloatArray  # (K,)
    component_class: IntArray  # (K,)

    @property
    def has_several_per_class(self) -> bool:
        """Whether some class has several components, so that r is not known."""
        return len(self.log_pi) > int(self.component_class[-1]) + 1


def mixture_at(whitening: Whitening, theta: FloatArray, state: State) -> Mixture:
    """The model with these whitened weights, and pi of the state."""
    V = whitening.score_vectors(theta)
    return Mixture(V, np.log(state.pi), state.component_class)


@dataclass(slots=True)
class Fit(Sums):
    """How well the model explains the rows.

    The paper's J is the expected complete log likelihood, which differs from the log likelihood by
    the entropy of r.
    """

    log_likelihood: float  # sum s ln P(c_n | x_n)
    J: float  # sum s r ln P(c, m | x)
    r_sum: FloatArray  # sum s r: (K,)


@dataclass(slots=True)
class Derivatives(Sums):
    """Fit, gradient and curvature of J in whitened coordinates, prior not included.

    Attributes
    ----------
    fit : Fit
    grad : (m,) array
        ``G_k' (s (r_k - p_k))``.
    curvature : (m, m) array
        Complete information ``blockdiag_k(G_k' diag(s p_k) G_k) - U'U`` with
        ``U = [sqrt(s) p_k * G_k]_k``: the negative second derivative of J (Eq. 15).
    missing : (m, m) array or None
        Missing information, the same with r in place of p: the second derivative of the log
        likelihood is ``missing - curvature``.
    """

    fit: Fit
    grad: FloatArray
    curvature: FloatArray
    missing: FloatArray | None


def block_posteriors(
    rows: Rows, mixture: Mixture, r_from: Mixture | None
) -> tuple[FloatArray, FloatArray, Fit]:
    """P(c, m | x), r and the fit of a block, the first two as (K, N).

    r comes from the start if the rows carry one, else from ``r_from``, else from the mixture
    itself; it is never stored, so that no array of length N outlives a block.
    """
    logits = scores(rows.Z, mixture.V, mixture.log_pi)
    now = row_posterior(logits, rows.y, mixture.component_class)
    r = rows.r0
    if r is None:
        r = now.r if r_from is None else responsibilities(rows, r_from)
    sr = r.T * rows.s  # (K, N)
    # J = sum_n s_n sum_k r_nk ln P(k | x_n), and the responsibilities of a row sum to one
    J = np.vdot(sr, logits.T) - rows.s @ now.log_total
    return now.P_cm.T, r.T, Fit(float(rows.s @ now.log_P_own), float(J), sr.sum(axis=1))


def responsibilities(rows: Rows, mixture: Mixture) -> FloatArray:
    """Responsibilities r of rows by a model: (N, K)."""
    logits = scores(rows.Z, mixture.V, mixture.log_pi)
    return row_posterior(logits, rows.y, mixture.component_class).r


def fit_of_rows(rows: RowSource, mixture: Mixture, r_from: Mixture | None) -> Fit:
    """Log likelihood, J and sums of r over all rows."""
    K = len(mixture.log_pi)
    return rows.total(lambda block: block_posteriors(block, mixture, r_from)[2], K)


@dataclass(slots=True)
class Gradient(Sums):
    """Fit and gradient of J with respect to the score vectors, prior not included."""

    fit: Fit
    of_V: FloatArray  # (K, p)


def gradient_of_rows(rows: RowSource, mixture: Mixture, r_from: Mixture | None) -> Gradient:
    """Fit and gradient over all rows."""

    def of_block(block: Rows) -> Gradient:
        P_cm, r, fit = block_posteriors(block, mixture, r_from)
        return Gradient(fit, ((r - P_cm) * block.s) @ block.Z)

    return rows.total(of_block, 2 * len(mixture.log_pi))


def derivatives_of_rows(
    rows: RowSource,
    mixture: Mixture,
    r_from: Mixture | None,
    whitening: Whitening,
    *,
    missing: bool = False,
) -> Derivatives:
    """Gradient and curvature of J over all rows, with the fit at the same point."""
    if products_pay(len(rows), whitening):
        return derivatives_by_products(rows, mixture, r_from, whitening, missing=missing)
    if pairs_pay(len(rows), whitening):
        return derivatives_by_pairs(rows, mixture, r_from, whitening, missing=missing)
    mixed = mixed_classes(mixture) if missing else []

    def of_block(block: Rows) -> Derivatives:
        P_cm, r, fit = block_posteriors(block, mixture, r_from)
        # dJ/dv_k = sum_n s_n (r_nk - P(k | x_n)) z_n  (Eq. 14)
        grad_V = ((r - P_cm) * block.s) @ block.Z  # (K, p)
        grad = whitening.of_scores(grad_V)
        Gt = block.root_weighted(whitening.whitened(block.Z.T))  # (m, N)
        return Derivatives(
            fit,
            grad,
            information(Gt, P_cm, whitening.coordinates),
            missing_information(block, Gt, r, mixed, whitening) if missing else None,
        )

    return rows.total(of_block, len(whitening.component))


@dataclass(slots=True)
class PairSums:
    """What `derivatives_by_pairs` adds up.

    Attributes
    ----------
    gradient : Gradient
    matrices : list of (n_pairs, q, q) arrays
        For the pairs of all components, then for the pairs within each class that has several.
    """

    gradient: Gradient
    matrices: list[FloatArray]

    def __add__(self, other: PairSums) -> PairSums:
        added = [a + b for a, b in zip(self.matrices, other.matrices, strict=True)]
        return PairSums(self.gradient + other.gradient, added)

    def __iadd__(self, other: PairSums) -> PairSums:
        self.gradient += other.gradient
        for mine, others in zip(self.matrices, other.matrices, strict=True):
            mine += others
        return self


def derivatives_by_pairs(
    rows: RowSource,
    mixture: Mixture,
    r_from: Mixture | None,
    whitening: Whitening,
    *,
    missing: bool,
) -> Derivatives:
    """`derivatives_of_rows` where that is less work by pairs of components."""
    every = Pairs.among(whitening)
    of_class = {}
    if missing:
        for c, components in mixed_classes(mixture):
            of_class[c] = Pairs.among(whitening, components)

    def of_block(block: Rows) -> PairSums:
        P_cm, r, fit = block_posteriors(block, mixture, r_from)
        of_V = ((r - P_cm) * block.s) @ block.Z  # (K, p)
        matrices = [every.matrices(block.root_weighted(every.take(block.Z)), P_cm)]
        for c, pairs in of_class.items():
            Zt = block.root_weighted(pairs.take(block.Z))
            matrices.append(pairs.matrices(*within_class(block, c, Zt, r)))
        return PairSums(Gradient(fit, of_V), matrices)

    sums = rows.total(of_block, max(len(every.columns), 2 * len(mixture.log_pi)))
    of_all, *of_classes = sums.matrices
    m = len(whitening.component)
    curvature = np.zeros((m, m))
    every.fill(curvature, of_all)
    grad = whitening.of_scores(sums.gradient.of_V)
    if not missing:
        return Derivatives(sums.gradient.fit, grad, curvature, None)
    lacking = np.zeros((m, m))
    for pairs, matrices in zip(of_class.values(), of_classes, strict=True):
        pairs.fill(lacking, matrices)
    return Derivatives(sums.gradient.fit, grad, curvature, lacking)


def derivatives_by_products(
    rows: RowSource,
    mixture: Mixture,
    r_from: Mixture | None,
    whitening: Whitening,
    *,
    missing: bool,
) -> Derivatives:
    """`derivatives_of_rows` where rows, columns and components are few."""
    groups = tuple(components for _, components in mixed_classes(mixture)) if missing else ()

    def of_block(block: Rows) -> Derivatives:
        P_cm, r, fit = block_posteriors(block, mixture, r_from)
        grad = whitening.of_scores(((r - P_cm) * block.s) @ block.Z)
        if groups and block.y.ndim == 2:  # responsibilities carry the frequency of their class
            frequency = np.maximum(block.y, np.finfo(float).tiny)
            r = r / np.sqrt(frequency).T[mixture.component_class]
        complete, lacking = informations(block, whitening, P_cm, r, groups)
        return Derivatives(fit, grad, complete, lacking if missing else None)

    return rows.total(of_block, products_width(whitening))


def row_space_derivatives(
    rows: Rows, mixture: Mixture, r_from: Mixture | None, whitening: Whitening
) -> tuple[Fit, FloatArray, FloatArray, FloatArray]:
    """Fit and gradient of few rows, and what the curvature is made of: Gt (m, N) and P_cm (K, N).

    Gt are whitened columns, transposed, times the root of the sample weights.
    """
    P_cm, r, fit = block_posteriors(rows, mixture, r_from)
    Gt = whitening.whitened(rows.Z.T)  # (m, N)
    residual = (r - P_cm) * rows.s  # (K, N)
    grad = np.concatenate([Gt[k] @ e for k, e in zip(whitening.coordinates, residual, strict=True)])
    return fit, grad, rows.root_weighted(Gt), P_cm


def information(Gt: FloatArray, P: FloatArray, coordinates: Sequence[slice]) -> FloatArray:
    """``blockdiag_k(G_k' diag(P_k) G_k) - U'U`` with ``U = [P_k * G_k]_k``: (m, m).

    That is ``G_k' diag(P_k (1 - P_k)) G_k`` on the diagonal and ``-G_k' diag(P_k P_l) G_l`` off it.

    Parameters
    ----------
    Gt : (m, N) array
        Whitened columns, transposed, times the root of the sample weights.
    P : (K, N) array
        Posteriors of the components: P(c, m | x) for the information of complete data, r for
        what is missing of it because the component of a sample is unknown.
    coordinates : K slices
        The columns of each component.
    """
    Ut = np.empty_like(Gt)  # (m, N)
    for k, P_k in zip(coordinates, P, strict=True):
        np.multiply(Gt[k], P_k, out=Ut[k])
    result = Ut @ Ut.T
    np.negative(result, out=result)
    # p (1 - p) on the diagonal blocks, since p - p^2 would cancel for saturated rows
    roots = np.sqrt(np.maximum(P * (1.0 - P), 0.0))  # rounding may take P above one
    for k, root in zip(coordinates, roots, strict=True):
        A = np.multiply(Gt[k], root, out=Ut[k])
        result[k, k] = A @ A.T
    return result


def missing_information(
    rows: Rows,
    Gt: FloatArray,
    r: FloatArray,
    mixed: list[tuple[int, range]],
    whitening: Whitening,
) -> FloatArray:
    """`information` with r in place of P, class by class: the r of a row are zero in all others."""
    result = np.zeros((len(Gt), len(Gt)))
    for c, components in mixed:
        coordinates = [whitening.coordinates[k] for k in components]
        own = slice(coordinates[0].start, coordinates[-1].stop)
        Gt_c, r_c = within_class(rows, c, Gt[own], r[components.start : components.stop])
        shifted = [slice(k.start - own.start, k.stop - own.start) for k in coordinates]
        result[own, own] = information(Gt_c, r_c, shifted)
    return result


def mixed_classes(mixture: Mixture) -> list[tuple[int, range]]:
    """Classes with several components, and their components; in others r is known."""
    n_classes = int(mixture.component_class[-1]) + 1
    first = np.searchsorted(mixture.component_class, np.arange(n_classes + 1)).tolist()
    ranges = [range(start, stop) for start, stop in pairwise(first)]
    return [(c, components) for c, components in enumerate(ranges) if len(components) > 1]


def within_class(
    rows: Rows, c: int, At: FloatArray, r: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Columns At (m, N) and r (K', N) at the rows of a class: (m, N_c) and (K', N_c).

    Where rows have frequencies of classes, all of them: At times their root, r divided by them.
    """
    if rows.y.ndim == 1:
        own = np.flatnonzero(rows.y == c)
        return At.take(own, axis=1), r.take(own, axis=1)
    frequency = rows.y[:, c]
    return At * np.sqrt(frequency), r / np.maximum(frequency, np.finfo(float).tiny)


def mean_change_of_r(rows: RowSource, before: Mixture, after: Mixture) -> float:
    """Mean absolute change of the responsibilities, over all rows and components."""

    def change_and_weight(block: Rows) -> FloatArray:
        r0 = responsibilities(block, before) if block.r0 is None else block.r0
        change = (block.s @ np.abs(responsibilities(block, after) - r0)).sum()
        return np.array([change, block.s.sum()])

    K = len(after.log_pi)
    change, weight = rows.total(change_and_weight, K)
    return float(change / (weight * K))


def class_totals(rows: RowSource, n_classes: int) -> FloatArray:
    """Summed weights of the samples of each class: (C,)."""
    return rows.unmapped().total(
        lambda block: class_weights(block.y, block.s, n_classes), n_classes
    )


def class_weights(y: LabelArray, s: FloatArray, n_classes: int = 0) -> FloatArray:
    """Summed weights of samples by class, from labels or frequencies of the classes: (C,)."""
    if y.ndim == 2:
        return s @ y
    return np.bincount(y, s, minlength=n_classes).astype(np.float64)
