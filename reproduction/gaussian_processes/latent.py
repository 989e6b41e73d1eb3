"""Mixtures of Gaussian processes: the mode of the latent functions and Laplace's evidence.

Every component k has a latent function ``f_k ~ GP(0, kappa)`` in place of the score ``w_k' phi``;
a pinned component has ``f_k = 0``. The algorithms are those for one Gaussian process per class in
Rasmussen and Williams, *Gaussian Processes for Machine Learning* (2006), sections 3.5 and 5.5, with
responsibilities r in place of the labels: each Newton step takes r from the step before, which is
the EM gradient algorithm on the log likelihood. The negative second derivative of J with respect to
f is ``W = D - P P'``, D the diagonal matrix of P(c, m | x) and P its blocks on top of each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from sdgm._typing import BoolArray, FloatArray, IntArray
from sdgm.core.inference.evidence import updated_pi
from sdgm.core.model.posterior import row_posterior
from sdgm.core.solvers.newton import MAX_HALVINGS

# passes in which pi follows r, each with Newton steps on f in between
MAX_PASSES = 40
MAX_STEPS = 50
# gain of the log posterior per row by a Newton step that counts as none, and change of pi
GAIN_TOLERANCE = 1e-5
PI_TOLERANCE = 5e-3
# no share of a component in its class is smaller, so that log pi stays finite
SMALLEST_SHARE = 1e-6


class Latent(NamedTuple):
    """The latent functions at the training rows, at the mode of their posterior.

    Attributes
    ----------
    a : (K, N) array
        ``f_k = gram @ a_k``; at the mode ``a_k = r_k - P_k``.
    f : (K, N) array
    pi : (K,) array
        Mixture weights, which sum to one within each class.
    r : (N, K) array
        Responsibilities.
    """

    a: FloatArray
    f: FloatArray
    pi: FloatArray
    r: FloatArray


class Curvature(NamedTuple):
    """Factors of ``(inverse(W) + gram)^-1 = E - E R (sum_k E_k)^-1 R' E`` (Eq. 3.45 there).

    Attributes
    ----------
    E : (K, N, N) array
        ``D_k^1/2 (I + D_k^1/2 gram D_k^1/2)^-1 D_k^1/2``; D_k itself for a pinned component.
    M : (N, N) array
        Lower Cholesky factor of the sum of all E.
    half_log_det : float
        Half the log determinant of ``I + gram W``.
    """

    E: FloatArray
    M: FloatArray
    half_log_det: float


def latent_mode(
    gram: FloatArray,
    y: IntArray,
    component_class: IntArray,
    free: BoolArray,
    start: Latent,
    *,
    from_start: bool,
) -> tuple[Latent, float]:
    """Climb to the mode of the latent functions and of pi; also the log evidence there.

    Parameters
    ----------
    gram : (N, N) array
        Covariance of every latent function between the training rows.
    y : (N,) integer array
        Class indices.
    component_class : (K,) integer array
    free : (K,) boolean array
        Which components have a latent function, and are not pinned at zero.
    start : Latent
    from_start : bool
        Whether the first Newton steps hold the responsibilities of the start, as they must when its
        latent functions are all zero: an E-step would make the components equal for ever.
    """
    now = start
    held = start.r if from_start else None
    one = np.ones(component_class[-1] + 1)
    for _ in range(MAX_PASSES):
        now = climb(gram, y, component_class, free, now, held)
        pi = updated_pi(now.r.sum(axis=0), component_class, one)
        pi = np.maximum(pi, SMALLEST_SHARE)
        settled = held is None and np.abs(pi - now.pi).max() < PI_TOLERANCE
        now, held = now._replace(pi=pi), None
        if settled:
            break
    at_end = row_posterior(_scores(now.f, now.pi), y, component_class)
    now = now._replace(r=at_end.r)
    curvature = latent_curvature(gram, at_end.P_cm, free)
    fit = float(at_end.log_P_own.sum() - 0.5 * np.vdot(now.a, now.f))
    return now, fit - curvature.half_log_det


def climb(
    gram: FloatArray,
    y: IntArray,
    component_class: IntArray,
    free: BoolArray,
    now: Latent,
    held: FloatArray | None,
) -> Latent:
    """Newton steps on the latent functions with pi held (Algorithm 3.3 there)."""

    def objective(a: FloatArray, f: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        rows = row_posterior(_scores(f, now.pi), y, component_class)
        r = rows.r if held is None else held
        if held is None:
            fit = float(rows.log_P_own.sum())
        else:
            fit = float(np.vdot(held, _scores(f, now.pi)) - rows.log_total.sum())
        return fit - 0.5 * float(np.vdot(a, f)), rows.P_cm, r

    value, P, r = objective(now.a, now.f)
    for _ in range(MAX_STEPS):
        target = newton_target(latent_curvature(gram, P, free), gram, P, r, now.f, free)
        gain = -np.inf
        for halving in range(MAX_HALVINGS):
            a = now.a + 0.5**halving * (target - now.a)
            f = a @ gram
            new_value, new_P, new_r = objective(a, f)
            gain = new_value - value
            if gain >= 0.0:
                break
        if gain < 0.0:
            break
        now, value, P, r = now._replace(a=a, f=f), new_value, new_P, new_r
        if gain < GAIN_TOLERANCE * len(y):
            break
    return now._replace(r=r)


def latent_curvature(gram: FloatArray, P: FloatArray, free: BoolArray) -> Curvature:
    """Factors of the posterior covariance where the component posteriors are P, (N, K)."""
    N, K = P.shape
    E = np.zeros((K, N, N))
    half_log_det = 0.0
    for k in range(K):
        if not free[k]:
            np.fill_diagonal(E[k], P[:, k])
            continue
        root = np.sqrt(P[:, k])
        B = root[:, None] * gram * root
        B[np.diag_indices(N)] += 1.0
        L = linalg.cholesky(B, lower=True, overwrite_a=True, check_finite=False)
        half_log_det += float(np.log(L.diagonal()).sum())
        B_inv, _ = linalg.lapack.dpotri(L, lower=1, overwrite_c=1)
        B_inv = B_inv * root * root[:, None]
        E[k] = np.tril(B_inv) + np.tril(B_inv, -1).T
    M = linalg.cholesky(E.sum(axis=0), lower=True, overwrite_a=True, check_finite=False)
    half_log_det += float(np.log(M.diagonal()).sum())
    return Curvature(E, M, half_log_det)


def newton_target(
    curvature: Curvature,
    gram: FloatArray,
    P: FloatArray,
    r: FloatArray,
    f: FloatArray,
    free: BoolArray,
) -> FloatArray:
    """Where a full Newton step leads: a of the free components, zero of the others: (K, N)."""
    E, M, _ = curvature
    P, r = P.T, r.T  # (K, N)
    # b = W f + r - P with W = D - P P'
    b = P * (f - (P * f).sum(axis=0)) + r - P
    c = np.where(free[:, None], np.einsum("kij,kj->ki", E, b @ gram), 0.0)
    inner = linalg.cho_solve((M, True), c.sum(axis=0), check_finite=False)
    return np.where(free[:, None], b - c + E @ inner, 0.0)


def latent_posterior(
    curvature: Curvature, a: FloatArray, cross: FloatArray, prior: FloatArray, free: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of the latent functions at new rows (Algorithm 3.4 there).

    Parameters
    ----------
    curvature : Curvature
        At the mode.
    a : (K, N) array
    cross : (n, N) array
        Covariance between new and training rows.
    prior : (n,) array
        Prior variance at the new rows.
    free : (K,) boolean array

    Returns
    -------
    mean : (n, K) array
    covariance : (n, K, K) array
    """
    E, M, _ = curvature
    E_cross = E @ cross.T  # (K, N, n)
    E_cross[~free] = 0.0
    half = linalg.solve_triangular(
        M, np.concatenate(list(E_cross), axis=1), lower=True, check_finite=False
    )
    half = half.reshape(len(M), len(a), -1)  # (N, K, n)
    covariance = np.einsum("ikn,iln->nkl", half, half, optimize=True)
    own = prior - np.einsum("ni,kin->kn", cross, E_cross, optimize=True)  # (K, n)
    index = np.arange(len(a))
    covariance[:, index, index] += np.where(free[:, None], own, 0.0).T
    return cross @ a.T, covariance


def _scores(f: FloatArray, pi: FloatArray) -> FloatArray:
    """``log pi_k + f_k(x_n)``: (N, K)."""
    return f.T + np.log(pi)
