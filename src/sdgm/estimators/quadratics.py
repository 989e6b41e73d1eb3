"""The scores of a fitted mixture as quadratic functions of the user's inputs, and as Gaussians."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from scipy.special import logsumexp

from sdgm._typing import FloatArray
from sdgm.core.model.features import ABSENT, SQUARED_NORM, Monomials, monomials
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.model.gaussians import gaussian_from_weights, is_gaussian
from sdgm.core.model.kernels import LinearKernel, PolynomialKernel

# Newton's method for the shared form ends at this decrement, far below what a plot can show
DECREMENT = 1e-12
# maximum number of steps: it converges quadratically if such a form exists
MAX_NEWTON = 200


def quadratic_weights(model: FittedModel) -> FloatArray:
    """Weights w with ``w_k'phi(x) = ln pi_k + score of component k``, x in the user's units.

    For the original form with any covariance, and the dual form with a linear kernel or a
    polynomial one of degree one or two: its kernels ``(gamma z'x + coef0)^2`` are quadratic in x,
    so that the weighted sum over relevance vectors is again one quadratic function.

    Parameters
    ----------
    model : FittedModel

    Returns
    -------
    w : (n_components, H) array
        In the order of ``monomials(D, "full")``.

    Examples
    --------
    >>> from sdgm import KernelSDGMClassifier
    >>> from sdgm.core.model.features import monomials
    >>> from sdgm.datasets import make_ripley
    >>> X, y, _, _ = make_ripley().split()
    >>> model = KernelSDGMClassifier(3, random_state=0, teacher=None).fit(X, y)
    >>> scores = monomials(2).transform(X) @ quadratic_weights(model.model_).T
    >>> P_cm = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    >>> np.allclose(P_cm, model.predict_component_proba(X))
    True
    """
    S, center = model.scaler.inverse_scale, model.scaler.center
    constant, a, Q = standardized_form(model.basis, model.coef, len(center))
    b = constant + model.intercept + np.log(model.mixture_weights)
    # z = S (x - center)
    a, Q = a * S, Q * S * S[:, None]
    return _flattened(b - a @ center + center @ Q @ center, a - 2.0 * Q @ center, Q)


def standardized_form(
    basis: Any, coef: FloatArray, D: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weighted sums of columns as ``b_k + a_k'z + z'Q_k z`` in standardised z.

    Parameters
    ----------
    basis : Monomials or KernelBasis
        Of the columns.
    coef : (K, n_columns) array
    D : int

    Returns
    -------
    b : (K,) array
    a : (K, D) array
    Q : (K, D, D) array
        Symmetric.

    Raises
    ------
    ValueError
        If the columns are not quadratic functions.
    """
    if isinstance(basis, Monomials):
        return _sum_of_monomials(basis, coef, D)
    kernel = getattr(basis, "kernel", None)
    if isinstance(kernel, LinearKernel):
        kernel = PolynomialKernel(degree=1, coef0=0.0)
    if not (isinstance(kernel, PolynomialKernel) and kernel.degree <= 2):
        raise ValueError(
            f"components of the kernel {kernel or 'precomputed'} are not quadratic functions of "
            f"the inputs; use kernel='poly' with degree=2, or BoundaryDisplay."
        )
    Z, c = kernel.gamma * basis.vectors, kernel.coef0
    if kernel.degree == 1:
        return c * coef.sum(axis=1), coef @ Z, np.zeros((len(coef), D, D))
    # (z'v + c)^2 = (z'v)^2 + 2 c z'v + c^2
    Q = np.stack([(Z.T * own) @ Z for own in coef])
    return c**2 * coef.sum(axis=1), 2.0 * c * coef @ Z, Q


def _sum_of_monomials(
    basis: Monomials, coef: FloatArray, D: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    K = len(coef)
    b, a, Q = np.zeros(K), np.zeros((K, D)), np.zeros((K, D, D))
    for w, i, j in zip(coef.T, basis.first, basis.second, strict=True):
        if i == ABSENT:
            b += w
        elif i == SQUARED_NORM:
            Q += w[:, None, None] * np.eye(D)
        elif j == ABSENT:
            a[:, i] += w
        else:
            Q[:, i, j] += 0.5 * w
            Q[:, j, i] += 0.5 * w
    return b, a, Q


def _flattened(b: FloatArray, a: FloatArray, Q: FloatArray) -> FloatArray:
    """Weights of full quadratic features, from constants, linear vectors and matrices."""
    i, j = np.triu_indices(a.shape[-1])
    quadratic = np.where(i == j, 1.0, 2.0) * Q[..., i, j]
    return np.concatenate([b[..., None], a, quadratic], axis=-1)


def shared_form(w: FloatArray, X: FloatArray) -> FloatArray:
    """The form g that makes the components w + g Gaussians with the spread of the rows.

    A quadratic form added to all components leaves every posterior as it is. Among the mixtures
    that have the posteriors of w, this one, ``exp((w_k + g)'phi(x))`` summed over k, is the most
    likely for the rows: it has their mean and covariance, and it sums to one. The log likelihood is
    strictly concave in g, and the integral over x keeps it off the forms that are not Gaussians.

    Parameters
    ----------
    w : (K, H) array
        Weights of full quadratic features.
    X : (N, D) array
        Rows that span all D directions.

    Returns
    -------
    g : (H,) array

    Raises
    ------
    ValueError
        If the rows lie on a line, or no such form was found.

    Examples
    --------
    >>> w = np.array([[0.0, -1.0, 0.0], [0.0, 1.0, 0.0]])  # two linear scores of one input
    >>> g = shared_form(w, np.array([[-2.0], [-1.0], [1.0], [2.0]]))
    >>> mean, covariance, log_share = gaussian_from_weights(w + g, 1)
    >>> np.exp(log_share)
    array([0.5, 0.5])
    >>> float(np.mean(mean**2) + np.mean(covariance))  # the rows' variance
    2.5
    """
    D = X.shape[1]
    center = X.mean(axis=0)
    try:
        # x = center + L z, so that z has mean zero and covariance one
        L = np.linalg.cholesky(np.atleast_2d(np.cov(X.T, bias=True)))
    except np.linalg.LinAlgError:
        raise ValueError(
            "the rows lie on a line, so that no Gaussian is as wide as they are; use shared='zero'."
        ) from None
    to_z = _change_of_variables(L, center)
    g = _fitted_form(w @ to_z, D)
    # the constant makes the mixture sum to one over x instead of z
    g[0] -= np.log(np.diagonal(L)).sum()
    return np.asarray(np.linalg.solve(to_z.T, g), dtype=np.float64)


def _change_of_variables(L: FloatArray, center: FloatArray) -> FloatArray:
    """The matrix with ``phi(center + L z) = matrix @ phi(z)``: (H, H)."""
    D = len(center)
    terms = monomials(D)
    b, a, Q = _sum_of_monomials(terms, np.eye(len(terms)), D)
    # of each monomial of x, as a function of z
    return _flattened(
        b + a @ center + center @ Q @ center,
        (a + 2.0 * Q @ center) @ L,
        np.swapaxes(L, 0, 1) @ Q @ L,
    )


def _fitted_form(w: FloatArray, D: int) -> FloatArray:
    """Newton's method for g at rows of mean zero and covariance one, with step halving."""
    target = _flattened(np.array(1.0), np.zeros(D), np.eye(D))  # mean of phi over the rows
    form = _sum_of_monomials(monomials(D), w, D)[2]
    largest = max(0.0, float(np.linalg.eigvalsh(form).max()))
    # below every form, so that all components are Gaussians
    g = _flattened(np.array(0.0), np.zeros(D), -(largest + 0.5) * np.eye(D))
    value, grad, hessian = _log_integral(w + g, D)
    for _ in range(MAX_NEWTON):
        step = np.linalg.solve(hessian, target[1:] - grad)
        decrement = float(step @ hessian @ step)
        if decrement < DECREMENT:
            g[0] = -value
            return g
        size = 1.0
        while True:
            trial = g.copy()
            trial[1:] += size * step
            if is_gaussian(w + trial, D).all():
                new = _log_integral(w + trial, D)
                gain = value - new[0] + (trial - g) @ target
                if gain >= 0.1 * size * decrement or size < 1e-9:
                    break
            size /= 2.0
        g, (value, grad, hessian) = trial, new
    raise ValueError(
        f"no form that fits the rows was found in {MAX_NEWTON} steps, since the components differ "
        f"too much; use shared='zero'."
    )


def _log_integral(w: FloatArray, D: int) -> tuple[float, FloatArray, FloatArray]:
    """``ln sum_k`` of the integral of exp(w_k'phi(z)), with gradient and Hessian in g[1:].

    They are the mean and covariance of phi under the mixture, by Gauss-Hermite quadrature with
    three points per input, which is exact for fourth moments.
    """
    mean, Sigma, log_share = gaussian_from_weights(w, D)
    value = float(logsumexp(log_share))
    node, weight = np.polynomial.hermite_e.hermegauss(3)
    nodes = np.array(list(product(node, repeat=D)))  # (3^D, D)
    weights = np.prod(list(product(weight / weight.sum(), repeat=D)), axis=1)
    z = mean[:, None] + nodes @ np.swapaxes(np.linalg.cholesky(Sigma), -1, -2)  # (K, 3^D, D)
    P = (np.exp(log_share - value)[:, None] * weights).ravel()
    Phi = monomials(D).transform(z.reshape(-1, D))[:, 1:]
    grad = P @ Phi
    centered = Phi - grad
    return value, grad, (centered * P[:, None]).T @ centered
