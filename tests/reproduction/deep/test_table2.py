"""Claims about the cells of Table 2, on images so few and small that a cell takes a second."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from reproduction.cells import read_records
from reproduction.deep import table2
from reproduction.deep.distributed import Ranks
from reproduction.deep.heads import Head
from reproduction.deep.problems import PROBLEMS, Problem
from reproduction.deep.table2 import (
    cell_keys,
    computing,
    measured_cell,
    run_name,
    run_table2,
    start_model,
    training_options,
)
from tests.reproduction.deep.toy import toy_images, toy_model


@pytest.fixture(autouse=True)
def _toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A toy in the place of MNIST."""
    toy = replace(
        PROBLEMS["mnist-d2"],
        net=lambda: toy_model().net,
        epochs=2,
        training=(("batch_size", 16), ("lr", 0.02)),
    )
    monkeypatch.setitem(PROBLEMS, "mnist-d2", toy)
    monkeypatch.setattr(table2, "problem_images", lambda *asked: (toy_images(), toy_images(seed=1)))


def run(folder: Path, **options: Any) -> list[Path]:
    return run_table2(folder, **{"data": ["mnist-d2"], "heads": ["softmax", "sdgm"]} | options)


def untimed(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if "seconds" not in name}


def test_a_run_writes_page_table_logs_and_models(tmp_path: Path) -> None:
    page, table, *_ = run(tmp_path, seeds=2)
    assert "| SDGM | " in page.read_text()
    with table.open() as file:
        assert [row["seeds"] for row in csv.DictReader(file)] == ["2", "2"]
    records = read_records(tmp_path / "table2.jsonl")
    assert [(record["seed"], record["head"]) for record in records] == [
        *((0, "softmax"), (0, "sdgm"), (1, "softmax"), (1, "sdgm"))
    ]
    names = {path.name for path in (tmp_path / "table2-runs").iterdir()}
    for record in records:
        assert {f"{run_name(record)}.csv", f"{run_name(record)}.pt"} <= names
    assert not [name for name in names if "checkpoint" in name or name.endswith(".tmp")]


@pytest.mark.parametrize("head", Head)
def test_a_cell_measures_as_trained_pruned_and_compact(head: Head, tmp_path: Path) -> None:
    (key,) = cell_keys(["mnist-d2"], [head], 1)
    record = json.loads(json.dumps(measured_cell(key, runs=tmp_path)))
    assert len(record["curve"]) == 2
    assert record["error"] == pytest.approx(record["curve"][-1], abs=1e-6)  # of the last epoch
    assert record["nll"] == pytest.approx(record["nll_curve"][-1], abs=1e-6)
    assert 0 < record["pruned_nonzero"] <= record["head_nonzero"] <= record["head_weights"]
    assert record["compact_error"] == record["pruned_error"]
    assert record["compact_nll"] == pytest.approx(record["pruned_nll"], rel=1e-5)
    assert record["compact_head_bytes"] <= record["head_bytes"]
    assert (record["components"] is None) == (head not in ("dgmm", "sdgm"))


def test_finished_cells_are_not_run_again_and_stay_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path, seeds=1)
    monkeypatch.setattr(table2, "measured_cell", lambda key, **_: pytest.fail("run again"))
    page, *_ = run(tmp_path, seeds=1, heads=["sdgm"])
    assert "| Softmax | " in page.read_text()


def test_what_was_trained_otherwise_is_not_mixed_in(tmp_path: Path) -> None:
    run(tmp_path, seeds=1, heads=["softmax", "lgm"])
    _, table, *_ = run(tmp_path, seeds=1, heads=["softmax"], epochs=1)
    with table.open() as file:
        assert [(row["head"], row["epochs"]) for row in csv.DictReader(file)] == [("softmax", "1")]
    _, table, *_ = run(tmp_path, seeds=1, heads=["softmax"])
    with table.open() as file:
        assert [row["head"] for row in csv.DictReader(file)] == ["softmax", "lgm"]


def test_a_cell_that_was_killed_goes_on_from_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reproduction.deep.trainer.REPORT_EVERY", 1)
    (key,) = cell_keys(["mnist-d2"], ["sdgm"], 1)
    whole = measured_cell(key, runs=tmp_path / "whole")

    def die(done: int, total: int) -> None:
        if done == 9:  # in the second epoch
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measured_cell(key, runs=tmp_path / "halves", progress=die)
    steps: list[int] = []
    again = measured_cell(
        key, runs=tmp_path / "halves", progress=lambda done, total: steps.append(done)
    )
    assert steps == [7, 8, 9, 10, 11, 12]
    assert untimed(again) == untimed(whole)


def test_all_heads_start_with_the_same_network() -> None:
    models = []
    for head in Head:
        (key,) = cell_keys(["mnist-d2"], [head], 1)
        settings = json.loads(str(key["settings"]))
        options = training_options(PROBLEMS["mnist-d2"], key, settings)
        models.append(start_model(key, settings, toy_images(), options))
    first = models[0].net.state_dict()
    for model in models[1:]:
        assert all(
            torch.equal(first[name], value) for name, value in model.net.state_dict().items()
        )


def test_seeds_come_one_after_the_other_with_all_heads() -> None:
    keys = cell_keys(["mnist-d2", "fashion"], ["softmax", "sdgm"], 2)
    assert [(key["data"], key["seed"], key["head"]) for key in keys[:4]] == [
        *(("mnist-d2", 0, "softmax"), ("mnist-d2", 0, "sdgm")),
        *(("mnist-d2", 1, "softmax"), ("mnist-d2", 1, "sdgm")),
    ]
    assert len(keys) == 8


def test_cells_of_other_sizes_and_settings_are_other_cells() -> None:
    names = [
        run_name(cell_keys(["fashion"], ["sdgm"], 1, **options)[0])
        for options in ({}, {"epochs": 3}, {"train_size": 99}, {"quick": True}, {"search": True})
    ]
    assert len(set(names)) == 5


def test_a_problem_may_be_meant_for_part_of_the_images() -> None:
    sizes = [
        cell_keys(["cifar10-small"], ["sdgm"], 1, train_size=size)[0]["train_size"]
        for size in (None, 500)
    ]
    assert sizes == [10_000, 500]


def test_another_network_or_training_makes_other_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    (before,) = cell_keys(["mnist-d2"], ["sdgm"], 1)
    for change in ({"flip": True}, {"training": (("batch_size", 8),)}, {"net": nn.Flatten}):
        monkeypatch.setitem(PROBLEMS, "mnist-d2", replace(PROBLEMS["mnist-d2"], **change))
        (after,) = cell_keys(["mnist-d2"], ["sdgm"], 1)
        assert after != before
        assert run_name(after) != run_name(before)


def test_the_search_tries_all_settings_on_images_held_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(
        table2,
        "problem_images",
        lambda *arguments: asked.append(arguments) or (toy_images(), toy_images(seed=1)),
    )
    (page,) = run(tmp_path, heads=["softmax_l1"], search=True, epochs=1)
    assert page.name == "table2-search.md"
    assert page.read_text().count("| Softmax + L1 |") == 3
    assert all(held_back for _, held_back, *_ in asked)
    assert not (tmp_path / "table2.jsonl").exists()


def test_names_that_are_not_known_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no problem 'svhn'; choose from mnist-d2"):
        run(tmp_path, data=["svhn"])
    with pytest.raises(ValueError, match=r"head must be one of .* got 'soft'"):
        run(tmp_path, heads=["soft"])


def test_jobs_and_torchrun_do_not_go_together(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="jobs=2 cannot be had under torchrun"):
        run(tmp_path, jobs=2, ranks=Ranks(0, 2))


def test_threads_are_as_before_afterwards() -> None:
    before = torch.get_num_threads()
    with computing(before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before


def test_pictures_need_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    with pytest.raises(ValueError, match="ImageNet needs a folder of pictures"):
        run_table2(tmp_path, data=["imagenet"])


def test_a_folder_of_pictures_is_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    Image = pytest.importorskip("PIL.Image")
    for part, n in (("train", 8), ("val", 2)):
        for name, color in (("blue", (0, 0, 255)), ("red", (255, 0, 0))):
            (tmp_path / "images" / part / name).mkdir(parents=True)
            for i in range(n):
                file = tmp_path / "images" / part / name / f"{i}.png"
                Image.new("RGB", (40, 40), color).save(file)
    tiny = Problem(
        title="Tiny",
        images="pictures",
        net=lambda: nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        n_features=3,
        epochs=1,
        covariance_type="diag",
        training=(("batch_size", 8),),
        published="imagenet",
    )
    monkeypatch.setitem(PROBLEMS, "imagenet", tiny)
    page, *_ = run(tmp_path / "out", data=["imagenet"], seeds=1, pictures=tmp_path / "images")
    assert "16 training images" in page.read_text()
