"""One cell of the study: some candidates, an automatic fit, the yardstick, or the starts."""

from __future__ import annotations

from contextlib import suppress
from time import process_time
from typing import Any

import numpy as np

from benchmarks.accuracy import METHODS
from benchmarks.criteria.laplace import (
    leave_one_out_losses,
    mode_of,
    observed_evidence,
    problem_of,
)
from benchmarks.criteria.problems import (
    Problem,
    Settings,
    group,
    make_model,
    reference_of,
    rows_of,
    tested,
    timed_fit,
)
from benchmarks.criteria.starts import starts_cell
from benchmarks.criteria.validation import cross_validated, on_part, responsibilities
from reproduction.cells import Key, Record
from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.core.solvers.precision import FactorizationError
from sdgm.estimators.automatic import fitted, judged, soft_sample

# the same candidates learn the labels, and then what the dense reference says in their place
GROUPS = ("dual M=1", "dual M=2", "dual M=3", "primal M=1", "primal M=2")
AUTOMATIC = {
    "KernelSDGMClassifier()": KernelSDGMClassifier,
    "SDGMClassifier()": SDGMClassifier,
}
YARDSTICK = "SVM, tuned"
LEARNED = tuple(f"learned {part}" for part in GROUPS)
PARTS = (*GROUPS, *AUTOMATIC, YARDSTICK, *LEARNED)
START_PARTS = ("starts dual", "starts primal")
# splits on which starts are compared
START_SPLITS = 1


def measured_cell(key: Key) -> Record:
    """All that is to be known about one part of one split."""
    split, part = int(key["split"] or 0), str(key["part"])
    problem = Problem(str(key["data"]), split, int(key["rows"] or 0))
    if part in START_PARTS:
        return {"starts": starts_cell(problem, part.split()[1])}
    if part in GROUPS:
        return {"candidates": measured_group(problem, part)}
    if part in LEARNED:
        return {"candidates": learned_group(problem, part.removeprefix("learned "))}
    X, y, X_test, y_test = rows_of(problem)
    if part in AUTOMATIC:
        model, seconds = timed_fit(AUTOMATIC[part](random_state=split), X, y)
        fits = len(model.candidates_) + 1  # and the reference
        return {"model": {**tested(model, X_test, y_test), "seconds": seconds, "fits": fits}}
    model, seconds = timed_fit(METHODS[part](X.shape[1], split), X, y)
    return {"model": {**tested(model, X_test, y_test), "seconds": seconds, "fits": None}}


def measured_group(problem: Problem, part: str) -> dict[str, Record]:
    """Candidates of one form and number of components, along the path of scales."""
    X, y, _, _ = rows_of(problem)
    result: dict[str, Record] = {}
    path: Any = None  # the last model of the path
    for candidate, settings in group(part, X.shape[1]).items():
        try:
            model, seconds = timed_fit(make_model(settings), X, y)
        except FactorizationError:
            result[candidate] = {"failed": True}
            continue
        record = measured(model, seconds, problem)
        record["cv"] = [cross_validated(settings, X, y, seed) for seed in (0, 1)]
        record["quarter"] = on_part(settings, X, y, 0.25)
        record["half"] = on_part(settings, X, y, 0.5)
        if settings["n_components"] > 1:
            path, record["warm"] = warm(model, seconds, path, settings, problem)
        result[candidate] = record
    return result


def measured(model: Any, seconds: float, problem: Problem) -> Record:
    """Test results of a candidate, and all criteria that need no other fit of it."""
    X, y, X_test, y_test = rows_of(problem)
    reference, reference_seconds = reference_of(problem)
    divergence = judged(model, {}, 1.0, X, np.ones(len(y)), reference).divergence
    codes = np.unique(y, return_inverse=True)[1]
    begin = process_time()
    mode = mode_of(*problem_of(model, X, codes))
    log_evidence, raised = observed_evidence(mode)
    loo = float(leave_one_out_losses(mode, observed=True).mean())
    laplace_seconds = process_time() - begin
    return {
        **tested(model, X_test, y_test),
        "failed": False,
        "seconds": seconds,
        "stop": model.stop_reason_,
        "log_evidence": model.log_evidence_,
        "log_evidence_observed": log_evidence,
        "eigenvalues_raised": raised,
        "loo": loo,
        "loo_complete": float(leave_one_out_losses(mode, observed=False).mean()),
        "laplace_seconds": laplace_seconds,
        "divergence": divergence,
        "reference_seconds": reference_seconds,
    }


def learned_group(problem: Problem, part: str) -> dict[str, Record]:
    """The same candidates, learned from the dense reference as automatic fits learn."""
    X, y, X_test, y_test = rows_of(problem)
    reference, reference_seconds = reference_of(problem)
    classes, codes = np.unique(y, return_inverse=True)
    s = np.ones(len(y))
    result: dict[str, Record] = {}
    for candidate, settings in group(part, X.shape[1]).items():
        begin = process_time()
        try:
            plain = make_model(settings)
            learned = soft_sample(X, codes, s, reference.P_c, plain._replicates)
            model = fitted(plain, {}, learned, classes)
        except FactorizationError:
            result[candidate] = {"failed": True}
            continue
        seconds = process_time() - begin
        result[candidate] = {
            **tested(model, X_test, y_test),
            "failed": False,
            "seconds": seconds,
            "divergence": judged(model, {}, plain._replicates, X, s, reference).divergence,
            "reference_seconds": reference_seconds,
        }
    return result


def warm(
    cold: Any, seconds: float, before: Any, settings: Settings, problem: Problem
) -> tuple[Any, Record]:
    """The candidate started from its neighbour on the path, and its folds from itself."""
    X, y, X_test, y_test = rows_of(problem)
    model = cold
    if before is not None:
        start = responsibilities(before, X, y)
        counts = np.bincount(before.component_class_).tolist()
        with suppress(FactorizationError):
            model, seconds = timed_fit(
                make_model({**settings, "n_components": counts}, init=start), X, y
            )
    start = responsibilities(model, X, y)
    counts = np.bincount(model.component_class_).tolist()
    cv = cross_validated({**settings, "n_components": counts}, X, y, 0, start)
    del cv["losses"]
    return model, {**tested(model, X_test, y_test), "seconds": seconds, "cv": cv}
