"""Claims about ``python -m reproduction table2`` and the figure of features."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")
pytest.importorskip("torch")

from typer.testing import CliRunner

from reproduction.app import app, listed


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, arguments)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the experiment, which is not run, is asked for."""
    asked: dict[str, Any] = {}

    def stand_in(folder: Path, *, progress: Any, step_progress: Any, **options: Any) -> list[Path]:
        asked.update(folder=folder, steps=step_progress is not None, **options)
        progress(0, 2, None)
        if step_progress is not None:
            step_progress(20, 468)
        progress(2, 2, {"data": "mnist-d2", "head": "sdgm"})
        return [folder / "table2.md"]

    monkeypatch.setattr("reproduction.deep.table2.run_table2", stand_in)
    return asked


def test_options_reach_the_experiment(asked: dict[str, Any]) -> None:
    result = run(
        *("table2", "--data", "mnist-d2,fashion", "--heads", "softmax", "--heads", "sdgm, lgm"),
        *("--seeds", "2", "--epochs", "5", "--train-size", "999", "--threads", "2", "-o", "here"),
    )
    assert result.exit_code == 0, result.output
    assert asked["data"] == ["mnist-d2", "fashion"]
    assert asked["heads"] == ["softmax", "sdgm", "lgm"]
    assert (asked["seeds"], asked["epochs"], asked["train_size"]) == (2, 5, 999)
    assert (asked["threads"], asked["jobs"], asked["folder"]) == (2, 1, Path("here"))
    assert asked["steps"]
    assert re.sub(r"\s+", " ", result.stdout).strip() == "wrote here/table2.md"


def test_without_options_it_is_what_the_data_folder_has_in_full(asked: dict[str, Any]) -> None:
    assert run("table2").exit_code == 0
    assert asked["data"] == ["mnist-d2", "mnist-d10", "fashion"]
    assert len(asked["heads"]) == 6
    assert asked["seeds"] == 3
    assert asked["epochs"] is asked["train_size"] is None
    assert not asked["quick"] and not asked["search"]


def test_quick_runs_and_several_jobs(asked: dict[str, Any]) -> None:
    assert run("table2", "--quick", "--jobs", "2", "--search").exit_code == 0
    assert asked["folder"] == Path("sdgm-results-quick")
    assert asked["quick"] and asked["search"]
    assert not asked["steps"]  # steps of two jobs would get into each other's way


def test_unknown_names_and_missing_files_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDGM_DATA", str(tmp_path))
    for arguments, words in (
        (("--data", "svhn"), "there is no problem 'svhn'"),
        (("--heads", "soft"), "head must be one of"),
        (("--data", "cifar10"), "is not in the data folder"),
        (("--data", "imagenet"), "needs a folder of pictures"),
    ):
        result = run("table2", "-o", str(tmp_path), *arguments)
        assert result.exit_code == 1
        assert re.search(rf"^Error: .*{words}.*\.$", result.stderr, flags=re.MULTILINE)
        assert "Traceback" not in result.output


def test_without_pytorch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        return None if name == "torch" else find_spec(name)

    monkeypatch.setattr("reproduction.app.find_spec", missing)
    for arguments in (("table2",), ("figure", "features")):
        result = run(*arguments)
        assert result.exit_code == 1
        assert 'pip install "sdgm[torch]"' in result.stderr


def test_names_are_listed_with_commas_or_one_by_one() -> None:
    assert listed(["a,b", "c", " d , ,e"]) == ["a", "b", "c", "d", "e"]


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not installed")
def test_the_figure_of_features_is_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    drawn: dict[str, Any] = {}

    def stand_in(folder: Path, **options: Any) -> list[Path]:
        drawn.update(folder=folder, **options)
        return [folder / "features.png"]

    monkeypatch.setattr("reproduction.deep.features.draw_features", stand_in)
    result = run("figure", "features", "-o", str(tmp_path), "--seed", "3", "--quick")
    assert result.exit_code == 0, result.output
    assert (drawn["folder"], drawn["seed"], drawn["quick"]) == (tmp_path, 3, True)
