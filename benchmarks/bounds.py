"""How tight the PAC-Bayes bound is: ``python -m benchmarks.bounds``.

No-argument classifiers on the development sets, and fixed ones on more and more rows of Ripley's
problem: error on the training rows and on test rows of classifiers drawn from the posterior, the
bounds, what they are made of, and as a peer the bound from a fifth of the rows held out.
Cells are kept in the output folder, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from benchmarks.accuracy import Split, split_of
from reproduction.cells import Key, Record, run_cells
from reproduction.environment import environment
from sdgm import KernelSDGMClassifier, SDGMClassifier, pac_bayes_bound
from sdgm.datasets import make_ripley
from sdgm.bounds.bound import Scaling, basis_values, structure_cost
from sdgm.bounds.gibbs import Answers, Loss, mean_losses, weight_posterior

DELTA = 0.05
SETS = (
    "banana",
    "breast_cancer",
    "titanic",
    "waveform",
    "german",
    "heart",
    "ringnorm",
    "twonorm",
    "flare_solar",
    "thyroid",
    "iris",
    "wine",
    "wdbc",
)
SIZES = {"primal": (250, 1000, 4000, 16000), "dual": (250, 1000, 4000)}
TEST_ROWS = 20_000
HELD_OUT = 0.2
AUTOMATIC: dict[str, Callable[[], Any]] = {
    "primal": lambda: SDGMClassifier(random_state=0),
    "dual": lambda: KernelSDGMClassifier(random_state=0),
}
FIXED: dict[str, Callable[[], Any]] = {
    "primal": lambda: SDGMClassifier(2, random_state=0),
    "dual": lambda: KernelSDGMClassifier(1, kernel="rbf", gamma=1.0, random_state=0),
}


def rows_of(name: str, size: int) -> Split:
    """Training and test rows: of a development set, or so many of Ripley's problem."""
    if name == "ripley":
        return make_ripley(size, TEST_ROWS, random_state=size).split()
    return split_of(name, 0)


def gibbs_test_error(model: Any, factor: float, X: Any, X_test: Any, y_test: Any) -> float:
    """Error on test rows of classifiers drawn from the posterior that the bound is about."""
    kept, _ = structure_cost(model, X)
    Phi, _, _ = basis_values(model, X[kept], Scaling.GIVEN)
    posterior = weight_posterior(model, Phi)
    Phi_test, _, _ = basis_values(model, X_test, Scaling.GIVEN)
    mean, root = posterior.scores(Phi_test)
    code = np.searchsorted(model.classes_, y_test)
    answers = Answers(model.component_class_, len(model.classes_), code, Loss.ERROR)
    error, _ = mean_losses(mean, np.sqrt(factor) * root, answers, 64, np.random.default_rng(0))
    return error


def held_out_bound(model: Any, X: Any, y: Any) -> float:
    """Clopper and Pearson's bound from a fifth of the rows, for the model of the others."""
    X_fit, X_out, y_fit, y_out = train_test_split(X, y, test_size=HELD_OUT, random_state=0)
    wrong = int(np.sum(clone(model).fit(X_fit, y_fit).predict(X_out) != y_out))
    return float(stats.beta.ppf(1.0 - DELTA, wrong + 1, len(y_out) - wrong))


def measured_cell(key: Key) -> Record:
    """Fit one form to one set, and compute its bounds."""
    name, form = str(key["data"]), str(key["form"])
    X, y, X_test, y_test = rows_of(name, int(key["size"] or 0))
    model = (FIXED if name == "ripley" else AUTOMATIC)[form]().fit(X, y)
    bound = pac_bayes_bound(model, X, y, delta=DELTA)
    paid = pac_bayes_bound(model, X, y, delta=DELTA, scaling="paid")
    averaged = pac_bayes_bound(model, X, y, delta=DELTA, loss="probability")
    return {
        "rows": len(X),
        "inputs": X.shape[1],
        "weights": model.n_active_weights_,
        "measured_rows": bound.n_rows,
        "train_error": float(np.mean(model.predict(X) != y)),
        "test_error": float(np.mean(model.predict(X_test) != y_test)),
        "gibbs_error": bound.gibbs_error,
        "gibbs_test_error": gibbs_test_error(model, bound.covariance_scale, X, X_test, y_test),
        "gibbs_bound": bound.gibbs_bound,
        "gibbs_bound_paid": paid.gibbs_bound,
        "joint_bound": bound.joint_bound,
        "vote_bound": bound.vote_bound,
        "averaged_bound": averaged.vote_bound,
        "kl_weights": bound.kl_weights,
        "kl_structure": bound.kl_structure,
        "kl_settings": bound.kl_settings,
        "covariance_scale": bound.covariance_scale,
        "held_out_bound": held_out_bound(model, X, y),
    }


HEAD = (
    "| | form | rows | inputs | weights | drawn: train % | drawn: test % | **bound** % | "
    "scaling paid % | vote: bound % | averaged: bound % | test % | held out: bound % | "
    "nats: weights | structure | settings |"
)


def line(name: str, r: Record) -> str:
    """A row of the table."""
    percent = (
        "gibbs_error",
        "gibbs_test_error",
        "gibbs_bound",
        "gibbs_bound_paid",
        "vote_bound",
        "averaged_bound",
        "test_error",
        "held_out_bound",
    )
    cells = [name, r["form"], *(str(r[field]) for field in ("rows", "inputs", "weights"))]
    cells += [f"{100 * r[field]:.1f}" for field in percent]
    cells += [f"{r[field]:.0f}" for field in ("kl_weights", "kl_structure", "kl_settings")]
    return f"| {' | '.join(cells)} |"


def page(records: Sequence[Record], command: str) -> str:
    """The results as Markdown."""
    table = [HEAD, "|---" * HEAD.count(" |") + "|"]
    sets = [r for r in records if r["data"] != "ripley"]
    ripley = [r for r in records if r["data"] == "ripley"]
    below = sum(r["gibbs_test_error"] <= r["gibbs_bound"] for r in records)
    gap = np.median([r["gibbs_bound"] / max(r["gibbs_test_error"], 1e-9) for r in sets])
    tighter = sum(r["gibbs_bound"] < r["held_out_bound"] for r in sets)
    lines = [
        "# PAC-Bayes bounds\n",
        f"Written by `{command}`. {environment()}.\n",
        f"Bounds hold with probability {1 - DELTA:g}, each by itself. *drawn*: one classifier "
        "drawn from the posterior for each row, covariance scaled; its error on the training rows, "
        "on test rows, and the bound on it from the training rows alone, with the scaling of the "
        "inputs taken as known, and paid for. *vote*: of all drawn classifiers; with two classes "
        "of one component each it is `predict`. *averaged*: `predictive='averaged'`. *test*: error "
        "of `predict`. *held out*: Clopper and Pearson's bound for a model fitted to four fifths "
        "of the rows, from the last fifth. What is in the bound, in nats, to the right. See "
        "[uncertainty.md](../uncertainty.md).\n",
        f"The error on test rows is below the bound in {below} of {len(records)} cases; on the "
        f"development sets the bound is {gap:.1f} times that error (median), and below the bound "
        f"from held-out rows in {tighter} of {len(sets)}.\n",
        "## Development sets, automatic settings, first split\n",
        *table,
        *(line(r["data"], r) for r in sets),
        f"\n## More rows: Ripley's problem, fixed settings, {TEST_ROWS} test rows\n",
        "Primal form with two components per class; dual form with an rbf kernel, one component "
        "per class.\n",
        *table,
        *(line("Ripley", r) for r in ripley),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run what is missing, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bounds", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("bounds"))
    options = parser.parse_args()
    keys: list[Key] = [
        {"data": name, "size": 0, "form": form} for name in SETS for form in AUTOMATIC
    ]
    keys += [
        {"data": "ripley", "size": size, "form": form} for form in FIXED for size in SIZES[form]
    ]

    def tell(done: int, total: int, key: Key | None) -> None:
        print(f"{done}/{total} {'' if key is None else ' '.join(map(str, key.values()))}",
              flush=True)  # fmt: skip

    records = run_cells(
        options.output / "bounds.jsonl", keys, measured_cell, jobs=options.jobs, progress=tell
    )
    path = options.output / "bounds.md"
    path.write_text(page(records, "python -m benchmarks.bounds"), encoding="utf-8")
    print(f"wrote {path}")


if __name__ == "__main__":
    from benchmarks import bounds  # workers import functions by the module's name

    bounds.main()
