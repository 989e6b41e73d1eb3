"""The collapse of Gaussians into weights (Eq. 6), which `gaussian_from_weights` undoes."""

from __future__ import annotations

from typing import assert_never

import numpy as np
from numpy.typing import ArrayLike

from sdgm._choice import choice
from sdgm._typing import FloatArray
from sdgm.core.model.features import CovarianceType


def weights_from_gaussian(
    mean: ArrayLike,
    covariance: ArrayLike,
    mixture_weight: ArrayLike = 1.0,
    covariance_type: str = CovarianceType.FULL,
) -> FloatArray:
    """Weights with ``exp(w'phi(x)) = mixture_weight N(x | mean, covariance)`` (collapse, Eq. 6).

    Covariances have the layout of scikit-learn's ``GaussianMixture``. For ``tied`` the quadratic
    term, which all components share, is left out: the weights are linear and only the posterior
    equals the Gaussians'. Appendix A prints these weights with the signs of ``D/2 ln 2 pi`` and
    ``1/2 ln |Sigma|`` flipped; here they are as in Eq. 6.

    Parameters
    ----------
    mean : (..., D) array
        One mean or one per component, as (K, D).
    covariance : array
        By ``covariance_type``: ``full`` (..., D, D), ``diag`` (..., D) variances, ``spherical``
        (...) variances, ``tied`` one (D, D) matrix.
    mixture_weight : (...) array
        Positive; its log is added to the constant term. Pass 1 where pi is kept apart.
    covariance_type : {"full", "diag", "spherical", "tied"}

    Returns
    -------
    w : (..., H) array
        In the order of `sdgm.core.model.features.monomials`.

    Examples
    --------
    >>> weights_from_gaussian([1.0, 0.0], [[1.0, 0.0], [0.0, 0.5]]).round(4)
    array([-1.9913,  1.    ,  0.    , -0.5   , -0.    , -1.    ])
    """
    mu, Sigma = np.asarray(mean, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    kind = choice("covariance_type", covariance_type, CovarianceType)
    linear, quadratic, log_det = _natural_parameters(mu, Sigma, kind)
    constant = _log_normalizer(mu, linear, log_det) + np.log(mixture_weight)  # (...)
    shape = constant.shape
    return np.concatenate(
        [
            constant[..., None],
            np.broadcast_to(linear, shape + linear.shape[-1:]),
            np.broadcast_to(quadratic, shape + quadratic.shape[-1:]),
        ],
        axis=-1,
    )


def _natural_parameters(
    mu: FloatArray, Sigma: FloatArray, covariance_type: CovarianceType
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Linear weights ``S mu``, quadratic weights from S, and ``ln |Sigma|``, with S = Sigma^-1."""
    match covariance_type:
        case CovarianceType.FULL:
            S, log_det = _inverse_and_log_det(Sigma)
            return _product(S, mu), _upper_triangle(S), log_det
        case CovarianceType.TIED:
            S, log_det = _inverse_and_log_det(Sigma)
            return _product(S, mu), np.empty((0,)), log_det
        case CovarianceType.DIAG:
            _check_positive(Sigma)
            return mu / Sigma, -0.5 / Sigma, np.log(Sigma).sum(axis=-1)
        case CovarianceType.SPHERICAL:
            _check_positive(Sigma)
            variance = Sigma[..., None]
            return mu / variance, -0.5 / variance, mu.shape[-1] * np.log(Sigma)
        case _:
            assert_never(covariance_type)


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


def _check_positive(variance: FloatArray) -> None:
    if not np.all(variance > 0):
        raise ValueError(f"Variances must be positive, got {variance.min()}; add a small number.")


def _product(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    product: FloatArray = (matrix @ vector[..., None])[..., 0]
    return product


def _upper_triangle(S: FloatArray) -> FloatArray:
    """Quadratic weights of Eq. 6: ``-s_ii / 2`` and, once for both (i, j) and (j, i), ``-s_ij``."""
    i, j = np.triu_indices(S.shape[-1])
    return np.where(i == j, -0.5, -1.0) * S[..., i, j]
