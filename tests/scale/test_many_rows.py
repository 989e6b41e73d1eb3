"""Claims about fits to many rows: a sample decides on the columns, all rows on the weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from sdgm import KernelSDGMClassifier, NumericalTroubleWarning, SDGMClassifier
from sdgm._typing import FloatArray, IntArray
from sdgm.core.inference.mode import EMGradient
from sdgm.core.inference.variations import for_sample
from sdgm.core.model.state import Stop
from sdgm.core.objective.derivatives import class_totals
from sdgm.core.solvers.precision import FactorizationError
from sdgm.estimators import run as run_module
from sdgm.estimators.base import has_many_rows
from sdgm.estimators.fitting import fit_problem
from sdgm.estimators.plan import plan_of
from sdgm.estimators.run import LINE_EVERY
from sdgm.scale import many_rows, refinement, sampling
from tests.small_scale import assert_same, make_small

N = 1500


@pytest.fixture(autouse=True)
def small_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand rows are many, and blocks have 64 of them."""
    make_small(monkeypatch)


def table(seed: int = 0, n_rows: int = N) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n_rows)
    X = rng.normal(size=(n_rows, 2)) + np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 2.0]])[y]
    return X, y


def model(**parameters) -> SDGMClassifier:
    return SDGMClassifier(**{"n_components": 2, "teacher": None, "random_state": 0} | parameters)


class Reader:
    """A table that is read in parts."""

    def __init__(self, X: FloatArray, columns: list[str] | None = None) -> None:
        self.X, self.shape = X, X.shape
        if columns is not None:
            self.columns = columns
        self.longest = 0

    def read(self, start: int, stop: int) -> FloatArray:
        self.longest = max(self.longest, stop - start)
        return self.X[start:stop]


@pytest.mark.parametrize("form", [SDGMClassifier, KernelSDGMClassifier])
def test_memory_threads_files_and_readers_end_with_the_same_model(form, tmp_path: Path) -> None:
    X, y = table(n_rows=1100)
    make = lambda: form(n_components=2, teacher=None, random_state=0)  # noqa: E731
    with threadpool_limits(1, "blas"):
        expected = make().fit(X, y)
    with threadpool_limits(2, "blas"):
        assert_same(make().fit(X, y), expected)
    np.save(tmp_path / "X.npy", X)
    assert_same(make().fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y), expected)
    reader = Reader(X, ["a", "b"])
    read = make().fit(reader, y)
    assert_same(read, expected)
    assert reader.longest <= 64
    assert read.feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.parametrize("form", [SDGMClassifier, KernelSDGMClassifier])
def test_neither_the_layout_of_the_table_nor_weights_of_one_change_a_bit(form) -> None:
    X, y = table(n_rows=1100)
    make = lambda: form(n_components=2, teacher=None, random_state=0)  # noqa: E731
    expected = make().fit(X, y)
    spaced = np.repeat(X, 2, axis=1)[:, ::2]
    for same in (np.asfortranarray(X), spaced, Reader(np.asfortranarray(X))):
        assert_same(make().fit(same, y), expected)
    assert_same(make().fit(X, y, sample_weight=np.ones(len(y))), expected)


@pytest.mark.parametrize("middle_rows", [600, 10**6], ids=["second sample", "one sample"])
def test_nothing_is_lost_against_a_fit_to_all_rows_at_once(
    middle_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many_rows, "MIDDLE_ROWS", middle_rows)
    X, y = table()
    X_test, y_test = table(1, 5000)
    sampled = model().fit(X, y)
    monkeypatch.setattr(many_rows, "LARGE_ROWS", 10**9)
    whole = model().fit(X, y)
    losses = [log_loss(y_test, each.predict_proba(X_test)) for each in (sampled, whole)]
    assert losses[0] <= losses[1] + 0.01


def test_all_rows_are_learned_from_not_the_sample_alone() -> None:
    X, y = table()
    X_test, y_test = table(1, 5000)
    sampled = model().fit(X, y)
    picked = sampling.drawn_sample(
        sampling.blocked_table(X, y, np.ones(N), n_threads=1),
        np.bincount(y).astype(float),
        400,
        0,
    )
    alone = model().fit(picked.X, picked.y, picked.s)
    assert log_loss(y_test, sampled.predict_proba(X_test)) < log_loss(
        y_test, alone.predict_proba(X_test)
    )


def test_a_part_of_the_second_sample_leads_to_the_mode_but_not_to_the_shares(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learned_from, differences = [], []
    learn, come_back = refinement.AllRows.learn, refinement.AllRows.with_columns_back

    def counted_learn(self, *arguments):
        learned_from.append(len(self.table))
        return learn(self, *arguments)

    def compared(self, state, recipe):
        total = class_totals(self.table, state.n_classes)
        differences.append(np.bincount(state.component_class, state.pi) - total / total.sum())
        return come_back(self, state, recipe)

    monkeypatch.setattr(refinement.AllRows, "learn", counted_learn)
    monkeypatch.setattr(refinement.AllRows, "with_columns_back", compared)
    X, y = table(n_rows=4000)
    model().fit(X, y)
    first, *others = learned_from
    assert 50 < first < 250 and max(others) == 4000 and min(others[-2:]) > 500
    assert len(differences) > 1
    np.testing.assert_allclose(differences, 0.0, atol=1e-12)


def test_relevance_vectors_are_rows_of_the_users_table() -> None:
    X, y = table()
    dual = KernelSDGMClassifier(2, random_state=0, teacher=None).fit(X, y)
    np.testing.assert_array_equal(X[dual.relevance_], dual.relevance_vectors_)


def test_labels_may_be_names_and_weights_are_repetition() -> None:
    X, y = table()
    names = np.array(["one", "two", "three"])[y]
    fitted = model().fit(X, names)
    assert set(fitted.predict(X)) == {"one", "two", "three"}
    assert fitted.score(X, names) > 0.75
    twice = model().fit(X, names, sample_weight=np.full(N, 2.0))
    assert twice.score(X, names) > 0.75
    left_out = model().fit(X, names, sample_weight=(names != "two").astype(float))
    assert left_out.classes_.tolist() == ["one", "three"]


@settings(
    deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 1000), share=st.floats(0.01, 1.0))
def test_samples_have_rare_classes_whole_and_stand_for_all_rows(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    y = (rng.random(2000) < 0.01).astype(int)
    counts = np.bincount(y, minlength=2).astype(float)
    assume(counts[1] <= sampling.RARE_ROWS)
    rows = sampling.blocked_table(rng.normal(size=(2000, 1)), y, np.ones(2000), n_threads=1)
    picked = sampling.drawn_sample(rows, counts, int(2000 * share) + 1, seed)
    assert (picked.y == 1).sum() == counts[1]
    np.testing.assert_array_equal(y[picked.number], picked.y)
    assert len(np.unique(picked.number)) == len(picked.number)
    # weights say how often a row of the sample is to count; within five standard errors
    ours, theirs = picked.s[picked.y == 1].sum() / picked.s.sum(), counts[1] / 2000
    assert 1.0 / ours == pytest.approx(1.0 / theirs, rel=5.0 / np.sqrt(2000 * share))


def test_values_that_are_no_numbers_are_named() -> None:
    X, y = table()
    X[1234, 1] = np.nan
    with pytest.raises(ValueError, match="nan in row 1234, column 1"):
        model().fit(Reader(X), y)
    with pytest.raises(ValueError, match="NaN"):
        model().fit(X, y)


def test_other_mistakes_are_one_sentence() -> None:
    X, y = table()
    with pytest.raises(ValueError, match="X has 1500 rows and y has 1499"):
        model().fit(Reader(X), y[:-1])
    with pytest.raises(ValueError, match="only one class, 0"):
        model().fit(Reader(X), np.zeros(N, dtype=int))
    wrong = Reader(X)
    wrong.shape = (N, 3)
    with pytest.raises(ValueError, match=r"shape \(64, 2\) instead of \(64, 3\)"):
        model().fit(wrong, y)


def test_few_rows_of_a_reader_are_an_ordinary_fit() -> None:
    X, y = table(n_rows=300)
    assert_same(model().fit(Reader(X), y), model().fit(X, y))


def test_the_paper_preset_and_given_starts_use_all_rows() -> None:
    X, _ = table()
    assert has_many_rows(X, plan_of(model()))
    assert not has_many_rows(X, plan_of(model(preset="paper")))
    assert not has_many_rows(X, plan_of(model(init=np.ones((N, 6)))))


def test_an_interrupt_leaves_a_model_that_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table()
    begun = []

    def interrupt(record) -> None:
        begun.extend([record] * (record.iteration == 1))
        if len(begun) == 2 and record.iteration == 2:  # after the sample
            raise KeyboardInterrupt

    monkeypatch.setattr(run_module, "print_line", interrupt)
    estimator = model(verbose=2)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X, y)
    assert estimator.score(X, y) > 0.7
    assert estimator.history_[-1].iteration == 2


@pytest.mark.parametrize("n_drawn", [1, 2])
def test_an_interrupt_while_a_sample_is_drawn_leaves_the_model_of_the_first(
    n_drawn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = table()
    drawn: list[int] = []

    def interrupted(*arguments):
        drawn.append(1)
        if len(drawn) > n_drawn:
            raise KeyboardInterrupt
        return sampling.drawn_sample(*arguments)

    monkeypatch.setattr(many_rows, "drawn_sample", interrupted)
    estimator = model()
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X, y)
    assert estimator.score(X, y) > 0.7


def test_the_sample_is_fitted_as_one_whose_weights_all_rows_decide_on_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = table()
    plans = []

    def seen(problem, plan, run):
        plans.append((plan, problem.recipe, run.stage))
        return fit_problem(problem, plan, run)

    monkeypatch.setattr(many_rows, "fit_problem", seen)
    model(class_weight="balanced").fit(X, y)
    [(plan, recipe, stage)] = plans
    assert stage == "fit/sample" and plan.class_weight is None
    assert plan.recipe == recipe == for_sample(plan_of(model()).recipe)
    assert recipe != plan_of(model()).recipe


@pytest.mark.parametrize("error", [KeyboardInterrupt, FactorizationError])
def test_a_first_pass_that_fails_leaves_the_model_of_the_stage_before(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = table()
    samples: list[Any] = []

    def fit_sample(*arguments):
        samples.append(fit_problem(*arguments))
        return samples[-1]

    def failing(self, rows, whitening, state):
        if samples:  # all passes over more rows than the sample
            raise error
        return find_mode(self, rows, whitening, state)

    find_mode = EMGradient.__call__
    monkeypatch.setattr(many_rows, "fit_problem", fit_sample)
    monkeypatch.setattr(EMGradient, "__call__", failing)
    fitted = model()
    if error is KeyboardInterrupt:
        with pytest.raises(KeyboardInterrupt):
            fitted.fit(X, y)
    else:
        with pytest.warns(NumericalTroubleWarning, match="could not be factorised"):
            fitted.fit(X, y)
    np.testing.assert_array_equal(fitted.coef_, samples[0].model.coef)
    assert np.isfinite(fitted.predict_proba(X[:5])).all()


@pytest.mark.parametrize("n_calls", [1, 2])
def test_trouble_of_any_stage_is_told_once(n_calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table()
    calls = []

    def troubled(*arguments):
        fit = refinement.refined(*arguments)
        calls.append(1)
        if len(calls) != n_calls:
            return fit
        failed = replace(fit.training, stop_reason=Stop.NUMERICAL.value, converged=False)
        return replace(fit, training=failed)

    monkeypatch.setattr(many_rows, "refined", troubled)
    with pytest.warns(NumericalTroubleWarning, match="could not be factorised") as caught:
        model().fit(X, y)
    assert len(caught) == 1 and caught[0].filename == __file__


def test_callbacks_see_every_pass_over_the_sample_and_over_all_rows() -> None:
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    X, y = table()

    class Listener:
        ended: list[tuple[str, bool]] = []  # noqa: RUF012

        def setup(self, estimator, context) -> None: ...

        def teardown(self, estimator, context) -> None: ...

        def on_fit_task_begin(self, estimator, context) -> None: ...

        def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator=None) -> None:
            predicts = fitted_estimator is not None and fitted_estimator.score(X, y) > 0.3
            self.ended.append((context.task_name, predicts))

    fitted = model().set_callbacks(Listener()).fit(X, y)
    *iterations, end = Listener.ended
    assert len(iterations) == fitted.n_iter_ and set(iterations) == {("iteration", True)}
    assert end[0] == "fit"
    assert all(record.state is None for record in fitted.history_)
    plain = model().fit(X, y)
    assert_same(fitted, plain)


@pytest.mark.parametrize("verbose", [1, 2])
def test_lines_of_passes_over_all_rows_are_as_many_as_asked_for(
    verbose: int, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = table()
    fitted = model(verbose=verbose).fit(X, y)
    lines = [line for line in capsys.readouterr().out.splitlines() if " iteration " in line]
    wanted = [record.iteration for record in fitted.history_]
    if verbose == 1:
        wanted = [iteration for iteration in wanted if iteration % LINE_EVERY == 1]
    assert [int(line.split()[2]) for line in lines] == wanted
