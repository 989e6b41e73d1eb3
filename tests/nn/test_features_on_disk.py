"""Features in a file: the head they give is that of features in memory, and memory stays small."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss
from torch import Tensor, nn

from sdgm import SDGMClassifier
from sdgm.nn import extract_features, fit_head

N_ROWS = 40_000
BATCH = 500


def batches(n_rows: int, D: int = 6) -> Iterator[tuple[Tensor, Tensor]]:
    """Two modes per class, opposite each other, made when they are wanted."""
    rng = np.random.default_rng(0)
    for _ in range(n_rows // BATCH):
        y = rng.integers(3, size=BATCH)
        sign = rng.choice([-1.0, 1.0], size=(BATCH, 1))
        X = sign * 3.0 * np.eye(3, D)[y] + rng.normal(size=(BATCH, D))
        yield torch.as_tensor(X).float(), torch.as_tensor(y)


def proba(head: nn.Module, X: Any) -> Any:
    with torch.no_grad():
        return head(torch.as_tensor(np.array(X)).double()).softmax(dim=1).numpy()


@pytest.fixture(scope="module")
def mapped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Tensor]:
    path = tmp_path_factory.mktemp("features") / "features.npy"
    return extract_features(nn.Identity(), batches(N_ROWS), path)


def test_the_file_has_the_features(tmp_path: Path, mapped: tuple[Any, Tensor]) -> None:
    features, labels = mapped
    assert isinstance(features, np.memmap)
    X, y = extract_features(nn.Identity(), batches(N_ROWS))
    np.testing.assert_array_equal(features, X.numpy())
    torch.testing.assert_close(labels, y)
    np.testing.assert_array_equal(np.load(features.filename), X.numpy())


@pytest.mark.parametrize("student", [None, SDGMClassifier(1)])
@pytest.mark.parametrize("rank", [2, 6])
def test_the_head_is_that_of_features_in_memory(
    mapped: tuple[Any, Tensor], student: SDGMClassifier | None, rank: int
) -> None:
    features, labels = mapped
    heads = [
        fit_head(X, labels, student=student, rank=rank, dtype=torch.float64)
        for X in (features, torch.as_tensor(np.array(features)))
    ]
    first = np.array(features[:1000])
    np.testing.assert_allclose(proba(heads[0], first), proba(heads[1], first), atol=1e-12)


def test_a_sample_chooses_what_all_rows_would(
    mapped: tuple[Any, Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    features, labels = mapped
    blocks = fit_head(features, labels, dtype=torch.float64)
    monkeypatch.setattr("sdgm.nn.fitted_head.SAMPLE_ROWS", N_ROWS)
    whole = fit_head(features, labels, dtype=torch.float64)
    P, Q = proba(blocks, features), proba(whole, features)
    assert abs(log_loss(labels, P) - log_loss(labels, Q)) < 1e-3
    assert np.abs(P - Q).mean() < 5e-3


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    peaks = []
    for n_rows in (N_ROWS, 3 * N_ROWS):
        tracemalloc.start()
        features, labels = extract_features(nn.Identity(), batches(n_rows), tmp_path / "f.npy")
        fit_head(features, labels)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # labels and flags take 40 bytes of a row, its features 24 in the file and 48 in a fit
    assert peaks[1] < peaks[0] + 2 * N_ROWS * 40


def test_what_is_not_finite_is_found_in_any_block(tmp_path: Path) -> None:
    features, labels = extract_features(nn.Identity(), batches(N_ROWS), tmp_path / "f.npy")
    X = np.array(features)
    X[30_000, 1] = np.nan
    with pytest.raises(ValueError, match="features are not finite in 1 rows, row 30000 the first"):
        fit_head(X, labels)


def test_no_file_is_left_half_written(tmp_path: Path) -> None:
    def torn() -> Iterator[tuple[Tensor, Tensor]]:
        yield from batches(BATCH)
        raise OSError("the disk with the pictures is gone")

    with pytest.raises(OSError, match="is gone"):
        extract_features(nn.Identity(), torn(), tmp_path / "f.npy")
    with pytest.raises(ValueError, match="the loader yields no batch"):
        extract_features(nn.Identity(), iter([]), tmp_path / "f.npy")
    assert not list(tmp_path.iterdir())


def test_every_batch_has_features_of_one_length(tmp_path: Path) -> None:
    several = [(torch.zeros(2, D), torch.zeros(2)) for D in (3, 4)]
    with pytest.raises(ValueError, match="feature vectors of length 4 after ones of length 3"):
        extract_features(nn.Identity(), several, tmp_path / "f.npy")
