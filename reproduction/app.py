"""``python -m reproduction``: the paper's tables and figures."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from reproduction.appendix_b import run_appendix_b
from reproduction.cells import Progress
from reproduction.data_command import data
from reproduction.progress import progress_bars
from reproduction.table1 import OWN_SPLITS, Protocol, run_table1
from sdgm.cli.console import console, friendly_errors
from sdgm.cli.help import Commands

app = Commands(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_show_locals=False,
    help="Reproduce the paper's experiments: tables and figures into a folder.",
    epilog="Examples:\n\n[bold]python -m reproduction table1 --jobs 2[/bold]\n\n"
    "[bold]python -m reproduction figure training[/bold]\n\n"
    "[bold]python -m reproduction all --quick[/bold]",
)

Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="DIR",
        help="Folder to write to, where finished cells are kept: sdgm-results, or with --quick "
        "sdgm-results-quick.",
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        min=0, max=2**31, metavar="N", help="Random seed of initialisations, folds and rows."
    ),
]
Quick = Annotated[
    bool, typer.Option("--quick", help="A quick check that everything runs; not a result.")
]
Jobs = Annotated[int, typer.Option(min=1, metavar="N", help="Number of parallel processes.")]
Protocols = Annotated[
    list[Protocol],
    typer.Option(
        "--protocol",
        "-p",
        help="Splits: the first ten, all distinct ones of Banana, or our own. May be repeated.",
    ),
]
OwnSplits = Annotated[
    int, typer.Option(min=2, max=OWN_SPLITS, metavar="N", help="Number of our own splits.")
]
RESULTS, QUICK_RESULTS = Path("sdgm-results"), Path("sdgm-results-quick")
DEFAULT_JOBS = os.cpu_count() or 1
# the figure that is not part of the report
FEATURES = "features"


@app.command()
def table1(
    protocol: Protocols = [Protocol.TEN],  # noqa: B006 - typer copies it
    own_splits: OwnSplits = OWN_SPLITS,
    output: Output = None,
    seed: Seed = 0,
    quick: Quick = False,
    jobs: Jobs = DEFAULT_JOBS,
) -> None:
    """Table 1: SDGM, GP, MGP, RVM and more on five benchmark sets."""
    with friendly_errors(), progress_bars() as bar:
        paths = run_table1(
            folder(output, quick),
            protocols=protocol,
            own_splits=own_splits,
            seed=seed,
            quick=quick,
            jobs=jobs,
            progress=bar("Table 1"),
        )
    print_paths(paths)


@app.command()
def table2(
    data: Annotated[
        list[str],
        typer.Option(
            "--data",
            metavar="NAMES",
            help="mnist-d2, mnist-d10, fashion, mnist-d2-plain (no batch normalisation), cifar10, "
            "cifar100, cifar10-small (10,000 images, 5 epochs), cifar10-densenet, "
            "cifar100-densenet, imagenet: with commas between them, or repeated.",
        ),
    ] = ["mnist-d2,mnist-d10,fashion"],  # noqa: B006 - typer copies it
    heads: Annotated[
        list[str],
        typer.Option("--heads", metavar="NAMES", help="Comma-separated, or repeated."),
    ] = ["softmax,softmax_l1,large_margin,dgmm,sdgm,lgm"],  # noqa: B006
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Number of runs of each.")] = 3,
    epochs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Overrides the default of each problem.")
    ] = None,
    train_size: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Number of training images; by default all."),
    ] = None,
    pictures: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="For imagenet: a folder with train and val."),
    ] = None,
    search: Annotated[
        bool, typer.Option("--search", help="Compare settings on held-out training images instead.")
    ] = False,
    output: Output = None,
    quick: Quick = False,
    threads: Annotated[int, typer.Option(min=1, metavar="N", help="Threads per process.")] = 1,
    jobs: Jobs = 1,
) -> None:
    """Table 2: SDGM, softmax and other last layers of networks for images.

    A run that was stopped goes on exactly where it was. Several processes for one network:
    torchrun --nproc-per-node 2 -m reproduction table2.
    """
    require_torch()
    from reproduction.deep.distributed import joined_ranks
    from reproduction.deep.table2 import run_table2

    with friendly_errors(), joined_ranks() as ranks, progress_bars() as bar:
        paths = run_table2(
            folder(output, quick),
            data=listed(data),
            heads=listed(heads),
            seeds=seeds,
            epochs=epochs,
            train_size=train_size,
            pictures=pictures,
            search=search,
            quick=quick,
            threads=threads,
            jobs=jobs,
            ranks=ranks,
            progress=bar("Table 2") if ranks.is_first else None,
            step_progress=steps_of(bar) if ranks.is_first and jobs == 1 else None,
        )
    print_paths(paths)


def listed(names: Sequence[str]) -> list[str]:
    """Names given with commas, or one by one."""
    return [name.strip() for each in names for name in each.split(",") if name.strip()]


def steps_of(bar: Callable[[str], Progress]) -> Callable[[int, int], None]:
    """A bar of the training steps of what is in work."""
    tell = bar("  steps")
    return lambda done, total: tell(done, total, None)


@app.command("appendix-b")
def appendix_b(
    output: Output = None,
    seed: Seed = 0,
    quick: Quick = False,
    jobs: Jobs = DEFAULT_JOBS,
) -> None:
    """Appendix B: what becomes of 2, 4, ..., 20 initial components on a checkerboard."""
    require_matplotlib()
    with friendly_errors(), progress_bars() as bar:
        paths = run_appendix_b(
            folder(output, quick), seed=seed, quick=quick, jobs=jobs, progress=bar("Appendix B")
        )
    print_paths(paths)


@app.command()
def figure(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="boundaries, training, position, prior or features."),
    ],
    output: Output = None,
    seed: Seed = 0,
    quick: Quick = False,
) -> None:
    """One figure: boundaries, training, position, prior or features (which trains networks)."""
    require_matplotlib()
    if name == FEATURES:
        require_torch()
        draw_features(folder(output, quick), seed, quick)
        return
    from reproduction.report import FigureName, draw_figure

    known = [*map(str, FigureName), FEATURES]
    if name not in known:
        raise typer.BadParameter(f"there is no figure {name!r}; choose from {', '.join(known)}.")
    with friendly_errors(), console.status(f"Drawing {name}"):
        paths = draw_figure(name, folder(output, quick), seed=seed, quick=quick)
    print_paths(paths)


def draw_features(folder: Path, seed: int, quick: bool) -> None:
    """The figure that trains networks, with a bar of the steps of each."""
    from reproduction.deep import features

    with friendly_errors(), progress_bars() as bar:
        paths = features.draw_features(folder, seed=seed, quick=quick, progress=steps_of(bar))
    print_paths(paths)


@app.command("all")
def everything(
    protocol: Protocols = [Protocol.TEN],  # noqa: B006 - typer copies it
    own_splits: OwnSplits = OWN_SPLITS,
    output: Output = None,
    seed: Seed = 0,
    quick: Quick = False,
    jobs: Jobs = DEFAULT_JOBS,
) -> None:
    """All that needs no neural network, and one REPORT.md."""
    require_matplotlib()
    from reproduction.report import run_all

    with friendly_errors(), progress_bars() as bar:
        report = run_all(
            folder(output, quick),
            protocols=protocol,
            own_splits=own_splits,
            seed=seed,
            quick=quick,
            jobs=jobs,
            progress=bar,
        )
    print_paths([report])


app.command()(data)


def folder(output: Path | None, quick: bool) -> Path:
    """Where to write, so that a quick run does not replace results."""
    return output or (QUICK_RESULTS if quick else RESULTS)


def require_matplotlib() -> None:
    """End with one sentence where pictures cannot be drawn."""
    if find_spec("matplotlib") is None:
        with friendly_errors():
            raise ValueError('pictures need matplotlib: pip install "sdgm[plot]".')


def require_torch() -> None:
    """End with one sentence where networks cannot be trained."""
    if find_spec("torch") is None:
        with friendly_errors():
            raise ValueError('networks need PyTorch: pip install "sdgm[torch]".')


def print_paths(paths: Sequence[Path]) -> None:
    """What was written."""
    for path in paths:
        console.print(f"wrote [bold]{escape(str(path))}[/bold]", soft_wrap=True)
