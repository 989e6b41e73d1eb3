"""Table 2 as a page: cells collected into means, the paper's numbers beside ours."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reproduction.cells import Record
from reproduction.deep.heads import Head
from reproduction.deep.problems import HEAD_TITLES, PROBLEMS, Problem
from reproduction.environment import environment
from reproduction.figures.files import save_picture
from reproduction.markdown import markdown_table
from reproduction.published import TABLE2, normalized_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PRIMARY, BASELINE = Head.SDGM, Head.SOFTMAX
# rows whose cells are not kept, in the form of the table's CSV, beside it
EARLIER = "-earlier.csv"
COUNTS = ("seeds", "epochs", "training images")
CURVES = "-curves"
# of the numbers of a curve
CURVE_ROUNDING = 1e-5
CURVE_COLORS = {BASELINE: "#555555", PRIMARY: "#C44E52"}
# columns: the field of a cell, its factor, digits, and whether the standard error is shown
COLUMNS: dict[str, tuple[str, float, int, bool]] = {
    "error %": ("error", 100.0, 2, True),
    "NLL": ("nll", 1.0, 4, True),
    "ECE %": ("ece", 100.0, 2, True),
    "NLL of means": ("means_nll", 1.0, 4, True),
    "ECE of means %": ("means_ece", 100.0, 2, True),
    "head weights": ("head_weights", 1.0, 0, False),
    "not zero": ("head_nonzero", 1.0, 0, False),
    "pruned": ("pruned_nonzero", 1.0, 0, False),
    "pruned error %": ("pruned_error", 100.0, 2, False),
    "pruned NLL": ("pruned_nll", 1.0, 4, False),
    "components": ("components", 1.0, 0, False),
    "components used": ("pruned_components", 1.0, 1, False),
    "head file, bytes": ("head_bytes", 1.0, 0, False),
    "compact": ("compact_head_bytes", 1.0, 0, False),
    "s/epoch": ("epoch_seconds", 1.0, 0, False),
    "CPU s/epoch": ("epoch_cpu_seconds", 1.0, 0, False),
}


@dataclass(frozen=True)
class Row:
    """A head on a problem: means over seeds, and standard errors.

    Attributes
    ----------
    data, head : str
    cells : tuple of dict
        None for a row that is all that is kept.
    mean, standard_error : dict from column to float
        Without columns that the head has no number for; no error of a single seed.
    seeds, epochs, n_train : int
    date : str
        Of the last cell.
    """

    data: str
    head: str
    cells: tuple[Record, ...]
    mean: dict[str, float]
    standard_error: dict[str, float]
    seeds: int
    epochs: int
    n_train: int
    date: str


def collected(records: Sequence[Record], earlier: Sequence[Row] = ()) -> dict[str, list[Row]]:
    """Rows of the table by problem: of cells, or else an earlier one."""
    kept = {(each.data, each.head): each for each in earlier}
    table: dict[str, list[Row]] = {}
    for data in PROBLEMS:
        for head in HEAD_TITLES:
            cells = [each for each in records if (each["data"], each["head"]) == (data, head)]
            if cells:
                cells.sort(key=lambda cell: cell["seed"])
                table.setdefault(data, []).append(row(data, head, cells))
            elif (data, head) in kept:
                table.setdefault(data, []).append(kept[data, head])
    return table


def earlier_rows(path: Path) -> list[Row]:
    """Rows of a file in the form of `write_csv`; none if there is no file."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [earlier_row(line) for line in csv.DictReader(file)]


def earlier_row(line: dict[str, str]) -> Row:
    """A line of the file."""
    mean, standard_error = (
        {
            column: float(line[f"{column}{suffix}"])
            for column in COLUMNS
            if line.get(f"{column}{suffix}")
        }
        for suffix in ("", ", standard error")
    )
    seeds, epochs, n_train = (int(line[name]) for name in COUNTS)
    return Row(
        *(line["data"], line["head"], (), mean, standard_error),
        *(seeds, epochs, n_train, line["date"]),
    )


def row(data: str, head: str, cells: Sequence[Record]) -> Row:
    """The row of a head on a problem."""
    mean, standard_error = {}, {}
    for column, (field, factor, _, _) in COLUMNS.items():
        if any(cell.get(field) is None for cell in cells):
            continue
        values = factor * np.array([cell[field] for cell in cells], dtype=np.float64)
        mean[column] = float(values.mean())
        if len(values) > 1:
            standard_error[column] = float(values.std(ddof=1) / np.sqrt(len(values)))
    counts = len(cells), cells[0]["epochs"], cells[0]["n_train"]
    date = max(cell["date"] for cell in cells)
    return Row(data, head, tuple(cells), mean, standard_error, *counts, date)


def is_reduced(rows: Sequence[Row]) -> bool:
    """Whether a problem was trained with fewer images or epochs than it is meant to be."""
    return any(
        cell["train_size"] != PROBLEMS[each.data].train_size
        or cell["epochs"] < PROBLEMS[each.data].epochs
        for each in rows
        for cell in each.cells
    )


def write_page(stem: Path, records: Sequence[Record], *, quick: bool = False) -> list[Path]:
    """Write ``stem.md`` and ``stem.csv``, and the learning curves where there is matplotlib.

    Rows of ``stem-earlier.csv`` are shown where there are no cells.
    """
    table = collected(records, earlier_rows(stem.with_name(f"{stem.name}{EARLIER}")))
    page, values = stem.with_suffix(".md"), stem.with_suffix(".csv")
    page.parent.mkdir(parents=True, exist_ok=True)
    pairs = curve_pairs(table)
    pictures: list[Path] = []
    if pairs and find_spec("matplotlib") is not None:
        pictures = save_picture(drawn_curves(pairs), stem.with_name(f"{stem.name}{CURVES}"))
    lines = page_lines(table, quick, pictures[0].name if pictures else None)
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_csv(values, table)
    return [page, values, *pictures]


def page_lines(table: dict[str, list[Row]], quick: bool, picture: str | None) -> Iterator[str]:
    """The page."""
    yield "# Table 2: the last layer of networks for images\n"
    if quick:
        yield "**A quick run, to see that it works: these numbers are not results.**\n"
    cells = [cell for rows in table.values() for each in rows for cell in each.cells]
    hours = sum(cell["epoch_cpu_seconds"] * cell["epochs"] for cell in cells) / 3600
    environments = sorted({cell["environment"] for cell in cells})
    yield (
        f"{'; '.join([*(f'`{each}`' for each in commands(table, quick)), *environments])}. "
        f"Training took {hours:.1f} hours of processor time.\n"
    )
    if any(not each.cells for rows in table.values() for each in rows):
        yield f"{EARLIER_NOTE}\n"
    yield f"{NOTES}\n"
    yield from summary(table)
    run = {None, *(PROBLEMS[data].published for data in table)}
    if left := [title(data) for data, each in PROBLEMS.items() if is_left(each, run)]:
        yield f"Of the paper's six, not run: {', '.join(left)}.\n"
    yield from verdicts(table)
    if picture:
        yield f"![Test error and NLL after each epoch, softmax and SDGM]({picture})\n"
    for data, rows in table.items():
        yield from section(data, rows)
    yield "## How each head is set up\n"
    yield from set_up(table)


def is_left(problem: Problem, run: set[str | None]) -> bool:
    """Whether a column of the paper's was not run with any network."""
    return problem.published not in run and not problem.title.endswith("DenseNet")


EARLIER_NOTE = """Lines without a learning curve are of cells that are not kept, trained before the
layer started as a linear layer does; their date says when. SDGM's NLL is of the means there."""
NOTES = """Error, NLL (mean negative log probability of the true class) and ECE (expected
calibration error, 15 bins) of the test images after the last epoch: mean and standard error over
seeds. Settings are fixed, not chosen by test images: SDGM's KL scale was compared, at one seed,
on training images that were held back; the other heads' are from short trials there, not a full
search (`--search`). SDGM's probabilities are averaged over the noise of its weights, as
evaluation does by default; "of means": with the means of the weights instead. Head weights: all
of the last layer, constants included; not zero: those that evaluation uses; pruned: in two
stages, weights by their noise, then components by their responsibility for training images.
Compact: the file of the head with what was pruned really gone. Paper's numbers in parentheses;
the paper gives one run and no NLL. Normalised mean: of the ratio to SDGM's error, over those of
the paper's data sets that stand here and were trained in full, ours and the paper's alike; the
paper's last column is over all six. Seconds per epoch of training: by the clock, which includes
waiting for other work on the machine, and of processor time."""


def commands(table: dict[str, list[Row]], quick: bool) -> Iterator[str]:
    """What to run for the same cells: one command for problems that are trained as usual."""
    if quick:
        yield "python -m reproduction table2 --quick"
        return
    parts: dict[tuple[str, int, str], list[str]] = {}
    for data, rows in table.items():
        rows = [each for each in rows if each.cells]
        if not rows:
            continue
        first = rows[0].cells[0]
        options = ""
        if first["epochs"] != PROBLEMS[data].epochs:
            options += f" --epochs {first['epochs']}"
        if first["train_size"] != PROBLEMS[data].train_size:
            options += f" --train-size {first['train_size']}"
        run = [each.head for each in rows]
        heads = "" if len(run) == len(HEAD_TITLES) else f" --heads {','.join(run)}"
        seeds = max(len(each.cells) for each in rows)
        parts.setdefault((heads, seeds, options), []).append(data)
    for (heads, seeds, options), names in parts.items():
        which = f"--data {','.join(names)}{heads} --seeds {seeds}{options}"
        yield f"python -m reproduction table2 {which}"


def summary(table: dict[str, list[Row]]) -> list[str]:
    """Errors of all heads on all problems, and the normalised means."""
    reduced = {data for data, rows in table.items() if is_reduced(rows)}
    titles = [heading(data, rows) for data, rows in table.items()]
    lines = []
    errors = {
        head: {
            data: each.mean["error %"]
            for data, rows in table.items()
            for each in rows
            if each.head == head
        }
        for head in HEAD_TITLES
    }
    for head, ours in errors.items():
        if not ours:
            continue
        cells = [HEAD_TITLES[head]]
        for data in table:
            printed = TABLE2.get(PROBLEMS[data].published or "", {}).get(head)
            beside = "" if printed is None else f" ({printed:.2f})"
            cells.append(f"{ours[data]:.2f}{beside}" if data in ours else beside.strip())
        whole = {data: error for data, error in ours.items() if data not in reduced}
        lines.append([*cells, normalized(whole, errors[PRIMARY], head)])
    return markdown_table(["error %, ours (paper)", *titles, "normalised mean"], lines)


def normalized(ours: dict[str, float], reference: dict[str, float], head: str) -> str:
    """The normalised mean over the paper's problems that both heads have, and the paper's there."""
    common = [data for data in reference if data in ours and PROBLEMS[data].published]
    if not common:
        return ""
    columns = {data: TABLE2[PROBLEMS[data].published or ""] for data in common}
    beside = ""
    if all(head in column for column in columns.values()):
        printed = {data: column[head] for data, column in columns.items()}
        least = {data: column[PRIMARY] for data, column in columns.items()}
        beside = f" ({normalized_mean(printed, least):.2f})"
    if any(reference[data] == 0.0 for data in common):
        return beside.strip()
    kept = {data: reference[data] for data in common}
    return f"{normalized_mean(ours, kept):.2f}{beside}"


def verdicts(table: dict[str, list[Row]]) -> list[str]:
    """SDGM beside softmax: error, log loss, weights."""
    lines = []
    for data, rows in table.items():
        by_head = {each.head: each for each in rows}
        if PRIMARY not in by_head or BASELINE not in by_head:
            continue
        ours, other = by_head[PRIMARY], by_head[BASELINE]
        difference = ours.mean["error %"] - other.mean["error %"]
        spread = math.hypot(
            *(each.standard_error.get("error %", math.nan) for each in (ours, other))
        )
        ratio = ours.mean["NLL"] / other.mean["NLL"]
        removed = 100.0 * (1.0 - ours.mean["pruned"] / ours.mean["head weights"])
        around = "" if math.isnan(spread) else f" ± {spread:.2f}"
        numbers = [f"{difference:+.2f}{around}", f"{ratio:.2f}", f"{removed:.0f}"]
        lines.append([heading(data, rows), *numbers, verdict(difference, spread)])
    columns = ["error %: difference", "NLL: ratio", "weights removed %", ""]
    return markdown_table(["SDGM against softmax", *columns], lines)


def verdict(difference: float, spread: float) -> str:
    """Whether one error is below another beyond its standard error."""
    if math.isnan(spread):
        return "one seed"
    if abs(difference) <= spread:
        return "equal within one standard error"
    return "better" if difference < 0.0 else "**worse**"


def head_title(each: Row) -> str:
    """Of the head of a row."""
    return HEAD_TITLES[Head(each.head)]


def title(data: str) -> str:
    """Of a problem."""
    return PROBLEMS[data].title


def heading(data: str, rows: Sequence[Row]) -> str:
    """Of a problem as it was trained."""
    return f"{title(data)}, reduced" if is_reduced(rows) else title(data)


def section(data: str, rows: Sequence[Row]) -> Iterator[str]:
    """All columns of one problem, and its learning curves."""
    cells = [cell for each in rows for cell in each.cells]
    sizes = sorted({(each.n_train, each.epochs) for each in rows})
    trained = ", ".join(f"{n:,} training images, {epochs} epochs" for n, epochs in sizes)
    note = f"; {PROBLEMS[data].note}" if PROBLEMS[data].note else ""
    yield f"## {heading(data, rows)}\n"
    tested = "".join(
        f", {cell['n_test']:,} test images; network with {cell['net_weights']:,} weights without "
        "its head"
        for cell in cells[:1]
    )
    yield f"{trained}, batches of {batch_size(data)}{tested}{note}.\n"
    if is_reduced(rows):
        yield (
            f"**Reduced**: {PROBLEMS[data].epochs} epochs with all images at hand are meant. These "
            "numbers show that it runs and where it begins, not what the heads are worth.\n"
        )
    lines = [
        [head_title(each), each.seeds, *(formatted(each, column) for column in COLUMNS), each.date]
        for each in rows
    ]
    yield from markdown_table(["head", "seeds", *COLUMNS, "date"], lines)
    if cells:
        yield from curves(rows)
        yield from paired_curves(rows)


def batch_size(data: str) -> int:
    """Images per step."""
    return int(dict(PROBLEMS[data].training).get("batch_size", 128))


def formatted(each: Row, column: str) -> str:
    """Mean, and standard error where it is shown."""
    _, _, digits, with_error = COLUMNS[column]
    if column not in each.mean:
        return ""
    text = f"{each.mean[column]:,.{digits}f}"
    if with_error and column in each.standard_error:
        text += f" ± {each.standard_error[column]:.{digits}f}"
    return text


def curves(rows: Sequence[Row]) -> list[str]:
    """Test error after each epoch, mean over the seeds of equal length."""
    n_epochs = max(len(cell["curve"]) for each in rows for cell in each.cells)
    lines = []
    for each in rows:
        curve = [cell["curve"] for cell in each.cells if len(cell["curve"]) == n_epochs]
        if curve:
            values = [f"{100 * value:.2f}" for value in np.mean(curve, axis=0)]
            lines.append([head_title(each), *values])
    epochs = map(str, range(1, n_epochs + 1))
    return markdown_table(["test error % after epoch", *epochs], lines)


def paired_curves(rows: Sequence[Row]) -> Iterator[str]:
    """NLL after each epoch, SDGM against softmax of the same seed: start of the network and order.

    Nothing if no seed has both.
    """
    cells = {(each.head, cell["seed"]): cell for each in rows for cell in each.cells}
    by_head = {each.head: {cell["seed"]: cell["nll_curve"] for cell in each.cells} for each in rows}
    ours, others = by_head.get(PRIMARY, {}), by_head.get(BASELINE, {})
    seeds = [seed for seed in ours if len(ours[seed]) == len(others.get(seed, []))]
    if not seeds:
        return
    curves = {head: np.array([by_head[head][seed] for seed in seeds]) for head in CURVE_COLORS}
    differences = curves[PRIMARY] - curves[BASELINE]
    lines = [
        [HEAD_TITLES[Head(head)], *(f"{value:.4f}" for value in curve.mean(axis=0))]
        for head, curve in curves.items()
    ]
    lines += [
        [f"difference, seed {seed}", *(f"{value:+.4f}" for value in difference)]
        for seed, difference in zip(seeds, differences, strict=True)
    ]
    if len(seeds) > 1:
        spread = differences.std(axis=0, ddof=1) / math.sqrt(len(seeds))
        means = zip(differences.mean(axis=0), spread, strict=True)
        lines.append(["mean difference", *(f"{mean:+.4f} ± {error:.4f}" for mean, error in means)])
    epochs = map(str, range(1, differences.shape[1] + 1))
    yield from markdown_table(["test NLL after epoch", *epochs], lines)
    # the last of a curve is what stands in the table, unless evaluation has learned to average
    of_means = [
        str(seed)
        for seed in seeds
        if abs(cells[PRIMARY, seed]["nll"] - ours[seed][-1]) > CURVE_ROUNDING
    ]
    if of_means:
        yield f"With the means of SDGM's weights, without averaging: seed {', '.join(of_means)}.\n"
    later = differences[:, 1:]
    if later.size:
        yield (
            f"From the second epoch on, SDGM's mean NLL is at or below softmax's after "
            f"{(later.mean(axis=0) <= 0.0).sum()} of {later.shape[1]} epochs, and that of single "
            f"seeds in {(later <= 0.0).sum()} of {later.size} pairs.\n"
        )


def curve_pairs(table: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """Problems of which softmax and SDGM have learning curves."""
    pairs = {
        data: [each for each in rows if each.cells and each.head in CURVE_COLORS]
        for data, rows in table.items()
    }
    return {data: rows for data, rows in pairs.items() if len(rows) == len(CURVE_COLORS)}


def drawn_curves(pairs: dict[str, list[Row]]) -> Figure:
    """Test error and NLL after each epoch: the mean over seeds, and each seed faintly."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    from sdgm.plotting.style import quiet_frame

    figure = Figure(figsize=(4.0 * len(pairs), 5.6), layout="constrained")
    axes = figure.subplots(2, len(pairs), squeeze=False)
    for column, (data, rows) in zip(axes.T, pairs.items(), strict=True):
        column[0].set_title(heading(data, rows), fontsize=11)
        for ax, field, factor, label in zip(
            *(column, ("curve", "nll_curve"), (100.0, 1.0), ("test error %", "test NLL")),
            strict=True,
        ):
            for each in rows:
                color = CURVE_COLORS[Head(each.head)]
                values = factor * np.array([cell[field] for cell in each.cells]).T
                epochs = np.arange(1, len(values) + 1)
                ax.plot(epochs, values, color=color, alpha=0.3, linewidth=0.8)
                ax.plot(epochs, values.mean(axis=1), color=color, label=head_title(each))
            ax.set_yscale("log")
            ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0)))
            ax.yaxis.set_major_formatter("{x:g}")
            ax.yaxis.set_minor_locator(NullLocator())
            ax.set_ylabel(label)
            quiet_frame(ax)
        column[1].set_xlabel("epoch")
    axes[0, 0].legend(frameon=False)
    return figure


def set_up(table: dict[str, list[Row]]) -> Iterator[str]:
    """Settings of the heads, by problem where they differ."""
    found: dict[tuple[str, str], list[str]] = {}
    for data, rows in table.items():
        for each in rows:
            for settings in {cell["settings"] for cell in each.cells}:
                found.setdefault((each.head, settings), []).append(title(data))
    for (head, settings), titles in sorted(found.items(), key=lambda item: order(item[0])):
        yield f"- **{HEAD_TITLES[Head(head)]}**: {described(settings)} ({'; '.join(titles)})"


def order(name: tuple[str, str]) -> tuple[int, str]:
    """By head, in the order of the table."""
    return list(HEAD_TITLES).index(Head(name[0])), name[1]


def described(settings: str) -> str:
    """Settings in words."""
    pairs = [f"{name} = {value:g}" for name, value in json.loads(settings).items()]
    return ", ".join(pairs) or "nothing to set"


def write_csv(path: Path, table: dict[str, list[Row]]) -> None:
    """All means and standard errors, one line per problem and head."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        names = [name for column in COLUMNS for name in (column, f"{column}, standard error")]
        writer.writerow(["data", "head", *COUNTS, *names, "paper", "date"])
        for each in (each for rows in table.values() for each in rows):
            numbers = [
                f"{values[column]:.6g}" if column in values else ""
                for column in COLUMNS
                for values in (each.mean, each.standard_error)
            ]
            printed = TABLE2.get(PROBLEMS[each.data].published or "", {}).get(each.head, "")
            counts = (each.seeds, each.epochs, each.n_train)
            writer.writerow([each.data, each.head, *counts, *numbers, printed, each.date])


def write_search_page(path: Path, records: Sequence[Record]) -> Path:
    """The search on held-back images: all settings tried, those with the least NLL marked."""
    text = [
        "# Table 2: the choice of settings\n",
        f"`python -m reproduction table2 --search`, {environment()}.\n",
    ]
    for data in dict.fromkeys(record["data"] for record in records):
        own = [record for record in records if record["data"] == data]
        text += [
            f"## {title(data)}\n",
            f"{own[0]['n_train']:,} training images, {own[0]['epochs']} epochs, measured on "
            f"{own[0]['n_test']:,} training images that were held back.\n",
        ]
        lines = []
        for head in dict.fromkeys(record["head"] for record in own):
            tried = [record for record in own if record["head"] == head]
            least = min(record["nll"] for record in tried)
            lines += [searched(record, record["nll"] == least) for record in tried]
        columns = ["error %", "NLL", "not zero", "pruned", "pruned error %", ""]
        text += markdown_table(["head", "settings", *columns], lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    return path


def searched(record: Record, is_least: bool) -> list[object]:
    """A line of the search."""
    return [
        HEAD_TITLES[Head(record["head"])],
        described(record["settings"]),
        f"{100 * record['error']:.2f}",
        f"{record['nll']:.4f}",
        f"{record['head_nonzero']} of {record['head_weights']}",
        record["pruned_nonzero"],
        f"{100 * record['pruned_error']:.2f}",
        "least NLL" if is_least else "",
    ]
