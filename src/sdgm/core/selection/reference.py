"""The dense model that sparse ones learn from: a softmax of Gaussian processes.

Sparse Bayesian learning chooses thousands of precisions, one per weight, and overfits through them.
A dense model chooses one precision, by its evidence, and one kernel, by its evidence and by leaving
out one row at a time; both are reliable where there is so little to choose. So the dense model is
fitted first, and its posterior at the training rows takes the place of the labels: what the sparse
model then has to explain is smooth, never separable, and free of label noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from sdgm._typing import FloatArray, IntArray
from sdgm.core.data.rows import Rows
from sdgm.core.model.design import pivoted_cholesky
from sdgm.core.model.kernels import Kernel, LinearKernel, PolynomialKernel, RBFKernel
from sdgm.core.model.posterior import component_log_posterior, scores
from sdgm.core.model.state import State
from sdgm.core.objective.derivatives import Mixture
from sdgm.core.objective.whitening import Whitening, whiten
from sdgm.core.selection.generative import Generative, generative_models
from sdgm.core.solvers.newton import NewtonPoint, log_posterior, maximize_over_w
from sdgm.core.solvers.precision import DensePrecision, RowSpacePrecision

# scales of the kernels on standardised inputs, times one over their number
QUADRATIC_SCALES = (0.25, 1.0, 4.0)
RBF_SCALES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
# where the search over rbf scales starts, and by how much a scale may be worse before it ends
FIRST_RBF = 2
SLACK = 3.0
# share of the kernel's largest value up to which its matrix is factorised, and the most columns,
# with few and with many classes
FACTOR_TOLERANCE = 1e-4
MAX_RANK, MAX_RANK_MANY_CLASSES, MANY_CLASSES = 400, 200, 4
# precision of the constant: its prior is broad
CONSTANT_ALPHA = 0.01
# prior variances of a latent function that are tried, and where the search for it starts
VARIANCES = tuple(10.0 ** (i / 2.0) for i in range(-2, 11))
FIRST_VARIANCE = 5
# steps of Newton's method per variance, and the gain that ends them
MAX_STEPS = 30
GAIN_TOLERANCE = 1e-2
# the largest eigenvalue of (posterior covariance x curvature) of a row that is left out: at one the
# row alone would decide its own latent values
LARGEST_LEVERAGE = 0.99
# rows that the shares from scores count for, when the rows that were left out have their say
PRIOR_ROWS = 10.0
# EM steps for the shares: each is one product with a few columns, so that many cost little
SHARE_ITERATIONS = 200


@dataclass(frozen=True)
class Dense:
    """A dense model of the rows."""

    name: str  # of its kernel
    kernel: Kernel
    log_evidence: float
    loss: float  # log loss over rows, each predicted by the model without it, one Newton step away
    log_left_out: FloatArray  # ln P(c_n | x_n) of these predictions: (N,)
    P_c: FloatArray  # class posterior at the rows, at the mode: (N, C)

    @property
    def score(self) -> float:
        """Mean of log evidence and minus loss: what either says too loudly, the other dampens."""
        return 0.5 * (self.log_evidence - self.loss)


@dataclass(frozen=True)
class Reference:
    """Dense models with several kernels, and their average."""

    models: list[Dense]  # the highest score first
    generative_share: float  # of the Gaussian mixtures per class in the average
    P_c: FloatArray  # class posterior at the rows, averaged over the models: (N, C)

    def best(self, kind: str) -> Dense | None:
        """The model of the highest score among those whose name begins so."""
        return next((model for model in self.models if model.name.startswith(kind)), None)


def fit_reference(X: FloatArray, y: IntArray, s: FloatArray) -> Reference:
    """Dense models of standardised rows with a linear, quadratic and rbf kernels, averaged."""
    X = without_constants(X)
    models = [dense_model(name, kernel, X, y, s) for name, kernel in fixed_kernels(X.shape[1])]
    models += rbf_models(X, y, s)
    models.sort(key=lambda model: -model.score)
    generative = generative_models(X, y, s)
    log_share = [model.score - models[0].score for model in models]
    # these have no evidence of this kind: the best dense model's stands in for it
    log_share += [0.5 * (models[0].loss + float(s @ each.log_left_out)) for each in generative]
    everything: list[Dense | Generative] = [*models, *generative]
    share = stacked_shares(
        np.stack([model.log_left_out for model in everything]), s, np.array(log_share)
    )
    P_c = np.sum([a * model.P_c for a, model in zip(share, everything, strict=True)], axis=0)
    return Reference(models, float(share[len(models) :].sum()), P_c)


def without_constants(X: FloatArray) -> FloatArray:
    """The columns that vary, one at least: others would only count as inputs, in scales and BIC."""
    varies = np.ptp(X, axis=0) > 0.0
    return X[:, varies] if varies.any() else X[:, :1]


def stacked_shares(log_left_out: FloatArray, s: FloatArray, log_prior: FloatArray) -> FloatArray:
    """Shares of models in an average: (n_models,).

    The score of a model alone knows nothing of the others; two that err on different rows are
    better together. So the shares maximise the log likelihood of the average on rows left out,
    with the shares exp(score) as a prior that counts for a few rows. It is concave: EM finds the
    maximum.
    """
    prior = np.exp(log_prior - log_prior.max())
    prior *= PRIOR_ROWS / prior.sum()
    likelihood = np.exp(log_left_out - log_left_out.max(axis=0))
    share = np.full(len(prior), 1.0 / len(prior))
    for _ in range(SHARE_ITERATIONS):
        joint = share[:, None] * likelihood
        share = (joint / joint.sum(axis=0)) @ s + prior
        share /= share.sum()
    return share


def fixed_kernels(D: int) -> Iterator[tuple[str, Kernel]]:
    """The linear kernel, and quadratic ones of a few scales."""
    yield "linear", LinearKernel()
    for scale in QUADRATIC_SCALES:
        yield f"quadratic {scale:g}", PolynomialKernel(gamma=scale / D)


def rbf_models(X: FloatArray, y: IntArray, s: FloatArray) -> list[Dense]:
    """Models with rbf kernels, from a middle scale both ways until the score falls clearly."""

    def at(i: int) -> Dense:
        scale = RBF_SCALES[i]
        return dense_model(f"rbf {scale:g}", RBFKernel(scale / X.shape[1]), X, y, s)

    models = [at(FIRST_RBF)]
    for way in (range(FIRST_RBF + 1, len(RBF_SCALES)), range(FIRST_RBF - 1, -1, -1)):
        for i in way:
            models.append(at(i))
            if models[-1].score < max(model.score for model in models) - SLACK:
                break
    return models


def dense_model(name: str, kernel: Kernel, X: FloatArray, y: IntArray, s: FloatArray) -> Dense:
    """One dense model: weights of one precision on factors of the kernel, it by evidence.

    The latent functions are ``f_c = z' w_c + b_c`` with ``Z Z'`` the kernel matrix and all w_c of
    precision alpha, which is a Gaussian process of covariance kernel / alpha. Of two classes one
    has a function.
    """
    n_classes = int(y.max()) + 1
    F = kernel_factor(kernel, X, largest_rank(n_classes))
    N, p = F.shape
    rows = Rows(np.asfortranarray(np.column_stack([np.ones(N), F])), y, s)
    n_functions = 1 if n_classes == 2 else n_classes
    column = np.tile(np.arange(p + 1), n_functions)
    start = State(
        w=np.zeros(len(column)),
        alpha=np.ones(len(column)),
        component=np.repeat(np.arange(n_functions), p + 1),
        column=column,
        pi=np.bincount(y, s) / s.sum(),
        component_class=np.arange(n_classes),
    )
    mean_square = max(float((s @ (F * F).sum(axis=1)) / s.sum()), np.finfo(float).tiny)
    fits: dict[int, tuple[float, State, NewtonPoint, Whitening]] = {}

    def evidence(i: int, near: State) -> float:
        alpha = np.where(column > 0, mean_square / VARIANCES[i], CONSTANT_ALPHA)
        state, mode, whitening = posterior_mode(rows, replace(near, alpha=alpha))
        value = log_posterior(mode.fit, mode.theta, complete=False) - mode.precision.half_log_det
        fits[i] = value, state, mode, whitening
        return value

    i, best = FIRST_VARIANCE, evidence(FIRST_VARIANCE, start)
    for step in (1, -1):  # uphill, one way or the other
        while 0 <= i + step < len(VARIANCES) and i + step not in fits:
            if evidence(i + step, fits[i][1]) <= best:
                break
            i += step
            best = fits[i][0]
    _, _, mode, whitening = fits[i]
    f = scores(rows.Z, mode.mixture.V, mode.mixture.log_pi)
    P_c = np.exp(component_log_posterior(f))
    loss = leave_one_out_loss(rows, f, P_c, latent_covariances(rows, mode, whitening))
    return Dense(name, kernel, best, float(s @ loss), -loss, P_c)


def posterior_mode(rows: Rows, state: State) -> tuple[State, NewtonPoint, Whitening]:
    """The most probable weights under a state's precisions, from its weights."""
    whitening = whiten(np.eye(rows.Z.shape[1]), state)
    theta = whitening.to_theta(state.w)
    mixture = Mixture(whitening.score_vectors(theta), np.log(state.pi), state.component_class)
    mode, _ = maximize_over_w(
        rows, whitening, mixture, theta, max_steps=MAX_STEPS, tol=GAIN_TOLERANCE, r_from=None
    )
    return replace(state, w=whitening.to_w(mode.theta)), mode, whitening


def latent_covariances(rows: Rows, mode: NewtonPoint, whitening: Whitening) -> FloatArray:
    """Posterior covariance of the latent functions at each row: (N, K, K)."""
    N, K = len(rows), len(whitening.coordinates)
    Gt = whitening.whitened(rows.Z.T)  # (m, N)
    result = np.zeros((N, K, K))
    used = [k for k, where in enumerate(whitening.coordinates) if where.stop > where.start]
    blocks = [whitening.coordinates[k] for k in used]
    if isinstance(mode.precision, RowSpacePrecision):
        # V_kl = delta_kl B_k^-1 + T_k T_l' with T_k = B_k^-1 U_k' S^-1/2
        halves = {}
        for k, block in zip(used, mode.precision.blocks, strict=True):
            half, _ = lapack.dtrtrs(block.cholesky, Gt[block.where], lower=1)
            result[:, k, k] = (half * half).sum(axis=0)
            inner = block.half.T @ half  # U_k B_k^-1 G_k'
            halves[k], _ = lapack.dtrtrs(mode.precision.coupling, inner, lower=1)  # (N, N)
        for k in used:
            for other in used:
                result[:, k, other] += (halves[k] * halves[other]).sum(axis=0)
        return result
    assert isinstance(mode.precision, DensePrecision)
    for k, where in zip(used, blocks, strict=True):
        padded = np.zeros((Gt.shape[0], N))
        padded[where] = Gt[where]
        V_G, _ = lapack.dpotrs(mode.precision.cholesky, padded, lower=1)
        for other, columns in zip(used, blocks, strict=True):
            result[:, other, k] = (Gt[columns] * V_G[columns]).sum(axis=0)
    return result


def leave_one_out_loss(
    rows: Rows, f: FloatArray, P_c: FloatArray, covariance: FloatArray
) -> FloatArray:
    """``-ln P(c_n | x_n)`` by the model without row n, one Newton step away: (N,).

    Without the row's own term, its latent values are ``f - (I - Sigma W)^-1 Sigma (t - P)``.
    """
    N, C = P_c.shape
    index = np.arange(N)
    residual = -P_c
    residual[index, rows.y] += 1.0
    W = P_c[:, :, None] * (np.eye(C) - P_c[:, None, :])  # (N, C, C)
    # of a row that counts less than once, only that much can be left out
    covariance = np.minimum(rows.s, 1.0)[:, None, None] * covariance
    leverage = covariance @ W
    largest = np.linalg.eigvals(leverage).real.max(axis=1)
    leverage *= np.minimum(1.0, LARGEST_LEVERAGE / np.maximum(largest, 1e-300))[:, None, None]
    moved = np.linalg.solve(np.eye(C) - leverage, covariance @ residual[:, :, None])[:, :, 0]
    without = component_log_posterior(f - moved)
    return -without[index, rows.y]


def largest_rank(n_classes: int) -> int:
    """Most columns of the factor of a kernel."""
    return MAX_RANK if n_classes <= MANY_CLASSES else MAX_RANK_MANY_CLASSES


def kernel_factor(kernel: Kernel, X: FloatArray, max_rank: int) -> FloatArray:
    """Z with ``Z Z'`` the kernel matrix of the rows, up to a tolerance: (N, p)."""
    size = kernel.explicit_size(X.shape[1])
    if size is not None and size < min(len(X), max_rank):
        explicit = kernel.explicit(X)
        assert explicit is not None
        return explicit
    diagonal = kernel.diagonal(X)
    assert diagonal is not None
    return pivoted_cholesky(kernel, X, diagonal, FACTOR_TOLERANCE, max_rank)[0]
