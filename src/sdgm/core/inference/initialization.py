"""Initialisation (Appendix C): zero weights, one alpha, uniform pi, r from clusters.

It depends on the sorted distinct rows with their summed weights, and on a seed that is the same for
every class. Therefore it is invariant to the order of the rows, to repeated rows instead of weights
and to the names of the classes.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from sdgm._typing import FloatArray, IntArray, LabelArray
from sdgm.core.mixtures.gaussian_mixture import em, with_floor
from sdgm.core.mixtures.kmeans import kmeans
from sdgm.core.model.state import State


class Start(StrEnum):
    """How the initial responsibilities are computed."""

    KMEANS = "kmeans"
    GMM = "gmm"
    RANDOM = "random"


def initial_state(
    n_columns: int,
    n_components: IntArray,
    class_share: FloatArray,
    *,
    alpha: float = 1.0,
    pinned: bool = False,
) -> State:
    """Zero weights on every column of every component, and pi uniform within each class.

    Parameters
    ----------
    n_columns : int
        H, the number of columns of the design.
    n_components : (C,) integer array
        M_c of each class.
    class_share : (C,) array
        Sum of pi within each class.
    alpha : float
        Precision of every weight.
    pinned : bool
        Whether the last component of the last class has no weights, as a reference.
    """
    component_class = np.repeat(np.arange(len(n_components)), n_components)
    K = len(component_class)
    n_free = K - 1 if pinned else K
    component = np.repeat(np.arange(n_free), n_columns)
    return State(
        w=np.zeros(len(component)),
        alpha=np.full(len(component), float(alpha)),
        component=component,
        column=np.tile(np.arange(n_columns), n_free),
        pi=(class_share / n_components)[component_class],
        component_class=component_class,
    )


def distinct_rows(X: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Sorted distinct rows, their summed weights, and the index of each row among them.

    Returns
    -------
    rows : (n, D) array
    weights : (n,) array
    inverse : (N,) integer array
    """
    order = np.lexsort(X.T[::-1])
    sorted_X = X[order]
    new = np.ones(len(X), dtype=bool)
    new[1:] = (sorted_X[1:] != sorted_X[:-1]).any(axis=1)
    index = np.cumsum(new) - 1
    inverse = np.empty(len(X), dtype=np.intp)
    inverse[order] = index
    weights: FloatArray = np.bincount(index, s[order]).astype(np.float64)
    return sorted_X[new], weights, inverse


def initial_responsibilities(
    X: FloatArray,
    y: LabelArray,
    s: FloatArray,
    n_components: IntArray,
    start: Start,
    seed: int,
) -> FloatArray:
    """Responsibilities of the first M-step: (N, K), column-major, zero outside the own class.

    Parameters
    ----------
    X : (N, D) array
        Coordinates to cluster.
    y : (N,) integer array or (N, C) array
        Class indices, or frequencies of the classes.
    s : (N,) array
        Sample weights.
    n_components : (C,) integer array
    start : Start
        `kmeans` (Appendix C), `gmm` (posterior of Gaussian mixtures, one per class) or `random`.
        The first M-step is concave in w, so only the responsibilities matter: initial weights from
        Gaussians would lead to the same result.
    seed : int
    """
    starts = np.concatenate([[0], np.cumsum(n_components)])
    r = np.zeros((len(X), starts[-1]), order="F")
    for c, M in enumerate(n_components):
        frequency = y[:, c] if y.ndim == 2 else y == c
        own = np.flatnonzero(frequency)
        if M == 1:
            r[own, starts[c]] = frequency[own]
            continue
        points, weights, inverse = distinct_rows(X[own], s[own] * frequency[own])
        rng = np.random.RandomState(seed)  # the draws scikit-learn's KMeans would make
        if start is Start.RANDOM:
            soft = rng.dirichlet(np.ones(M), size=len(points))
        else:
            soft = np.eye(M)[kmeans(points, weights, M, rng)]
            if start is Start.GMM:
                regular = with_floor(points, weights)
                soft = em(points, weights, soft, regular).r
        r[own, starts[c] : starts[c + 1]] = frequency[own, None] * soft[inverse]
    return r
