"""Predictions for a table of any length, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from sdgm.tables.errors import TableError, polars, quoted
from sdgm.tables.inputs import Number
from sdgm.tables.labels import check_named
from sdgm.tables.matching import check_columns, encoded, typed
from sdgm.tables.model import TableModel
from sdgm.tables.paths import refuse_input
from sdgm.tables.reading import open_table
from sdgm.tables.writing import frame_writer, output_suffix

# called with the rows predicted, and the bytes of the file that were read, where known
Progress = Callable[[int, int | None], None]
READ = ("short_rows", "encoding")  # what text files say of themselves


@dataclass(frozen=True)
class Predicted:
    """What `predict_table` did."""

    rows: int
    columns: tuple[str, ...]  # of the predictions
    ignored: tuple[str, ...]  # columns of the table that were not in the training table
    lacks_id: bool  # whether the table has no id column although the model's had one
    seconds: float
    short_rows: int = 0  # of a text file, that end before the last of the columns that are read
    encoding: str = "UTF-8"  # of a text file, as it was read


def predict_table(
    model: TableModel,
    source: Any,
    output: str | Path,
    *,
    proba: bool = False,
    std: bool = False,
    id_column: str | None = None,
    progress: Progress | None = None,
) -> Predicted:
    """Predict the label of every row of a table and write the predictions to a file, in order.

    The columns are the row ID, ``predicted_<target>``, with ``proba`` one column ``P(<class>)`` for
    each class, and with ``std`` one column ``std(<class>)``, the standard deviation of the
    probability under the posterior of the weights. The file is written atomically.

    Parameters
    ----------
    model : TableModel
    source : path, "-" or a pandas, polars or pyarrow frame
        Columns are matched by name; others are ignored.
    output : path or "-"
        A file .csv, .tsv or .parquet; "-" for CSV on standard output.
    proba, std : bool
        Whether to write probabilities and their standard deviations.
    id_column : str, optional
        Row ID to copy, if not the model's.
    progress : callable, optional
        Called with the numbers of rows predicted and bytes read so far.

    Returns
    -------
    Predicted

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import polars as pl
    >>> from sdgm.tables import fit_table
    >>> rows = {"size": [1.0, 1.2, 0.9, 3.1, 2.9, 3.3] * 5, "kind": list("aaabbb") * 5}
    >>> model = fit_table(pl.DataFrame(rows), "kind", test_size=0)
    >>> with TemporaryDirectory() as folder:
    ...     output = Path(folder, "out.csv")
    ...     done = predict_table(model, pl.DataFrame({"size": [1.1, 3.0]}), output)
    ...     print(output.read_text())
    predicted_kind
    a
    b
    <BLANKLINE>
    """
    start = perf_counter()
    output_suffix(output)
    refuse_input(output, source)
    with open_table(source) as table:
        if id_column is not None:
            check_named(table.columns, id_column, "for the id")
        wanted_id = id_column or model.id_column
        kept = wanted_id if wanted_id in table.columns else None
        names = output_names(model, kept, proba=proba, std=std)
        check_columns(model.inputs, table.columns)
        columns = list(dict.fromkeys([*(column.name for column in model.inputs), kept]))
        numbers = {
            column.name
            for column in model.inputs
            if isinstance(column, Number) and not column.is_date and column.name != kept
        }
        n_rows = 0
        with frame_writer(output) as write:
            for chunk in table.chunks([name for name in columns if name is not None], numbers):
                write(prediction_frame(model, chunk, kept, names, n_rows, proba=proba, std=std))
                n_rows += len(chunk)
                if progress is not None:
                    progress(n_rows, getattr(table, "bytes_read", None))
            if not n_rows:
                write(polars().DataFrame(schema=dict.fromkeys(names, polars().String)))
        ignored = unknown_columns(model, table.columns, kept)
        lacks_id = wanted_id is not None and kept is None
        read = {name: getattr(table, name) for name in READ if hasattr(table, name)}
    return Predicted(n_rows, names, ignored, lacks_id, perf_counter() - start, **read)


def output_names(model: TableModel, kept: str | None, *, proba: bool, std: bool) -> tuple[str, ...]:
    """Names of the columns of predictions."""
    names = [kept] if kept is not None else []
    names.append(f"predicted_{model.target}")
    if proba:
        names += [f"P({label})" for label in model.classes_]
    if std:
        names += [f"std({label})" for label in model.classes_]
    if len(set(names)) < len(names):
        raise TableError(
            f"The id column {quoted(kept)} has the name of a prediction column; rename it."
        )
    return tuple(names)


def unknown_columns(model: TableModel, columns: Sequence[str], kept: str | None) -> tuple[str, ...]:
    """Columns that were not in the training table."""
    known = {column.name for column in model.inputs} | {model.target, model.id_column, kept}
    source = model.record.get("source") or {}
    known.add(source.get("weights"))
    known |= {column.get("name") for column in source.get("columns") or []}
    return tuple(name for name in columns if name not in known)


def prediction_frame(
    model: TableModel,
    chunk: Any,
    kept: str | None,
    names: Sequence[str],
    first_row: int,
    *,
    proba: bool,
    std: bool,
) -> Any:
    """A frame of predictions for some rows."""
    pl = polars()
    X = encoded(model.inputs, typed(model.inputs, chunk, first_row))
    P = model.proba_of(X)
    labels = pl.Series(model.classes_.tolist()).gather(P.argmax(axis=1))
    columns = [labels] if kept is None else [chunk.get_column(kept), labels]
    if proba:
        columns += [pl.Series(values) for values in P.T]
    if std:
        columns += [pl.Series(values) for values in model.std_of(X).T]
    return pl.DataFrame([column.alias(name) for column, name in zip(columns, names, strict=True)])
