"""Algorithm 1 of the paper, loop by loop and dense: slow, and easy to check against the paper.

Nothing of sdgm is used here. The pair (c, m) is one index k, ordered by class. Where the paper is
silent or loose this follows the authors' code: thresholds, pinned reference, penalty w'Aw / 2, pi
that sums to one within each class. Two points are sdgm's: r is that of the current w and pi when
the r loop begins, and components of a class that lost all weights are one constant component.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

ALPHA_INFINITE = 1e5
PI_ZERO = 1e-5
ALPHA_CONVERGED = 1e-5  # sum of the squared changes
R_CONVERGED = 1e-3  # mean absolute change
W_CONVERGED = 1e-12  # gain of the log posterior that the next Newton step promises


@dataclass
class Model:
    """What is learned; a weight that is not active is zero for ever."""

    w: Array  # (K, H)
    alpha: Array  # (K, H)
    active: NDArray[np.bool_]  # (K, H)
    pi: Array  # (K,)
    component_class: Indices  # (K,)
    n_iter: int = 0
    converged: bool = False


def learn(Phi: Array, y: Indices, r: Array, n_components: list[int], max_iter: int) -> Model:
    """Learn from the design matrix (N, H), class indices (N,) and first responsibilities (N, K)."""
    H = Phi.shape[1]
    component_class = np.repeat(np.arange(len(n_components)), n_components)
    K = len(component_class)
    active = np.ones((K, H), dtype=bool)
    active[K - 1] = False  # the reference: last component of the last class
    pi = 1.0 / np.array(n_components)[component_class]
    model = Model(np.zeros((K, H)), np.ones((K, H)), active, pi, component_class)
    for iteration in range(1, max_iter + 1):  # while alpha has not converged
        if iteration > 1:
            r = responsibilities(Phi, y, model)
        r_change = np.inf
        while r_change >= R_CONVERGED:
            model.w = most_probable_w(Phi, r, model)
            r_before, r = r, responsibilities(Phi, y, model)
            r_change = np.abs(r - r_before).mean()

        alpha = updated_alpha(Phi, model)
        lost = model.active & (alpha > ALPHA_INFINITE)
        model.active = model.active & ~lost
        change = ((alpha - model.alpha)[model.active] ** 2).sum()
        model.alpha, model.pi = alpha, updated_pi(y, r, model)
        model.w = np.where(model.active, model.w, 0.0)
        eliminate_components(model)

        model.n_iter = iteration
        # the first pass starts from other responsibilities than its own: nothing to compare with
        if iteration > 1 and not lost.any() and change < ALPHA_CONVERGED:
            model.converged = True
            break
    return model


def component_posterior(Phi: Array, model: Model) -> Array:
    """P(c, m | x_n): (N, K)."""
    P = np.empty((len(Phi), len(model.pi)))
    for n, phi in enumerate(Phi):
        score = np.log(model.pi) + np.array([w_k @ phi for w_k in model.w])
        P[n] = np.exp(score - score.max()) / np.exp(score - score.max()).sum()
    return P


def responsibilities(Phi: Array, y: Indices, model: Model) -> Array:
    """r_ncm = P(c, m | x_n) / P(c | x_n) in the sample's class, zero elsewhere: (N, K)."""
    P = component_posterior(Phi, model)
    for n in range(len(P)):
        P[n, model.component_class != y[n]] = 0.0
        P[n] /= P[n].sum()
    return P


def log_posterior(Phi: Array, r: Array, model: Model) -> float:
    """J - w'Aw / 2 over the active weights."""
    P = component_posterior(Phi, model)
    J = sum(r[n, k] * np.log(P[n, k]) for n, k in zip(*np.nonzero(r), strict=True))
    return float(J) - 0.5 * float((model.alpha * model.w**2).sum(where=model.active))


def gradient(Phi: Array, r: Array, model: Model) -> Array:
    """Gradient of the log posterior: (K, H)."""
    P = component_posterior(Phi, model)
    grad = np.zeros_like(model.w)
    for n, phi in enumerate(Phi):
        for k in range(len(model.pi)):
            grad[k] += (r[n, k] - P[n, k]) * phi
    return grad - model.alpha * model.w


def hessian(Phi: Array, model: Model) -> Array:
    """Hessian of the log posterior over the active weights: (n_active, n_active)."""
    P = component_posterior(Phi, model)
    K, H = model.w.shape
    hess = np.empty((K, H, K, H))
    for i in range(K):
        for j in range(K):
            hess[i, :, j, :] = (Phi.T * (P[:, j] * (P[:, i] - (i == j)))) @ Phi
    a = model.active.ravel()
    return hess.reshape(K * H, K * H)[a][:, a] - np.diag(model.alpha[model.active])


def most_probable_w(Phi: Array, r: Array, model: Model) -> Array:
    """Mode of the log posterior, r held, by Newton's method; a step that overshoots is halved."""
    model = Model(**vars(model))
    gain = np.inf
    while gain > W_CONVERGED and model.active.any():
        grad = gradient(Phi, r, model)[model.active]
        step = -np.linalg.solve(hessian(Phi, model), grad)
        gain = 0.5 * grad @ step
        before, start = log_posterior(Phi, r, model), model.w
        for halving in range(30):
            model.w = start.copy()
            model.w[model.active] += 0.5**halving * step
            if log_posterior(Phi, r, model) >= before - 1e-12 * abs(before):
                break
    return model.w


def updated_alpha(Phi: Array, model: Model) -> Array:
    """(1 - alpha lambda) / w^2 with lambda the diagonal of Lambda, the inverse of -Hessian."""
    Lambda = np.linalg.inv(-hessian(Phi, model))
    alpha = model.alpha.copy()
    alpha[model.active] = (1.0 - alpha[model.active] * np.diag(Lambda)) / model.w[model.active] ** 2
    return alpha


def updated_pi(y: Indices, r: Array, model: Model) -> Array:
    """Mean responsibility over the samples of the component's class: (K,)."""
    return np.array([r[y == c, k].mean() for k, c in enumerate(model.component_class)])


def eliminate_components(model: Model) -> None:
    """Remove components of weight zero, and all but one of a class's components without weights."""
    keep = model.pi > PI_ZERO
    for c in np.unique(model.component_class):
        own = keep & (model.component_class == c)
        constant = np.flatnonzero(own & ~model.active.any(axis=1))
        for k in constant[1:]:
            model.pi[constant[0]] += model.pi[k]
            keep[k] = False
    for name in ("w", "alpha", "active", "pi", "component_class"):
        setattr(model, name, getattr(model, name)[keep])
