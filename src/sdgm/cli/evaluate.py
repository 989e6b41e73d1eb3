"""``sdgm evaluate``: how well a model does on a table with labels."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.text import Text

from sdgm.cli.console import (
    AsJson,
    ModelFile,
    console,
    friendly_errors,
    load_table_model,
    note,
    print_json,
)
from sdgm.cli.tables import confusion_table, plain_table, scores_table
from sdgm.tables.errors import reading_remarks
from sdgm.tables.paths import check_exists
from sdgm.text import counted, shown

# of the rows that the evaluation keeps: the answer stays on one screen
SHOWN_ROWS = 5


def evaluate(
    model: ModelFile,
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA", help="Labelled table: .csv, .tsv, .parquet or .npz; - for CSV."
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Evaluate a model on a labelled table: error, log loss, Brier score, calibration."""
    with friendly_errors():
        check_exists(data)
        loaded = load_table_model(model)
        from sdgm.tables.evaluation import evaluate_table

        result = evaluate_table(loaded, data).as_dict()
    if as_json:
        print_json(result)
        return
    name = f"sdgm, {loaded.record['form']} form" if "form" in loaded.record else "sdgm"
    console.print()
    console.print(Text(f"On {counted(result['rows'], 'row')} of {shown(data, 60)}", style="bold"))
    console.print(scores_table(result, [], name))
    console.print()
    confusion = confusion_table(result["classes"], result["confusion"])
    if confusion is not None:
        console.print(confusion)
        console.print()
    if result["surprising"]:
        console.print(Text("Most surprising rows", style="bold"))
        console.print(rows_table(result["surprising"][:SHOWN_ROWS]))
    if result["unlabelled"]:
        were = "was" if result["unlabelled"] == 1 else "were"
        note(f"{counted(result['unlabelled'], 'row')} without a label {were} left out.")
    for remark in reading_remarks(shown(data, 60), result["encoding"], result["short_rows"]):
        note(remark)


def rows_table(rows: list[dict[str, Any]]) -> Any:
    """Rows that the model was wrong about, with their probabilities."""
    table = plain_table("row", "label", "predicted", "P(label)", "P(predicted)", left=(1, 2))
    for row in rows:
        table.add_row(
            f"{row['row']:,}",
            Text(shown(row["label"], 24)),
            Text(shown(row["predicted"], 24)),
            f"{row['own_probability']:.3f}",
            f"{row['probability']:.3f}",
        )
    return table
