"""Claims about the demo's numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sdgm.datasets import data_folder
from sdgm.datasets.ripley import PACKED
from sdgm.demo import PUBLISHED, DemoResult, checked_output, run_demo


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> DemoResult:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("SDGM_DATA", str(tmp_path_factory.mktemp("empty")))
        return run_demo(seed=0)


def test_without_a_file_rows_are_drawn_and_learned_well(drawn: DemoResult) -> None:
    assert drawn.data.generated and drawn.picture is None
    for outcome in drawn.outcomes.values():
        assert outcome.error < 0.10
        assert outcome.log_loss is not None and outcome.log_loss < 0.25
        assert outcome.weights is not None and outcome.weights[1] <= 12
        assert outcome.seconds is not None and outcome.seconds > 0.0


def test_both_presets_learn_the_same_model_with_the_settings_of_the_paper(
    drawn: DemoResult,
) -> None:
    paper, fast = (drawn.models[preset].get_params() for preset in ("paper", "fast"))
    assert paper | {"preset": "fast"} == fast
    assert (paper["n_components"], paper["kernel"], paper["degree"]) == (3, "poly", 2)
    assert (paper["gamma"], paper["coef0"], paper["standardize"]) == (1.0, 1.0, False)


def test_numbers_are_those_of_the_models(drawn: DemoResult) -> None:
    _, _, X_test, y_test = drawn.data.split()
    for preset, outcome in drawn.outcomes.items():
        model = drawn.models[preset]
        assert outcome.error == pytest.approx(1.0 - model.score(X_test, y_test))
        assert outcome.weights[1] == np.count_nonzero(model.coef_) + np.count_nonzero(
            model.intercept_
        )
        assert outcome.components == ((3, 3), tuple(model.n_components_))
        assert outcome.relevance_vectors == len(model.relevance_)


def test_a_seed_gives_the_same_numbers_again(drawn: DemoResult, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("SDGM_DATA", str(tmp_path))
        again = run_demo(seed=0)
    for preset, outcome in drawn.outcomes.items():
        assert replace(again.outcomes[preset], seconds=None) == replace(outcome, seconds=None)


@pytest.mark.skipif(
    not (data_folder() / PACKED).is_file(), reason="the published rows are not in SDGM_DATA"
)
def test_published_rows_are_used_where_found_and_come_near_the_paper() -> None:
    result = run_demo(seed=0)
    assert not result.data.generated
    for outcome in result.outcomes.values():
        assert abs(outcome.error - PUBLISHED.error) <= 0.008
        assert outcome.weights is not None and outcome.weights[1] <= 9


@pytest.mark.parametrize("suffix", [".png", ".svg", ".PDF"])
def test_the_picture_is_written_in_the_format_of_its_name(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("SDGM_DATA", str(tmp_path))
    result = run_demo(preset="fast", output=tmp_path / f"picture{suffix}")
    assert result.picture == tmp_path / f"picture{suffix}"
    start = {".png": b"\x89PNG", ".svg": b"<?xml", ".PDF": b"%PDF"}[suffix]
    assert result.picture.read_bytes().startswith(start)


def test_places_where_no_picture_can_be_written_are_refused_before_learning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match=r"must end in \.png, \.svg, \.pdf"):
        checked_output(tmp_path / "picture.xyz")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        checked_output(tmp_path / "nowhere" / "picture.png")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        checked_output(tmp_path / "folder.png")
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(PermissionError, match="permission denied"):
        checked_output(tmp_path / "picture.png")
