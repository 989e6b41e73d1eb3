"""Variations of a preset: user settings, samples and later stages."""

from __future__ import annotations

from dataclasses import replace

from sdgm.core.inference.evidence import Settled, SettledOrStalled
from sdgm.core.inference.fixed_alpha import FixedAlpha
from sdgm.core.inference.learning import Method
from sdgm.core.inference.mode import (
    EM,
    NEVER,
    EMGradient,
    FewColumns,
    FewWeights,
    always,
)
from sdgm.core.inference.recipe import Recipe
from sdgm.core.inference.relevance import (
    EmptyComponentsAndTies,
    MacKay,
    SharedMacKay,
    SharedTwoPhase,
    TwoPhase,
)
from sdgm.core.solvers.newton import STEPS_TO_MODE
from sdgm.core.solvers.select import Solver

# tolerances with alpha fixed, where only w, r and pi have to converge: gain of a step in log
# posterior, and relative change of pi
RIDGE_GAIN, RIDGE_TOL = 1e-10, 1e-5


def limited(recipe: Recipe, *, max_iter: int | None = None, tol: float | None = None) -> Recipe:
    """With the user's limits, if given."""
    method = recipe.method
    if max_iter is not None:
        method = replace(method, max_iter=max_iter)
    if tol is not None:
        method = replace(method, has_converged=replace(method.has_converged, tol=tol))
    return replace(recipe, method=method)


def with_solver(recipe: Recipe, solver: Solver) -> Recipe:
    """With the user's solver."""
    find_mode = recipe.method.find_mode
    choice = replace(find_mode.solver, solver=solver)
    return with_finder(recipe, replace(find_mode, solver=choice))


def for_sample(recipe: Recipe) -> Recipe:
    """For a sample, before the fit to all rows.

    Learning stops when the evidence hardly increases, and diagonal blocks are used whenever they
    are cheaper, because the evidence is approximate anyway.
    """
    find_mode, settled = recipe.method.find_mode, recipe.method.has_converged
    choice = replace(find_mode.solver, blocks_pay=1.0)
    recipe = with_finder(recipe, replace(find_mode, solver=choice))
    stalled = SettledOrStalled(settled.tol, settled.squared_tol, settled.waits)
    return replace(recipe, method=replace(recipe.method, has_converged=stalled))


def with_finder(recipe: Recipe, find_mode: EM | EMGradient) -> Recipe:
    """With another method to find the mode."""
    return replace(recipe, method=replace(recipe.method, find_mode=find_mode))


def with_few_weights(recipe: Recipe, per_component: int) -> Recipe:
    """With another number of weights for the final phase of `fast`, if there is one."""
    method = recipe.method
    if not isinstance(method, Method) or isinstance(method.update_alpha, MacKay | SharedMacKay):
        return recipe
    update = method.update_alpha
    if isinstance(update, TwoPhase):
        return with_final_phase(recipe, replace(update, final_phase=FewWeights(per_component)))
    return with_final_phase(recipe, replace(update, final_phase=FewColumns(per_component)))


def with_final_phase(recipe: Recipe, update_alpha: TwoPhase | SharedTwoPhase) -> Recipe:
    """`fast` with another update of alpha, whose final phase applies to all parts."""
    method, final_phase = recipe.method, update_alpha.final_phase
    assert isinstance(method, Method)
    assert isinstance(method.find_mode, EMGradient)
    assert isinstance(method.prune, EmptyComponentsAndTies)
    waits = always if method.has_converged.waits is always else final_phase
    changed = replace(
        method,
        find_mode=replace(method.find_mode, to_mode=final_phase),
        update_alpha=update_alpha,
        prune=replace(method.prune, final_phase=final_phase),
        has_converged=replace(method.has_converged, waits=waits),
    )
    return replace(recipe, method=changed)


def with_shared_columns(recipe: Recipe) -> Recipe:
    """With one alpha per column, which is kept or removed for all components at once.

    Learning then continues until the last columns are assessed, even if the evidence stalls.
    """
    waiting = replace(recipe.method.has_converged, waits=always)
    recipe = replace(recipe, method=replace(recipe.method, has_converged=waiting))
    method = recipe.method
    if not isinstance(method, Method):
        return recipe
    match method.update_alpha:
        case MacKay(bounds):
            return replace(recipe, method=replace(method, update_alpha=SharedMacKay(bounds)))
        case TwoPhase(bounds, few, min_evidence):
            few_columns = FewColumns(few.per_component)
            return with_final_phase(recipe, SharedTwoPhase(bounds, few_columns, min_evidence))
    return recipe


def with_ridge_prior(recipe: Recipe, alpha: float) -> Recipe:
    """With alpha fixed in the units of the features, without pruning or pinning."""
    preparation = replace(
        recipe.preparation, alpha=alpha, scale_columns=False, pinned=False, ties_two=False
    )
    find_mode = recipe.method.find_mode
    if isinstance(find_mode, EM):
        find_mode = replace(find_mode, tol=RIDGE_GAIN)
    else:
        find_mode = to_the_mode(find_mode, tol=RIDGE_GAIN)
    settled = replace(recipe.method.has_converged, tol=RIDGE_TOL, squared_tol=0.0, waits=NEVER)
    return Recipe(preparation, fixed(recipe, find_mode, settled, recipe.method.max_iter))


def at_fixed_alpha(recipe: Recipe, *, max_iter: int, tol: float, pi_tol: float) -> Recipe:
    """Finds the mode of w and the fixed point of pi with alpha fixed, for any preset.

    Parameters
    ----------
    recipe : Recipe
    max_iter : int
    tol : float
        Tolerance on the gain in log posterior.
    pi_tol : float
        Tolerance on the relative change of pi.
    """
    method = recipe.method
    find_mode = EMGradient(STEPS_TO_MODE, tol, always, solver=method.find_mode.solver)
    waits = always if method.has_converged.waits is always else NEVER
    settled = replace(method.has_converged, tol=pi_tol, squared_tol=0.0, waits=waits)
    return replace(recipe, method=fixed(recipe, find_mode, settled, max_iter))


def one_climb(recipe: Recipe, steps_to_mode: int = STEPS_TO_MODE) -> Recipe:
    """Finds the mode of w once, from any point, including saddle points."""
    method = recipe.method
    assert isinstance(method.find_mode, EMGradient)
    find_mode = replace(
        to_the_mode(method.find_mode, tol=method.find_mode.tol),
        saddle_free=True,
        steps_to_mode=steps_to_mode,
    )
    return replace(recipe, method=fixed(recipe, find_mode, method.has_converged, max_iter=1))


def to_the_mode(find_mode: EMGradient, tol: float) -> EMGradient:
    """A method that always reaches the mode, without an exact precision matrix there."""
    return replace(find_mode, to_mode=always, tol=tol, exact_precision=False)


def fixed(
    recipe: Recipe, find_mode: EM | EMGradient, settled: Settled, max_iter: int
) -> FixedAlpha:
    """The method with alpha fixed."""
    class_prior = recipe.method.class_prior
    return FixedAlpha(max_iter, find_mode, settled, recipe.min_share, class_prior)
