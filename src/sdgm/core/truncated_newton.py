"""The innermost loop for many components: Newton's method without Newton's matrix.

Directions come from conjugate gradients, whose products with the curvature cost as much as a
gradient, and which end early: far from the mode a rough direction is as good as an exact one, and
one that leads much further than the last step could be trusted is worth nothing. The
diagonal blocks, which cost as much as dozens of products, are computed once where the climb begins,
to precondition; and again at its end, for the evidence, if that is elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sdgm._typing import FloatArray
from sdgm.core.block_precision import (
    BlockPrecision,
    curvature_blocks,
    curvature_product,
    gradient_of_rows,
    in_coordinates,
)
from sdgm.core.newton import System, log_posterior, uphill
from sdgm.core.objective import Fit, Mixture
from sdgm.core.rows import RowSource
from sdgm.core.whitening import Whitening

# conjugate gradients end when the residual has shrunk by such a factor, rough to exact, or after
# so many products
ROUGH, EXACT = 0.1, 1e-3
MAX_PRODUCTS = 60
# products after which the blocks precondition badly and are computed anew
MANY_PRODUCTS = 30
# the next direction may be so many times as long as the step that was taken, in full or in part
FAR, NEAR = 4.0, 1.0
# log posterior per component that a climb gains before its end counts as elsewhere
ELSEWHERE = 0.1


class Place(NamedTuple):
    """A point, the fit and the gradient of the log posterior there."""

    theta: FloatArray
    mixture: Mixture
    fit: Fit
    grad: FloatArray


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
) -> tuple[System, int]:
    """As `sdgm.core.newton.maximize_over_w`; the precision is that of the diagonal blocks."""
    complete = r_from is not None or rows.has_start

    def at(mixture: Mixture, theta: FloatArray) -> Place:
        here = gradient_of_rows(rows, mixture, r_from)
        return Place(theta, mixture, here.fit, in_coordinates(here.of_V, whitening) - theta)

    def blocks_at(place: Place | System) -> BlockPrecision:
        curvature = curvature_blocks(rows, place.mixture, whitening)
        return BlockPrecision.from_blocks(whitening.coordinates, curvature, robust=True)

    def height(place: Place | System) -> float:
        return log_posterior(place.fit, place.theta, complete=complete)

    def system(
        place: Place, precision: BlockPrecision, residual: float, radius: float
    ) -> tuple[System, int]:
        product = curvature_product(rows, place.mixture, whitening, observed=observed)
        direction, n_products = conjugate_gradients(
            product, place.grad, precision, residual, radius
        )
        gain = 0.5 * float(place.grad @ direction)
        return System(place.theta, place.mixture, place.fit, precision, direction, gain), n_products

    place = at(mixture, theta)
    precision, known_at = blocks_at(place), height(place)
    first = squared_size(place.grad, precision)
    radius = np.inf
    here, n_products = system(place, precision, ROUGH, radius)
    steps = 0
    while steps < max_steps:
        steps += 1
        there = uphill(here, whitening, at, complete=complete)
        if there is None:
            break
        step = there.theta - here.theta
        was_full = bool((there.theta == here.theta + here.direction).all())
        longer = (FAR if was_full else NEAR) * precision.norm(step)
        radius = max(radius, longer) if was_full else longer
        if n_products > MANY_PRODUCTS:
            precision, known_at = blocks_at(there), height(there)
        shrunk = np.sqrt(squared_size(there.grad, precision) / first)
        residual = float(np.clip(shrunk, EXACT, ROUGH))
        here, n_products = system(there, precision, residual, radius)
        if here.gain <= tol:
            break
    if height(here) - known_at > ELSEWHERE * len(mixture.log_pi):
        here = here._replace(precision=blocks_at(here))
    return here, steps


def squared_size(grad: FloatArray, precision: BlockPrecision) -> float:
    """``grad' V grad``, with the inverse of the blocks as V."""
    return float(grad @ precision.solve(grad))


def conjugate_gradients(
    product: Callable[[FloatArray], FloatArray],
    b: FloatArray,
    precision: BlockPrecision,
    residual: float,
    radius: float = np.inf,
) -> tuple[FloatArray, int]:
    """An uphill direction near the solution of ``product(x) = b``, and how many products it took.

    Ends early at a direction of negative curvature, with what is reached, and where it leaves the
    region that is trusted.

    Parameters
    ----------
    product : callable
    b : (m,) array
    precision : BlockPrecision
        Whose inverse preconditions.
    residual : float
        Part of b, in the norm of that inverse, that may be left.
    radius : float
        Of the trusted region, in the norm of the precision.
    """
    x, left = np.zeros_like(b), b.copy()
    z = precision.solve(left)
    direction, rho = z, float(left @ z)
    smallest = residual**2 * rho
    # squared lengths and the product of x and direction, in the norm of the precision
    xx, xd, dd = 0.0, 0.0, rho
    for n_products in range(MAX_PRODUCTS):
        if rho <= smallest:
            return x, n_products
        image = product(direction)
        curvature = float(direction @ image)
        if curvature <= 0.0:
            return (x if n_products else direction), n_products + 1
        step = rho / curvature
        if xx + 2.0 * step * xd + step**2 * dd > radius**2:
            step = (np.sqrt(xd**2 + dd * (radius**2 - xx)) - xd) / dd
            return x + step * direction, n_products + 1
        x = x + step * direction
        left = left - step * image
        z = precision.solve(left)
        rho, before = float(left @ z), rho
        ratio = rho / before
        direction = z + ratio * direction
        xx, xd = xx + 2.0 * step * xd + step**2 * dd, ratio * (xd + step * dd)
        dd = rho + ratio**2 * dd
    return x, MAX_PRODUCTS
