"""What a fit needs of memory, by arithmetic on shapes.

The counts of copies are those of the arrays that are alive at once where most of them are, compared
with measured peaks in ``tests/estimators/test_footprint.py``. They are of the first pass, with all
weights there; what pruning saves later on is nobody's to know.
"""

from __future__ import annotations

import numpy as np

from sdgm.core.data.rows import block_size
from sdgm.core.graph import MAX_DENSE
from sdgm.core.inference.learning import LITTLE_WORK, uses_blocks
from sdgm.core.inference.presets import Options, Solver
from sdgm.core.selection.reference import MANY_CLASSES, MAX_RANK, MAX_RANK_MANY_CLASSES
from sdgm.core.solvers.block_precision import KEPT_NUMBERS
from sdgm.core.solvers.newton import MAX_OBSERVED

NUMBER = 8.0  # bytes
# the table: as given, sorted with its labels, standardised
TABLE_COPIES = 3
# columns of the design that are factorised or scaled: themselves, times the root of the weights,
# the copy that LAPACK works on, and its triangle
COLUMN_COPIES = 4
# of a kernel with explicit features: with a constant, scaled, two factors, times each other
EXPLICIT_COPIES = 6
# of a kernel's pivoted factor: itself, with a constant, as Z and R, and two while it is scaled
FACTOR_COPIES = 5.5
# of a kernel matrix: itself, with a constant, scaled, LAPACK's copy, and its two factors
GRAM_COPIES = 6
# values per weight: four arrays of the state, now and before, and what decides on their next alpha
WEIGHT_COPIES = 40
# rows at work: whitened columns, and their products with two kinds of posteriors
ROW_COPIES = 3
# Newton's matrices. A point has the curvature and its factor, two matrices. While the next point is
# computed there are a sum so far and a part of it, and from the second pass on the three matrices
# of the pass before, with its shrinkage. These are smaller where a pass prunes coordinates, which
# it does unless components have more weights than coordinates
DENSE_COPIES, DENSE_COPIES_BEFORE = 5, 3
# the same for the missing information, and its difference from the curvature
MISSING_COPIES = 3
# where there are fewer rows than coordinates: two points, and that of the pass before
ROW_SPACE_POINTS, ROW_SPACE_POINTS_BEFORE = 2.5, 0.5
# diagonal blocks: where the climb began and where it ends, a sum and a part of it
BLOCK_COPIES = 6
# more for every other thread that adds up
THREAD_COPIES = 3
# of the covariance of the weights: curvature, factor, inverse, two triangles, scaled
COVARIANCE_COPIES = 6
# of the factor of a dense reference model, and of its precisions: one for each variance tried
REFERENCE_COPIES, REFERENCE_POINTS = 6.5, 7


def feature_bytes(N: int, D: int, H: int) -> float:
    """To make H features of N rows with D inputs into a design."""
    small = min(N, H)  # rows of square factors: the identity or singular vectors, scaled
    return NUMBER * (TABLE_COPIES * N * D + COLUMN_COPIES * N * H + 3 * small**2)


def explicit_bytes(N: int, D: int, n_features: int) -> float:
    """To make the explicit features of a kernel into a design."""
    return NUMBER * (TABLE_COPIES * N * D + EXPLICIT_COPIES * N * n_features)


def factor_bytes(N: int, D: int, rank: int) -> float:
    """To make a kernel into a design by a factorisation of this rank."""
    return NUMBER * (TABLE_COPIES * N * D + FACTOR_COPIES * N * rank)


def gram_bytes(N: int, D: int, n_columns: int) -> float:
    """To make a matrix of kernel values into a design."""
    return NUMBER * (TABLE_COPIES * N * D + GRAM_COPIES * N * n_columns)


def learning_bytes(
    table: tuple[int, int],
    n_columns: int,
    rank: int,
    n_components: int,
    n_classes: int,
    options: Options,
    n_threads: int = 1,
) -> float:
    """To learn with a design.

    Parameters
    ----------
    table : (int, int)
        Rows and inputs.
    n_columns : int
        H, the candidate columns.
    rank : int
        p, that of the design.
    n_components : int
        K of all classes.
    n_classes : int
    options : Options
    n_threads : int
        Threads that share the rows.
    """
    (N, D), H, p, M = table, n_columns, rank, n_components
    K = n_free(M, options)
    has_more_weights = p < H
    # factors of the columns of each component; a square design is scaled, and nothing else
    whitening = 0 if is_square(N, H, p) else K * H * p
    whitening += K * p**2 if has_more_weights else 0
    # the table, the design, responsibilities
    data = TABLE_COPIES * N * D + N * p + H * p + 2 * N * M
    lasts = has_more_weights or not options.learn_alpha
    observed = not options.learn_alpha and options.em_gradient and n_classes < M
    newton = newton_numbers(N, p, K, options, n_threads, lasts=lasts, observed=observed)
    return NUMBER * (data + whitening + WEIGHT_COPIES * K * H + newton)


def newton_numbers(
    N: int, p: int, K: int, options: Options, n_threads: int, *, lasts: bool, observed: bool
) -> float:
    """Numbers of the matrices of Newton's method, in the form that it will choose.

    ``lasts`` says that the second pass has as many coordinates as the first, ``observed`` that the
    missing information is computed too.
    """
    m = K * p
    if uses_blocks(N, np.full(K, float(p)), p, options):
        copies = BLOCK_COPIES + THREAD_COPIES * (n_threads - 1)
        kept = 2 * N * K if N * K <= KEPT_NUMBERS else 0  # posteriors, from product to product
        by_blocks = copies * m * p + ROW_COPIES * p * min(N, block_size(p)) + kept
        return max(by_blocks, later_numbers(N, m) if options.solver is Solver.AUTO else 0.0)
    if m > N and not (observed and m <= MAX_OBSERVED):
        points = ROW_SPACE_POINTS + (ROW_SPACE_POINTS_BEFORE if lasts else 0.0)
        return points * row_space_numbers(N, p, K) + 2 * m * N  # whitened rows, perhaps weighted
    copies = DENSE_COPIES + THREAD_COPIES * (n_threads - 1)
    copies += (DENSE_COPIES_BEFORE if lasts else 0) + (MISSING_COPIES if observed else 0)
    return copies * m**2 + ROW_COPIES * m * min(N, block_size(m))


def later_numbers(N: int, m: int) -> float:
    """Numbers of the whole matrix, once so many coordinates are left that it is little work."""
    # N m^2 + m^3 = LITTLE_WORK
    little = float(np.roots([1.0, N, 0.0, -LITTLE_WORK]).real.max())
    return DENSE_COPIES * min(m, little) ** 2


def n_free(n_components: int, options: Options) -> int:
    """Components that have weights: not all where one is pinned, or of two says it all."""
    if options.pinned or (options.few_weights and n_components == 2):
        return n_components - 1
    return n_components


def is_square(N: int, H: int, p: int) -> bool:
    """Whether the columns of the design are its coordinates, as those of few features are."""
    return p == H <= N


def row_space_numbers(N: int, p: int, K: int) -> float:
    """Of a precision of few rows: per component two matrices and a factor; two for the rows."""
    return K * (2.0 * p**2 + p * N) + 2.0 * N**2


def covariance_bytes(n_weights: int) -> float:
    """To compute the covariance of so many weights."""
    return COVARIANCE_COPIES * NUMBER * n_weights**2


def reference_bytes(N: int, n_labelled: int, n_classes: int) -> float:
    """To fit the dense models that settings are chosen by."""
    max_rank = MAX_RANK if n_classes <= MANY_CLASSES else MAX_RANK_MANY_CLASSES
    p = min(n_labelled, max_rank)
    K = 1 if n_classes == 2 else n_classes
    point = 2.0 * (K * p) ** 2 if K * p <= N else row_space_numbers(N, p, K)
    return NUMBER * (REFERENCE_COPIES * N * p + REFERENCE_POINTS * point)


def clusters_bytes(N: int, D: int, n_clusters: int) -> float:
    """To find what is near what: covariances, shaped, with a floor, factorised; and a graph."""
    return NUMBER * (4.0 * n_clusters * D**2 + 2.5 * min(N, MAX_DENSE) ** 2)


def process_bytes(K: int, N: int) -> float:
    """To fit a mixture of K Gaussian processes to N rows.

    A matrix of the rows per component, the kernel matrix, and what one component is made by.
    """
    return NUMBER * (K + 7.0) * N**2
