"""The page and pictures of `benchmarks.calibration`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import markdown
from benchmarks.environment import made_by
from benchmarks.figures import panels, save
from benchmarks.markdown import table
from benchmarks.records import Record, results, select, values_of
from sdgm.metrics import RejectionCurve, calibration_bins

AS_THEY_ARE, IMBALANCED = "as they are", "imbalanced"
RARE_WAYS = (
    "averaged", "temperature", "MAP / class shares", "balanced", "balanced * class shares"
)  # fmt: skip


class Column(NamedTuple):
    """A measure and how it is printed."""

    field: str
    title: str
    factor: float
    digits: int


MEASURES = [
    Column("error", "error %", 100.0, 2),
    Column("log_loss", "log loss", 1.0, 4),
    Column("brier", "Brier", 1.0, 4),
    Column("ece", "ECE %", 100.0, 2),
    Column("area", "rejection area %", 100.0, 2),
]
COSTS = [
    Column("perfect_area", "of a perfect order %", 100.0, 2),
    Column("fits", "fits", 1.0, 0),
    Column("fit_seconds", "fitting s, median", 1.0, 2),
    Column("predict_seconds", "1000 predictions ms, median", 1000.0, 1),
]
# the others are fitted once; scaling has five folds and the fit to all rows, tuning its grid
N_FITS = {"temperature": 6, "SVM, tuned": 87, "logistic regression": 26}
BINS = 10
# of the rows that are answered, at which the rejection curves are kept
SHARES = np.linspace(0.01, 1.0, 100)
LOWEST = 0.5


class Results:
    """One block's results by method and data set, of records of all blocks."""

    def __init__(self, records: Sequence[Record], block: str) -> None:
        self.rows = [
            {
                **record,
                "method": ", ".join(filter(None, (record["model"], record["way"]))),
                "fits": N_FITS.get(record["way"] or record["model"], 1),
            }
            for record in select(records, block=block)
        ]
        self.methods, self.names = (values_of(self.rows, field) for field in ("method", "data"))

    def per_set(self, method: str, field: str) -> np.ndarray[Any, Any]:
        """Mean over splits, for every data set."""
        own = [row for row in self.rows if row["method"] == method]
        return np.array(
            [np.mean([r[field] for r in own if r["data"] == name]) for name in self.names]
        )

    def of_splits(self, method: str, field: str) -> list[Any]:
        """Every value, in the order of the cells."""
        return [row[field] for row in self.rows if row["method"] == method]


def means(results: Results, columns: Sequence[Column]) -> str:
    """One line per method: means over data sets, medians of seconds."""
    rows = []
    for method in results.methods:
        cells = [method]
        for field, _, factor, digits in columns:
            values = factor * results.per_set(method, field)
            value = np.median(values) if "seconds" in field else values.mean()
            cells.append(f"{value:.{digits}f}")
        rows.append(cells)
    return table(["", *(column.title for column in columns)], rows)


def differences(
    results: Results, pairs: Sequence[tuple[str, str]], columns: Sequence[Column]
) -> str:
    """Mean over sets of what one method has more than another, with standard error and wins."""
    rows = []
    for one, other in pairs:
        cells = [f"{one} - {other.rsplit(', ', 1)[-1]}"]
        for field, _, factor, digits in columns:
            gap = factor * (results.per_set(one, field) - results.per_set(other, field))
            error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
            n_less = int((gap < -1e-12).sum())
            n_more = int((gap > 1e-12).sum())
            cells.append(f"{gap.mean():+.{digits}f} ± {error:.{digits}f} ({n_less}:{n_more})")
        rows.append(cells)
    return table(["", *(column.title for column in columns)], rows)


def per_set(results: Results, field: str, methods: Sequence[str], digits: int = 3) -> str:
    rows = [
        [method, *(f"{value:.{digits}f}" for value in results.per_set(method, field))]
        for method in methods
    ]
    return table(["", *results.names], rows)


def pairs_of(results: Results, ways: Sequence[str]) -> list[tuple[str, str]]:
    """Each of these ways beside the MAP probabilities of the same model."""
    return [
        (method, f"{method.rsplit(', ', 1)[0]}, MAP")
        for method in results.methods
        if method.rsplit(", ", 1)[-1] in ways
    ]


def write(output: Path) -> Path:
    """The tables and both pictures."""
    records = results(output, "calibration")
    plain, rare = Results(records, AS_THEY_ARE), Results(records, IMBALANCED)
    temperature = [m for m in plain.methods if m.endswith(", temperature")]
    columns = [Column("balanced_error", "balanced error %", 100.0, 2), *MEASURES]
    pairs = pairs_of(rare, RARE_WAYS)
    # both have the classes equally likely, with and without a fit of their own
    pairs += [(one, f"{map_} / class shares") for one, map_ in pairs_of(rare, ["balanced"])]
    draw_reliability(plain, output / "img" / "calibration-reliability.png")
    draw_rejection(plain, output / "img" / "calibration-rejection.png")
    return markdown.write_filled(
        output,
        "calibration",
        made_by=made_by(records),
        n_sets=len(plain.names),
        n_rare=len(rare.names),
        n_splits=len(values_of(records, "split")),
        means=means(plain, [*MEASURES, *COSTS]),
        differences=differences(plain, pairs_of(plain, ["averaged", "temperature"]), MEASURES),
        losses=per_set(plain, "log_loss", plain.methods),
        temperatures=per_set(plain, "temperature", temperature, 2),
        rare_means=means(rare, columns),
        rare_differences=differences(rare, pairs, columns),
        rare_losses=per_set(rare, "log_loss", rare.methods),
        rare_errors=per_set(rare, "balanced_error", rare.methods),
    )


def draw_reliability(results: Results, path: Path) -> None:
    """Reliability of rows pooled over the sets, one panel per model and one for the others."""
    from sdgm.plotting import ReliabilityDisplay

    drawn_in: dict[str, list[tuple[str, str]]] = {}
    for method in results.methods:
        model, _, way = method.rpartition(", ")
        own = model.endswith("()")
        drawn_in.setdefault(model if own else "for comparison", []).append(
            (way if own else method, method)
        )
    figure, axes = panels(1, len(drawn_in), (4.2 * len(drawn_in), 5.0))
    for ax, (title, drawn) in zip(axes[0], drawn_in.items(), strict=True):
        place: Any = ax
        for name, method in drawn:
            right = np.concatenate(results.of_splits(method, "right")).astype(bool)
            confidence = np.concatenate(results.of_splits(method, "confidence"))
            # with three classes a few rows are less sure, too few to draw
            right, confidence = right[confidence > LOWEST], confidence[confidence > LOWEST]
            display = ReliabilityDisplay(
                came_true=right,
                confidence=confidence,
                bins=calibration_bins(right, confidence, BINS),
                name=name,
                of="probability of the most probable class",
                lowest=LOWEST,
            ).plot(ax=place)
            place = display.axes_
        place[0].set_title(title, size=11)
        place[0].set(xlim=(0.49, 1.01), ylim=(0.35, 1.02))
        place[0].legend(frameon=False, loc="lower right")
    save(figure, path, dpi=90)


def draw_rejection(results: Results, path: Path) -> None:
    """Rejection curves, averaged over the sets."""
    from sdgm.plotting import RejectionDisplay

    figure, ((ax,),) = panels(1, 1, (6.8, 4.6))
    # a temperature does not change the order of two-class rows, and averaging hardly
    hidden = (", temperature", ", averaged")
    methods = [method for method in results.methods if not method.endswith(hidden)]
    for i, method in enumerate(methods):
        error = np.mean(results.of_splits(method, "curve"), axis=0)
        curve = RejectionCurve(SHARES, error, np.full(len(SHARES), np.nan))
        RejectionDisplay(curve=curve, name=method).plot(perfect=i == 0, ax=ax)
    ax.get_legend().remove()
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    save(figure, path, dpi=100)
