"""Claims about Ripley's problem, as published and as drawn."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from sdgm.datasets import DamagedDataError, MissingDataError, data_folder, load_ripley, make_ripley
from sdgm.datasets.ripley import MEANS, ORIGINALS, PACKED, VARIANCE, bayes_posterior

needs_file = pytest.mark.skipif(
    not (data_folder() / PACKED).is_file(), reason="the published rows are not in SDGM_DATA"
)


def test_drawn_rows_are_shared_equally_by_the_four_gaussians() -> None:
    X_train, y_train, X_test, y_test = make_ripley(n_train=250, n_test=40_000).split()
    assert np.bincount(y_train).tolist() == [125, 125]
    assert X_train.shape == (250, 2)
    assert np.bincount(y_test).tolist() == [20_000, 20_000]
    # class by class, component by component, as in the published files
    groups = X_test.reshape(2, 2, 10_000, 2)
    np.testing.assert_allclose(groups.mean(axis=2), MEANS, atol=0.01)
    for group in groups.reshape(4, -1, 2):
        np.testing.assert_allclose(np.cov(group.T), VARIANCE * np.eye(2), atol=0.002)


def test_bayes_rule_from_the_true_gaussians_agrees_with_scipy() -> None:
    X = make_ripley().X
    density = np.column_stack(
        [
            sum(multivariate_normal(mean, VARIANCE * np.eye(2)).pdf(X) for mean in means)
            for means in MEANS
        ]
    )
    np.testing.assert_allclose(
        bayes_posterior(X), density / density.sum(axis=1, keepdims=True), rtol=1e-9
    )


def test_bayes_rule_errs_on_nine_percent_of_all_rows() -> None:
    _, _, X, y = make_ripley(n_test=200_000).split()
    assert np.mean(bayes_posterior(X).argmax(axis=1) != y) == pytest.approx(0.0893, abs=0.002)


def test_drawn_rows_depend_on_the_seed_alone() -> None:
    np.testing.assert_array_equal(make_ripley(random_state=1).X, make_ripley(random_state=1).X)
    assert not np.array_equal(make_ripley(random_state=1).X, make_ripley(random_state=2).X)
    assert make_ripley().generated and make_ripley().sha256 is None


@pytest.mark.parametrize("sizes", [{"n_train": 3}, {"n_test": 0}])
def test_too_few_rows_are_refused(sizes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"must be at least 4.*got {next(iter(sizes.values()))}"):
        make_ripley(**sizes)


def test_missing_rows_are_reported_with_where_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDGM_DATA", str(tmp_path))
    with pytest.raises(MissingDataError, match=r"ripley_synth\.npz is not in .*stats\.ox\.ac"):
        load_ripley()


@needs_file
def test_published_rows_are_as_described() -> None:
    data = load_ripley()
    X_train, y_train, X_test, y_test = data.split()
    assert X_train.shape == (250, 2) and X_test.shape == (1000, 2)
    assert np.bincount(y_train).tolist() == [125, 125]
    assert np.bincount(y_test).tolist() == [500, 500]
    assert X_train[0].tolist() == [0.05100797, 0.16086164]
    assert not data.generated and data.sha256 is not None
    # fewer than the nine percent to be expected, and why the problem is known for eight
    assert np.mean(bayes_posterior(X_test).argmax(axis=1) != y_test) == 0.080


@needs_file
def test_the_original_text_files_do_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = load_ripley()
    monkeypatch.setenv("SDGM_DATA", str(tmp_path))
    (tmp_path / "ripley").mkdir()
    X_train, y_train, X_test, y_test = data.split()
    for name, X, y in zip(ORIGINALS, (X_train, X_test), (y_train, y_test), strict=True):
        lines = [f" {a:12.9f} {b:12.9f}    {c}" for (a, b), c in zip(X, y, strict=True)]
        text = os.linesep.join(["      xs            ys       yc", *lines, ""])
        (tmp_path / name).write_text(text)
    again = load_ripley()
    np.testing.assert_array_equal(again.X, data.X)
    np.testing.assert_array_equal(again.y, data.y)
    # one label changed
    changed = (tmp_path / ORIGINALS[0]).read_text().replace("    0\n", "    1\n", 1)
    (tmp_path / ORIGINALS[0]).write_text(changed)
    with pytest.raises(DamagedDataError):
        load_ripley()


@pytest.mark.parametrize("text", ["", "xs ys yc\n1.0 2.0\n", "xs ys yc\n1.0 two 0\n", "<html>\n<p"])
def test_text_files_of_another_kind_are_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("SDGM_DATA", str(tmp_path))
    (tmp_path / "ripley").mkdir()
    for name in ORIGINALS:
        (tmp_path / name).write_text(text)
    with pytest.raises(DamagedDataError):
        load_ripley()


def test_a_damaged_packed_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDGM_DATA", str(tmp_path))
    (tmp_path / "ripley").mkdir()
    (tmp_path / PACKED).write_bytes(b"PK\x03\x04 not the file")
    with pytest.raises(DamagedDataError, match=r"ripley_synth\.npz is damaged"):
        load_ripley()
