"""The command and its subcommands."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sdgm import __version__
from sdgm.cli import bugs
from sdgm.cli.console import console
from sdgm.cli.demo import demo
from sdgm.cli.evaluate import evaluate
from sdgm.cli.export import export
from sdgm.cli.fit import fit
from sdgm.cli.help import Commands
from sdgm.cli.inspect import inspect
from sdgm.cli.predict import predict
from sdgm.cli.report import report

app = Commands(
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_show_locals=False,
)


def print_version(wanted: bool) -> None:
    """Print the version and exit, if wanted."""
    if wanted:
        console.print(f"sdgm {__version__}")
        raise typer.Exit


@app.callback(
    epilog="Start with:  [bold]sdgm demo[/bold]   or   "
    "[bold]sdgm fit data.csv --target label -o model.sdgm[/bold]"
)
def sdgm(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Print the traceback of errors.")] = False,
) -> None:
    """Sparse discriminative Gaussian mixtures: small probabilistic classifiers."""
    bugs.invocation.debug = debug
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # names that a terminal cannot show are escaped
            stream.reconfigure(errors="backslashreplace")


EXAMPLES = {
    fit: (
        "sdgm fit data.csv --target label -o model.sdgm",
        "sdgm fit people.parquet --target risk --id name --form primal --components 2",
        "zcat rows.csv.gz | sdgm fit - --target label --test-size 0 --json",
    ),
    predict: (
        "sdgm predict model.sdgm new.csv -o out.csv",
        "sdgm predict model.sdgm new.parquet -o out.parquet --proba --std",
        "sdgm predict model.sdgm - < new.csv | head",
    ),
    evaluate: (
        "sdgm evaluate model.sdgm labelled.csv",
        "sdgm evaluate model.sdgm labelled.csv --json",
    ),
    inspect: ("sdgm inspect model.sdgm --all", "sdgm inspect model.sdgm --json"),
    report: (
        "sdgm report model.sdgm -o report.html",
        "sdgm report model.sdgm --data labelled.csv -o report.html",
    ),
    export: (
        "sdgm export model.sdgm --to c -o model.h --precision float",
        "sdgm export model.sdgm --to onnx",
        "sdgm export model.sdgm --to json -o card.json",
    ),
    demo: ("sdgm demo", "sdgm demo --preset fast --seed 1 --output boundary.svg"),
}
for command, lines in EXAMPLES.items():
    epilog = "\n\n".join(["Examples:", *(f"[bold]{line}[/bold]" for line in lines)])
    app.command(epilog=epilog)(command)
