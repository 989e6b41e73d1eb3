"""The command and its subcommands."""

from __future__ import annotations

from typing import Annotated

import typer

from sdgm import __version__
from sdgm.cli.console import console
from sdgm.cli.data import data
from sdgm.cli.demo import demo
from sdgm.cli.reproduce import reproduce

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_show_locals=False,
)


def print_version(wanted: bool) -> None:
    """Print the version and exit, if wanted."""
    if wanted:
        console.print(f"sdgm {__version__}")
        raise typer.Exit


@app.callback(epilog="Start with:  [bold]sdgm demo[/bold]")
def sdgm(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Sparse discriminative Gaussian mixtures: small probabilistic classifiers."""


app.command(
    epilog="Examples:  [bold]sdgm demo[/bold]   "
    "[bold]sdgm demo --preset fast --seed 1 --output boundary.svg[/bold]"
)(demo)
app.add_typer(data, name="data")
app.add_typer(reproduce, name="reproduce")
