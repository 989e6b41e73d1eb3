"""Claims about what a fit to many rows is given: odd tables, labels, weights and settings."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import sdgm
from reproduction.gaussian_processes.estimator import MixtureOfGPsClassifier
from sdgm import ComponentsReducedWarning, KernelSDGMClassifier, SDGMClassifier
from sdgm._typing import FloatArray
from sdgm.scale import refinement, sampling
from tests.small_scale import make_small

N = 1500
rng = np.random.default_rng(0)
Y = rng.integers(3, size=N)
X = rng.normal(size=(N, 2)) + np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 2.0]])[Y]
NAMES = np.array(["one", "three", "two"])[Y]


@pytest.fixture(autouse=True)
def small_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand rows are many, and blocks have 64 of them."""
    make_small(monkeypatch)
    monkeypatch.setattr(sampling, "RARE_ROWS", 30)


class Reader:
    """A table that is read in parts."""

    def __init__(self, rows: FloatArray, columns: list[str] | None = None) -> None:
        self.rows, self.shape = rows, rows.shape
        if columns is not None:
            self.columns = columns

    def read(self, start: int, stop: int) -> FloatArray:
        return self.rows[start:stop]


def model(form=SDGMClassifier, **parameters):
    return form(**{"n_components": 1, "teacher": None, "random_state": 0} | parameters)


def on_disk(folder: Path, rows) -> np.ndarray:
    np.save(folder / "rows.npy", rows)
    return np.load(folder / "rows.npy", mmap_mode="r")


def assert_same(one, other, tolerance: float = 0.0) -> None:
    np.testing.assert_array_equal(one.model_.active, other.model_.active)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=0, atol=tolerance)
    np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    "stored",
    [np.asfortranarray, lambda a: a.astype(np.float32), lambda a: (100 * a).astype(np.int16)],
    ids=["by columns", "float32", "integers"],
)
def test_files_of_any_order_and_type_are_as_arrays_of_float64(tmp_path: Path, stored) -> None:
    rows = stored(X)
    from_disk = model().fit(on_disk(tmp_path, rows), Y)
    assert_same(from_disk, model().fit(np.asarray(rows, dtype=np.float64), Y))
    np.testing.assert_array_equal(from_disk.predict(rows), from_disk.predict(rows.astype(float)))


def test_frames_lists_and_readers_are_tables_too() -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = model().fit(X, Y)
    for table in (
        X.tolist(),
        pd.DataFrame(X, columns=["a", "b"]),
        pl.DataFrame(X, schema=["a", "b"]),
        Reader(X, ["a", "b"]),
    ):
        fitted = model().fit(table, Y)
        assert_same(fitted, expected)
        if not isinstance(table, list):
            assert fitted.feature_names_in_.tolist() == ["a", "b"]
            assert set(" ".join(fitted.terms_)) <= set("ab*^2 ")


def labels_of_all_kinds() -> dict[str, tuple[object, list[object]]]:
    pd = pytest.importorskip("pandas")
    words, numbers = ["one", "three", "two"], [0, 1, 2]
    return {
        "text": (NAMES, words),
        "objects": (NAMES.astype(object), words),
        "categories": (pd.Series(NAMES).astype("category"), words),
        "a list": (NAMES.tolist(), words),
        "floats": (Y.astype(float), numbers),
        "bytes": (Y.astype(np.uint8), numbers),
    }


def test_labels_of_any_kind_lead_to_the_same_model(tmp_path: Path) -> None:
    rows = on_disk(tmp_path, X)
    expected = model().fit(X, Y)
    for labels, classes in labels_of_all_kinds().values():
        fitted = model().fit(rows, labels)
        assert fitted.classes_.tolist() == classes
        assert_same(fitted, expected)
        assert fitted.score(X, np.asarray(labels)) == expected.score(X, Y)


def test_a_class_of_one_row_is_in_the_model() -> None:
    y = np.where(np.arange(N) == 1234, 7, Y)
    with pytest.warns(ComponentsReducedWarning, match="Class 7 has 1 samples"):
        fitted = model(n_components=2).fit(Reader(X), y)
    assert fitted.classes_.tolist() == [0, 1, 2, 7]
    assert fitted.predict_proba(X)[:, 3].mean() == pytest.approx(1 / N, rel=0.5)


def test_columns_that_say_nothing_or_the_same_are_harmless() -> None:
    expected = model().fit(X, Y)
    rare = np.zeros(N)
    rare[1400] = 1e6  # one row, which the sample need not have
    for more in (np.full(N, 7.0), np.full(N, 1e9), X[:, 0], rare):
        fitted = model().fit(Reader(np.column_stack([X, more])), Y)
        assert fitted.score(np.column_stack([X, more]), Y) > expected.score(X, Y) - 0.01
    nothing = model().fit(Reader(np.ones((N, 2))), Y)
    np.testing.assert_allclose(nothing.predict_proba(X[:1]), [np.bincount(Y) / N], atol=0.03)


def test_units_of_the_inputs_do_not_matter() -> None:
    expected = model().fit(X, Y)
    for factor in (1e-150, 1e100):
        assert_same(model().fit(Reader(X * factor), Y), expected, 1e-6)
    with pytest.raises(ValueError, match="use standardize=True"):
        model(standardize=False).fit(Reader(X * 1e200), Y)


MISTAKES = {
    "infinity deep inside": (lambda: (Reader(np.where(X[1321] == X, -np.inf, X)), Y), "row 1321"),
    "not a number": (lambda: (Reader(np.where(X[9] == X, np.nan, X)), Y), "nan in row 9, column 0"),
    "numbers to regress on": (lambda: (Reader(X), X[:, 0]), "continuous"),
    "labels of two types": (
        lambda: (Reader(X), np.where(Y == 0, None, NAMES.astype(object))),
        "y mixes labels of type NoneType and str",
    ),
    "indicators": (lambda: (Reader(X), np.eye(3)[Y]), r"1d array, got an array of shape \(1500, 3"),
    "too few labels": (lambda: (Reader(X), Y[1:]), "X has 1500 rows and y has 1499 labels"),
    "one class": (lambda: (Reader(X), np.full(N, "only")), "only one class, 'only'"),
    "no columns": (lambda: (Reader(X[:, :0]), Y), r"0 feature\(s\)"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence(name: str) -> None:
    make, sentence = MISTAKES[name]
    with pytest.raises(ValueError, match=sentence):
        model().fit(*make())


def test_sparse_tables_are_refused() -> None:
    for table in (sparse.csr_matrix(X), sparse.coo_array(X)):
        with pytest.raises(TypeError, match="Sparse data"):
            model().fit(table, Y)


@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        (-np.ones(N), "negative entry"),
        (np.zeros(N), "zero for every sample"),
        (np.ones(N - 1), r"shape \(1499,\) for 1500"),
        (np.where(np.arange(N) == 1400, np.nan, 1.0), "NaN"),
    ],
    ids=["negative", "zero", "too few", "not a number"],
)
def test_weights_that_mean_nothing_are_refused(weight: FloatArray, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        model().fit(Reader(X), Y, weight)


def test_class_weights_are_sample_weights() -> None:
    factors = {"one": 1.0, "three": 2.0, "two": 0.5}
    expected = model().fit(Reader(X), NAMES, np.vectorize(factors.get)(NAMES))
    assert_same(model(class_weight=factors).fit(Reader(X), NAMES), expected, 1e-12)
    for wrong in ("x", {"one": 0.0, "three": 1.0, "two": 1.0}):
        with pytest.raises(ValueError, match="class_weight"):
            model(class_weight=wrong).fit(Reader(X), NAMES)


def test_several_starts_budgets_and_open_settings_work_on_readers() -> None:
    expected = model().fit(X, Y).score(X, Y)
    assert model(n_init=3).fit(Reader(X), Y).score(X, Y) > expected - 0.01
    small = model(max_weights=2).fit(Reader(X), Y)
    assert small.n_active_weights_ <= 2
    # a sample chooses the settings that are left open
    left_open = SDGMClassifier(random_state=0).fit(Reader(X), Y)
    assert set(left_open.chosen_) == {"n_components", "covariance_type"}
    assert left_open.score(X, Y) > expected - 0.01


@pytest.mark.parametrize("form", [SDGMClassifier, KernelSDGMClassifier])
def test_models_of_many_rows_can_be_saved_pickled_and_cloned(form, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    fitted = model(form, checkpoint=str(tmp_path / "fit")).fit(Reader(X), NAMES)
    assert list(tmp_path.iterdir()) == []
    sdgm.save(fitted, tmp_path / "model.sdgm")
    P = fitted.predict_proba(X)
    for again in (
        sdgm.load(tmp_path / "model.sdgm"),
        pickle.loads(pickle.dumps(fitted)),
        clone(fitted).fit(X, NAMES),
    ):
        np.testing.assert_array_equal(again.predict_proba(X), P)


def test_all_rows_are_at_the_end_of_the_history() -> None:
    history = model().fit(Reader(X), Y).history_
    starts = [i for i, record in enumerate(history) if record.iteration == 1]
    assert len(starts) == 3  # two samples, all rows
    assert 0 < len(history) - starts[2] <= refinement.MOST_PASSES
    # more rows, a log likelihood that is lower by as much
    ratio = history[-1].log_likelihood / history[starts[1] - 1].log_likelihood
    assert ratio == pytest.approx(N / 400, rel=0.2)


def test_callbacks_are_called() -> None:
    callback = pytest.importorskip("sklearn.callback")
    if not hasattr(callback, "ScoringMonitor"):
        pytest.skip("this scikit-learn has no ScoringMonitor")
    seen = []

    class Seen:
        """A callback that counts."""

        def setup(self, estimator, context) -> None: ...
        def on_fit_task_begin(self, estimator, context, **data) -> None: ...

        def on_fit_task_end(self, estimator, context, **data) -> None:
            seen.append(context.task_name)

        def teardown(self, estimator, context) -> None: ...

    fitted = model().set_callbacks(Seen()).fit(X, Y)
    assert seen.count("iteration") >= 1
    assert fitted.score(X, Y) > 0.7


def test_rows_that_count_are_all_drawn_when_they_are_few() -> None:
    weight = (np.arange(N) >= N - 40).astype(float)
    fitted = model().fit(X, Y, sample_weight=weight)
    assert set(fitted.classes_) == {0, 1, 2}
    few = model().fit(X[-40:], Y[-40:])
    np.testing.assert_allclose(fitted.predict_proba(X), few.predict_proba(X), atol=0.02)


def test_inputs_that_say_nothing_leave_the_shares_of_all_rows() -> None:
    fitted = model().fit(np.ones((N, 2)), Y)
    shares = np.bincount(Y) / N
    np.testing.assert_allclose(fitted.predict_proba(np.ones((1, 2)))[0], shares, atol=1e-12)


@pytest.mark.parametrize(
    ("stored", "sentence"),
    [
        (np.ones(N), "two dimensions"),
        (np.ones((N, 2, 2)), "two dimensions"),
        (np.ones((N, 2), dtype=complex), "complex128, not numbers"),
        (np.ones((N, 2), dtype="U3"), "not numbers"),
    ],
)
def test_a_file_of_anything_else_is_refused(tmp_path: Path, stored, sentence: str) -> None:
    np.save(tmp_path / "X.npy", stored)
    with pytest.raises(ValueError, match=sentence):
        model().fit(np.load(tmp_path / "X.npy", mmap_mode="r"), Y)


def test_labels_are_wanted(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match="y is None"):
        model().fit(np.load(tmp_path / "X.npy", mmap_mode="r"), None)


def test_one_huge_input_among_many_rows_is_refused() -> None:
    table = X.copy()
    table[-1, 0] = 1e200
    with pytest.raises(ValueError, match="too large"):
        model(standardize=False).fit(table, Y)


def test_readers_are_predicted_part_by_part() -> None:
    fitted = model().fit(Reader(X, ["width", "height"]), Y)
    frame = Reader(X, ["width", "height"])
    whole = model().fit(X, Y)
    np.testing.assert_array_equal(fitted.predict_proba(frame), whole.predict_proba(X))
    assert fitted.score(frame, Y) == whole.score(X, Y)
    with pytest.raises(ValueError, match="height"):
        fitted.predict(Reader(X, ["height", "width"]))
    with pytest.raises(ValueError, match="1 features"):
        fitted.predict(Reader(X[:, :1]))


def test_names_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="2 columns and 1 names"):
        model().fit(Reader(X, ["width"]), Y)


def test_a_single_number_is_no_table() -> None:
    with pytest.raises(ValueError, match="2D array"):
        model().fit(np.array(5.0), [1])


@pytest.mark.parametrize("n_rows", [500, N])
def test_a_reader_names_its_inputs(n_rows: int) -> None:
    fitted = model().fit(Reader(X[:n_rows], ["width", "height"]), Y[:n_rows])
    assert fitted.feature_names_in_.tolist() == ["width", "height"]


@pytest.mark.parametrize("path", ["X.npy", Path("X.npy")], ids=["text", "path"])
def test_a_path_is_no_table(path) -> None:
    for estimator in (model(), MixtureOfGPsClassifier(), sdgm.SemiSupervisedSDGMClassifier()):
        with pytest.raises(TypeError, match=r"X is the path 'X.npy', not a table; .*mmap_mode"):
            estimator.fit(path, Y)


def test_readers_are_for_estimators_that_need_all_rows_at_once_too() -> None:
    rows = Reader(X[:60])
    for estimator in (
        MixtureOfGPsClassifier(optimizer=False, n_components=1),
        sdgm.SemiSupervisedSDGMClassifier(model()),
    ):
        P = estimator.fit(rows, Y[:60]).predict_proba(X[:60])
        np.testing.assert_array_equal(P, clone(estimator).fit(X[:60], Y[:60]).predict_proba(X[:60]))
