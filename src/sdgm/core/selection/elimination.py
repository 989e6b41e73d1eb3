"""Backward elimination: from a fitted state, remove one weight at a time until none is left.

Near its mode the log posterior is approximately quadratic, and the inverse of its curvature is the
covariance V of the weights. The best weights without weight i are ``w - V[:, i] w_i / V_ii``, at a
cost of ``w_i^2 / (2 V_ii)`` ("optimal brain surgeon"). The cheapest weight is removed, the others
move, and Newton's method finds their mode together with the fixed point of pi; alpha is held fixed.
Far from the mode the approximation is inaccurate: if even the cheapest weight is expensive, the few
cheapest are each removed with a full refit. `eliminate` removes all weights, `eliminate_within` as
many as a bound on the loss allows, several at a time if the approximation predicts enough room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.data.rows import Rows
from sdgm.core.inference.evidence import updated_pi, weight_covariance
from sdgm.core.inference.learning import class_shares
from sdgm.core.inference.mode import EMGradient
from sdgm.core.inference.recipe import Recipe
from sdgm.core.inference.relevance import prune_components, relative_to_one_component
from sdgm.core.inference.variations import at_fixed_alpha, with_finder
from sdgm.core.model.state import State, Stop
from sdgm.core.objective.derivatives import class_weights, derivatives_of_rows, mixture_at
from sdgm.core.objective.whitening import whiten
from sdgm.core.solvers.precision import precision_cholesky, robust_precision_cholesky

# fraction of the weights, at least one, that is removed before the others are re-estimated
SHARE = 0.02
# loss of log posterior up to which the quadratic approximation selects the cheapest weight, and
# the number of candidates that are refitted beyond it
TRUSTED = 0.5
TRIED = 5
# relative change of pi that counts as converged, and the maximum number of passes
PI_TOL = 1e-6
MAX_PASSES = 100
# remaining gain in log posterior at which the mode counts as reached
MODE_TOL = 1e-10
# the same if a mean loss is needed only to about 1e-4 nats per row: the gain in log posterior per
# row; the change of pi, which follows w slowly if a class has several components; passes, and
# Newton steps per pass
NEAR_MODE_TOL, NEAR_PI_TOL, NEAR_PASSES, NEAR_STEPS = 1e-7, 1e-2, 5, 10
# part of the remaining room that weights may use at once, by the quadratic approximation
SHARE_OF_ROOM = 0.5


@dataclass(frozen=True)
class Point:
    """A state on the path.

    Attributes
    ----------
    state : State
        At its mode.
    cost : float
        Loss of log posterior of the step to this point, by the quadratic approximation; zero for
        the first point, and if only components without rows were removed or score differences were
        written with fewer weights.
    log_likelihood, log_posterior, log_evidence : float
        As in `Record`.
    """

    state: State
    cost: float
    log_likelihood: float
    log_posterior: float
    log_evidence: float


def eliminate(
    rows: Rows,
    Rt: FloatArray,
    state: State,
    recipe: Recipe,
    *,
    min_weights: int = 0,
    step: int | None = None,
) -> Iterator[Point]:
    """The path from a state to fewer and fewer weights, each point at its mode.

    The number of weights decreases by more than one if a component without rows is removed, or if
    all components use a column: it is then removed from one of them, which changes no score
    difference.

    Parameters
    ----------
    rows : Rows
        The rows that the state was learned from.
    Rt : (H, p) array
        Transposed right factor of the design ``Phi = Z R``.
    state : State
        Where to start; the first point is this state at its mode.
    recipe : Recipe
        Used for whether pi includes the class prior, and when a component counts as empty.
    min_weights : int
        End of the path; the last step may go below.
    step : int, optional
        Number of weights to remove before the others are re-estimated; by default one in fifty.

    Yields
    ------
    point : Point
    """
    rows, recipe = rows.without_initial_r(), settling(recipe)
    point = at_mode(rows, Rt, state, 0.0, recipe)
    yield point
    while (n := point.state.n_weights) > min_weights:
        state = prune_components(point.state, recipe.min_share)
        state = relative_to_one_component(state)
        if state.n_weights < n:
            point = settled(rows, Rt, state, 0.0, recipe)
        else:
            n_removed = min(step or max(int(SHARE * n), 1), n - min_weights)
            point = next_point(rows, Rt, state, recipe, n_removed)
        yield point


def eliminate_within(
    rows: Rows, Rt: FloatArray, state: State, recipe: Recipe, room: Callable[[State], float]
) -> Iterator[Point]:
    """States with fewer and fewer weights, as long as the loss stays within its bound.

    Parameters
    ----------
    rows, Rt, state, recipe
        As in `eliminate`.
    room : callable
        The loss that is still allowed at a state, in nats per row; negative if too much is lost.

    Yields
    ------
    point : Point
        Near its mode, within the bound. The first has the weights of the state.
    """
    rows, total = rows.without_initial_r(), float(rows.s.sum())
    recipe = nearly_settling(recipe, total)
    point = at_mode(rows, Rt, state, 0.0, recipe)
    while (left := room(point.state)) >= 0.0:
        yield point
        state = relative_to_one_component(prune_components(point.state, recipe.min_share))
        if state.n_weights < point.state.n_weights:
            point = settled(rows, Rt, state, 0.0, recipe)
            continue
        if state.n_weights <= 1:
            return
        V = mode_covariance(rows, Rt, state)
        order = cheapest(state.w, V, state.n_weights - 1, SHARE_OF_ROOM * left * total)
        n_removed = len(order)
        point = settled(rows, Rt, *without(state, V, order), recipe)
        while n_removed > 1 and room(point.state) < 0.0:
            n_removed //= 2
            point = settled(rows, Rt, *without(state, V, order[:n_removed]), recipe)


def next_point(rows: Rows, Rt: FloatArray, state: State, recipe: Recipe, n_removed: int) -> Point:
    """The point after a state at its mode: fewer weights, and the others moved."""
    V = mode_covariance(rows, Rt, state)
    costs = removal_costs(state.w, V)
    if n_removed > 1 or costs.min() <= TRUSTED:
        choices = [cheapest(state.w, V, n_removed)]
    else:
        choices = [np.array([i]) for i in np.argsort(costs, kind="stable")[:TRIED]]
    points = (settled(rows, Rt, *without(state, V, which), recipe) for which in choices)
    return max(points, key=lambda point: point.log_posterior)


def settling(recipe: Recipe) -> Recipe:
    """A recipe that finds the mode of w and the fixed point of pi, with alpha fixed."""
    return at_fixed_alpha(recipe, max_iter=MAX_PASSES, tol=MODE_TOL, pi_tol=PI_TOL)


def nearly_settling(recipe: Recipe, total: float) -> Recipe:
    """The same, with the accuracy needed for a mean over rows of this total weight."""
    recipe = at_fixed_alpha(
        recipe, max_iter=NEAR_PASSES, tol=NEAR_MODE_TOL * total, pi_tol=NEAR_PI_TOL
    )
    find_mode = recipe.method.find_mode
    assert isinstance(find_mode, EMGradient)
    find_mode = replace(find_mode, max_steps=NEAR_STEPS, steps_to_mode=NEAR_STEPS)
    return with_finder(recipe, replace(find_mode, saddle_free=True))


def settled(rows: Rows, Rt: FloatArray, state: State, cost: float, recipe: Recipe) -> Point:
    """The state at its mode, without components that have no effect."""
    while True:
        state = prune_components(state, recipe.min_share)
        point = at_mode(rows, Rt, state, cost, recipe)
        state = prune_components(point.state, recipe.min_share)
        if state.n_weights == point.state.n_weights:
            return replace(point, state=state)


def at_mode(rows: Rows, Rt: FloatArray, state: State, cost: float, recipe: Recipe) -> Point:
    """The state with w at its mode and pi at its fixed point."""
    class_share = class_shares(class_weights(rows.y, rows.s), recipe.method.class_prior)
    pi = updated_pi(state.pi, state.component_class, class_share)
    result = recipe.learn(rows, Rt, replace(state, pi=pi))
    if result.stop is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    last = result.records[-1]
    return Point(result.state, cost, last.log_likelihood, last.log_posterior, last.log_evidence)


def mode_covariance(rows: Rows, Rt: FloatArray, state: State) -> FloatArray:
    """Inverse of minus the second derivative of the log posterior at the mode: (n, n).

    Unlike Lambda, which takes r as known, it includes the information that is missing because the
    component of a sample is unknown; without mixtures the two are the same.
    """
    whitening = whiten(Rt, state)
    mixture = mixture_at(whitening, whitening.to_theta(state.w), state)
    missing = mixture.has_several_per_class
    here = derivatives_of_rows(rows, mixture, None, whitening, missing=missing)
    factor = None
    if here.missing is not None:
        # away from a mode the difference need not be positive definite
        factor = precision_cholesky(here.curvature - here.missing)
    if factor is None:
        factor = robust_precision_cholesky(here.curvature)
    return weight_covariance(whitening, factor)


def removal_costs(w: FloatArray, V: FloatArray) -> FloatArray:
    """``w_i^2 / (2 V_ii)``, the loss of log posterior without each weight: (n,)."""
    return 0.5 * w * w / V.diagonal()


def cheapest(w: FloatArray, V: FloatArray, n_removed: int, budget: float = np.inf) -> IntArray:
    """The weights to remove, in order, by the quadratic approximation: indices.

    At least one, and no more than cost the budget together.
    """
    w, V = w.copy(), V.copy()
    left = np.ones(len(w), dtype=bool)
    chosen: list[int] = []
    while len(chosen) < n_removed:
        costs = np.where(left, removal_costs(w, V), np.inf)
        i = int(costs.argmin())
        budget -= costs[i]
        if chosen and budget < 0.0:
            break
        chosen.append(i)
        left[i] = False
        # mean and covariance of the others given that weight i is zero
        shift = V[:, i] / V[i, i]
        w -= shift * w[i]
        V -= np.outer(shift, V[i])
        V[i, i] = 1.0  # not used, but must not be zero
    return np.array(chosen)


def without(state: State, V: FloatArray, which: IntArray) -> tuple[State, float]:
    """The state without these weights, the others at their conditional mean, and the cost.

    V is the covariance (n, n) of the weights at the mode.
    """
    keep = np.ones(state.n_weights, dtype=bool)
    keep[which] = False
    shift = np.linalg.solve(V[np.ix_(which, which)], state.w[which])
    moved = replace(state, w=state.w - V[:, which] @ shift)
    return moved.keep_weights(keep), 0.5 * float(state.w[which] @ shift)
