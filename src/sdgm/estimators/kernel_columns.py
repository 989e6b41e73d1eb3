"""Which training rows can become relevance vectors."""

from __future__ import annotations

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.model.design import pivoted_cholesky
from sdgm.core.model.kernels import Kernel
from sdgm.estimators.problem import Problem

# components times columns up to which all rows can become relevance vectors when a reference is
# learned, and how many can at least
MAX_SPREAD = 4_000
MIN_CANDIDATES = 100
# candidates beyond which only those that lie apart can, unless the kernel has few explicit
# features: as many, or until the others' kernel values are known to this share of the largest
MANY_CANDIDATES = 8_192
MAX_VECTORS = 256
SPREAD_TOLERANCE = 1e-2


def spread_candidates(kernel: Kernel, candidates: FloatArray, problem: Problem) -> IntArray | None:
    """Which rows can be relevance vectors, where not all can; None for all.

    Rows that lie apart, as the pivots of a Cholesky factorisation do, can say nearly what all of
    them could: when a reference is learned, which is smooth, by many components; and when there
    are many rows and a kernel without few explicit features.
    """
    size = kernel.explicit_size(candidates.shape[1])
    rank = len(candidates) if size is None else min(len(candidates), size)
    has_labels = problem.y.ndim == 1
    if has_labels and (rank <= MAX_VECTORS or len(candidates) <= MANY_CANDIDATES):
        return None
    diagonal = kernel.diagonal(candidates)
    if has_labels:
        if diagonal is None:  # nothing tells which lie apart
            return np.linspace(0, len(candidates) - 1, MAX_VECTORS).astype(np.intp)
        spread = pivoted_cholesky(kernel, candidates, diagonal, SPREAD_TOLERANCE, MAX_VECTORS)[1]
        return np.sort(spread)
    n_components = int(problem.n_components.sum())
    if diagonal is None or n_components * rank <= MAX_SPREAD:
        return None
    n_kept = max(MAX_SPREAD // n_components, MIN_CANDIDATES)
    return np.sort(pivoted_cholesky(kernel, candidates, diagonal, max_rank=n_kept)[1])
