"""Claims about Algorithm 1 as a whole: where it goes, what cannot change it, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import count, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from sdgm._typing import FloatArray
from sdgm.core.data import rows as rows_module
from sdgm.core.data.rows import Rows
from sdgm.core.inference import learning
from sdgm.core.inference.initialization import Start, initial_responsibilities, initial_state
from sdgm.core.inference.learning import (
    Result,
    class_shares,
    laplace_covariance,
    learn,
    log_change,
    settle_r_and_w,
)
from sdgm.core.inference.presets import FAST, PAPER, Options, with_ridge_prior
from sdgm.core.model.posterior import class_log_posterior, component_log_posterior
from sdgm.core.model.state import Record, State, Stop
from sdgm.core.objective.derivatives import mean_change_of_r
from sdgm.core.objective.whitening import whiten
from sdgm.core.solvers.newton import FactorizationError, log_posterior
from tests.reference.problems import (
    FORMS,
    Problem,
    dense_weights,
    design_of,
    random_problem,
    random_responsibilities,
    random_rows,
)

M = (2, 1, 3)
BOTH = pytest.mark.parametrize("options", [PAPER, FAST], ids=["paper", "fast"])


@dataclass(frozen=True)
class Task:
    """Everything that `learn` is given."""

    Phi: FloatArray
    rows: Rows
    Rt: FloatArray
    state: State
    options: Options

    def learn(self, **changes: object) -> Result:
        return learn(
            self.rows, self.Rt, self.state, replace(self.options, **changes), keep_states=True
        )

    def on(self, rows: Rows) -> Task:
        """The same task on other rows."""
        return replace(self, rows=rows)


def task(
    options: Options,
    form: str = "full",
    *,
    seed: int = 0,
    N: int = 60,
    n_components: tuple[int, ...] = M,
    weighted: bool = False,
    **changes: object,
) -> Task:
    """Blobs, random responsibilities and zero weights."""
    rng = np.random.default_rng(seed)
    options = replace(options, **changes)
    X, y = random_rows(rng, N, len(n_components))
    Phi, design = design_of(form, X)
    s = rng.integers(1, 4, size=N).astype(float) if weighted else np.ones(N)
    if options.scale_columns:
        design = design.scaled(s)
    state = initial_state(
        Phi.shape[1],
        np.array(n_components),
        class_shares(y, s, options),
        alpha=options.alpha_start,
        pinned=options.pinned,
    )
    r0 = random_responsibilities(rng, y, n_components)
    return Task(Phi / design.scale, Rows(design.Z, y, s, r0), design.Rt, state, options)


def class_posterior(Phi: FloatArray, state: State) -> FloatArray:
    scores = np.log(state.pi) + Phi @ dense_weights(state, Phi.shape[1]).T
    n_classes = int(state.component_class[-1]) + 1
    return np.exp(
        class_log_posterior(component_log_posterior(scores), state.component_class, n_classes)
    )


def assert_same_state(one: State, other: State, tol: float = 1e-8) -> None:
    np.testing.assert_array_equal(one.component, other.component)
    np.testing.assert_array_equal(one.column, other.column)
    np.testing.assert_array_equal(one.component_class, other.component_class)
    np.testing.assert_allclose(one.w, other.w, rtol=tol, atol=tol * np.abs(other.w).max(initial=1))
    np.testing.assert_allclose(one.alpha, other.alpha, rtol=100 * tol)
    np.testing.assert_allclose(one.pi, other.pi, rtol=tol)


# --- what cannot change the result ---


@BOTH
@pytest.mark.parametrize("form", ["full", "poly", "rbf"])
@pytest.mark.parametrize("n_rows", [7, 59])
def test_rows_in_blocks_give_the_same_result_as_all_at_once(
    options: Options, form: str, n_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = task(options, form, weighted=True, max_iter=12)
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
def test_row_of_weight_n_equals_the_row_n_times(options: Options, form: str) -> None:
    given = task(options, form, weighted=True, max_iter=12)
    rows, n = given.rows, given.rows.s.astype(int)
    assert rows.r0 is not None
    repeated = Rows(
        rows.Z.repeat(n, axis=0), rows.y.repeat(n), np.ones(n.sum()), rows.r0.repeat(n, axis=0)
    )
    assert_same_state(given.learn().state, given.on(repeated).learn().state, tol=1e-7)


@BOTH
@pytest.mark.parametrize("form", ["full", "poly"])
def test_order_of_the_rows_does_not_matter(options: Options, form: str) -> None:
    given = task(options, form, weighted=True, max_iter=12)
    order = np.random.default_rng(1).permutation(len(given.rows))
    rows = given.rows
    assert rows.r0 is not None
    shuffled = Rows(rows.Z[order], rows.y[order], rows.s[order], rows.r0[order])
    assert_same_state(given.learn().state, given.on(shuffled).learn().state, tol=1e-7)


@pytest.mark.parametrize("options", [replace(PAPER, pinned=False), FAST], ids=["paper", "fast"])
@pytest.mark.parametrize("form", ["full", "poly"])
def test_names_of_classes_and_order_of_components_do_not_matter(
    options: Options, form: str
) -> None:
    given = task(options, form, max_iter=12)
    assert given.rows.r0 is not None
    # old classes 2, 0, 1 become 0, 1, 2, and the components of old class 2 turn round
    new_name, components = np.array([1, 2, 0]), [5, 4, 3, 0, 1, 2]
    shares = class_shares(given.rows.y, given.rows.s, options)
    renamed = replace(
        given,
        rows=replace(
            given.rows, y=new_name[given.rows.y], r0=np.asfortranarray(given.rows.r0[:, components])
        ),
        state=initial_state(
            given.Phi.shape[1],
            np.array([3, 2, 1]),
            shares[[2, 0, 1]],
            alpha=options.alpha_start,
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
    rest = learn(given.rows.without_initial_r(), given.Rt, part.state, replace(PAPER, max_iter=5))
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


# --- the middle loop ---


@pytest.mark.parametrize("form", FORMS)
def test_every_pass_of_the_r_loop_from_the_second_on_raises_the_observed_log_posterior(
    form: str,
) -> None:
    given = task(PAPER, form, N=40, weighted=True)
    whitening = whiten(given.Rt, given.state)
    values = []
    for n_passes in range(1, 9):
        options = replace(PAPER, max_em=n_passes, r_tol=0.0)
        mode, _ = settle_r_and_w(given.rows, whitening, given.state, options)
        values.append(log_posterior(mode.fit, mode.theta, complete=False))
    rise = np.diff(values)
    assert (rise >= -1e-9 * np.abs(values[-1])).all()
    assert rise[0] > 1e-3


def test_r_loop_ends_when_r_changes_little() -> None:
    given = task(PAPER, N=40)
    whitening = whiten(given.Rt, given.state)
    mixtures = [
        settle_r_and_w(
            given.rows, whitening, given.state, replace(PAPER, max_em=n_passes, r_tol=0.0)
        )[0].mixture
        for n_passes in range(1, 30)
    ]
    started = given.rows.without_initial_r()
    changes = [mean_change_of_r(started, a, b) for a, b in pairwise(mixtures)]
    n_passes = 2 + next(i for i, change in enumerate(changes) if change < 0.003)
    assert n_passes > 3
    end, _ = settle_r_and_w(given.rows, whitening, given.state, replace(PAPER, r_tol=0.003))
    np.testing.assert_array_equal(end.mixture.V, mixtures[n_passes - 1].V)


@BOTH
def test_first_pass_takes_r_from_the_start_and_tells_components_apart(options: Options) -> None:
    given = task(options, max_iter=1, n_components=(3, 3), pinned=False, learn_alpha=False)
    told, untold = given.learn().state, given.on(given.rows.without_initial_r()).learn().state
    dense_told, dense_untold = dense_weights(told, 6), dense_weights(untold, 6)
    assert np.abs(dense_told[0] - dense_told[1]).max() > 1e-3
    # without it, components that start equal stay equal
    np.testing.assert_allclose(dense_untold[0], dense_untold[1], atol=1e-12)


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
def test_crossed_blobs_are_told_apart_by_a_handful_of_weights(options: Options, form: str) -> None:
    # no linear classifier can do this
    rng = np.random.default_rng(0)
    corner = rng.integers(2, size=(80, 2))
    X, y = 2.0 * corner - 1.0 + 0.4 * rng.normal(size=(80, 2)), (corner[:, 0] ^ corner[:, 1])
    Phi, design = design_of(form, X)
    n_components, s = np.array([2, 2]), np.ones(80)
    state = initial_state(
        Phi.shape[1],
        n_components,
        class_shares(y, s, options),
        alpha=options.alpha_start,
        pinned=options.pinned,
    )
    r0 = initial_responsibilities(X, y, s, n_components, Start.KMEANS, seed=0)
    result = learn(
        Rows(design.Z, y, s, r0), design.Rt, state, replace(options, max_iter=1000, tol=1e-2)
    )
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
def test_pi_keeps_its_sum_within_each_class(options: Options) -> None:
    given = task(options, "poly", weighted=True, max_iter=20)
    expected = class_shares(given.rows.y, given.rows.s, options)
    for record in given.learn().records:
        assert record.state is not None
        total = np.bincount(record.state.component_class, record.state.pi)
        np.testing.assert_allclose(total, expected, rtol=1e-4)


def test_pinned_component_never_has_weights() -> None:
    given = task(PAPER, n_components=(2, 2), max_iter=10)
    for record in given.learn().records:
        assert record.state is not None
        assert np.diff(record.state.starts)[-1] == 0


@pytest.mark.parametrize("form", ["tied", "full"])
def test_ridge_with_one_component_per_class_is_multinomial_logistic_regression(form: str) -> None:
    given = task(
        PAPER, form, n_components=(1, 1, 1), learn_alpha=False, pinned=False, alpha_start=0.7
    )
    state = given.learn(max_iter=3).state
    expected = LogisticRegression(C=1 / 0.7, fit_intercept=False, tol=1e-10, max_iter=10_000)
    expected.fit(given.Phi, given.rows.y)
    np.testing.assert_allclose(dense_weights(state, given.Phi.shape[1]), expected.coef_, atol=1e-5)


@BOTH
def test_fixed_alpha_stays_and_no_weight_leaves(options: Options) -> None:
    given = task(options, learn_alpha=False, max_iter=50)
    result = given.learn()
    assert (result.state.alpha == options.alpha_start).all()
    assert result.state.n_weights == given.state.n_weights
    # alpha never changes, but a pass with the r of the start says nothing about convergence
    assert len(result.records) >= 2


@BOTH
def test_ridge_converges_to_the_mode_and_to_its_own_pi(options: Options) -> None:
    given = task(with_ridge_prior(options, 1.0), weighted=True, seed=1, n_components=(2, 1, 2))
    result = given.learn(max_iter=2000)
    assert result.stop is Stop.CONVERGED
    state, s, y = result.state, given.rows.s, given.rows.y
    problem = Problem(given.Phi, given.rows, given.Rt, state)
    r = problem.r(state.w)
    grad = problem.grad_J(state.w, r) - state.w
    np.testing.assert_allclose(grad / np.sqrt(np.diag(problem.precision(state.w))), 0.0, atol=1e-2)
    share = class_shares(y, s, options)
    for k, c in enumerate(state.component_class):
        own = y == c
        expected = share[c] * np.average(r[own, k], weights=s[own])
        assert state.pi[k] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "components_left"),
    [(with_ridge_prior(FAST, 1.0), 4), (FAST, 3)],
    ids=["ridge", "ard"],
)
def test_component_that_nobody_claims_stays_with_a_ridge_prior_and_leaves_without(
    options: Options, components_left: int
) -> None:
    given = task(options, n_components=(2, 2), max_iter=1)
    assert given.rows.r0 is not None
    r0 = given.rows.r0.copy(order="F")
    r0[:, 0] += r0[:, 1] * (1 - 1e-9)
    r0[:, 1] *= 1e-9
    state = given.on(replace(given.rows, r0=r0)).learn().state
    assert state.n_components == components_left
    assert (state.pi >= 1e-6).all()


# --- records ---


@BOTH
def test_records_tell_what_each_pass_did(options: Options) -> None:
    seen: list[Record] = []
    given = task(options, "poly", max_iter=8)

    def look(record: Record) -> None:
        seen.append(record)

    result = learn(given.rows, given.Rt, given.state, given.options, look, keep_states=True)
    assert seen == result.records
    assert [record.iteration for record in seen] == list(range(1, len(seen) + 1))
    seconds = [record.seconds for record in seen]
    assert seconds == sorted(seconds) and seconds[0] > 0
    for record in seen:
        assert record.state is not None
        assert record.n_weights == record.state.n_weights
        assert record.n_components == record.state.n_components
        assert record.newton_steps >= 1
        assert record.log_likelihood < 0 and record.log_posterior < record.log_likelihood
        assert np.isfinite(record.log_evidence)
    assert seen[-1].state is result.state
    plain = learn(given.rows, given.Rt, given.state, given.options)
    assert all(record.state is None for record in plain.records)


def test_records_hold_the_dense_log_likelihood_log_posterior_and_log_evidence() -> None:
    given = task(PAPER, learn_alpha=False, max_iter=3, r_tol=1e-12, max_em=5000, weighted=True)
    records = given.learn().records
    before, after = records[-2].state, records[-1].state
    assert before is not None and after is not None
    # the last pass had the pi before and found the w after
    problem = Problem(given.Phi, given.rows, given.Rt, replace(before, w=after.w))
    w, alpha = after.w, before.alpha
    penalty = 0.5 * alpha @ w**2
    assert records[-1].log_likelihood == pytest.approx(problem.log_likelihood(w), rel=1e-9)
    assert records[-1].log_posterior == pytest.approx(problem.log_likelihood(w) - penalty, rel=1e-9)
    evidence = (
        problem.J(w, problem.r(w))
        - penalty
        + 0.5 * np.log(alpha).sum()
        - 0.5 * np.linalg.slogdet(problem.precision(w)).logabsdet
    )
    assert records[-1].log_evidence == pytest.approx(evidence, rel=1e-6)


def test_change_is_the_largest_relative_one() -> None:
    before, after = np.array([1.0, 2.0, 30.0]), np.array([2.0, 1.9, 12.0])
    assert log_change(before, after) == pytest.approx(np.log(2.5))
    assert log_change(np.empty(0), np.empty(0)) == 0.0


def test_class_shares_are_weighted_counts_or_ones() -> None:
    y, s = np.array([0, 1, 1, 2]), np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(class_shares(y, s, FAST), [0.1, 0.5, 0.4])
    np.testing.assert_array_equal(class_shares(y, s, PAPER), np.ones(3))


# --- how it stops ---


@BOTH
def test_stops_at_the_limit_of_iterations(options: Options) -> None:
    result = task(options, "poly", max_iter=2).learn()
    assert result.stop is Stop.MAX_ITER
    assert len(result.records) == 2


@BOTH
def test_stops_when_no_weight_is_left(options: Options) -> None:
    result = task(options, alpha_cap=1e-7, alpha_floor=1e-9).learn()
    assert result.stop is Stop.EMPTY
    assert result.state.n_weights == 0
    # one constant component per class is left, and it still has its prior
    np.testing.assert_array_equal(result.state.component_class, [0, 1, 2])
    assert result.records[-1].n_weights == 0


@BOTH
def test_stops_when_the_callback_says_so(options: Options) -> None:
    given = task(options, "poly")
    result = learn(given.rows, given.Rt, given.state, options, lambda record: record.iteration == 3)
    assert result.stop is Stop.CALLBACK
    assert len(result.records) == 3
    assert_same_state(result.state, given.learn(max_iter=3).state, tol=1e-12)


@BOTH
def test_interrupt_leaves_the_state_so_far(options: Options) -> None:
    given = task(options, "poly")

    def interrupt(record: Record) -> None:
        if record.iteration == 3:
            raise KeyboardInterrupt

    result = learn(given.rows, given.Rt, given.state, options, interrupt)
    assert result.stop is Stop.INTERRUPTED
    assert len(result.records) == 3
    assert_same_state(result.state, given.learn(max_iter=3).state, tol=1e-12)


def test_interrupt_within_a_pass_leaves_the_state_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = task(FAST, "poly")
    expected = given.learn(max_iter=2)
    monkeypatch.setattr(learning, "settle_r_and_w", failing_after(2, KeyboardInterrupt))
    result = given.learn()
    assert result.stop is Stop.INTERRUPTED
    assert len(result.records) == 2
    assert_same_state(result.state, expected.state, tol=1e-12)


def test_numerical_trouble_leaves_the_state_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    given = task(FAST, "poly")
    expected = given.learn(max_iter=2)
    monkeypatch.setattr(learning, "settle_r_and_w", failing_after(2, FactorizationError))
    result = given.learn()
    assert result.stop is Stop.NUMERICAL
    assert len(result.records) == 2
    assert_same_state(result.state, expected.state, tol=1e-12)


def test_numerical_trouble_in_the_first_pass_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "settle_r_and_w", failing_after(0, FactorizationError))
    with pytest.raises(FactorizationError):
        task(FAST).learn()


def failing_after(n_passes: int, error: type[BaseException]) -> object:
    """`settle_r_and_w`, until it has been called so many times."""
    original, calls = learning.settle_r_and_w, count()

    def settle(*arguments: object) -> object:
        if next(calls) >= n_passes:
            raise error
        return original(*arguments)

    return settle


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
    options = FAST if fast else PAPER
    rng = np.random.default_rng(seed)
    X, y = random_rows(rng, N, 2)
    if repeats:
        X = np.round(X)
    if constant:
        X[:, 1] = X[0, 1]
    X = 10.0**log_unit * X
    Phi, design = design_of(form, X)
    s = rng.uniform(0.1, 10.0, size=N)
    if options.scale_columns:
        design = design.scaled(s)
    state = initial_state(
        Phi.shape[1],
        np.array([2, 2]),
        class_shares(y, s, options),
        alpha=options.alpha_start,
        pinned=options.pinned,
    )
    rows = Rows(design.Z, y, s, random_responsibilities(rng, y, (2, 2)))
    result = learn(rows, design.Rt, state, replace(options, max_iter=15))
    state = result.state
    for part in (state.w, state.alpha, state.pi):
        assert np.isfinite(part).all()
    assert (state.alpha > 0).all() and (state.pi > 0).all()
    assert set(state.component_class) == {0, 1}
    for record in result.records:
        assert np.isfinite([record.log_posterior, record.log_likelihood, record.log_evidence]).all()


# --- the covariance of the weights ---


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kept", [0.15, 0.9])
def test_covariance_of_a_state_equals_the_dense_inverse(form: str, kept: float) -> None:
    problem = random_problem(0, form, kept=kept)
    Lambda = laplace_covariance(problem.rows, problem.Rt, problem.state)
    root = np.sqrt(problem.state.alpha)
    expected = np.linalg.inv(problem.precision(problem.state.w))
    np.testing.assert_allclose(
        Lambda * np.outer(root, root), expected * np.outer(root, root), atol=1e-6
    )


def test_covariance_of_a_state_without_weights_is_empty() -> None:
    problem = random_problem(0)
    state = problem.state.keep_weights(np.zeros(problem.state.n_weights, dtype=bool))
    assert laplace_covariance(problem.rows, problem.Rt, state).shape == (0, 0)
