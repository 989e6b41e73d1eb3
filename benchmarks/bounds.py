"""How tight the PAC-Bayes bound is.

No-argument classifiers on the development sets, and fixed ones on more and more rows of Ripley's
problem: error on the training rows and on test rows of classifiers drawn from the posterior, the
bounds, what they are made of, and as a peer the bound from a fifth of the rows held out.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from benchmarks import markdown
from benchmarks.data import BUNDLED, IDA, Split, split_of
from benchmarks.environment import made_by
from benchmarks.markdown import percent, table
from benchmarks.records import Cell, Record, results, select
from benchmarks.runner import Benchmark, Plan
from sdgm import KernelSDGMClassifier, SDGMClassifier, pac_bayes_bound
from sdgm.bounds.bound import Scaling, basis_values, structure_cost
from sdgm.bounds.gibbs import Answers, Loss, mean_losses, weight_posterior
from sdgm.datasets import make_ripley

DELTA = 0.05
# the automatic settings take minutes on the others
SETS = tuple(name for name in (*IDA, *BUNDLED) if name not in ("image", "digits"))
SIZES = {"primal": (250, 1000, 4000, 16000), "dual": (250, 1000, 4000)}
TEST_ROWS = 20_000
HELD_OUT = 0.2
AUTOMATIC: dict[str, Callable[[], Any]] = {
    "primal": lambda: SDGMClassifier(random_state=0),
    "dual": lambda: KernelSDGMClassifier(random_state=0),
}
FIXED: dict[str, Callable[[], Any]] = {
    "primal": lambda: SDGMClassifier(2, random_state=0, teacher=None),
    "dual": lambda: KernelSDGMClassifier(1, kernel="rbf", gamma=1.0, random_state=0, teacher=None),
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


def cells(plan: Plan) -> list[Cell]:
    """Both forms on all sets, then on more and more rows."""
    names = ("heart", "iris") if plan.quick else SETS
    sizes = {"primal": (250, 1000), "dual": (250,)} if plan.quick else SIZES
    return [
        *({"data": name, "size": 0, "form": form} for name in names for form in AUTOMATIC),
        *({"data": "ripley", "size": n, "form": form} for form in FIXED for n in sizes[form]),
    ]


def measure(data: str, size: int, form: str) -> Record:
    """Fit one form to one set, and compute its bounds."""
    X, y, X_test, y_test = rows_of(data, size)
    model = (FIXED if data == "ripley" else AUTOMATIC)[form]().fit(X, y)
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
    "", "form", "rows", "inputs", "weights", "drawn: train %", "drawn: test %", "**bound** %",
    "scaling paid %", "vote: bound %", "averaged: bound %", "test %", "held out: bound %",
    "nats: weights", "structure", "settings",
)  # fmt: skip
COUNTS = ("rows", "inputs", "weights")
SHARES = (
    "gibbs_error", "gibbs_test_error", "gibbs_bound", "gibbs_bound_paid", "vote_bound",
    "averaged_bound", "test_error", "held_out_bound",
)  # fmt: skip
NATS = ("kl_weights", "kl_structure", "kl_settings")


def line(name: str, r: Record) -> list[str]:
    """A row of the table."""
    shares = [percent(r[field], 1) for field in SHARES]
    nats = [f"{r[field]:.0f}" for field in NATS]
    return [name, r["form"], *(str(r[field]) for field in COUNTS), *shares, *nats]


def write(output: Path) -> Path:
    """How often the bound holds, how tight it is, and all of its parts."""
    records = results(output, "bounds")
    sets = [r for r in records if r["data"] != "ripley"]
    return markdown.write_filled(
        output,
        "bounds",
        made_by=made_by(records),
        level=1 - DELTA,
        below=sum(r["gibbs_test_error"] <= r["gibbs_bound"] for r in records),
        n_cases=len(records),
        gap=np.median([r["gibbs_bound"] / max(r["gibbs_test_error"], 1e-9) for r in sets]),
        tighter=sum(r["gibbs_bound"] < r["held_out_bound"] for r in sets),
        n_sets=len(sets),
        sets=table(HEAD, [line(r["data"], r) for r in sets]),
        test_rows=TEST_ROWS,
        ripley=table(HEAD, [line("Ripley", r) for r in select(records, data="ripley")]),
    )


BENCHMARK = Benchmark("bounds", cells, measure, write)
