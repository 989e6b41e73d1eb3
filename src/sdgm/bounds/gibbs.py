"""Classifiers drawn from the posterior of the weights, a new one for every row."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.bounds import pac_bayes
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.model.posterior import class_log_posterior, component_log_posterior

# eigenvalues of the posterior correlations below this are lifted to it: Q must have a density
SMALLEST_EIGENVALUE = 1e-10
# logits drawn at once
BLOCK_LOGITS = 1 << 20


class Loss(StrEnum):
    """What a classifier drawn from the posterior says about a row."""

    ERROR = "error"
    PROBABILITY = "probability"


@dataclass(frozen=True)
class Posterior:
    """Q over the weights: a Gaussian, and what its scores at rows need.

    Constants, relative to one component, come last; log mixture weights are part of them.
    """

    mean: FloatArray  # (m,)
    covariance: FloatArray  # (m, m)
    component: IntArray  # of each weight: (m,)
    column: IntArray  # of each weight, 0 for the constant: (m,)
    n_components: int
    groups: list[slice]  # weights, and constants, that share a prior variance

    def scores(self, Phi: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean (n, K) and root of the covariance (n, K, K) of the scores at rows Phi (n, T + 1)."""
        values = Phi[:, self.column]  # (n, m)
        L = np.linalg.cholesky(self.covariance)
        n, K = len(Phi), self.n_components
        mean, spread = np.zeros((n, K)), np.zeros((n, K, len(L)))
        for k in range(K):
            own = self.component == k
            mean[:, k] = values[:, own] @ self.mean[own]
            spread[:, k] = values[:, own] @ L[own]
        eigenvalues, vectors = np.linalg.eigh(spread @ spread.transpose(0, 2, 1))
        return mean, vectors * np.sqrt(np.maximum(eigenvalues, 0.0))[:, None, :]


def weight_posterior(model: FittedModel, Phi: FloatArray) -> Posterior:
    """The Gaussian of the model's weights, with constants relative to one component.

    Log mixture weights are constants, too. Where the constant was pruned they get the variance that
    the curvature at the rows gives them.
    """
    K, active = model.state.n_components, model.active
    w = np.column_stack([model.offset, model.coef])
    pruned = np.flatnonzero(~active[:, 0])
    reference = int(pruned[0]) if len(pruned) else K - 1
    P = np.exp(component_log_posterior(np.asfortranarray(Phi @ w.T)))
    curvature = 1.0 / pac_bayes.PRIOR_VARIANCES[-1] + (P * (1.0 - P)).sum(axis=0)
    wanted = active.copy()
    wanted[:, 0] = True
    component, column = np.nonzero(wanted)
    V = np.diag(np.where(component == reference, 0.0, 1.0 / curvature[component]))
    where = np.flatnonzero(active[wanted])
    V[np.ix_(where, where)] = model.require_covariance()
    # constants less the reference's, which leaves; weights first
    is_constant = column == 0
    shift = np.eye(len(column))
    own = np.flatnonzero(is_constant & (component == reference))
    shift[np.ix_(is_constant, own)] -= 1.0
    order = np.concatenate(
        [np.flatnonzero(~is_constant), np.flatnonzero(is_constant & (component != reference))]
    )
    shift = shift[order]
    n_weights = int((~is_constant).sum())
    groups = [slice(0, n_weights), slice(n_weights, len(order))]
    return Posterior(
        shift @ w[wanted],
        positive_definite(shift @ V @ shift.T),
        component[order],
        column[order],
        K,
        [group for group in groups if group.start < group.stop],
    )


def positive_definite(V: FloatArray) -> FloatArray:
    """The matrix with correlations whose eigenvalues are clearly above zero."""
    deviation = np.sqrt(np.maximum(np.diag(V), np.finfo(float).tiny))
    eigenvalues, vectors = np.linalg.eigh(V / deviation / deviation[:, None])
    lifted = np.maximum(eigenvalues, SMALLEST_EIGENVALUE)
    return (vectors * lifted) @ vectors.T * deviation * deviation[:, None]


@dataclass(frozen=True)
class Answers:
    """What drawn scores say about rows of known class."""

    component_class: IntArray
    n_classes: int
    code: IntArray
    loss: Loss

    def losses(self, scores: FloatArray) -> FloatArray:
        """Loss of each draw at each row, from scores (S, n, K): (S, n)."""
        S, n, K = scores.shape
        log_P_cm = component_log_posterior(np.asfortranarray(scores.reshape(S * n, K)))
        log_P_c = class_log_posterior(log_P_cm, self.component_class, self.n_classes)
        code = np.tile(self.code, S)
        if self.loss is Loss.ERROR:
            result = (log_P_c.argmax(axis=1) != code).astype(np.float64)
        else:
            result = -np.expm1(log_P_c[np.arange(S * n), code])
        return result.reshape(S, n)


def mean_losses(
    mean: FloatArray,
    root: FloatArray,
    answers: Answers,
    n_pairs: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Mean loss, and mean product of two independent ones, over pairs of draws per row."""
    single, product = 0.0, 0.0
    block = max(BLOCK_LOGITS // (2 * mean.size), 1)
    for first in range(0, n_pairs, block):
        size = min(block, n_pairs - first)
        z = rng.standard_normal((2 * size, *mean.shape))
        offsets = np.matmul(root, z.transpose(1, 2, 0))  # (n, K, S)
        losses = answers.losses(mean + offsets.transpose(2, 0, 1))
        single += float(losses.sum())
        product += float((losses[:size] * losses[size:]).sum())
    n = len(mean)
    return min(single / (2 * n_pairs * n), 1.0), min(product / (n_pairs * n), 1.0)
