"""What users, samples and later stages change of a preset."""

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

# with alpha fixed there is nothing but w, r and pi to converge, and they are brought close: gain in
# log posterior of a step, and relative change of pi, that count as none
RIDGE_GAIN, RIDGE_TOL = 1e-10, 1e-5


def limited(recipe: Recipe, *, max_iter: int | None = None, tol: float | None = None) -> Recipe:
    """With the user's limits, where there are any."""
    method = recipe.method
    if max_iter is not None:
        method = replace(method, max_iter=max_iter)
    if tol is not None:
        method = replace(method, has_converged=replace(method.has_converged, tol=tol))
    return replace(recipe, method=method)


def with_solver(recipe: Recipe, solver: Solver) -> Recipe:
    """With the solver that the user wants."""
    find_mode = recipe.method.find_mode
    choice = replace(find_mode.solver, solver=solver)
    return with_finder(recipe, replace(find_mode, solver=choice))


def for_sample(recipe: Recipe) -> Recipe:
    """For rows that are a sample, after which all rows decide again.

    Learning ends when the evidence hardly grows, and diagonal blocks are taken wherever they are
    less work, since the evidence is approximate anyway.
    """
    find_mode, settled = recipe.method.find_mode, recipe.method.has_converged
    choice = replace(find_mode.solver, blocks_pay=1.0)
    recipe = with_finder(recipe, replace(find_mode, solver=choice))
    stalled = SettledOrStalled(settled.tol, settled.squared_tol, settled.waits)
    return replace(recipe, method=replace(recipe.method, has_converged=stalled))


def with_finder(recipe: Recipe, find_mode: EM | EMGradient) -> Recipe:
    """With another way to the mode."""
    return replace(recipe, method=replace(recipe.method, find_mode=find_mode))


def with_few_weights(recipe: Recipe, per_component: int) -> Recipe:
    """With another limit of weights for the final phase of `fast`; other methods have none."""
    method = recipe.method
    if not isinstance(method, Method) or isinstance(method.update_alpha, MacKay | SharedMacKay):
        return recipe
    update = method.update_alpha
    if isinstance(update, TwoPhase):
        return with_final_phase(recipe, replace(update, final_phase=FewWeights(per_component)))
    return with_final_phase(recipe, replace(update, final_phase=FewColumns(per_component)))


def with_final_phase(recipe: Recipe, update_alpha: TwoPhase | SharedTwoPhase) -> Recipe:
    """`fast` with another update of alpha, whose final phase all parts take over."""
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
    """With one alpha per column, so that it stays or leaves as a whole for all components.

    Learning then waits until the last columns are judged, whatever the evidence does.
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
    """With alpha fixed, in the units of the features, and nothing pruned or pinned."""
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
    """That brings w to its mode and pi to its fixed point, whatever the preset.

    Parameters
    ----------
    recipe : Recipe
    max_iter : int
    tol : float
        Gain in log posterior that is left on the way to the mode.
    pi_tol : float
        Relative change of pi that counts as none.
    """
    method = recipe.method
    find_mode = EMGradient(STEPS_TO_MODE, tol, always, solver=method.find_mode.solver)
    waits = always if method.has_converged.waits is always else NEVER
    settled = replace(method.has_converged, tol=pi_tol, squared_tol=0.0, waits=waits)
    return replace(recipe, method=fixed(recipe, find_mode, settled, max_iter))


def one_climb(recipe: Recipe, steps_to_mode: int = STEPS_TO_MODE) -> Recipe:
    """That brings w to its mode once, from wherever it is, saddles included."""
    method = recipe.method
    assert isinstance(method.find_mode, EMGradient)
    find_mode = replace(
        to_the_mode(method.find_mode, tol=method.find_mode.tol),
        saddle_free=True,
        steps_to_mode=steps_to_mode,
    )
    return replace(recipe, method=fixed(recipe, find_mode, method.has_converged, max_iter=1))


def to_the_mode(find_mode: EMGradient, tol: float) -> EMGradient:
    """The finder that always reaches the mode, and whose precision nothing depends on."""
    return replace(find_mode, to_mode=always, tol=tol, exact_precision=False)


def fixed(
    recipe: Recipe, find_mode: EM | EMGradient, settled: Settled, max_iter: int
) -> FixedAlpha:
    """The method with alpha held."""
    class_prior = recipe.method.class_prior
    return FixedAlpha(max_iter, find_mode, settled, recipe.min_share, class_prior)
