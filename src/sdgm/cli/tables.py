"""Tables on the terminal that several commands print."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from sdgm.text import shown

MAX_CONFUSED = 12  # classes of a confusion matrix that fits on a terminal


def plain_table(*headings: str, left: Collection[int] = (0,)) -> Table:
    """A table with a line below the head; columns are right-aligned except those in ``left``."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    for i, heading in enumerate(headings):
        table.add_column(Text(heading), justify="left" if i in left else "right")
    return table


def scores_table(held_out: dict[str, Any], baselines: Sequence[dict[str, Any]], name: str) -> Table:
    """Scores of the model and of baselines; the best of each in bold."""
    table = plain_table("", "error %", "log loss", "Brier", "calibration")
    rows = [{"name": name, **held_out}, *baselines]
    keys = "error", "log_loss", "brier"
    best = {key: min(row[key] for row in rows) for key in keys}
    for row in rows:
        cells = [
            Text(
                f"{100 * row[key]:.1f}" if key == "error" else f"{row[key]:.3f}",
                style="bold" if row[key] == best[key] and len(rows) > 1 else "",
            )
            for key in keys
        ]
        cells.append(Text(f"{row['calibration_error']:.3f}"))  # of the majority class it is 0
        table.add_row(Text(row["name"]), *cells, style="" if row is rows[0] else "dim")
    return table


def confusion_table(classes: Sequence[Any], confusion: Sequence[Sequence[int]]) -> Table | None:
    """Counts by true and predicted class, unless there are too many."""
    if len(classes) > MAX_CONFUSED:
        return None
    table = plain_table("true \\ predicted", *(shown(label, 14) for label in classes))
    for i, (label, counts) in enumerate(zip(classes, confusion, strict=True)):
        cells = [
            Text(str(count), style="bold" if i == j else "dim" if count == 0 else "")
            for j, count in enumerate(counts)
        ]
        table.add_row(Text(shown(label, 24)), *cells)
    return table
