"""Constants of automatic fits, checked on sets left out: ``python -m benchmarks.constants``.

Each constant is varied alone. For every data set in turn, the value with the lowest mean log loss
on all the *other* sets is taken, and its loss on this one is compared with that of the value in
use: a constant that was tuned to these sets would look worse here than it does on their mean.
Cells are kept in the output folder, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.accuracy import BUNDLED, IDA, split_of
from reproduction.cells import Key, Record, run_cells
from reproduction.environment import environment
from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.core.selection import reference
from sdgm.estimators import automatic

FORMS: dict[str, Any] = {"dual": KernelSDGMClassifier, "primal": SDGMClassifier}
VALUES: dict[str, tuple[float, ...]] = {
    "replicates": (2.0, 8.0, 32.0, 128.0),
    "faithful": (0.001, 0.005, 0.02),
    "prior rows": (1.0, 10.0, 100.0),
}
# fits of these take minutes, and there are many
SLOW = ("image", "digits")


def in_use(constant: str, form: str) -> float:
    """The value that the library has."""
    return {
        "replicates": float(FORMS[form]._replicates),
        "faithful": automatic.FAITHFUL,
        "prior rows": reference.PRIOR_ROWS,
    }[constant]


@contextmanager
def varied(constant: str, value: float, form: str) -> Iterator[None]:
    """The library with another value."""
    owner, name = {
        "replicates": (FORMS[form], "_replicates"),
        "faithful": (automatic, "FAITHFUL"),
        "prior rows": (reference, "PRIOR_ROWS"),
    }[constant]
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def measured_cell(key: Key) -> Record:
    """An automatic fit with one constant changed."""
    split, form = int(key["split"] or 0), str(key["form"])
    X, y, X_test, y_test = split_of(str(key["data"]), split)
    with varied(str(key["constant"]), float(key["value"] or 0.0), form):
        model = FORMS[form](random_state=split).fit(X, y)
    P = np.clip(model.predict_proba(X_test), 1e-15, 1.0)
    P /= P.sum(axis=1, keepdims=True)
    return {
        "error": float(np.mean(model.classes_[P.argmax(axis=1)] != y_test)),
        "log_loss": float(log_loss(y_test, P, labels=model.classes_)),
        "weights": int(model.n_active_weights_),
    }


def by_set(records: Sequence[Record], constant: str, form: str, field: str) -> dict[float, Any]:
    """For each value, means over the splits of every data set: arrays in the same order."""
    own = [r for r in records if r["constant"] == constant and r["form"] == form]
    names = list(dict.fromkeys(record["data"] for record in own))
    return {
        value: np.array(
            [
                np.mean([r[field] for r in own if r["data"] == name and r["value"] == value])
                for name in names
            ]
        )
        for value in VALUES[constant]
    }


def left_out_loss(loss: dict[float, Any]) -> Any:
    """On each set, the loss with the value that is best on the others."""
    values, table = list(loss), np.stack(list(loss.values()))  # (n_values, n_sets)
    others = table.sum(axis=1, keepdims=True) - table
    return table[others.argmin(axis=0), np.arange(table.shape[1])], [
        values[i] for i in others.argmin(axis=0)
    ]


def page(records: Sequence[Record], command: str) -> str:
    """The results as Markdown."""
    names = list(dict.fromkeys(record["data"] for record in records))
    lines = [
        "# Constants of automatic fits, on data sets left out\n",
        f"Means over {len(names)} data sets ({', '.join(names)}). Written by `{command}`. "
        f"{environment()}.\n",
    ]
    for constant in VALUES:
        lines += [f"## {constant}\n", "| form | value | error % | log loss | weights, median |"]
        lines.append("|---" * 5 + "|")
        verdicts = []
        for form in FORMS:
            of = {
                field: by_set(records, constant, form, field)
                for field in ("error", "log_loss", "weights")
            }
            used = in_use(constant, form)
            for value in VALUES[constant]:
                mark = " (in use)" if value == used else ""
                lines.append(
                    f"| {form} | {value:g}{mark} | {100 * of['error'][value].mean():.2f} | "
                    f"{of['log_loss'][value].mean():.4f} | {np.median(of['weights'][value]):.0f} |"
                )
            loss, chosen = left_out_loss(of["log_loss"])
            difference = loss - of["log_loss"][used]
            error = difference.std(ddof=1) / np.sqrt(len(difference))
            counts = ", ".join(f"{v:g} ({chosen.count(v)} times)" for v in sorted(set(chosen)))
            verdicts.append(
                f"- {form}: the others choose {counts}; log loss on the set left out "
                f"{loss.mean():.4f}, {difference.mean():+.4f} ± {error:.4f} against the value in "
                "use."
            )
        lines += ["", *verdicts, ""]
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.constants", description=__doc__)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    everything = [name for name in (*IDA, *BUNDLED) if name not in SLOW]
    parser.add_argument("--data", nargs="*", default=everything)
    parser.add_argument("--output", type=Path, default=Path("constants"))
    options = parser.parse_args()
    keys: list[Key] = [
        {"data": name, "split": split, "form": form, "constant": constant, "value": value}
        for constant, values in VALUES.items()
        for name in options.data
        for split in range(options.splits)
        for form in FORMS
        for value in values
    ]
    records = run_cells(options.output / "constants.jsonl", keys, measured_cell, jobs=options.jobs)
    chosen = ["--splits", str(options.splits)]
    if options.data != everything:
        chosen += ["--data", *options.data]
    command = f"python -m benchmarks.constants {shlex.join(chosen)}"
    (options.output / "constants.md").write_text(page(records, command), encoding="utf-8")
    print(f"wrote {options.output / 'constants.md'}")


if __name__ == "__main__":
    from benchmarks import constants  # workers import functions by the module's name

    constants.main()
