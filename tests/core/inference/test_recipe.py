"""Claims about recipes: how learning is watched and ended, and what it starts from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdgm.core.inference.presets import FAST
from sdgm.core.inference.recipe import Recipe
from sdgm.core.model.state import Record, Stop
from sdgm.core.solvers.precision import FactorizationError
from tests.reference.recipes import failing_after
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
