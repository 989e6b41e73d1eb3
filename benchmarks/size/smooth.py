"""Logistic regression, kernel machines, networks and Gaussian mixtures along their sizes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.mixture import GaussianMixture
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

from benchmarks.size.small import Small
from sdgm.core.model.features import ABSENT, Monomials, monomials

LARGEST = 1_000  # numbers
PATH = tuple(np.logspace(-2.5, 2.0, 16).tolist())  # costs of L1 logistic regression
# quadratic terms beyond which there are squares only
MOST_TERMS = 600
CENTRES, SCALES, COSTS = (1, 2, 3, 4, 6, 8, 12, 17, 25, 40, 60, 100, 160, 300), (0.3, 1, 3), (1, 30)
RVM_SCALES = (0.1, 0.3, 1.0, 3.0)
UNITS, DECAYS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64), (0.1, 1.0)
PARTS, COVARIANCES = (1, 2, 3, 5, 8), ("spherical", "diag", "full")


def linear(X: Any, y: Any, seed: int) -> Iterator[Small]:
    return l1(monomials(X.shape[1], "tied"), X, y, seed)


def quadratic(X: Any, y: Any, seed: int) -> Iterator[Small]:
    terms = monomials(X.shape[1], "full")
    return l1(terms if len(terms) <= MOST_TERMS else monomials(X.shape[1], "diag"), X, y, seed)


def l1(terms: Monomials, X: Any, y: Any, seed: int) -> Iterator[Small]:
    """Along the path of costs."""
    terms = terms.without_constant()
    scaler = StandardScaler().fit(X)
    Phi = terms.transform(scaler.transform(X))
    norms = StandardScaler().fit(Phi)

    def features(X: Any) -> Any:
        return norms.transform(terms.transform(scaler.transform(X)))

    model = LogisticRegression(
        l1_ratio=1.0, solver="saga", tol=1e-3, max_iter=1000, warm_start=True, random_state=seed
    )
    for cost in PATH:
        with warnings.catch_warnings(action="ignore"):
            model.set_params(C=cost).fit(norms.transform(Phi), y)
        coef, intercept = model.coef_.copy(), model.intercept_.copy()
        n_weights = int(np.count_nonzero(coef))
        centres = n_centres(terms.take((coef != 0.0).any(axis=0)))
        numbers = n_weights + max(len(intercept) - 1, 1) + centres
        yield Small(f"C = {cost:.3g}", numbers, 2 * n_weights,
                    partial(softmax_of, coef, intercept, features))  # fmt: skip


def n_centres(terms: Monomials) -> int:
    """Inputs in products, which must be centred first; a linear term takes it into the offset."""
    products = terms.second != ABSENT
    return len(np.unique(np.concatenate([terms.first[products], terms.second[products]])))


def softmax_of(coef: Any, intercept: Any, features: Any, X: Any) -> Any:
    scores = features(X) @ coef.T + intercept
    if scores.shape[1] == 1:
        P = expit(scores)
        return np.hstack([1.0 - P, P])
    return softmax(scores, axis=1)


def kernel_size(n: int, D: int, n_weights: int, n_classes: int) -> tuple[int, int]:
    """Vectors in the user's units and the scale of every input, weights and offsets."""
    return n * D + D + n_weights + n_classes - 1, 0


def reduced_set(X: Any, y: Any, seed: int) -> Iterator[Small]:
    """Kernel logistic regression at centres of k-means, a reduced set in place of all rows."""
    (N, D), C = X.shape, int(y.max()) + 1
    scaler = StandardScaler().fit(X)
    Z = scaler.transform(X)
    per_vector = 1 if C == 2 else C
    for n in CENTRES:
        size = kernel_size(n, D, n * per_vector, C)
        if n >= N or size[0] > LARGEST:
            return
        V = KMeans(n, n_init=1, random_state=seed).fit(Z).cluster_centers_
        for scale, cost in product(SCALES, COSTS):
            features = partial(rbf_at, scaler, V, scale / D)
            model = LogisticRegression(C=cost, max_iter=1000).fit(features(X), y)
            proba = partial(softmax_of, model.coef_, model.intercept_, features)
            yield Small(f"{n} centres, scale {scale:g}, C = {cost:g}", *size, proba)


def rbf_at(scaler: Any, V: Any, gamma: float, X: Any) -> Any:
    return rbf_kernel(scaler.transform(X), V, gamma=gamma)


def relevance_vectors(X: Any, y: Any, seed: int) -> Iterator[Small]:
    """The relevance vector machine of fastrvm, for two classes."""
    from fastrvm import RVC

    D = X.shape[1]
    scaler = StandardScaler().fit(X)
    for scale in RVM_SCALES:
        model = RVC(gamma=scale / D).fit(scaler.transform(X), y)
        n = len(model.relevance_vectors_)
        yield Small(f"scale {scale:g}", *kernel_size(n, D, n, 2),
                    partial(after_scaling, scaler, model))  # fmt: skip


def after_scaling(scaler: Any, model: Any, X: Any) -> Any:
    return model.predict_proba(scaler.transform(X))


def network(X: Any, y: Any, seed: int) -> Iterator[Small]:
    """One hidden layer, weights rounded to eight bits."""
    D, C = X.shape[1], int(y.max()) + 1
    outputs = 1 if C == 2 else C
    scaler = StandardScaler().fit(X)
    Z = scaler.transform(X)
    for units, decay in product(UNITS, DECAYS):
        numbers = units * (D + 1) + outputs * (units + 1)
        if numbers > LARGEST:
            return
        with warnings.catch_warnings(action="ignore"):
            model = MLPClassifier(
                (units,), solver="lbfgs", alpha=decay, max_iter=500, random_state=seed
            ).fit(Z, y)
        model.coefs_ = [rounded(layer) for layer in model.coefs_]
        model.intercepts_ = [rounded(layer) for layer in model.intercepts_]
        # the steps of rounding take four bytes each
        yield Small(f"{units} units, alpha {decay:g}", numbers, 4 * 4,
                    partial(after_scaling, scaler, model), short=numbers)  # fmt: skip


def rounded(weights: Any) -> Any:
    """To whole numbers up to 127 times a step."""
    step = np.abs(weights).max() / 127.0
    return np.rint(weights / step) * step if step > 0.0 else weights


def gaussian_mixtures(X: Any, y: Any, seed: int) -> Iterator[Small]:
    """One mixture per class, and Bayes' rule."""
    D, C = X.shape[1], int(y.max()) + 1
    scaler = StandardScaler().fit(X)
    Z, log_share = scaler.transform(X), np.log(np.bincount(y) / len(y))
    of_covariance = {"spherical": 1, "diag": D, "full": D * (D + 1) // 2}
    for kind, n in product(COVARIANCES, PARTS):
        per_part = D + of_covariance[kind] + 1  # mean, covariance and offset
        # spherical in standardised inputs: their scales are kept too
        numbers = C * n * per_part - 1 + (D if kind == "spherical" else 0)
        if numbers > LARGEST or np.bincount(y).min() < 2 * n:
            continue
        with warnings.catch_warnings(action="ignore"):
            mixtures = [
                GaussianMixture(n, covariance_type=kind, reg_covar=1e-2, random_state=seed)
                .fit(Z[y == c]) for c in range(C)
            ]  # fmt: skip
        yield Small(f"{n} {kind}", numbers, 0, partial(bayes, scaler, mixtures, log_share))


def bayes(scaler: Any, mixtures: Any, log_share: Any, X: Any) -> Any:
    Z = scaler.transform(X)
    scores = np.stack([mixture.score_samples(Z) for mixture in mixtures], axis=1)
    return softmax(scores + log_share, axis=1)
