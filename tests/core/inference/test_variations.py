"""Claims about variations of the presets: they change what they say, and nothing else."""

from __future__ import annotations

import pytest

from sdgm.core.inference.evidence import SettledOrStalled
from sdgm.core.inference.fixed_alpha import FixedAlpha
from sdgm.core.inference.mode import STEPS_TO_MODE, EMGradient, FewColumns, always
from sdgm.core.inference.recipe import FAST, PAPER, Recipe
from sdgm.core.inference.relevance import SharedMacKay, SharedTwoPhase
from sdgm.core.inference.variations import (
    RIDGE_GAIN,
    RIDGE_TOL,
    at_fixed_alpha,
    for_sample,
    limited,
    one_climb,
    with_few_weights,
    with_ridge_prior,
    with_shared_columns,
    with_solver,
)
from sdgm.core.solvers.select import Solver
from tests.reference.recipes import differences
from tests.reference.tasks import BOTH

RIDGE = with_ridge_prior(FAST, 2.0)
EVERY = pytest.mark.parametrize("recipe", [PAPER, FAST, RIDGE], ids=["paper", "fast", "ridge"])


def held(before: Recipe, after: Recipe) -> dict[str, object]:
    """What else differs where alpha is held, and so neither updated nor pruned."""
    assert isinstance(after.method, FixedAlpha)
    assert after.min_share == before.min_share
    gone = ("method.update_alpha", "method.prune")
    return {
        path: value
        for path, value in differences(before, after).items()
        if path not in ("method", "method.min_share") and not path.startswith(gone)
    }


@EVERY
def test_limits_are_those_of_the_user_where_there_are_any(recipe: Recipe) -> None:
    assert limited(recipe) == recipe
    assert differences(recipe, limited(recipe, max_iter=7)) == {"method.max_iter": 7}
    assert differences(recipe, limited(recipe, tol=0.3)) == {"method.has_converged.tol": 0.3}


@EVERY
def test_the_solver_is_the_user_s(recipe: Recipe) -> None:
    changes = differences(recipe, with_solver(recipe, Solver.BLOCK))
    assert changes == {"method.find_mode.solver.solver": Solver.BLOCK}


@EVERY
def test_a_sample_ends_when_it_stalls_and_takes_blocks_where_they_are_less_work(
    recipe: Recipe,
) -> None:
    assert differences(recipe, for_sample(recipe)) == {
        "method.has_converged": SettledOrStalled,
        "method.find_mode.solver.blocks_pay": 1.0,
    }


def test_few_weights_begin_the_final_phase_of_all_parts_of_fast_and_of_nothing_else() -> None:
    assert differences(FAST, with_few_weights(FAST, 3)) == {
        "method.find_mode.to_mode.per_component": 3,
        "method.update_alpha.final_phase.per_component": 3,
        "method.prune.final_phase.per_component": 3,
        "method.has_converged.waits.per_component": 3,
    }
    for recipe in (PAPER, RIDGE, with_shared_columns(PAPER)):
        assert with_few_weights(recipe, 3) is recipe
    shared = with_shared_columns(FAST)
    assert with_few_weights(shared, 3) == with_shared_columns(with_few_weights(FAST, 3))


def test_shared_columns_have_one_alpha_and_learning_waits_for_them() -> None:
    waits = {
        "method.has_converged.waits": always,
        "method.has_converged.waits.per_component": None,
    }
    assert differences(PAPER, with_shared_columns(PAPER)) == {
        "method.update_alpha": SharedMacKay,
        **waits,
    }
    assert differences(FAST, with_shared_columns(FAST)) == {
        "method.find_mode.to_mode": FewColumns,
        "method.update_alpha": SharedTwoPhase,
        "method.update_alpha.final_phase": FewColumns,
        "method.prune.final_phase": FewColumns,
        **waits,
    }
    # with alpha held there is nothing to share
    assert differences(RIDGE, with_shared_columns(RIDGE)) == waits


def test_a_ridge_prior_is_in_the_units_of_the_features_and_brought_close() -> None:
    close = {
        "method.find_mode.tol": RIDGE_GAIN,
        "method.has_converged.tol": RIDGE_TOL,
        "preparation.alpha": 2.0,
    }
    assert held(PAPER, with_ridge_prior(PAPER, 2.0)) == {
        **close,
        "method.has_converged.squared_tol": 0.0,
        "preparation.pinned": False,
    }
    assert held(FAST, RIDGE) == {
        **close,
        "method.find_mode.to_mode": always,
        "method.find_mode.to_mode.per_component": None,
        "method.find_mode.exact_precision": False,
        "method.has_converged.waits.per_component": 0,
        "preparation.scale_columns": False,
        "preparation.ties_two": False,
    }


@EVERY
def test_at_fixed_alpha_all_presets_climb_to_the_mode_in_the_same_way(recipe: Recipe) -> None:
    recipe = for_sample(with_solver(recipe, Solver.FULL))
    settling = at_fixed_alpha(recipe, max_iter=9, tol=1e-4, pi_tol=1e-5)
    changes = held(recipe, settling)
    parts = ("method.max_iter", "method.find_mode", "method.has_converged")
    assert all(path.startswith(parts) for path in changes)
    method = settling.method
    assert method.max_iter == 9
    solver = recipe.method.find_mode.solver
    assert method.find_mode == EMGradient(STEPS_TO_MODE, 1e-4, always, solver=solver)
    assert (method.has_converged.tol, method.has_converged.squared_tol) == (1e-5, 0.0)
    assert type(method.has_converged) is SettledOrStalled
    assert settling.preparation == recipe.preparation
    assert method.class_prior == recipe.method.class_prior


def test_one_climb_holds_alpha_and_leaves_saddles() -> None:
    assert held(FAST, one_climb(FAST, 7)) == {
        "method.max_iter": 1,
        "method.find_mode.to_mode": always,
        "method.find_mode.to_mode.per_component": None,
        "method.find_mode.steps_to_mode": 7,
        "method.find_mode.saddle_free": True,
        "method.find_mode.exact_precision": False,
    }
    assert one_climb(FAST).method.find_mode.steps_to_mode == STEPS_TO_MODE


@BOTH
def test_presets_are_values_that_no_variation_changes(recipe: Recipe) -> None:
    before = hash(recipe)
    for vary in (for_sample, with_shared_columns, lambda each: with_ridge_prior(each, 1.0)):
        assert vary(recipe) != recipe
    assert hash(recipe) == before
