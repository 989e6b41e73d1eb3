"""``sdgm demo``: Ripley's problem from start to picture."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from sdgm.cli.console import Force, Quiet, arrow, console, friendly_errors
from sdgm.core.inference.preset import Preset
from sdgm.tables.paths import refuse_existing

if TYPE_CHECKING:
    from sdgm.datasets import Dataset
    from sdgm.demo import DemoResult, Outcome


def demo(
    seed: Annotated[
        int,
        typer.Option(
            min=0, max=2**32 - 1, metavar="N", help="Random seed of the fit and of generated rows."
        ),
    ] = 0,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="Plot to write: .png, .svg or .pdf."),
    ] = Path("sdgm-demo.png"),
    preset: Annotated[
        Preset, typer.Option(help="Preset of the plotted model; the table has both.")
    ] = Preset.PAPER,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Fit Ripley's two-class problem, compare with the paper, plot the boundary.

    Needs no data file: if the published rows are not found, new rows are generated.
    """
    can_draw = find_spec("matplotlib") is not None
    with friendly_errors(), warnings.catch_warnings(), console.status("Fitting"):
        if can_draw and not force:
            refuse_existing(output)
        from sklearn.exceptions import ConvergenceWarning

        from sdgm.demo import run_demo

        warnings.simplefilter("ignore", ConvergenceWarning)  # the table says so
        result = run_demo(seed=seed, preset=preset, output=output if can_draw else None)
    console.print("[bold]Ripley's two-class problem, fitted as in the paper[/bold]\n")
    console.print(
        "Model: dual form, 3 components per class, kernel (x'z + 1)^2, features not scaled, "
        f"seed {seed}."
    )
    console.print(data_line(result.data))
    console.print(results_table(result))
    console.print(notes(result), style="dim")
    if result.picture is None:
        console.print('No plot: matplotlib is not installed (pip install "sdgm\\[plot]").')
    else:
        picture = escape(str(result.picture))
        line = f"Plot of the model with preset {preset}: [bold]{picture}[/bold]"
        console.print(line, soft_wrap=True)


def data_line(data: Dataset) -> str:
    """Which rows were used."""
    from sdgm.datasets import data_folder

    train, test = data.splits[0]
    folder = escape(str(data_folder()))
    if data.generated:
        origin = f"generated from Ripley's four Gaussians (published rows not found in {folder})"
    else:
        origin = f"as published, from {folder}"
    return f"Data: {len(train)} training rows and {len(test)} test rows, {origin}."


def results_table(result: DemoResult) -> Table:
    """The paper's numbers, ours, and the best possible."""
    from sdgm.demo import PUBLISHED

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    names = "error\n%", "log\nloss", "weights", "components\nby class", "relevance\nvectors"
    for name in (*names, "time\ns"):
        table.add_column(name, justify="right")
    table.add_row("paper, Table 1", *cells(PUBLISHED), style="dim")
    for preset, outcome in result.outcomes.items():
        late = "" if result.models[preset].converged_ else " (not converged)"
        table.add_row(f"sdgm, preset {preset}{late}", *cells(outcome))
    table.add_row("Bayes rule", *cells(result.bayes), style="dim")
    return table


def cells(outcome: Outcome) -> list[str]:
    """The numbers of a row of the table."""
    from sdgm.demo import changes

    def number(value: float | None, digits: int) -> str:
        return "-" if value is None else f"{value:.{digits}f}"

    return [
        number(100.0 * outcome.error, 1),
        number(outcome.log_loss, 3),
        *changes(outcome, arrow()),
        number(outcome.relevance_vectors, 0),
        number(outcome.seconds, 2),
    ]


def notes(result: DemoResult) -> str:
    """What to keep in mind when comparing."""
    text = (
        "Initial weights: the paper counts 5 N because one of the 6 components is fixed; sdgm also "
        "counts the constants, and fast fixes none. The Bayes rule uses the true Gaussians.\n"
    )
    if result.data.generated:
        text += "The paper's numbers refer to the published rows, not to these.\n"
    return text
