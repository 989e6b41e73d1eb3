"""Table 1 as a page: cells collected into means and tests, written as Markdown and CSV."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from reproduction.cells import Record
from reproduction.environment import environment
from reproduction.markdown import markdown_table
from reproduction.methods import METHODS
from reproduction.published import TABLE1, TABLE1_NORMALIZED, normalized_mean
from sdgm._typing import FloatArray

PRIMARY = "sdgm"
TITLES = {
    "ripley": "Ripley",
    "waveform": "Waveform",
    "banana": "Banana",
    "titanic": "Titanic",
    "breast_cancer": "Breast cancer",
}
# columns of the CSV: name and the field of a cell, with its factor
COLUMNS = {
    "error %": ("error", 100.0),
    "weights": ("n_weights", 1.0),
    "removed %": ("removed", 100.0),
    "log loss": ("log_loss", 1.0),
    "Brier": ("brier", 1.0),
    "ECE %": ("ece", 100.0),
    "fit s": ("fit_seconds", 1.0),
}
ROUNDING = 1e-9
DIGITS = {"error %": 2, "weights": 1, "removed %": 1, "log loss": 3, "Brier": 3, "ECE %": 1}


@dataclass(frozen=True)
class Row:
    """A method on a data set: means over splits, standard errors, and a test against SDGM.

    Attributes
    ----------
    data, method : str
    n_splits : int
    mean, standard_error : dict from column to float
    p_value : float or None
        That the errors are those of SDGM; None where there is nothing to test.
    """

    data: str
    method: str
    n_splits: int
    mean: dict[str, float]
    standard_error: dict[str, float]
    p_value: float | None


def collected(records: Sequence[Record]) -> dict[str, list[Row]]:
    """Rows of the table by data set, from the cells of one protocol."""
    table: dict[str, list[Row]] = {}
    for data in (data for data in TITLES if any(record["data"] == data for record in records)):
        own = [record for record in records if record["data"] == data]
        by_method = {
            method: sorted(
                (record for record in own if record["method"] == method),
                key=lambda record: record["split"],
            )
            for method in METHODS
        }
        reference = by_method[PRIMARY]
        table[data] = [
            row(data, method, cells, reference) for method, cells in by_method.items() if cells
        ]
    return table


def row(data: str, method: str, cells: Sequence[Record], reference: Sequence[Record]) -> Row:
    """The row of a method on a data set."""
    mean, standard_error = {}, {}
    for column, (field, factor) in COLUMNS.items():
        values = factor * np.array([value_of(cell, field) for cell in cells])
        mean[column] = float(values.mean())
        standard_error[column] = float(values.std(ddof=1) / np.sqrt(len(values)))
    p_value = None
    if method != PRIMARY and data != "ripley":  # seeds of one split are not repetitions
        difference = np.array(
            [one["error"] - other["error"] for one, other in zip(cells, reference, strict=True)]
        )
        p_value = corrected_t_test(difference, cells[0]["n_train"], cells[0]["n_test"])
    return Row(data, method, len(cells), mean, standard_error, p_value)


def value_of(cell: Record, field: str) -> float:
    """A number of a cell."""
    if field == "removed":
        return 1.0 - cell["n_weights"] / cell["n_initial"]
    return float(cell[field])


def corrected_t_test(difference: FloatArray, n_train: int, n_test: int) -> float:
    """Two-sided p-value that paired differences over overlapping splits have mean zero.

    The variance of the mean has a term for what the splits have in common, n_test / n_train, as in
    Nadeau and Bengio, "Inference for the Generalization Error" (2003). Where the test part is the
    larger one, as in Rätsch's splits, it is more careful than it need be.
    """
    n = len(difference)
    variance = difference.var(ddof=1) * (1.0 / n + n_test / n_train)
    if variance == 0.0:
        return 1.0 if difference.mean() == 0.0 else 0.0
    return float(2.0 * stats.t.sf(abs(difference.mean()) / np.sqrt(variance), n - 1))


def write_page(
    stem: Path,
    records: Sequence[Record],
    protocols: Mapping[str, str],
    *,
    seed: int,
    quick: bool,
    jobs: int,
    seconds: float,
) -> list[Path]:
    """Write ``stem.md`` and ``stem.csv``; ``protocols`` maps names to titles."""
    tables = {
        name: collected([record for record in records if record["protocol"] == name])
        for name in protocols
    }
    page, table = stem.with_suffix(".md"), stem.with_suffix(".csv")
    command = "python -m reproduction table1" + "".join(f" --protocol {name}" for name in protocols)
    if "own" in protocols:
        command += f" --own-splits {n_own_splits(records)}"
    command += f" --seed {seed} --jobs {jobs}" + (" --quick" if quick else "")
    total = sum(record["fit_seconds"] + record["predict_seconds"] for record in records)
    lines = [
        "# Table 1: benchmark data\n",
        "Error rates, sparsity and probabilities of SDGM and other methods, compared with the "
        "paper's numbers. Means over splits with their standard errors. Written by:\n",
        f"    {command}\n",
        f"{environment()}. {total / 60:.0f} minutes of computing in total, "
        f"{seconds / 60:.0f} in the last run.\n",
    ]
    if quick:
        lines.append("**A quick run: few splits, half of the rows, coarse grids. Not a result.**\n")
    for name, title in protocols.items():
        lines += section(title, tables[name])
    lines += ["## How each row is set up\n"]
    lines += [f"- **{method.title}**: {method.note}." for method in METHODS.values()]
    lines.append(f"\n{NOTES}")
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_csv(table, tables)
    return [page, table]


def n_own_splits(records: Sequence[Record]) -> int:
    """How many own splits every data set has; some may have more."""
    last: dict[str, int] = {}
    for record in records:
        if record["protocol"] == "own":
            last[record["data"]] = max(int(record["split"]), last.get(record["data"], 0))
    return 1 + min(last.values(), default=0)


NOTES = """p: two-sided paired test of the error against SDGM, scale chosen, corrected for
overlapping training sets (Nadeau and Bengio, 2003); not available on Ripley, which has one split.
Removed: share of the initial weights. For SDGM, initial weights are candidate columns times free
components, including constants; remaining weights are nonzero. Normalised mean: ratio to SDGM (for
the paper's numbers, to the paper's SDGM), averaged over the data sets."""


def section(title: str, table: dict[str, list[Row]]) -> list[str]:
    """The lines of a protocol."""
    lines = [f"## {title}\n"]
    if set(table) >= set(TABLE1):
        lines += [*verdicts(table), *summary(table)]
    for data, rows in table.items():
        lines += [f"### {TITLES[data]}\n", *data_table(data, rows)]
    return lines


def verdicts(table: dict[str, list[Row]]) -> list[str]:
    """Whether SDGM, scale chosen, is where the paper's is, within one standard error."""
    lines = []
    for data, rows in table.items():
        ours = next(row for row in rows if row.method == PRIMARY)
        cells = [TITLES[data]]
        for column, target in zip(("error %", "weights"), TABLE1[data][PRIMARY], strict=True):
            cells += [with_error(ours, column), f"{target:g}", verdict(ours, column, target)]
        lines.append(cells)
    heading = ["SDGM, scale chosen", "error %", "paper", "", "weights", "paper", ""]
    return markdown_table(heading, lines)


def verdict(row: Row, column: str, target: float) -> str:
    """Met, met within one standard error, or missed."""
    mean = row.mean[column] - ROUNDING  # a mean of tenths may end in ...00000001
    if mean <= target:
        return "met"
    within = mean <= target + row.standard_error[column]
    return "within one standard error" if within else "**missed**"


def summary(table: dict[str, list[Row]]) -> list[str]:
    """Errors and weights of all methods on all sets, and the normalised means."""
    lines = []
    for column, index in (("error %", 0), ("weights", 1)):
        digits = 1 if column == "weights" else 2
        values = {
            method: {
                data: row.mean[column]
                for data, rows in table.items()
                for row in rows
                if row.method == method
            }
            for method in METHODS
        }
        rows = []
        for method, ours in values.items():
            cells = [METHODS[method].title]
            for data in table:
                printed = TABLE1[data].get(method)
                beside = f" ({printed[index]:g})" if printed else ""
                cells.append(f"{ours[data]:.{digits}f}{beside}")
            printed = TABLE1_NORMALIZED.get(method)
            beside = f" ({printed[index]:.2f})" if printed else ""
            cells.append(f"{normalized_mean(ours, values[PRIMARY]):.2f}{beside}")
            rows.append(cells)
        titles = [TITLES[data] for data in table]
        lines += markdown_table([f"{column}, ours (paper)", *titles, "normalised mean"], rows)
    return lines


def data_table(data: str, rows: Sequence[Row]) -> list[str]:
    """All columns of one data set."""
    lines = []
    for each in rows:
        cells = [METHODS[each.method].title, *(with_error(each, column) for column in COLUMNS)]
        lines.append([*cells, "" if each.p_value is None else f"{each.p_value:.2f}"])
    for method, printed in TABLE1[data].items():
        lines.append([f"*paper: {method.upper()}*", f"{printed.error:g}", f"{printed.weights:g}"])
    return markdown_table([f"{rows[0].n_splits} repetitions", *COLUMNS, "p"], lines)


def with_error(row: Row, column: str) -> str:
    """Mean and standard error."""
    mean, error = row.mean[column], row.standard_error[column]
    if column == "fit s":
        return f"{mean:.2g}"
    digits = DIGITS[column]
    if column == "removed %":
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def write_csv(path: Path, tables: Mapping[str, dict[str, list[Row]]]) -> None:
    """All means and standard errors, one line per protocol, data set and method."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        names = [name for column in COLUMNS for name in (column, f"{column}, standard error")]
        printed = ["paper error %", "paper weights"]
        writer.writerow(["protocol", "data", "method", "repetitions", *names, "p", *printed])
        for protocol, table in tables.items():
            for row in (row for rows in table.values() for row in rows):
                numbers = [
                    f"{value:.6g}"
                    for column in COLUMNS
                    for value in (row.mean[column], row.standard_error[column])
                ]
                p_value = "" if row.p_value is None else f"{row.p_value:.4g}"
                paper = TABLE1[row.data].get(row.method, ("", ""))
                writer.writerow(
                    [protocol, row.data, row.method, row.n_splits, *numbers, p_value, *paper]
                )
