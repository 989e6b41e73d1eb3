"""Claims about recipes: how learning is watched and ended, and what it starts from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sdgm.core.inference.recipe import FAST, PAPER, Recipe
from sdgm.core.model.state import Record, Stop
from sdgm.core.solvers.precision import FactorizationError
from tests.reference.recipes import changed, failing_after
from tests.reference.tasks import BOTH, assert_same_state, task


@BOTH
def test_stops_when_the_callback_says_so(recipe: Recipe) -> None:
    given = task(recipe, "poly")
    result = recipe.learn(given.rows, given.Rt, given.state, lambda record: record.iteration == 3)
    assert result.stop is Stop.CALLBACK
    assert len(result.records) == 3
    assert_same_state(result.state, given.learn(max_iter=3).state, tol=1e-12)


@BOTH
def test_interrupt_leaves_the_state_so_far(recipe: Recipe) -> None:
    given = task(recipe, "poly")

    def interrupt(record: Record) -> None:
        if record.iteration == 3:
            raise KeyboardInterrupt

    result = recipe.learn(given.rows, given.Rt, given.state, interrupt)
    assert result.stop is Stop.INTERRUPTED
    assert len(result.records) == 3
    assert_same_state(result.state, given.learn(max_iter=3).state, tol=1e-12)


def test_interrupt_within_a_pass_leaves_the_state_before_it() -> None:
    given = task(FAST, "poly")
    expected = given.learn(max_iter=2)
    result = replace(given, recipe=failing_after(2, KeyboardInterrupt, FAST)).learn()
    assert result.stop is Stop.INTERRUPTED
    assert len(result.records) == 2
    assert_same_state(result.state, expected.state, tol=1e-12)


def test_numerical_trouble_leaves_the_state_before_it() -> None:
    given = task(FAST, "poly")
    expected = given.learn(max_iter=2)
    result = replace(given, recipe=failing_after(2, FactorizationError, FAST)).learn()
    assert result.stop is Stop.NUMERICAL
    assert len(result.records) == 2
    assert_same_state(result.state, expected.state, tol=1e-12)


def test_numerical_trouble_in_the_first_pass_is_an_error() -> None:
    given = replace(task(FAST), recipe=failing_after(0, FactorizationError, FAST))
    with pytest.raises(FactorizationError):
        given.learn()


# --- records and states ---


@BOTH
@pytest.mark.parametrize("learn_alpha", [True, False], ids=["learned", "held"])
def test_learning_goes_on_from_earlier_records_as_if_it_had_never_stopped(
    recipe: Recipe, learn_alpha: bool
) -> None:
    # an impossible tolerance, so that pi of held alphas has not converged before
    given = task(recipe, max_iter=6, tol=1e-300, learn_alpha=learn_alpha)
    whole, part = given.learn(), given.learn(max_iter=2)
    told: list[Record] = []
    rest = given.recipe.learn(
        given.rows.without_initial_r(), given.Rt, part.state, told.append, part.records
    )
    assert rest.records[:2] == part.records
    # a callback is told the state as well; the result keeps it only where it is asked to
    assert rest.records[2:] == [replace(record, state=None) for record in told]
    assert [record.iteration for record in rest.records] == [1, 2, 3, 4, 5, 6]
    assert told[-1].state is rest.state
    assert told[0].seconds > part.records[-1].seconds
    assert_same_state(rest.state, whole.state, tol=1e-12)


@BOTH
def test_the_record_of_a_model_without_weights_is_in_the_result_only(recipe: Recipe) -> None:
    given = task(recipe, cap=1e-7, floor=1e-9)
    told: list[Record] = []
    result = given.recipe.learn(given.rows, given.Rt, given.state, told.append, keep_states=True)
    assert result.stop is Stop.EMPTY
    assert result.records[:-1] == told
    assert result.records[-1].newton_steps == 0 and result.records[-1].state is None


def test_trouble_after_earlier_records_ends_with_their_state() -> None:
    given = task(FAST)
    part = given.learn(max_iter=2)
    failing = failing_after(0, FactorizationError, FAST)
    rows = given.rows.without_initial_r()
    result = failing.learn(rows, given.Rt, part.state, earlier=part.records)
    assert result.stop is Stop.NUMERICAL
    assert result.state is part.state and result.records == part.records


# --- where it starts ---


def test_of_two_components_one_begins_without_weights_where_that_is_prepared() -> None:
    two, three = task(FAST, n_components=(1, 1)).state, task(FAST, n_components=(2, 1)).state
    begun = FAST.begun(two)
    assert begun.n_weights == two.n_weights // 2 and set(begun.component.tolist()) == {0}
    np.testing.assert_allclose(begun.alpha, two.alpha[: begun.n_weights] / 2.0)
    assert FAST.begun(three) is three
    assert PAPER.begun(two) is two


def test_a_recipe_tells_what_its_method_is() -> None:
    held = changed(FAST, learn_alpha=False)
    assert FAST.learns_alpha and not held.learns_alpha
    assert held.min_share == FAST.min_share == FAST.method.prune.min_share
