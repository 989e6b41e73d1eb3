"""Table 2 of the paper: SDGM and its rivals as the last layer of networks for images.

A cell is a problem, a head and a seed. What is measured is measured after the last epoch; no epoch
and no setting is chosen by test images. Full MNIST takes some five minutes per cell on one core.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reproduction.cells import Key, Progress, Record, read_records, run_cells
from reproduction.deep.distributed import Ranks, best_device
from reproduction.deep.heads import Head, make_head
from reproduction.deep.images import Images, load_images
from reproduction.deep.measures import measured
from reproduction.deep.networks import Classifier, PatchWhitening, has_bfloat16
from reproduction.deep.picture_folder import load_pictures
from reproduction.deep.problems import (
    DEFAULT_DATA,
    MARGIN_WARMUP,
    PROBLEMS,
    SEARCH,
    Problem,
    Settings,
    head_settings,
)
from reproduction.deep.table2_page import write_page, write_search_page
from reproduction.deep.trainer import (
    StepProgress,
    TrainingOptions,
    mixed_seed,
    replaced,
    train,
)
from reproduction.environment import machine

NAME, SEARCH_NAME = "table2", "table2-search"
QUICK_TRAIN, QUICK_TEST = 512, 500
# what a model's start is drawn from, beside its seed
START = 2
# training images whose patches say how to whiten
WHITENED = 5_000


def run_table2(
    folder: Path,
    *,
    data: Sequence[str] = DEFAULT_DATA,
    heads: Sequence[str] = tuple(Head),
    seeds: int = 3,
    epochs: int | None = None,
    train_size: int | None = None,
    pictures: Path | None = None,
    search: bool = False,
    quick: bool = False,
    threads: int = 1,
    jobs: int = 1,
    ranks: Ranks = Ranks(),  # noqa: B008 - frozen
    progress: Progress | None = None,
    step_progress: StepProgress | None = None,
) -> list[Path]:
    """Run what is not in the folder yet, and write the page and the tables.

    Parameters
    ----------
    folder : Path
        Where to keep finished cells (``table2.jsonl``), checkpoints of those that are not
        (``table2-runs``), and to write; made if need be.
    data : sequence of str
        Names in `PROBLEMS`.
    heads : sequence of str
        Names in `Head`.
    seeds : int, default=3
        Runs of each cell, from seed 0.
    epochs, train_size : int, optional
        Fewer epochs or training images than are usual.
    pictures : Path, optional
        For ImageNet, a folder that has ``train`` and ``val``.
    search : bool, default=False
        Try settings on held-back training images instead.
    quick : bool, default=False
        One epoch on 512 images: to see that it works, not what comes out.
    threads : int, default=1
        Of each process.
    jobs : int, default=1
        Processes that work on different cells side by side.
    ranks : Ranks, optional
        This process among those of ``torchrun`` that work on the same cell.
    progress : callable, optional
        Told about finished cells; see `run_cells`.
    step_progress : callable, optional
        Told about the steps of the cell in work, with one job.

    Returns
    -------
    paths : list of Path
        ``table2.md``, ``table2.csv`` and the learning curves, or ``table2-search.md``.
    """
    keys = cell_keys(
        *(data, heads, 1 if quick or search else seeds),
        epochs=epochs,
        train_size=train_size,
        search=search,
        quick=quick,
    )
    check_data(keys, pictures)
    if jobs > 1 and ranks.n_ranks > 1:
        raise ValueError(f"jobs={jobs} cannot be had under torchrun; use one of the two.")
    name = SEARCH_NAME if search else NAME
    path = folder / f"{name}.jsonl"
    compute = partial(
        measured_cell,
        runs=folder / f"{name}-runs",
        pictures=pictures,
        threads=threads,
        ranks=ranks,
        progress=step_progress if jobs == 1 else None,
    )
    if not ranks.is_first:
        finished = {_name(record, keys[0]) for record in read_records(path)}
        for key in keys:
            if _name(key, key) not in finished:
                compute(key)
        return []
    records = run_cells(path, keys, compute, jobs=jobs, progress=progress)
    for key in keys:  # not before its record is written
        checkpoint_path(folder / f"{name}-runs", key).unlink(missing_ok=True)
    if search:
        return [write_search_page(folder / f"{name}.md", records)]
    shown = {_name(record, keys[0]): record for record in [*others(path, keys), *records]}
    return write_page(folder / NAME, list(shown.values()), quick=quick)


def others(path: Path, keys: Sequence[Key]) -> list[Record]:
    """Finished cells to show beside those asked for, so that a run in parts has one page.

    Of a problem that was asked for: heads and seeds that were not, trained as long on as many
    images. Of another problem: those trained as the last one in the file. Other settings than the
    chosen ones are left out.
    """
    every = [record for record in read_records(path) if not record["held_back"]]
    size = {record["data"]: _training(record) for record in every}
    size |= {str(key["data"]): _training(key) for key in keys}
    return [
        record
        for record in every
        if record["data"] in PROBLEMS
        and _training(record) == size[record["data"]]
        and record["quick"] == keys[0]["quick"]
        and record["recipe"] == recipe(record["data"])
        and json.loads(record["settings"]) == head_settings(record["data"], record["head"])
    ]


def _training(record: Record | Key) -> tuple[Any, Any]:
    """How long, on how many images."""
    return record["epochs"], record["train_size"]


def _name(record: Record, like: Key) -> str:
    """One string per cell."""
    return json.dumps({field: record.get(field) for field in like}, sort_keys=True)


def cell_keys(
    data: Sequence[str],
    heads: Sequence[str],
    seeds: int,
    *,
    epochs: int | None = None,
    train_size: int | None = None,
    search: bool = False,
    quick: bool = False,
) -> list[Key]:
    """All cells, seed by seed, so that a run that ends early has all heads.

    Examples
    --------
    >>> keys = cell_keys(["mnist-d2"], ["softmax", "sdgm"], seeds=3)
    >>> len(keys), keys[1]["head"], keys[1]["settings"]
    (6, 'sdgm', '{"kl_scale": 10.0, "n_components": 2}')
    """
    for name in data:
        if name not in PROBLEMS:
            raise ValueError(f"there is no problem {name!r}; choose from {', '.join(PROBLEMS)}.")
    chosen = [str(Head(head)) for head in dict.fromkeys(heads)]
    return [
        {
            "data": name,
            "head": head,
            "seed": seed,
            "epochs": 1 if quick else epochs or PROBLEMS[name].epochs,
            "train_size": QUICK_TRAIN if quick else train_size or PROBLEMS[name].train_size,
            "settings": json.dumps(settings, sort_keys=True),
            "recipe": recipe(name),
            "held_back": search,
            "quick": quick,
        }
        for name in dict.fromkeys(data)
        for seed in range(seeds)
        for head in chosen
        for settings in (SEARCH[Head(head)] if search else [head_settings(name, head)])
    ]


def recipe(name: str) -> str:
    """A mark of all else that a result depends on: network, training, how images are varied.

    Examples
    --------
    >>> recipe("mnist-d2") == recipe("mnist-d10")
    False
    """
    problem = PROBLEMS[name]
    with torch.random.fork_rng(devices=[]):
        net = problem.net()
    parts = (
        *(repr(net), problem.images, problem.covariance_type, problem.shift),
        *(problem.flip, problem.training, TrainingOptions(epochs=0), MARGIN_WARMUP),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


def check_data(keys: Sequence[Key], pictures: Path | None) -> None:
    """Say before hours of work which file is missing."""
    for key in {(str(key["data"]), key["train_size"]): key for key in keys}.values():
        problem_images(str(key["data"]), bool(key["held_back"]), _size(key), pictures)


def _size(key: Key) -> int | None:
    return None if key["train_size"] is None else int(key["train_size"])


@lru_cache(maxsize=2)
def problem_images(
    name: str, held_back: bool, train_size: int | None, pictures: Path | None
) -> tuple[Images, Images]:
    """Training and test images of a problem."""
    problem = PROBLEMS[name]
    if problem.images != "pictures":
        return load_images(
            problem.images,
            held_back=held_back,
            train_size=train_size,
            shift=problem.shift,
            flip=problem.flip,
        )
    if pictures is None:
        raise ValueError(
            f"{problem.title} needs a folder of pictures that has train and val; name it with "
            "--pictures."
        )
    return load_pictures(pictures, held_back=held_back, train_size=train_size)


def measured_cell(
    key: Key,
    *,
    runs: Path,
    pictures: Path | None = None,
    threads: int = 1,
    ranks: Ranks = Ranks(),  # noqa: B008 - frozen
    progress: StepProgress | None = None,
) -> Record:
    """Train one head on one problem, and measure it; goes on from a checkpoint if there is one."""
    images, test = problem_images(str(key["data"]), bool(key["held_back"]), _size(key), pictures)
    if key["quick"]:
        test = test.part(torch.arange(min(QUICK_TEST, len(test.labels))))
    settings: Settings = json.loads(str(key["settings"]))
    name = run_name(key)
    device = best_device()
    with computing(threads):
        options = training_options(PROBLEMS[str(key["data"])], key, settings)
        model = start_model(key, settings, images, options)
        rows = train(
            model,
            images,
            options,
            test=test,
            checkpoint=checkpoint_path(runs, key),
            log=runs / f"{name}.csv",
            ranks=ranks,
            device=device,
            progress=progress,
        )
        record = measured(model, images, test, device) if ranks.is_first else {}
    if not ranks.is_first:
        return {}
    with replaced(runs / f"{name}.pt") as file:
        torch.save(model.state_dict(), file)
    return {
        **record,
        "epoch_seconds": float(np.median([row["seconds"] for row in rows])),
        "epoch_cpu_seconds": float(np.median([row["cpu_seconds"] for row in rows])),
        "curve": [round(row["test_error"], 6) for row in rows],
        "nll_curve": [round(row["test_nll"], 6) for row in rows],
        "ece_curve": [round(row["test_ece"], 6) for row in rows],
        "zero_curve": [round(row["zero_weights"], 4) for row in rows],
        "bfloat16": has_bfloat16(),
        "train_nll": rows[-1]["nll"],
        "n_train": len(images.labels),
        "n_test": len(test.labels),
        "threads": threads,
        "n_ranks": ranks.n_ranks,
        "date": str(datetime.now(UTC).date()),
        "environment": f"{machine()}, torch {version('torch')}",
    }


def checkpoint_path(runs: Path, key: Key) -> Path:
    """Where a cell that is not finished is kept."""
    return runs / f"{run_name(key)}.checkpoint.pt"


def run_name(key: Key) -> str:
    """Name of a cell's files.

    Examples
    --------
    >>> run_name(cell_keys(["mnist-d2"], ["sdgm"], seeds=1)[0])
    'mnist-d2-sdgm-seed0-8epochs-...'
    """
    rest = {name: key[name] for name in ("recipe", "train_size", "settings", "held_back", "quick")}
    mark = hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:8]
    return f"{key['data']}-{key['head']}-seed{key['seed']}-{key['epochs']}epochs-{mark}"


@contextmanager
def computing(threads: int) -> Iterator[None]:
    """So many threads, and numbers too small for full precision taken as zero: for speed."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(before)


def training_options(problem: Problem, key: Key, settings: Settings) -> TrainingOptions:
    """How a cell is trained."""
    given: dict[str, Any] = dict(problem.training)
    if "kl_scale" in settings:
        given["kl_scale"] = settings["kl_scale"]
    return TrainingOptions(epochs=int(key["epochs"] or 1), seed=int(key["seed"] or 0), **given)


def start_model(
    key: Key, settings: Settings, images: Images, options: TrainingOptions
) -> Classifier:
    """The model of a cell before training; the network starts the same for all heads."""
    problem, head = PROBLEMS[str(key["data"])], Head(str(key["head"]))
    arguments = {name: value for name, value in settings.items() if name != "kl_scale"}
    if head in (Head.SDGM, Head.DGMM):
        arguments["covariance_type"] = problem.covariance_type
    if head is Head.LARGE_MARGIN:
        n_steps = options.epochs * (len(images.labels) // options.batch_size)
        arguments["warmup"] = round(MARGIN_WARMUP * n_steps)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(mixed_seed(options.seed, START))
        net = problem.net()
        for module in net.modules():
            if isinstance(module, PatchWhitening):
                module.fit(images.batch(torch.arange(min(WHITENED, len(images.labels)))))
        return Classifier(net, make_head(head, problem.n_features, images.n_classes, **arguments))
