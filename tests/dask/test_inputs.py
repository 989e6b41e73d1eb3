"""Claims about what the classifiers on Dask are given: odd collections, mistakes, checkpoints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

from scipy import sparse  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402

import sdgm.dask as sdgm_dask  # noqa: E402
from sdgm import SDGMClassifier  # noqa: E402
from sdgm.scale import checkpoint  # noqa: E402
from sdgm.scale.checkpoint import Checkpoint  # noqa: E402
from tests.small_scale import make_small_on_dask  # noqa: E402

N = 1500
rng = np.random.default_rng(0)
Y = rng.integers(3, size=N)
X = rng.normal(size=(N, 2)) + np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 2.0]])[Y]
NAMES = np.array(["one", "three", "two"])[Y]
ROWS, LABELS = da.from_array(X, chunks=(400, 2)), da.from_array(Y, chunks=700)


@pytest.fixture(autouse=True)
def small_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand rows are many, blocks have 64 of them and groups 256."""
    make_small_on_dask(monkeypatch)


def model(**parameters) -> sdgm_dask.SDGMClassifier:
    return sdgm_dask.SDGMClassifier(
        **{"n_components": 1, "teacher": None, "random_state": 0} | parameters
    )


def local(**parameters) -> SDGMClassifier:
    return SDGMClassifier(**{"n_components": 1, "teacher": None, "random_state": 0} | parameters)


def frame(**columns):
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], **columns})
    return dd.from_pandas(table, npartitions=5)


def without_rows(partition, partition_info=None):
    """A partition as it is, but the third is empty, as after a filter."""
    is_third = partition_info is not None and partition_info["number"] == 2
    return partition.iloc[:0] if is_third else partition


def assert_same(ours, theirs) -> None:
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    np.testing.assert_allclose(
        ours.predict_proba(X).compute(), theirs.predict_proba(X), rtol=0, atol=1e-8
    )


@pytest.mark.parametrize("kind", ["str", "category", "object"])
def test_frames_may_have_text_or_categories_as_labels(kind: str) -> None:
    table = frame(kind=pd.Series(NAMES).astype(kind))
    assert_same(model().fit(table[["a", "b"]], table["kind"]), local().fit(X, NAMES))


@pytest.mark.parametrize("n_rows", [N, 900])
def test_terms_have_the_names_of_the_columns(n_rows: int) -> None:
    table = dd.from_pandas(pd.DataFrame(X[:n_rows], columns=["a", "b"]), npartitions=3)
    fitted = model().fit(table, da.from_array(Y[:n_rows]))
    assert fitted.feature_names_in_.tolist() == ["a", "b"]
    assert set(" ".join(fitted.terms_)) <= set("ab*^2 ")
    again = fitted.fit(ROWS, LABELS)
    assert not hasattr(again, "feature_names_in_")


def test_the_users_arrays_stay_as_they_are() -> None:
    keep = ROWS[:, 0] > -100.0
    rows, labels = ROWS[keep], LABELS.rechunk(400)[keep.rechunk(400)]
    before = [(array.chunks, array.name) for array in (rows, labels)]
    model().fit(rows, labels)
    after = [(array.chunks, array.name) for array in (rows, labels)]
    assert repr(after) == repr(before)
    assert np.isnan(rows.shape[0]) and np.isnan(labels.shape[0])


def test_chunks_of_unknown_size_and_empty_partitions_are_fine() -> None:
    expected = local().fit(X[X[:, 0] > -9.0], Y[X[:, 0] > -9.0])
    keep = ROWS[:, 0] > -9.0
    assert_same(model().fit(ROWS[keep], LABELS[keep.rechunk(LABELS.chunks)]), expected)
    table = frame(kind=NAMES).map_partitions(without_rows)
    fitted = model().fit(table[["a", "b"]], table["kind"])
    left = table.compute()
    np.testing.assert_array_equal(
        fitted.predict_proba(table[["a", "b"]]).compute(),
        fitted.to_local().predict_proba(left[["a", "b"]]),
    )
    assert fitted.predict(table[["a", "b"]]).compute().shape == (len(left),)


def test_arrays_in_memory_are_taken_too(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", X)
    expected = local().fit(X, Y)
    for rows, labels in (
        (X, Y),
        (np.load(tmp_path / "X.npy", mmap_mode="r"), LABELS),
        (X.tolist(), Y.tolist()),
        (X.astype(np.float32).astype(object), Y),
    ):
        fitted = model().fit(rows, labels)
        np.testing.assert_allclose(
            fitted.to_local().predict_proba(X), expected.predict_proba(X), atol=1e-5
        )


def test_rows_of_weight_zero_are_left_out_with_their_classes() -> None:
    weight = (Y != 1).astype(float)
    fitted = model().fit(ROWS, LABELS, da.from_array(weight, chunks=333))
    assert_same(fitted, local().fit(X, Y, weight))
    assert fitted.classes_.tolist() == [0, 2]


@pytest.mark.parametrize("chunk", [100, 1500])
def test_balanced_weights_do_not_depend_on_chunks(chunk: int) -> None:
    weight = np.linspace(0.1, 1.7, N)
    fitted = [
        model(class_weight="balanced").fit(
            da.from_array(X, chunks=(each, 2)),
            da.from_array(NAMES, chunks=each),
            da.from_array(weight, chunks=each),
        )
        for each in (chunk, 256)
    ]
    np.testing.assert_array_equal(fitted[0].coef_, fitted[1].coef_)
    assert_same(fitted[0], local(class_weight="balanced").fit(X, NAMES, weight))


def test_all_kinds_of_probabilities_are_lazy() -> None:
    fitted = model(n_components=2).fit(ROWS, LABELS)
    for method in ("predict_log_proba", "predict_component_proba"):
        lazy = getattr(fitted, method)(ROWS)
        assert isinstance(lazy, da.Array)
        np.testing.assert_array_equal(lazy.compute(), getattr(fitted.to_local(), method)(X))
    assert fitted.score(ROWS, LABELS) == fitted.to_local().score(X, Y)


def test_wrong_rows_to_predict_are_refused_at_once() -> None:
    table = frame()
    fitted = model().fit(table[["a", "b"]], LABELS)
    with pytest.raises(ValueError, match=r"the columns of X are \['b', 'a'\]"):
        fitted.predict(table[["b", "a"]])
    with pytest.raises(ValueError, match=r"shape \(1500, 1\), and the model has 2 inputs"):
        fitted.predict_proba(ROWS[:, :1])
    with pytest.raises(ValueError, match=r"shape \(1500,\)"):
        fitted.predict(ROWS[:, 0])
    with pytest.raises(NotFittedError):
        model().predict(ROWS)


def changed(array, row: int, value):
    copy = np.array(array, dtype=object if value is None else None)
    copy[row] = value
    return copy


MISTAKES = {
    "text column": (frame(kind=NAMES), LABELS, None, "Column 'kind' of X holds str.*, not numbers"),
    "text": (da.from_array(np.full((N, 2), "a")), LABELS, None, "values that are no numbers"),
    "sparse": (ROWS.map_blocks(sparse.csr_array), LABELS, None, "no dense arrays"),
    "complex": (ROWS + 1j, LABELS, None, "X holds complex128"),
    "dates": (ROWS.astype("M8[s]"), LABELS, None, "X holds datetime64"),
    "one dimension": (ROWS[:, 0], LABELS, None, "two dimensions, got 1"),
    "no rows": (ROWS[:0], LABELS[:0], None, "X has no rows"),
    "not a number": (
        da.from_array(changed(X, 1499, np.nan), chunks=(400, 1)),
        LABELS,
        None,
        "nan in row 1499, column 0",
    ),
    "no labels": (ROWS, None, None, "y is None"),
    "a column of labels": (ROWS, LABELS[:, None], None, r"y has shape \(1500, 1\)"),
    "other rows": (ROWS[ROWS[:, 0] > 0.0], LABELS, None, r"y has shape \(1500,\) for \d+ rows"),
    "missing name": (
        ROWS,
        da.from_array(changed(NAMES, 1234, None), chunks=300),
        None,
        "missing label in row 1234",
    ),
    "missing number": (
        ROWS,
        da.from_array(changed(Y.astype(float), 1234, np.nan), chunks=300),
        None,
        "missing label in row 1234",
    ),
    "mixed labels": (
        ROWS,
        da.from_array(np.where(Y == 0, 7, NAMES.astype(object)), chunks=300),
        None,
        "y mixes labels of type int and str",
    ),
    "numbers to regress on": (ROWS, ROWS[:, 0], None, "continuous"),
    "one class": (ROWS, da.zeros(N, chunks=100), None, "only one class"),
    "negative weight": (
        ROWS,
        LABELS,
        da.from_array(changed(np.ones(N), 700, -1.0)),
        r"sample_weight is -1.0 in row 700",
    ),
    "no weight": (ROWS, LABELS, da.zeros(N), "zero for every sample"),
    "few weights": (ROWS, LABELS, da.ones(N - 1), r"sample_weight has shape \(1499,\)"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence(name: str) -> None:
    rows, labels, weight, sentence = MISTAKES[name]
    with pytest.raises(ValueError, match=sentence):
        model().fit(rows, labels, weight)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"preset": "paper"}, "preset='paper' fits all rows at once"),
        ({"init": np.ones((N, 3))}, "an array for init"),
    ],
)
def test_what_needs_all_rows_at_once_is_refused_beyond_few(parameters, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        model(**parameters).fit(ROWS, LABELS)


def test_a_fit_to_few_rows_can_be_gone_on_from_and_one_to_many_cannot() -> None:
    fitted = model(warm_start=True).fit(ROWS[:900], LABELS[:900])
    before = fitted.n_iter_
    assert fitted.fit(ROWS[:900], LABELS[:900]).n_iter_ < before
    with pytest.raises(ValueError, match="warm_start=True"):
        fitted.fit(ROWS, LABELS)


class Killed(BaseException):
    """In place of a signal."""


def test_a_killed_fit_resumes_with_other_chunks_to_the_same_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "fit"
    expected = model().fit(ROWS, LABELS)
    monkeypatch.setattr(checkpoint, "WRITE_EVERY", 0.0)
    write, left = Checkpoint.write, 6

    def write_and_die(self: Checkpoint) -> None:
        nonlocal left
        write(self)
        left -= 1
        if not left:
            raise Killed

    monkeypatch.setattr(Checkpoint, "write", write_and_die)
    n_kills = 0
    while True:
        try:
            chunk = 200 + 100 * n_kills
            again = model(checkpoint=path).fit(
                da.from_array(X, chunks=(chunk, 1)), da.from_array(Y, chunks=chunk)
            )
            break
        except Killed:
            n_kills, left = n_kills + 1, 6
    assert n_kills >= 2
    np.testing.assert_array_equal(again.coef_, expected.coef_)
    assert len(again.history_) == len(expected.history_)
    assert not path.exists()
    left = 6
    with pytest.raises(Killed):
        model(checkpoint=path).fit(ROWS, LABELS)
    with pytest.raises(ValueError, match="belongs to another fit"):
        model(checkpoint=path).fit(ROWS + 1e-9, LABELS)


def test_a_client_of_threads_ends_with_the_same_model() -> None:
    from distributed import Client

    expected = local(n_components=2).fit(X, NAMES)
    table = frame(kind=NAMES)
    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"):
        fitted = model(n_components=2).fit(table[["a", "b"]], table["kind"])
        P = fitted.predict_proba(table[["a", "b"]]).compute()
        with pytest.raises(ValueError, match="missing label in row 3"):
            model().fit(ROWS, da.from_array(changed(NAMES, 3, None), chunks=300))
    np.testing.assert_allclose(P, expected.predict_proba(X), atol=1e-8)
