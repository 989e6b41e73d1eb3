"""``sdgm fit``: from a table to a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from sdgm.cli import interrupts
from sdgm.cli.console import (
    AsJson,
    DataFile,
    Force,
    Quiet,
    arrow,
    console,
    friendly_errors,
    note,
    print_json,
    progress_bars,
    size,
    valid,
)
from sdgm.cli.tables import plain_table, scores_table
from sdgm.tables.paths import check_exists, check_output, refuse_existing
from sdgm.tables.settings import (
    Form,
    Missing,
    Teacher,
    check_max_weights,
    check_test_size,
    checked_components,
    class_weight_from,
)
from sdgm.text import counted, shown

MAX_CLASSES, MAX_COLUMNS = 12, 40  # that are listed
BAR = 20  # characters
SURE = 2.0  # standard errors by which the better model leads
WORDS = {"covariance_type": "covariance", "n_components": "components per class"}


def fit(
    data: DataFile,
    target: Annotated[
        str, typer.Option("--target", "-t", metavar="COLUMN", help="Column with the labels.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Model file to write.")
    ] = Path("model.sdgm"),
    id_column: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", help="Row ID; not used as a feature."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="COLUMN", help="Column to leave out; may be repeated."),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of frequencies or sample weights."),
    ] = None,
    form: Annotated[
        Form, typer.Option(help="Quadratic features, kernels, or the better of the two.")
    ] = Form.AUTO,
    components: Annotated[
        str,
        typer.Option(
            metavar="auto|N",
            callback=valid(checked_components),
            help="Initial number of components per class.",
        ),
    ] = "auto",
    max_weights: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            callback=valid(check_max_weights),
            help="Maximum number of weights.",
        ),
    ] = None,
    teacher: Annotated[
        Teacher,
        typer.Option(help="Learn from a dense model, the labels, a forest or boosted trees."),
    ] = Teacher.AUTO,
    class_weight: Annotated[
        str | None,
        typer.Option(
            metavar="balanced|LABEL=N,...",
            callback=valid(class_weight_from),
            help="Weights of the classes.",
        ),
    ] = None,
    test_size: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            callback=valid(check_test_size),
            help="Fraction of rows held out for the test; 0 for none.",
        ),
    ] = 0.25,
    missing: Annotated[
        Missing, typer.Option(help="Impute missing values, or stop with an error.")
    ] = Missing.IMPUTE,
    refit: Annotated[
        bool, typer.Option("--refit", help="Refit to all rows after the test.")
    ] = False,
    seed: Annotated[
        int, typer.Option(min=0, max=2**31, metavar="N", help="Random seed for split and fit.")
    ] = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Fit a model to a table, test it on held-out rows and save it.

    Numeric columns are standardised, dates become days since 1970,
    and text columns are one-hot encoded.

    Missing numbers are replaced by the median, with an indicator feature;
    missing text is a category of its own.

    Empty cells, NA, N/A, NaN, null and ? are missing values;
    in numeric columns also none, missing, a dash and a dot.
    """
    with friendly_errors(writes=output):
        check_exists(data)
        check_output(output, (".sdgm",), data)
        if not force:
            refuse_existing(output)
        with learning_shown() as progress:
            from sdgm.persistence import save
            from sdgm.tables.fitting import fit_table

            model = fit_table(
                data,
                target,
                id_column=id_column,
                weights=weights,
                exclude=exclude or (),
                form=form,
                components=components,
                class_weight=class_weight_from(class_weight),
                max_weights=max_weights,
                teacher=teacher,
                test_size=test_size,
                missing=missing,
                refit=refit,
                random_state=seed,
                progress=progress,
            )
        interrupts.check()
        n_bytes = save(model, output)
        if as_json:
            print_json({"model": str(output), "bytes": n_bytes, **model.record})
        elif not quiet:
            show(model, output, n_bytes)


@contextmanager
def learning_shown() -> Iterator[Any]:
    """A line with the form that is being learned, its iterations and the time."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("[dim]{task.fields[iterations]}[/dim]"),
        TimeElapsedColumn(),
    )
    with progress_bars(*columns) as bars:
        task = bars.add_task("Reading", total=None, iterations="")

        def tell(form: str, n_iterations: int) -> None:
            interrupts.check()
            many = f"{n_iterations} iterations" if n_iterations else ""
            bars.update(task, description=f"Fitting the {form} form", iterations=many)

        yield tell


def show(model: Any, output: Path, n_bytes: int) -> None:
    """Print what was learned, from what, and how well."""
    record = model.record
    for part in (
        table_line(model),
        classes_table(record["source"]["class_counts"]),
        columns_table(record["source"], model.id_column),
        model_lines(model),
    ):
        console.print()
        console.print(part)
    console.print()
    if "held_out" in record:
        held_out = record["held_out"]
        console.print(Text(f"On {held_out['rows']:,} held-out rows", style="bold"))
        console.print(scores_table(held_out, record["baselines"], f"sdgm, {record['form']} form"))
        console.print(Text(verdict(held_out, record["baselines"]), style="dim"))
        console.print()
    for sentence in record["warnings"]:
        note(sentence)
    is_tested = "held_out" in record and not record["refit"]
    which = "the tested model" if is_tested else "fitted to all rows"
    where = escape(str(output))
    console.print(f"Saved [bold]{where}[/bold] ({size(n_bytes)}), {which}.", soft_wrap=True)
    commands = f"predict {where} NEW.csv -o out.csv", f"inspect {where}", f"report {where}"
    for start, command in zip(("Next:", "", ""), commands, strict=True):
        console.print(f"{start:6}sdgm {command}", style="dim", soft_wrap=True)


def verdict(held_out: dict[str, Any], baselines: list[dict[str, Any]]) -> str:
    """Whether the model is better than the baselines."""
    for baseline in baselines:
        if held_out["log_loss"] >= baseline["log_loss"]:
            return f"Not better than {baseline['name']} by log loss."
    best = min(baselines, key=lambda baseline: baseline["log_loss"])
    percent = 100 * (1 - held_out["log_loss"] / best["log_loss"])
    below = f"Log loss {percent:.0f}% below {best['name']}"
    error = best["lead_error"]
    if error is not None and best["lead"] >= SURE * error:
        return f"{below}."
    noise = "" if error is None else f" ({best['lead']:.2g} ± {error:.2g})"
    return f"{below}, within the noise of {counted(held_out['rows'], 'row')}{noise}."


def table_line(model: Any) -> Text:
    """The table, its size and the target."""
    source = model.record["source"]
    n_columns = len(source["columns"]) + 1 + bool(model.id_column) + ("weights" in source)
    return Text.assemble(
        (shown(source["name"]), "bold"),
        f"  {source['rows']:,} rows, {n_columns} columns; target ",
        (shown(model.target), "bold"),
        f" with {len(source['class_counts'])} classes",
    )


def classes_table(counts: list[list[Any]]) -> Any:
    """Rows of each class, with a bar."""
    counts = sorted(counts, key=lambda pair: -pair[1])
    total = sum(count for _, count in counts)
    block = "#" if console.options.ascii_only else "█"
    table = plain_table("class", "rows", "share", "", left=(0, 3))
    for label, count in counts[:MAX_CLASSES]:
        bar = block * max(1, round(BAR * count / counts[0][1]))
        share = f"{count / total:.1%}"
        table.add_row(Text(shown(label)), f"{count:,}", share, Text(bar, style="cyan"))
    if len(counts) > MAX_CLASSES:
        rest = sum(count for _, count in counts[MAX_CLASSES:])
        table.add_row(f"{len(counts) - MAX_CLASSES} more", f"{rest:,}", "", "", style="dim")
    return table


def columns_table(source: dict[str, Any], id_column: str | None) -> Any:
    """What became of the columns; those that are used first."""
    ordered = sorted(source["columns"], key=lambda column: column["kind"] == "left out")
    table = plain_table("column", "used as", "missing", "remark", left=(0, 1, 3))
    for column in ordered[:MAX_COLUMNS]:
        levels = f", {column['levels']} levels" if column["levels"] else ""
        table.add_row(
            Text(shown(column["name"])),
            column["kind"] + levels,
            f"{column['missing']:,}" if column["missing"] else "",
            Text(shown(column["reason"], 80) if column["reason"] else ""),
            style="dim" if column["kind"] == "left out" else "",
        )
    if len(ordered) > MAX_COLUMNS:
        table.add_row(f"{len(ordered) - MAX_COLUMNS} more", "", "", "", style="dim")
    if source.get("weights"):
        table.add_row(Text(shown(source["weights"])), "sample weight", "", "", style="dim")
    if id_column:
        table.add_row(Text(shown(id_column)), "ID", "", "copied to predictions", style="dim")
    return table


def model_lines(model: Any) -> Any:
    """Form, sizes before and after, time."""
    record = model.record
    weights, components = record["weights"], record["components"]
    before, after = (sum(components[key]) for key in ("initial", "final"))
    by_class = list(zip(model.classes_, components["final"], strict=True))
    per_class = ", ".join(f"{shown(label, 20)}: {n}" for label, n in by_class[:MAX_CLASSES])
    if len(by_class) > MAX_CLASSES:
        per_class += f", {len(by_class) - MAX_CLASSES} more"
    chosen = ", ".join(
        f"{WORDS.get(name, name)} {f'{value:.3g}' if isinstance(value, float) else value}"
        for name, value in record["chosen"].items()
    )
    vectors = getattr(model.classifier, "relevance_vectors_", None)
    lines = {
        "Form": record["form"] + (f" (chosen: {chosen})" if chosen else ""),
        "Weights": f"{weights['initial']:,} {arrow()} {weights['final']:,}",
        "Rows kept": "" if vectors is None else f"{len(vectors)} relevance vectors",
        "Components": f"{before} {arrow()} {after} ({per_class})",
        "Time": f"{record['seconds']:.1f} s",
    }
    return Text("\n").join(
        Text.assemble((f"{name:12}", "dim"), shown(value, 200))
        for name, value in lines.items()
        if value
    )
