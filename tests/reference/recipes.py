"""Recipes with some of their parts changed, whose names need not be spelled out in every test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from itertools import count
from typing import Any

from sdgm.core.data.rows import RowSource
from sdgm.core.inference.mode import EM, EMGradient, Mode
from sdgm.core.inference.recipe import Recipe
from sdgm.core.inference.relevance import MacKay, SharedMacKay, SharedTwoPhase, TwoPhase
from sdgm.core.inference.variations import fixed, to_the_mode, with_finder
from sdgm.core.model.state import State
from sdgm.core.objective.whitening import Whitening


def changed(recipe: Recipe, *, learn_alpha: bool = True, **changes: Any) -> Recipe:
    """The recipe with other values of its parts.

    Parameters
    ----------
    learn_alpha : bool
        False holds alpha, and leaves all else as it is.
    changes
        Of the preparation: alpha, pinned. Of the finder: max_passes, r_tol, steps_to_mode,
        saddle_free, and its tol as mode_tol. Of alpha: floor, cap. Of convergence: tol. All others
        are of the method itself.
    """

    def taken(*names: str) -> dict[str, Any]:
        return {name: changes.pop(name) for name in names if name in changes}

    recipe = replace(recipe, preparation=replace(recipe.preparation, **taken("alpha", "pinned")))
    if tol := taken("tol"):
        changes["has_converged"] = replace(recipe.method.has_converged, **tol)
    if bounds := taken("floor", "cap"):
        update = recipe.method.update_alpha
        changes["update_alpha"] = replace(update, bounds=replace(update.bounds, **bounds))
    of_finder = taken("max_passes", "r_tol", "steps_to_mode", "saddle_free")
    if "mode_tol" in changes:
        of_finder["tol"] = changes.pop("mode_tol")
    if of_finder:
        changes["find_mode"] = replace(recipe.method.find_mode, **of_finder)
    recipe = replace(recipe, method=replace(recipe.method, **changes))
    return recipe if learn_alpha else with_alpha_held(recipe)


def with_alpha_held(recipe: Recipe) -> Recipe:
    """That learns w and pi only, and is otherwise the same."""
    method = recipe.method
    find_mode = method.find_mode
    if isinstance(find_mode, EMGradient):
        find_mode = to_the_mode(find_mode, tol=find_mode.tol)
    return replace(recipe, method=fixed(recipe, find_mode, method.has_converged, method.max_iter))


def gradual(recipe: Recipe) -> Recipe:
    """`fast` with the paper's update of alpha, which has no final phase."""
    update = recipe.method.update_alpha
    if isinstance(update, TwoPhase):
        update = MacKay(update.bounds)
    if isinstance(update, SharedTwoPhase):
        update = SharedMacKay(update.bounds)
    return replace(recipe, method=replace(recipe.method, update_alpha=update))


def failing_after(n_passes: int, error: type[BaseException], recipe: Recipe) -> Recipe:
    """The recipe whose finder fails once it has been called so many times."""
    return with_finder(recipe, failing_finder(n_passes, error, recipe.method.find_mode))


def failing_finder(
    n_passes: int, error: type[BaseException], find_mode: EM | EMGradient
) -> Callable[[RowSource, Whitening, State], Mode]:
    calls = count()

    def find(rows: RowSource, whitening: Whitening, state: State) -> Mode:
        if next(calls) >= n_passes:
            raise error
        return find_mode(rows, whitening, state)

    return find


def values(part: Any, path: str = "") -> dict[str, Any]:
    """Every value of a recipe by its path, and the kind of every part."""
    found = {path: type(part)}
    for each in fields(part):
        value, below = getattr(part, each.name), f"{path}.{each.name}".lstrip(".")
        found |= values(value, below) if is_dataclass(value) else {below: value}
    return found


def differences(before: Recipe, after: Recipe) -> dict[str, Any]:
    """Values of the second recipe that the first has not; None for those that it lost."""
    one, other = values(before), values(after)
    return {
        path: other.get(path)
        for path in one.keys() | other.keys()
        if one.get(path) != other.get(path)
    }
