"""Claims about Algorithm 1 as a whole: where it goes, what cannot change it, and how it ends."""

from __future__ import annotations

import ast
import inspect
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgm.core.data import rows as rows_module
from sdgm.core.data.rows import Rows
from sdgm.core.inference.initialization import Start, initial_responsibilities, initial_state
from sdgm.core.inference.learning import learn
from sdgm.core.inference.recipe import FAST, PAPER, Recipe
from sdgm.core.model.state import Stop
from sdgm.core.solvers.precision import FactorizationError
from tests.reference.problems import (
    FORMS,
    Problem,
    design_of,
    random_responsibilities,
    random_rows,
)
from tests.reference.recipes import changed
from tests.reference.tasks import BOTH, assert_same_state, class_posterior, shares, start_of, task

# --- what cannot change the result ---


@BOTH
@pytest.mark.parametrize("form", ["full", "poly", "rbf"])
@pytest.mark.parametrize("n_rows", [7, 59])
def test_rows_in_blocks_give_the_same_result_as_all_at_once(
    recipe: Recipe, form: str, n_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = task(recipe, form, weighted=True, max_iter=12)
    whole = given.learn()
    monkeypatch.setattr(rows_module, "BLOCK_NUMBERS", 1)
    monkeypatch.setattr(rows_module, "MIN_BLOCK_ROWS", n_rows)
    assert rows_module.block_size(6) < len(given.rows)
    blocks = given.learn()
    assert blocks.stop == whole.stop
    for one, other in zip(blocks.records, whole.records, strict=True):
        assert one.state is not None and other.state is not None
        assert_same_state(one.state, other.state)
        assert one.log_evidence == pytest.approx(other.log_evidence, rel=1e-8)


@BOTH
@pytest.mark.parametrize("form", ["full", "poly"])
def test_row_of_weight_n_equals_the_row_n_times(recipe: Recipe, form: str) -> None:
    given = task(recipe, form, weighted=True, max_iter=12)
    rows, n = given.rows, given.rows.s.astype(int)
    assert rows.r0 is not None
    repeated = Rows(
        rows.Z.repeat(n, axis=0), rows.y.repeat(n), np.ones(n.sum()), rows.r0.repeat(n, axis=0)
    )
    assert_same_state(given.learn().state, given.on(repeated).learn().state, tol=1e-7)


@BOTH
@pytest.mark.parametrize("form", ["full", "poly"])
def test_order_of_the_rows_does_not_matter(recipe: Recipe, form: str) -> None:
    given = task(recipe, form, weighted=True, max_iter=12)
    order = np.random.default_rng(1).permutation(len(given.rows))
    rows = given.rows
    assert rows.r0 is not None
    shuffled = Rows(rows.Z[order], rows.y[order], rows.s[order], rows.r0[order])
    assert_same_state(given.learn().state, given.on(shuffled).learn().state, tol=1e-7)


@pytest.mark.parametrize("recipe", [changed(PAPER, pinned=False), FAST], ids=["paper", "fast"])
@pytest.mark.parametrize("form", ["full", "poly"])
def test_names_of_classes_and_order_of_components_do_not_matter(recipe: Recipe, form: str) -> None:
    given = task(recipe, form, max_iter=12)
    assert given.rows.r0 is not None
    # old classes 2, 0, 1 become 0, 1, 2, and the components of old class 2 turn round
    new_name, components = np.array([1, 2, 0]), [5, 4, 3, 0, 1, 2]
    share = shares(recipe, given.rows.y, given.rows.s)
    renamed = replace(
        given,
        rows=replace(
            given.rows, y=new_name[given.rows.y], r0=np.asfortranarray(given.rows.r0[:, components])
        ),
        state=initial_state(
            given.Phi.shape[1],
            np.array([3, 2, 1]),
            share[[2, 0, 1]],
            alpha=recipe.preparation.alpha,
            pinned=False,
        ),
    )
    one, other = given.learn(), renamed.learn()
    assert one.state.n_weights == other.state.n_weights
    np.testing.assert_allclose(
        class_posterior(given.Phi, other.state),
        class_posterior(given.Phi, one.state)[:, [2, 0, 1]],
        atol=1e-7,
    )


def test_going_on_from_a_state_is_the_same_as_not_stopping() -> None:
    given = task(PAPER, "poly", max_iter=9)
    whole = given.learn()
    part = given.learn(max_iter=4)
    recipe = changed(PAPER, max_iter=5)
    rest = recipe.learn(given.rows.without_initial_r(), given.Rt, part.state)
    assert_same_state(rest.state, whole.state, tol=1e-12)


def test_same_task_twice_gives_the_same_numbers() -> None:
    given = task(FAST, "poly")
    one, other = given.learn(), given.learn()
    np.testing.assert_array_equal(one.state.w, other.state.w)
    np.testing.assert_array_equal(one.state.alpha, other.state.alpha)


def test_learning_leaves_its_arguments_alone() -> None:
    given = task(FAST, "poly")
    arrays = [
        array
        for value in (given.rows, given.state)
        for array in (getattr(value, field.name) for field in fields(value))
        if isinstance(array, np.ndarray)
    ]
    arrays.append(given.Rt)
    copies = [array.copy() for array in arrays]
    given.learn()
    for array, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


# --- where it ends ---


def test_paper_preset_converges_to_a_fixed_point_of_all_its_updates() -> None:
    given = task(PAPER, "full", seed=3, N=40, n_components=(2, 2))
    result = given.learn()
    assert result.stop is Stop.CONVERGED
    state = result.state
    problem = Problem(given.Phi, given.rows.without_initial_r(), given.Rt, state)
    r = problem.r(state.w)
    # r has converged to a mean change of 1e-3, alpha to a squared change of 1e-5
    grad = problem.grad_J(state.w, r) - state.alpha * state.w
    np.testing.assert_allclose(grad / np.sqrt(np.diag(problem.precision(state.w))), 0.0, atol=5e-2)
    Lambda = np.linalg.inv(problem.precision(state.w))
    new_alpha = (1.0 - state.alpha * np.diag(Lambda)) / state.w**2
    np.testing.assert_allclose(new_alpha, state.alpha, rtol=1e-2)
    pi = [r[given.rows.y == c, k].mean() for k, c in enumerate(state.component_class)]
    np.testing.assert_allclose(state.pi, pi, atol=1e-2)


@BOTH
@pytest.mark.parametrize("form", ["full", "poly", "rbf"])
def test_crossed_blobs_are_told_apart_by_a_handful_of_weights(recipe: Recipe, form: str) -> None:
    # no linear classifier can do this
    rng = np.random.default_rng(0)
    corner = rng.integers(2, size=(80, 2))
    X, y = 2.0 * corner - 1.0 + 0.4 * rng.normal(size=(80, 2)), (corner[:, 0] ^ corner[:, 1])
    Phi, design = design_of(form, X)
    n_components, s = np.array([2, 2]), np.ones(80)
    state = start_of(recipe, Phi.shape[1], n_components, y, s)
    r0 = initial_responsibilities(X, y, s, n_components, Start.KMEANS, seed=0)
    recipe = changed(recipe, max_iter=1000, tol=1e-2)
    result = recipe.learn(Rows(design.Z, y, s, r0), design.Rt, state)
    assert result.stop is Stop.CONVERGED
    error = (class_posterior(Phi, result.state).argmax(axis=1) != y).mean()
    assert error <= 0.03
    assert result.state.n_weights <= 10


@pytest.mark.parametrize("form", ["full", "tied", "poly"])
def test_fast_preset_ends_with_no_column_that_every_component_uses(form: str) -> None:
    # such a column could do without one of its weights: only differences of scores matter
    state = task(FAST, form, n_components=(1, 1), seed=3).learn().state
    assert np.bincount(state.column).max() < state.n_components
    assert state.n_weights >= 1


@BOTH
def test_pi_keeps_its_sum_within_each_class(recipe: Recipe) -> None:
    given = task(recipe, "poly", weighted=True, max_iter=20)
    expected = shares(recipe, given.rows.y, given.rows.s)
    for record in given.learn().records:
        assert record.state is not None
        total = np.bincount(record.state.component_class, record.state.pi)
        np.testing.assert_allclose(total, expected, rtol=1e-4)


def test_pinned_component_never_has_weights() -> None:
    given = task(PAPER, n_components=(2, 2), max_iter=10)
    for record in given.learn().records:
        assert record.state is not None
        assert np.diff(record.state.starts)[-1] == 0


def test_class_shares_are_weighted_counts_or_ones() -> None:
    y, s = np.array([0, 1, 1, 2]), np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(shares(FAST, y, s), [0.1, 0.5, 0.4])
    np.testing.assert_array_equal(shares(PAPER, y, s), np.ones(3))


# --- how it stops ---


@BOTH
def test_stops_at_the_limit_of_iterations(recipe: Recipe) -> None:
    result = task(recipe, "poly", max_iter=2).learn()
    assert result.stop is Stop.MAX_ITER
    assert len(result.records) == 2


@BOTH
def test_stops_when_no_weight_is_left(recipe: Recipe) -> None:
    result = task(recipe, cap=1e-7, floor=1e-9).learn()
    assert result.stop is Stop.EMPTY
    assert result.state.n_weights == 0
    # one constant component per class is left, and it still has its prior
    np.testing.assert_array_equal(result.state.component_class, [0, 1, 2])
    assert result.records[-1].n_weights == 0


@pytest.mark.parametrize("dirt", [np.nan, np.inf])
def test_rows_that_are_not_finite_end_in_trouble_not_in_a_model(dirt: float) -> None:
    given = task(FAST, "full")
    Z = given.rows.Z.copy(order="F")
    Z[3, 1] = dirt
    with np.errstate(invalid="ignore"), pytest.raises(FactorizationError):
        given.on(replace(given.rows, Z=Z)).learn()


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    form=st.sampled_from(FORMS),
    fast=st.booleans(),
    log_unit=st.floats(-12, 12),
    N=st.integers(4, 25),
    repeats=st.booleans(),
    constant=st.booleans(),
)
def test_hostile_inputs_give_finite_states(
    seed: int, form: str, fast: bool, log_unit: float, N: int, repeats: bool, constant: bool
) -> None:
    recipe = changed(FAST if fast else PAPER, max_iter=15)
    rng = np.random.default_rng(seed)
    X, y = random_rows(rng, N, 2)
    if repeats:
        X = np.round(X)
    if constant:
        X[:, 1] = X[0, 1]
    X = 10.0**log_unit * X
    Phi, design = design_of(form, X)
    s = rng.uniform(0.1, 10.0, size=N)
    if recipe.preparation.scale_columns:
        design = design.scaled(s)
    state = start_of(recipe, Phi.shape[1], np.array([2, 2]), y, s)
    rows = Rows(design.Z, y, s, random_responsibilities(rng, y, (2, 2)))
    result = recipe.learn(rows, design.Rt, state)
    state = result.state
    for part in (state.w, state.alpha, state.pi):
        assert np.isfinite(part).all()
    assert (state.alpha > 0).all() and (state.pi > 0).all()
    assert set(state.component_class) == {0, 1}
    for record in result.records:
        assert np.isfinite([record.log_posterior, record.log_likelihood, record.log_evidence]).all()


# --- what is promised of the code ---


def test_algorithm_1_fits_on_a_page_and_asks_nothing_about_its_parts() -> None:
    function = ast.parse(inspect.getsource(learn)).body[0]
    assert isinstance(function, ast.FunctionDef) and ast.get_docstring(function)
    first, last = function.body[1], function.body[-1]
    assert last.end_lineno - first.lineno + 1 <= 30
    branches = (ast.If, ast.IfExp, ast.Match, ast.Try, ast.While)
    # nothing left, the observer, convergence
    assert sum(isinstance(node, branches) for node in ast.walk(function)) <= 3


@BOTH
def test_the_observer_is_told_every_pass_and_records_carry_no_state(recipe: Recipe) -> None:
    given = task(recipe, max_iter=4)
    told = []
    result = learn(
        given.rows, given.Rt, given.state, given.recipe.method, lambda *seen: told.append(seen)
    )
    assert [record for _, record in told] == result.records
    assert all(record.state is None for record in result.records)
    assert told[-1][0] is result.state
    for state, record in told:
        assert (state.n_weights, state.n_components) == (record.n_weights, record.n_components)
