"""Functions that vary slowly along a graph of near rows, labelled or not: a manifold.

The kernel ``sum_i exp(-t lambda_i) u_i u_i'`` of the graph's Laplacian lets a label spread for a
time t along rows that are near one another, labelled or not.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackError, eigsh

from sdgm._typing import FloatArray, IntArray

# the distance of the seventh neighbour is a point's own scale, as L. Zelnik-Manor and P. Perona
# have it in "Self-tuning spectral clustering", NIPS 2004
N_NEIGHBORS = 7
# least weight of an edge: a point far from all others stays tied to its neighbours
SMALLEST_TIE = 1e-6
# eigenvectors that are kept, of the smallest eigenvalues
MAX_EIGENVECTORS = 60
# points up to which the Laplacian is a full matrix, of 8 MB
MAX_DENSE = 1_000
# distances that are held at once: 32 MB
HELD_DISTANCES = 1 << 22


def graph_vectors(X: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Smallest eigenvalues of the random walk's Laplacian, and its eigenvectors.

    Parameters
    ----------
    X : (N, D) array
        Distinct points.

    Returns
    -------
    eigenvalues : (m,) array
    vectors : (N, m) array
        Of mean square about one. None where points are too few, or no eigenvectors are found.

    References
    ----------
    X. Zhu, J. Kandola, Z. Ghahramani and J. Lafferty, "Nonparametric transforms of graph kernels
    for semi-supervised learning", NIPS 2004.
    """
    N = len(X)
    if N < 2 * N_NEIGHBORS:
        return None
    index, distance = nearest(X, N_NEIGHBORS)
    # each point has its own scale: the distance of its last neighbour
    reach = distance[:, -1]
    weight = np.exp(-(distance**2) / (reach[:, None] * reach[index]))
    weight = np.maximum(weight, SMALLEST_TIE)
    rows = np.repeat(np.arange(N), N_NEIGHBORS)
    one_way = csr_array((weight.ravel(), (rows, index.ravel())), shape=(N, N))
    W = one_way.maximum(one_way.T)
    degree = np.asarray(W.sum(axis=1)).ravel()
    root = np.sqrt(degree)
    S = csr_array(W / root[:, None] / root[None, :])
    m = min(MAX_EIGENVECTORS, N - 1)
    try:
        values, U = largest_eigenvectors(S, m)
    except (ArpackError, np.linalg.LinAlgError):
        return None
    vectors = U / root[:, None]
    vectors *= np.sqrt(N * degree.mean())
    return np.maximum(1.0 - values, 0.0), vectors


def largest_eigenvectors(S: csr_array, m: int) -> tuple[FloatArray, FloatArray]:
    """The m largest eigenvalues, from the largest, and their eigenvectors."""
    N = S.shape[0]
    if N <= MAX_DENSE:
        values, U = eigh(S.toarray(), subset_by_index=(N - m, N - 1))
    else:
        start = np.random.RandomState(0).normal(size=N)
        values, U = eigsh(S, m, which="LA", v0=start, tol=1e-6)
        order = np.argsort(values)
        values, U = values[order], U[:, order]
    return values[::-1], U[:, ::-1]


def nearest(X: FloatArray, k: int) -> tuple[IntArray, FloatArray]:
    """The k nearest other points of each, the nearest first, and their distances: (N, k) both."""
    N = len(X)
    squares = np.einsum("nd,nd->n", X, X)
    index = np.empty((N, k), dtype=np.intp)
    step = max(HELD_DISTANCES // N, 1)
    for first in range(0, N, step):
        block = slice(first, min(first + step, N))
        squared = squares - 2.0 * (X[block] @ X.T)
        squared[np.arange(block.stop - first), np.arange(first, block.stop)] = np.inf
        index[block] = np.argpartition(squared, k - 1, axis=1)[:, :k]
    # distances again, point by point: the difference of squares cancels
    distance = np.sqrt(((X[:, None, :] - X[index]) ** 2).sum(axis=2))
    order = np.argsort(distance, axis=1, kind="stable")
    index, distance = np.take_along_axis(index, order, 1), np.take_along_axis(distance, order, 1)
    return index, np.maximum(distance, np.finfo(float).tiny ** 0.25)
