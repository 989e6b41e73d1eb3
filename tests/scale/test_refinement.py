"""Claims about going on with all rows from the model of a sample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import log_loss

from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.core.data.blocked_rows import BlockedRows
from sdgm.core.data.rows import Rows
from sdgm.core.inference.recipe import FAST
from sdgm.core.model.features import monomials
from sdgm.core.model.fitted_model import Scaler
from sdgm.core.model.state import State
from sdgm.core.solvers import sampled as sampled_newton
from sdgm.estimators.run import Run
from sdgm.scale import many_rows, sampling
from sdgm.scale.refinement import AllRows, ModelColumns
from tests.reference.recipes import changed
from tests.scale.passes import counted

N, D = 4000, 3


def problem(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Classes that differ in the mean of x1 and in the variance of x2; x3 is noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=N)
    X = rng.normal(size=(N, D))
    X[:, 0] += y
    X[:, 1] *= 1.0 + 0.3 * y
    return X, y


def all_rows(X: np.ndarray, y: np.ndarray) -> AllRows:
    scaler = Scaler(np.zeros(D), np.ones(D), reach=1e6)
    columns = ModelColumns(scaler, monomials(D, "full").without_constant())
    return AllRows.of(BlockedRows.of(Rows(X, y, np.ones(N))), columns, FAST)


def state_of(column: list[int], w: list[float]) -> State:
    """Weights of the second of two components."""
    n = len(column)
    return State(
        w=np.array(w),
        alpha=np.ones(n),
        column=np.array(column),
        component=np.ones(n, dtype=int),
        pi=np.array([0.5, 0.5]),
        component_class=np.array([0, 1]),
    )


def test_what_all_rows_want_comes_back_and_noise_does_not() -> None:
    X, y = problem()
    # the constant and x1 at about their mode
    state = all_rows(X, y).learn(
        state_of([0, 1], [-0.5, 1.0]), changed(FAST, learn_alpha=False, max_iter=1), Run()
    )
    larger = all_rows(X, y).with_columns_back(state.state, FAST)
    back = {int(h) for h in larger.column} - {0, 1}
    square_of_x2 = 1 + monomials(D, "full").names(["a", "b", "c"])[1:].index("b^2")
    assert square_of_x2 in back
    of_x3 = [i for i, name in enumerate(monomials(D, "full").names(["a", "b", "c"])) if "c" in name]
    assert not back & set(of_x3)
    # those that were there stay as they are
    old = np.isin(larger.column, [0, 1]) & (larger.component == 1)
    np.testing.assert_array_equal(larger.w[old], state.state.w)
    assert (np.diff(larger.component) >= 0).all()


def test_nothing_comes_back_where_all_is_there() -> None:
    X, y = problem()
    rows = all_rows(X, y)
    n_columns = len(rows.norm)
    full = state_of(list(range(n_columns)), [0.0] * n_columns)
    both = replace(
        full,
        w=np.zeros(2 * n_columns),
        alpha=np.ones(2 * n_columns),
        column=np.tile(np.arange(n_columns), 2),
        component=np.repeat([0, 1], n_columns),
    )
    assert rows.with_columns_back(both, FAST) is both


def test_a_sample_loses_nothing_that_can_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = []
    for seed in range(8):
        X, y = problem(seed)
        X_test, y_test = problem(seed + 100)

        def loss(X=X, y=y, X_test=X_test, y_test=y_test) -> float:
            model = SDGMClassifier(n_components=1, random_state=0, teacher=None).fit(X, y)
            return log_loss(y_test, model.predict_proba(X_test))

        at_once = loss()
        with monkeypatch.context() as patch:
            patch.setattr(many_rows, "LARGE_ROWS", 1000)
            patch.setattr(many_rows, "SAMPLE_ROWS", 150)
            patch.setattr(sampling, "RARE_ROWS", 30)
            sampled = loss()
            patch.setattr(many_rows, "ADMISSIONS", 0)
            losses.append((at_once, sampled, loss()))
    at_once, sampled, no_return = np.mean(losses, axis=0)
    assert sampled < at_once + 0.001
    assert no_return > sampled + 0.002  # it would without columns that come back


@pytest.mark.parametrize("n_components", [1, 2])
def test_what_a_sample_could_not_see_at_all_comes_back(
    n_components: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20_000, D))
    y = rng.random(20_000) < 1.0 / (1.0 + np.exp(-0.15 * X[:, 0]))
    monkeypatch.setattr(many_rows, "LARGE_ROWS", 1000)
    monkeypatch.setattr(many_rows, "SAMPLE_ROWS", 200)
    monkeypatch.setattr(sampling, "RARE_ROWS", 30)
    with monkeypatch.context() as patch:
        patch.setattr(many_rows, "ADMISSIONS", 0)
        patch.setattr(many_rows, "LAST_ADMISSIONS", 0)
        assert SDGMClassifier(1, random_state=0, teacher=None).fit(X, y).n_active_weights_ == 0
    model = SDGMClassifier(n_components, random_state=0, teacher=None).fit(X, y)
    assert "x1" in model.terms_
    log_odds = np.diff(model.predict_log_proba([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])).ravel()
    assert np.diff(log_odds) == pytest.approx(0.3, abs=0.1)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kernel", ["poly", "rbf"])
@pytest.mark.parametrize("shared", [False, True])
def test_the_dual_form_loses_little(
    seed: int, kernel: str, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = problem(seed)
    X, y = X[:1100], y[:1100]
    settings = {"kernel": kernel, "shared_vectors": shared, "random_state": 0}
    at_once = KernelSDGMClassifier(1, **settings, teacher=None).fit(X, y)
    monkeypatch.setattr(many_rows, "LARGE_ROWS", 1000)
    monkeypatch.setattr(many_rows, "SAMPLE_ROWS", 500)
    sampled = KernelSDGMClassifier(1, **settings, teacher=None).fit(X, y)
    losses = [log_loss(y, model.predict_proba(X)) for model in (at_once, sampled)]
    assert losses[1] < losses[0] + 0.02
    assert sampled.n_active_weights_ <= 2 * at_once.n_active_weights_ + 5


@pytest.mark.parametrize("form", [SDGMClassifier, KernelSDGMClassifier])
def test_predictions_are_what_was_learned(form, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = problem()
    monkeypatch.setattr(many_rows, "LARGE_ROWS", 1000)
    monkeypatch.setattr(many_rows, "SAMPLE_ROWS", 500)
    model = form(n_components=1, teacher=None, random_state=0).fit(X, y)
    own = -N * log_loss(y, model.predict_proba(X))
    assert own == pytest.approx(model.history_[-1].log_likelihood, abs=2.0)


def test_a_second_sample_stands_between_the_first_and_many_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = problem()
    monkeypatch.setattr(many_rows, "LARGE_ROWS", 1000)
    monkeypatch.setattr(many_rows, "SAMPLE_ROWS", 300)
    monkeypatch.setattr(many_rows, "MIDDLE_ROWS", 1000)
    monkeypatch.setattr(sampled_newton, "ENOUGH_ROWS", 8)
    with counted(BlockedRows) as passes:
        model = SDGMClassifier(n_components=1, random_state=0, teacher=None).fit(X, y)
    # whose information directs the steps, so that all rows give little but gradients
    counts = passes.record()["passes"]
    assert counts["gradients"] > 3 and "observed" not in counts
    n_passes = len(model.history_) - max(
        i for i, record in enumerate(model.history_) if record.iteration == 1
    )
    assert counts["derivatives"] <= n_passes + 1  # one for the covariance
    begins = [i for i, record in enumerate(model.history_) if record.iteration == 1]
    assert len(begins) == 3
    assert model.stop_reason_ in ("converged", "max_iter")
    assert model.converged_


def test_a_budget_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = problem()
    monkeypatch.setattr(many_rows, "LARGE_ROWS", 1000)
    monkeypatch.setattr(many_rows, "SAMPLE_ROWS", 500)
    model = SDGMClassifier(n_components=1, max_weights=2, random_state=0, teacher=None).fit(X, y)
    assert model.n_active_weights_ <= 2
