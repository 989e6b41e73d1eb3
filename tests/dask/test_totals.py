"""Claims about sums over rows that workers of a cluster keep, and about workers that fail."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

import numpy as np
import pytest

from sdgm.core.data.rows import Rows
from tests.small_scale import make_small_on_dask

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")

from distributed import Client, Status, futures_of, get_worker, wait  # noqa: E402

from sdgm.dask import rows as dask_rows  # noqa: E402
from sdgm.dask import totals as dask_totals  # noqa: E402
from sdgm.dask.rows import DaskRows  # noqa: E402

N = 4000
X = np.random.default_rng(0).normal(size=(N, 2))
EXPECTED = len(X)


@pytest.fixture(autouse=True)
def small_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    make_small_on_dask(monkeypatch)
    monkeypatch.setattr(dask_rows, "bundled_groups", lambda *_: 2)  # eight bundles
    monkeypatch.setattr(dask_totals, "LOOK_EVERY", 0.2)


@pytest.fixture
def client() -> Iterator[Client]:
    with Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as client:
        yield client


def on_workers() -> DaskRows:
    arrays = da.from_array(X, chunks=300), da.zeros(N, dtype=int, chunks=500)
    return dask_rows.rows_on_workers(*arrays, None, np.arange(1), None)


def kept_on_workers() -> DaskRows:
    rows = on_workers()
    wait(rows.bundles)
    return rows


def number_of_rows(block: Rows) -> int:
    return len(block)


def where_kept(rows: DaskRows) -> int | None:
    return dask_totals.total_where_kept(rows.bundles, None, number_of_rows, 1)


def by_whom(block: Rows) -> list[tuple[int, str]]:
    return [(block.first, get_worker().address)]


def test_every_bundle_is_summed_by_the_worker_that_keeps_it(client: Client) -> None:
    rows = kept_on_workers()
    kept = client.who_has(futures_of(rows.bundles))
    for _ in range(3):
        summed_by = dict(dask_totals.total_where_kept(rows.bundles, None, by_whom, 1))
        for i, bundle in enumerate(rows.bundles):
            assert summed_by[512 * i] == kept[bundle.key][0]


def test_without_a_cluster_threads_make_the_sums() -> None:
    rows = on_workers()
    assert where_kept(rows) is None
    assert rows.total(number_of_rows, 1) == EXPECTED


def test_a_worker_that_is_gone_is_not_waited_for(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = kept_on_workers()
    monkeypatch.setattr(dask_totals, "places", lambda *_: ["tcp://127.0.0.1:1"] * 8)
    assert where_kept(rows) is None
    assert rows.total(number_of_rows, 1) == EXPECTED


def test_a_worker_that_is_paused_is_not_waited_for(client: Client) -> None:
    rows = kept_on_workers()
    worker = next(iter(client.cluster.workers.values()))
    worker.status = Status.paused
    try:
        assert rows.total(number_of_rows, 1) == EXPECTED
    finally:
        worker.status = Status.running


def test_workers_that_come_later_are_not_left_out(client: Client) -> None:
    rows = kept_on_workers()
    assert where_kept(rows) == EXPECTED
    client.cluster.scale(3)
    client.wait_for_workers(3)
    assert where_kept(rows) is None
    assert rows.total(number_of_rows, 1) == EXPECTED


def test_an_error_is_that_of_the_statistic_and_keeps_no_rows_for_ever(client: Client) -> None:
    def fail(block: Rows) -> int:
        raise ValueError(f"not {block.first}")

    for _ in range(5):
        with pytest.raises(ValueError, match=r"not \d+"):
            kept_on_workers().total(fail, 1)
    for _ in range(50):
        gc.collect()
        kept = sum("bundle_of_rows" in str(key) for key in client.futures)
        if kept <= 8:  # those of the last error
            return
        time.sleep(0.1)
    pytest.fail(f"{kept} bundles are kept")


def test_rows_are_summed_within_a_task_too(client: Client) -> None:
    def within() -> int:
        return on_workers().total(number_of_rows, 1)

    assert client.submit(within, pure=False).result(timeout=30) == EXPECTED
