"""Claims about the classifiers on Dask."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm._typing import FloatArray, IntArray
from sdgm.core.data.rows import Rows, tree_sum
from tests.small_scale import assert_same, make_small_on_dask

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")

from dask.sizeof import sizeof  # noqa: E402
from distributed import Client, futures_of, wait  # noqa: E402

import sdgm.dask as sdgm_dask  # noqa: E402
from sdgm.dask import rows as dask_rows  # noqa: E402
from sdgm.dask import totals as dask_totals  # noqa: E402

N = 1500


@pytest.fixture
def small_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand rows are many, blocks have 64 of them and groups 256."""
    make_small_on_dask(monkeypatch)


def table(n_rows: int = N) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=n_rows)
    X = rng.normal(size=(n_rows, 2)) + np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 2.0]])[y]
    return X, y


@cache
def model_of_memory(form: Any, n_rows: int) -> Any:
    """What fits on Dask are compared with; within `small_scale`."""
    return form(n_components=2, teacher=None, random_state=0).fit(*table(n_rows))


FORMS = [
    (SDGMClassifier, sdgm_dask.SDGMClassifier),
    (KernelSDGMClassifier, sdgm_dask.KernelSDGMClassifier),
]


@pytest.fixture(params=[0, 1, 2], ids=["threads", "1 worker", "2 workers"])
def workers(request: pytest.FixtureRequest) -> Iterator[int]:
    """None, whose work threads do, one or two; in this process, where a thousand rows are many."""
    if not request.param:
        yield 0
        return
    with Client(
        processes=False, n_workers=request.param, threads_per_worker=1, dashboard_address=":0"
    ):
        yield request.param


@pytest.mark.usefixtures("small_scale")
def test_a_sample_chooses_the_settings_as_in_memory() -> None:
    X, y = table(N)
    chosen = {"covariance_type": "tied", "random_state": 0}
    expected = SDGMClassifier(**chosen).fit(X, y)
    arrays = da.from_array(X, chunks=(400, 1)), da.from_array(y, chunks=500)
    fitted = sdgm_dask.SDGMClassifier(**chosen).fit(*arrays)
    assert fitted.chosen_ == expected.chosen_ != {}
    assert_same(fitted, expected)


@pytest.mark.usefixtures("small_scale", "workers")
@pytest.mark.parametrize(("local", "on_dask"), FORMS, ids=["original", "dual"])
@settings(
    deadline=None, max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    chunk=st.integers(40, 1600), other=st.integers(40, 1600), n_rows=st.sampled_from([700, 1100])
)
@example(chunk=333, other=500, n_rows=1100)  # many rows in every run
def test_any_chunking_ends_with_the_model_of_memory(
    local, on_dask, chunk: int, other: int, n_rows: int
) -> None:
    X, y = table(n_rows)
    expected = model_of_memory(local, n_rows)
    fitted = on_dask(n_components=2, teacher=None, random_state=0).fit(
        da.from_array(X, chunks=(chunk, 1)), da.from_array(y, chunks=other)
    )
    assert_same(fitted, expected)  # to the last bit
    P = fitted.predict_proba(da.from_array(X, chunks=(other, 2)))
    np.testing.assert_allclose(P.compute(), expected.predict_proba(X), atol=1e-8)


@pytest.mark.usefixtures("small_scale")
def test_predictions_are_lazy_and_have_the_chunks_of_the_rows() -> None:
    X, y = table()
    model = sdgm_dask.SDGMClassifier(2, random_state=0, teacher=None).fit(
        X, np.array(["a", "b", "c"])[y]
    )
    rows = da.from_array(X, chunks=(400, 1))
    P, labels = model.predict_proba(rows), model.predict(rows)
    assert isinstance(P, da.Array) and isinstance(labels, da.Array)
    assert P.chunks == ((400, 400, 400, 300), (3,)) and labels.chunks == ((400, 400, 400, 300),)
    local = model.to_local()
    assert type(local) is SDGMClassifier
    np.testing.assert_array_equal(labels.compute(), local.predict(X))
    mean, std = model.predict_proba_averaged(rows, return_std=True)
    alone = model.predict_proba_averaged(rows)
    expected_mean, expected_std = local.predict_proba_averaged(X, return_std=True)
    assert mean.chunks == std.chunks == alone.chunks == P.chunks
    np.testing.assert_allclose(mean.compute(), expected_mean)
    np.testing.assert_allclose(std.compute(), expected_std)
    np.testing.assert_allclose(alone.compute(), expected_mean)


@pytest.mark.usefixtures("small_scale")
def test_dataframes_give_names_and_weights_are_taken() -> None:
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    X, y = table()
    weight = np.where(y == 1, 2.0, 1.0)
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]), npartitions=4)
    labels = dd.from_pandas(pd.Series(y), npartitions=4)
    weights = dd.from_pandas(pd.Series(weight), npartitions=4)
    model = sdgm_dask.SDGMClassifier(2, random_state=0, teacher=None).fit(frame, labels, weights)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    expected = SDGMClassifier(2, random_state=0, teacher=None).fit(X, y, weight)
    assert_same(model, expected)
    assert model.score(frame, labels) == pytest.approx(expected.score(X, y))
    assert model.score(frame, labels, weights) == pytest.approx(expected.score(X, y, weight))
    arrays = da.from_array(X, chunks=70), da.from_array(y, chunks=90)
    assert model.score(*arrays) == pytest.approx(expected.score(X, y))
    with pytest.raises(ValueError, match="select them by name"):
        model.score(frame[["b", "a"]], labels)


@pytest.mark.usefixtures("small_scale")
@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 2.0, 2: 3.0}])
def test_class_weights_are_those_of_memory(class_weight) -> None:
    X, y = table()
    expected = SDGMClassifier(2, random_state=0, class_weight=class_weight, teacher=None).fit(X, y)
    model = sdgm_dask.SDGMClassifier(2, random_state=0, class_weight=class_weight, teacher=None)
    model.fit(da.from_array(X, chunks=300), da.from_array(y, chunks=500))
    assert_same(model, expected)


@pytest.mark.usefixtures("small_scale")
def test_balanced_classes_of_weighted_rows_are_those_of_memory() -> None:
    X, y = table()
    weight = np.random.default_rng(1).uniform(0.1, 3.0, size=N)
    expected = SDGMClassifier(2, random_state=0, class_weight="balanced", teacher=None).fit(
        X, y, weight
    )
    model = sdgm_dask.SDGMClassifier(2, random_state=0, class_weight="balanced", teacher=None)
    model.fit(*(da.from_array(part, chunks=400) for part in (X, y, weight)))
    assert_same(model, expected)


def test_mistakes_are_one_sentence() -> None:
    X, y = table(100)
    model = sdgm_dask.SDGMClassifier(1, teacher=None)
    with pytest.raises(ValueError, match=r"y has shape \(99,\) for 100 rows"):
        model.fit(da.from_array(X), da.from_array(y[:-1]))
    with pytest.raises(ValueError, match="only one class"):
        model.fit(da.from_array(X), da.zeros(100))
    X[7, 1] = np.inf
    with pytest.raises(ValueError, match="inf in row 7, column 1"):
        model.fit(da.from_array(X), da.from_array(y))


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_time_not_the_result() -> None:
    from distributed import LocalCluster

    rng = da.random.default_rng(0)
    y = rng.integers(0, 2, size=400_000, chunks=50_000)
    X = rng.normal(size=(400_000, 6), chunks=(50_000, 6)) + 0.8 * y[:, None]
    rows, labels = da.compute(X, y)
    expected = SDGMClassifier(2, random_state=0, teacher=None).fit(rows, labels)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())

        def kill() -> None:
            time.sleep(1.0)
            os.kill(pids[0], signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        model = sdgm_dask.SDGMClassifier(2, random_state=0, teacher=None).fit(X, y)
        killer.join()
        assert pids[0] not in client.run(os.getpid).values()
    assert_same(model, expected)


@dataclass(frozen=True)
class Term:
    """A sum in writing, with its brackets."""

    text: str

    def __add__(self, other: Term) -> Term:
        return Term(f"({self.text}{other.text})")


@pytest.mark.parametrize("bundled", [1, 2, 4, 8])
def test_bundles_change_no_bracket_of_a_sum(bundled: int) -> None:
    for n_groups in range(1, 70):
        groups = [Term(chr(0x4E00 + i)) for i in range(n_groups)]
        totals = [tree_sum(groups[i : i + bundled]) for i in range(0, n_groups, bundled)]
        while len(totals) > dask_totals.ADDED:
            starts = range(0, len(totals), dask_totals.ADDED)
            totals = [dask_totals.sum_of_some(*totals[i : i + dask_totals.ADDED]) for i in starts]
        assert tree_sum(totals) == tree_sum(groups)


@pytest.mark.usefixtures("small_scale")
def test_bundles_lead_to_the_same_model(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(4000)  # sixteen groups
    arrays = da.from_array(X, chunks=300), da.from_array(y, chunks=500)
    models = []
    for bundled in (1, 2, 4):
        monkeypatch.setattr(dask_rows, "bundled_groups", lambda *_, bundled=bundled: bundled)
        models.append(sdgm_dask.SDGMClassifier(2, random_state=0, teacher=None).fit(*arrays))
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)


@pytest.mark.usefixtures("small_scale")
def test_every_thread_gets_as_many_bundles(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(4000)
    monkeypatch.setattr(dask_rows, "bundled_groups", lambda *_: 2)  # eight bundles
    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0") as two:
        # all of it is on one worker
        worker = next(iter(two.nthreads()))
        arrays = [da.from_array(part, chunks=300) for part in (X, y)]
        arrays = two.persist(arrays, workers=[worker])
        rows = dask_rows.rows_on_workers(*arrays, None, np.arange(3), None)
        wait(rows.bundles)
        kept = two.who_has(futures_of(rows.bundles))
    assert sorted(Counter(workers[0] for workers in kept.values()).values()) == [4, 4]


def test_only_workers_that_hand_memory_back_are_told_not_to(monkeypatch) -> None:
    dask_totals.keep_freed_memory.cache_clear()
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    assert not dask_totals.keep_freed_memory()
    dask_totals.keep_freed_memory.cache_clear()
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    assert dask_totals.keep_freed_memory() == hasattr(ctypes.CDLL(None), "mallopt")
    dask_totals.keep_freed_memory.cache_clear()


def test_workers_know_how_large_rows_are() -> None:
    rows = Rows(np.ones((100, 3)), np.zeros(100, dtype=np.int32), np.ones(100))
    assert sizeof(rows) == 100 * (24 + 4 + 8)
