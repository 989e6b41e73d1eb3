"""Gaussians as weights: from w back to (mu, Sigma), where Sigma exists (Eq. 6 backwards).

A learned component need not be a Gaussian: a quadratic form added to every component cancels in
the softmax, so that w alone does not determine a density.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sdgm._typing import BoolArray, FloatArray
from sdgm.core.model.features import CovarianceType, n_monomials


class Gaussian(NamedTuple):
    """``exp(w'phi(x)) = exp(log_scale) N(x | mean, covariance)``."""

    mean: FloatArray  # (..., D)
    covariance: FloatArray  # (..., D, D)
    log_scale: FloatArray  # such as a log mixture weight: (...)


def _log_normalizer(mu: FloatArray, S_mu: FloatArray, log_det: FloatArray) -> FloatArray:
    """Constant term of Eq. 6, ``-(D ln 2 pi + ln |Sigma| + mu'S mu) / 2``: (...)."""
    D = mu.shape[-1]
    log_normalizer: FloatArray = -0.5 * (D * np.log(2 * np.pi) + log_det + (S_mu * mu).sum(axis=-1))
    return log_normalizer


def _inverse_and_log_det(Sigma: FloatArray) -> tuple[FloatArray, FloatArray]:
    try:
        L_inv = np.linalg.inv(np.linalg.cholesky(Sigma))
    except np.linalg.LinAlgError:
        raise ValueError(
            "A covariance is not positive definite; add a small multiple of the identity to it."
        ) from None
    diagonal = np.diagonal(L_inv, axis1=-2, axis2=-1)
    return np.swapaxes(L_inv, -1, -2) @ L_inv, -2.0 * np.log(diagonal).sum(axis=-1)


def _product(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    product: FloatArray = (matrix @ vector[..., None])[..., 0]
    return product


def _precision_matrix(w: FloatArray, D: int) -> FloatArray:
    """The S with the quadratic weights of w: (..., D, D)."""
    H = n_monomials(D, CovarianceType.FULL)
    if w.shape[-1] != H:
        raise ValueError(
            f"w has {w.shape[-1]} weights, but full quadratic features of {D} variables are {H}; "
            f"put zeros where weights were pruned."
        )
    i, j = np.triu_indices(D)
    S = np.zeros((*w.shape[:-1], D, D))
    S[..., i, j] = -w[..., 1 + D :]
    return S + np.swapaxes(S, -1, -2)  # s_ii = -2 w_ii, s_ij = s_ji = -w_ij


def is_gaussian(w: ArrayLike, n_features: int) -> BoolArray:
    """Whether the quadratic form of w is negative definite, whatever the units of x.

    Parameters
    ----------
    w : (..., H) array
        Weights of full quadratic features (Eq. 2).
    n_features : int
        D.

    Returns
    -------
    is_gaussian : (...) boolean array

    Examples
    --------
    >>> is_gaussian([[0.0, 1.0, -0.5], [0.0, 1.0, 0.5]], n_features=1)
    array([ True, False])
    """
    S = _precision_matrix(np.asarray(w, dtype=np.float64), n_features)
    diagonal = np.diagonal(S, axis1=-2, axis2=-1)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    smallest = np.linalg.eigvalsh(S / scale[..., :, None] / scale[..., None, :])[..., 0]
    # a direction in which x has no say leaves an eigenvalue of rounding errors
    return np.asarray(smallest > n_features * np.finfo(np.float64).eps)


def gaussian_from_weights(w: ArrayLike, n_features: int) -> Gaussian:
    """The Gaussian that w was collapsed from (Eq. 6 backwards).

    Parameters
    ----------
    w : (..., H) array
        Weights of full quadratic features (Eq. 2), zeros where weights were pruned.
    n_features : int
        D.

    Raises
    ------
    ValueError
        If a quadratic form is not negative definite; `is_gaussian` says which.

    Examples
    --------
    >>> mean, covariance, _ = gaussian_from_weights([0.0, 1.0, -0.25], n_features=1)
    >>> mean, covariance
    (array([2.]), array([[2.]]))
    """
    w = np.asarray(w, dtype=np.float64)
    D = n_features
    n_open = np.sum(~is_gaussian(w, D))
    if n_open:
        raise ValueError(
            f"The quadratic form of {n_open} of {w[..., 0].size} weight vectors is not negative "
            f"definite, so there is no covariance; select with is_gaussian(w, n_features) first."
        )
    Sigma, log_det_S = _inverse_and_log_det(_precision_matrix(w, D))
    linear = w[..., 1 : 1 + D]
    mu = _product(Sigma, linear)
    return Gaussian(mu, Sigma, w[..., 0] - _log_normalizer(mu, linear, -log_det_S))
