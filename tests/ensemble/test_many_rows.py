"""The ensemble of many rows, in blocks: in memory, on disk, on Dask."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sdgm import KernelEnsembleClassifier
from sdgm.core.data.rows import Rows
from sdgm.ensemble import estimator, many_rows
from sdgm.ensemble.many_rows import fit_many_rows
from tests.small_scale import make_small, make_small_on_dask

N = 3000


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand rows are many, blocks have 64 of them, and a sample 600."""
    make_small(monkeypatch)
    make_ensemble_small(monkeypatch)


def make_ensemble_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimator, "LARGE_ROWS", 1000)
    monkeypatch.setattr(many_rows, "SAMPLE_ROWS", 600)
    monkeypatch.setattr(many_rows, "RARE_ROWS", 20)


def table(n: int = N, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n) > 0).astype(int)
    y[X[:, 2] > 2.0] = 2
    return X, y


def log_loss(model: KernelEnsembleClassifier, X: np.ndarray, y: np.ndarray) -> float:
    return -float(np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean())


@pytest.mark.usefixtures("small")
def test_all_rows_do_better_than_the_sample_and_the_left_out_loss_says_so() -> None:
    X_new, y_new = table(4000, 1)
    model = KernelEnsembleClassifier().fit(*table())
    few = KernelEnsembleClassifier().fit(*table(600))
    loss = log_loss(model, X_new, y_new)
    assert loss < log_loss(few, X_new, y_new)
    assert loss == pytest.approx(model.loo_log_loss_, abs=0.05)
    assert not hasattr(model, "loo_proba_")


def test_with_all_rows_in_the_sample_it_is_ridge_regression_of_all_rows() -> None:
    X, y = table(300)
    rows = Rows(X, y, np.ones(300))
    fitted, sample = fit_many_rows(rows, np.bincount(y).astype(float), np.ones(3))
    assert len(sample.s) == 300
    members = {member.name: member for member in fitted.ensemble.members}
    whole = KernelEnsembleClassifier().fit(X, y)
    assert set(members) <= set(whole.member_weights_)
    for member in whole.ensemble_.members:
        if member.name in members:
            views = [each.scorer.space.at(X) for each in (member, members[member.name])]
            np.testing.assert_allclose(
                member.scorer.scores(views[0]),
                members[member.name].scorer.scores(views[1]),
                atol=1e-3,
            )


def test_a_weight_is_a_number_of_copies() -> None:
    X, y = table(500)
    s = np.random.default_rng(3).integers(1, 3, 500)
    copies = np.repeat(np.arange(500), s)
    once, _ = fit_many_rows(Rows(X, y, s.astype(float)), np.bincount(y) * 1.0, np.ones(3))
    often, _ = fit_many_rows(
        Rows(X[copies], y[copies], np.ones(len(copies))), np.bincount(y[copies]) * 1.0, np.ones(3)
    )
    np.testing.assert_allclose(once.ensemble.proba(X), often.ensemble.proba(X), atol=1e-6)


@pytest.mark.usefixtures("small")
def test_few_distinct_rows_are_sampled_too() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (N, 2)).astype(float)
    y = (rng.random(N) < 0.2 + 0.6 * X[:, 0]).astype(int)
    model = KernelEnsembleClassifier().fit(X, y)
    P = model.predict_proba([[0.0, 0.0], [1.0, 0.0]])
    np.testing.assert_allclose(P[:, 1], [0.2, 0.8], atol=0.06)


@pytest.mark.usefixtures("small")
def test_rows_on_disk_give_the_same_model(tmp_path: Path) -> None:
    X, y = table()
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    one = KernelEnsembleClassifier(class_weight="balanced").fit(X, y)
    other = KernelEnsembleClassifier(class_weight="balanced").fit(mapped, y)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.usefixtures("small")
def test_constant_inputs_of_many_rows_give_the_frequencies() -> None:
    y = np.arange(1200) % 4 == 0
    model = KernelEnsembleClassifier().fit(np.ones((1200, 2)), y)
    np.testing.assert_allclose(model.predict_proba([[3.0, 3.0]]), [[0.75, 0.25]])


@pytest.mark.parametrize("n_rows", [800, N])
def test_rows_on_dask_give_the_same_model(n_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    da = pytest.importorskip("dask.array")
    from sdgm.dask import KernelEnsembleClassifier as OnDask
    from sdgm.dask import ensemble as dask_ensemble

    make_small_on_dask(monkeypatch)
    make_ensemble_small(monkeypatch)
    monkeypatch.setattr(dask_ensemble, "LARGE_ROWS", 1000)
    X, y = table(n_rows)
    s = np.random.default_rng(3).integers(0, 3, n_rows).astype(float)
    chunks = [da.from_array(a, chunks=700) for a in (X, y, s)]
    here = KernelEnsembleClassifier(class_weight={0: 1.0, 1: 2.0, 2: 0.5}).fit(X, y, s)
    there = OnDask(class_weight={0: 1.0, 1: 2.0, 2: 0.5}).fit(*chunks)
    P = there.predict_proba(chunks[0]).compute()
    np.testing.assert_allclose(P, here.predict_proba(X), atol=1e-9)
    assert there.score(chunks[0], chunks[1], chunks[2]) == pytest.approx(here.score(X, y, s))
    np.testing.assert_array_equal(there.to_local().predict(X), here.predict(X))
