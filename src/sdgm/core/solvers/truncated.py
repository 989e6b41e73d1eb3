"""The innermost loop for many components: Newton's method without Newton's matrix.

Directions come from truncated preconditioned conjugate gradients, whose products with the curvature
cost as much as a gradient: far from the mode a rough direction is as good as an exact one, and
steps stay within a trust radius. The diagonal blocks, which cost as much as dozens of products, are
computed once at the start of the climb, as preconditioner, and again at its end, for the evidence,
unless it has hardly moved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.data.rows import RowSource
from sdgm.core.objective.derivatives import Mixture
from sdgm.core.objective.whitening import Whitening
from sdgm.core.solvers.block_precision import (
    BlockPrecision,
    curvature_blocks,
    curvature_product,
    mean_block,
)
from sdgm.core.solvers.newton import (
    Climb,
    GradientPoint,
    NewtonPoint,
    Target,
    backtracking,
    gradient_point,
    log_posterior,
)

# conjugate gradients end when the residual has shrunk by this factor, rough to exact
ROUGH, EXACT = 0.1, 1e-3
# or after this many products, one and a half times `select.CG_PRODUCTS`: any result is an ascent
# direction, so that this only bounds the work of a step
MAX_PRODUCTS = 60
# least number of products after which the blocks are computed again, where that is less work
MANY_PRODUCTS = 30
# steps in place of one with Newton's matrix: they are rougher, and much less work
ROUGH_STEPS = 10
# trust radius relative to the step that was taken, in full or in part
FAR, NEAR = 4.0, 1.0
# gain in log posterior per component above which the blocks at the end are computed anew
ELSEWHERE = 0.1
# in place of `STEPS_TO_MODE` of the whole matrix, since each is `ROUGH_STEPS`
STEPS_BY_BLOCKS = 10


def climb_to(target: Target, rows: RowSource, whitening: Whitening, several: bool) -> Climb:
    """A climb by diagonal blocks; parameters are as in `newton.climb_to`."""
    # from an initial state, the components of a class must separate
    goes_far = target.to_mode or (rows.has_initial_r and several)
    follows_r = target.r_from is None and not rows.has_initial_r
    return partial(
        maximize_by_blocks,
        rows,
        whitening,
        max_steps=max(STEPS_BY_BLOCKS, target.max_steps) if goes_far else target.max_steps,
        tol=target.tol,
        r_from=target.r_from,
        observed=target.to_mode and follows_r and several,
        one_for_all=not target.exact_precision and whitening.is_alike,
    )


def maximize_by_blocks(
    rows: RowSource,
    whitening: Whitening,
    mixture: Mixture,
    theta: FloatArray,
    *,
    max_steps: int,
    tol: float,
    r_from: Mixture | None,
    observed: bool = False,
    one_for_all: bool = False,
) -> tuple[NewtonPoint, int]:
    """As `newton.maximize_over_w`, with the diagonal blocks as precision at the end.

    With ``one_for_all``, which takes components of the same columns, their mean is every block.
    """
    complete = r_from is not None or rows.has_initial_r

    at = partial(gradient_point, rows, whitening, r_from=r_from)

    def blocks_at(place: GradientPoint | NewtonPoint) -> BlockPrecision:
        blocks_of = mean_block if one_for_all else curvature_blocks
        curvature = blocks_of(rows, place.mixture, whitening)
        return BlockPrecision.from_blocks(whitening.coordinates, curvature)

    def height(place: GradientPoint | NewtonPoint) -> float:
        return log_posterior(place.fit, place.theta, complete=complete)

    def system(
        place: GradientPoint, blocks: BlockPrecision, residual: float, radius: float
    ) -> tuple[NewtonPoint, Path]:
        product = curvature_product(rows, place.mixture, whitening, observed=observed)
        path = conjugate_gradients(
            product, place.grad, Preconditioner.of(blocks, whitening), residual, radius
        )
        return place.with_step(blocks, path.end), path

    sizes = np.diff(whitening.starts).astype(np.float64)
    many_products = max(MANY_PRODUCTS, products_per_blocks(sizes, whitening.rank))
    place = at(mixture, theta)
    blocks, known_at = blocks_at(place), height(place)
    first = squared_size(place.grad, blocks)
    radius = np.inf
    here, path = system(place, blocks, ROUGH, radius)
    steps, n_products = 0, path.n_products
    while steps < ROUGH_STEPS * max_steps and here.gain > 0.0:
        steps += 1
        there = backtracking(here, whitening, at, complete=complete)
        if there is None:
            break
        part = np.linalg.norm(there.theta - here.theta) / np.linalg.norm(path.end)
        is_full = part > 0.99
        trusted = float((FAR if is_full else NEAR) * part * path.length)
        radius = max(radius, trusted) if is_full else trusted
        if n_products > many_products:
            blocks, known_at, n_products = blocks_at(there), height(there), 0
        shrunk = np.sqrt(squared_size(there.grad, blocks) / first)
        here, path = system(there, blocks, float(np.clip(shrunk, EXACT, ROUGH)), radius)
        n_products += path.n_products
        if here.gain <= tol and path.length < radius:
            break
    if height(here) - known_at > ELSEWHERE * len(mixture.log_pi):
        here = here._replace(precision=blocks_at(here))
    return here, steps


def squared_size(grad: FloatArray, blocks: BlockPrecision) -> float:
    """``grad' V grad``, with the inverse of the blocks as V."""
    return float(grad @ blocks.solve(grad))


@dataclass(frozen=True)
class Preconditioner:
    """The inverse of the blocks, and of the prior along directions that change no posterior.

    Adding the same to the weights of a column in all components changes no posterior: along such
    directions there is nothing but the prior, however large the blocks are.
    """

    blocks: BlockPrecision
    shared: IntArray  # coordinates that are weights of columns which all components have: (n,)
    group: IntArray  # counts those columns: (n,)
    unit: FloatArray  # their directions, each of length one: (n,)

    @classmethod
    def of(cls, blocks: BlockPrecision, whitening: Whitening) -> Preconditioner:
        """With the columns that all components have, where coordinates are weights."""
        if not whitening.is_diagonal:
            none = np.empty(0, dtype=np.intp)
            return cls(blocks, none, none, np.empty(0))
        column = whitening.column
        in_all = np.bincount(column) == len(whitening.Q)
        shared = np.flatnonzero(in_all[column])
        _, group = np.unique(column[shared], return_inverse=True)
        change = 1.0 / whitening.prior_std[shared]
        length = np.sqrt(np.bincount(group, change**2))
        return cls(blocks, shared, group, change / length[group])

    def solve(self, b: FloatArray) -> FloatArray:
        """The inverse times b: (m,)."""
        result = self.blocks.solve(b)
        along = np.bincount(self.group, self.unit * b[self.shared])
        result[self.shared] += self.unit * along[self.group]
        return result


class Path(NamedTuple):
    """The end point of conjugate gradients, with its length in the norm of the preconditioner."""

    end: FloatArray
    length: float
    n_products: int


def conjugate_gradients(
    product: Callable[[FloatArray], FloatArray],
    b: FloatArray,
    inverse: Preconditioner | BlockPrecision,
    residual: float,
    radius: float = np.inf,
) -> Path:
    """An ascent direction near the solution of ``product(x) = b``.

    Ends early at a direction of negative curvature and at the trust radius. ``residual`` is the
    part of b, in the norm of the inverse, that may be left.
    """
    x, left = np.zeros_like(b), b.copy()
    z = inverse.solve(left)
    direction, rho = z, float(left @ z)
    smallest = residual**2 * rho
    # squared lengths and the product of x and direction
    xx, xd, dd = 0.0, 0.0, rho
    for n_products in range(MAX_PRODUCTS):
        if rho <= smallest:
            return Path(x, np.sqrt(xx), n_products)
        image = product(direction)
        curvature = float(direction @ image)
        if curvature <= 0.0:
            if n_products == 0:
                return Path(direction, np.sqrt(dd), 1)
            return Path(x, np.sqrt(xx), n_products + 1)
        step = rho / curvature
        longer = xx + 2.0 * step * xd + step**2 * dd
        if longer > radius**2:
            step = (np.sqrt(xd**2 + dd * (radius**2 - xx)) - xd) / dd
            return Path(x + step * direction, radius, n_products + 1)
        x = x + step * direction
        left = left - step * image
        z = inverse.solve(left)
        rho, before = float(left @ z), rho
        ratio = rho / before
        direction = z + ratio * direction
        xx, xd, dd = longer, ratio * (xd + step * dd), rho + ratio**2 * dd
    return Path(x, np.sqrt(xx), MAX_PRODUCTS)


def products_per_blocks(sizes: FloatArray, rank: int) -> float:
    """Products with the curvature, of 2 p K multiplications a row, that cost as much as blocks."""
    return float(sizes @ sizes) / (2 * rank * len(sizes))
