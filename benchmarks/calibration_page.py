"""The page and pictures of `benchmarks.calibration`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reproduction.cells import Record
from reproduction.environment import environment
from sdgm.metrics import RejectionCurve, calibration_bins

AS_THEY_ARE, IMBALANCED = "as they are", "imbalanced"
BALANCED = ("balanced_error", "balanced error %", 100.0, 2)


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
LOWEST = 0.5


class Results:
    """One block's results by method and data set.

    Parameters
    ----------
    records : sequence of dict
        As from `benchmarks.calibration`, of all blocks.
    block : str
    """

    def __init__(self, records: Sequence[Record], block: str) -> None:
        self.rows = list(flattened(records, block))
        self.methods = list(dict.fromkeys(row["method"] for row in self.rows))
        self.names = list(dict.fromkeys(row["data"] for row in self.rows))

    def per_set(self, method: str, field: str) -> np.ndarray[Any, Any]:
        """Mean over splits, for every data set."""
        own = [row for row in self.rows if row["method"] == method]
        return np.array(
            [np.mean([r[field] for r in own if r["data"] == name]) for name in self.names]
        )

    def of_splits(self, method: str, field: str) -> list[Any]:
        """Every value, in the order of the cells."""
        return [row[field] for row in self.rows if row["method"] == method]


def flattened(records: Sequence[Record], block: str) -> Iterator[Record]:
    """One row per data set, split, model and kind of probability."""
    for record in records:
        if record["block"] == block:
            for way, values in record["results"].items():
                method = f"{record['model']}, {way}" if way else record["model"]
                n_fits = N_FITS.get(way or record["model"], 1)
                yield {"data": record["data"], "method": method, **values, "fits": n_fits}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


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


def page(records: Sequence[Record], command: str) -> str:
    """The results as Markdown."""
    plain, rare = Results(records, AS_THEY_ARE), Results(records, IMBALANCED)
    n_splits = len({record["split"] for record in records})
    temperature = [m for m in plain.methods if m.endswith(", temperature")]
    told = "Mean ± standard error over sets; in brackets on how many it is lower : higher."
    balanced = Column(*BALANCED)
    parts = [
        "# Probabilities and uncertainty\n",
        f"Written by `{command}`. {environment()}.\n",
        "## Sets as they are\n",
        f"Means over {len(plain.names)} data sets, {n_splits} splits each. The rejection area is "
        "the mean error over all shares of rows answered, the most confident first.\n",
        means(plain, [*MEASURES, *COSTS]),
        "![reliability](../img/calibration-reliability.png)\n",
        "![rejection](../img/calibration-rejection.png)\n",
        f"### Differences\n\n{told}\n",
        differences(plain, pairs_of(plain, ["averaged", "temperature"]), MEASURES),
        "### Log loss\n",
        per_set(plain, "log_loss", plain.methods),
        "### Temperatures\n\nAbove one: the model was too sure of itself.\n",
        per_set(plain, "temperature", temperature, 2),
    ]
    if rare.rows:
        ways = ["averaged", "temperature", "MAP / class shares", "balanced"]
        ways += ["balanced * class shares"]
        pairs = pairs_of(rare, ways)
        # both have the classes equally likely, with and without a fit of their own
        pairs += [(one, f"{map_} / class shares") for one, map_ in pairs_of(rare, ["balanced"])]
        parts += [
            "## One of the rare class for ten of the other\n",
            f"Means over {len(rare.names)} two-class sets, {n_splits} splits each. All but the "
            "balanced error are for test rows weighted to the same shares; `MAP / class shares` "
            "and `balanced` are meant for equally likely classes, and pay for it there.\n",
            means(rare, [balanced, *MEASURES]),
            f"### Differences\n\n{told}\n",
            differences(rare, pairs, [balanced, *MEASURES]),
            "### Log loss\n",
            per_set(rare, "log_loss", rare.methods),
            "### Balanced error\n",
            per_set(rare, "balanced_error", rare.methods),
        ]
    return "\n".join(parts)


def draw_reliability(records: Sequence[Record], stem: Path) -> None:
    """Reliability of rows pooled over the sets, one panel per model and one for the others."""
    from matplotlib.figure import Figure

    from reproduction.figures.files import save_picture
    from sdgm.plotting import ReliabilityDisplay

    results = Results(records, AS_THEY_ARE)
    panels: dict[str, list[tuple[str, str]]] = {}
    for method in results.methods:
        model, _, way = method.rpartition(", ")
        own = model.endswith("()")
        panels.setdefault(model if own else "for comparison", []).append(
            (way if own else method, method)
        )
    figure = Figure(figsize=(4.2 * len(panels), 5.0), layout="constrained")
    for ax, (title, drawn) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
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
    save_picture(figure, stem, dpi=90)


def draw_rejection(records: Sequence[Record], stem: Path, shares: Any) -> None:
    """Rejection curves, averaged over the sets."""
    from matplotlib.figure import Figure

    from reproduction.figures.files import save_picture
    from sdgm.plotting import RejectionDisplay

    results = Results(records, AS_THEY_ARE)
    figure = Figure(figsize=(6.8, 4.6), layout="constrained")
    ax = figure.add_subplot()
    # a temperature does not change the order of two-class rows, and averaging hardly
    hidden = (", temperature", ", averaged")
    methods = [method for method in results.methods if not method.endswith(hidden)]
    for i, method in enumerate(methods):
        error = np.mean(results.of_splits(method, "curve"), axis=0)
        curve = RejectionCurve(shares, error, np.full(len(shares), np.nan))
        RejectionDisplay(curve=curve, name=method).plot(perfect=i == 0, ax=ax)
    ax.get_legend().remove()
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    save_picture(figure, stem, dpi=100)
