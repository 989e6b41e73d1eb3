"""Both forms of SDGM along their paths of weights, each point with its loss of the teacher.

Candidates do not end with the first that is true to the teacher, as with ``max_divergence=0``, so
that there are models for larger budgets too. Every model is there once more with its weights, and
relevance vectors, in eight bits.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.size.small import Small
from benchmarks.size.smooth import kernel_size, n_centres
from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.core.model.features import Monomials
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.solvers.precision import FactorizationError
from sdgm.estimators.budget import points_below
from sdgm.estimators.choosing import divergence_at, learned_by, tried_candidates
from sdgm.estimators.distillation import Targets, targets_of
from sdgm.estimators.plan import plan_of
from sdgm.estimators.preparation import prepared
from sdgm.estimators.run import Run
from sdgm.export.rounding import rounded_model

FORMS: dict[str, Any] = {"original form": SDGMClassifier, "dual form": KernelSDGMClassifier}
TEACHERS: dict[str, Any] = {
    "default teacher": lambda seed: "auto",
    "boosted trees": lambda seed: HistGradientBoostingClassifier(random_state=seed),
}
BITS = 8
IN_SHORT = f", {BITS} bits"  # behind the name of a form


class Student(NamedTuple):
    """A model on a path, and the mean divergence from its teacher, off the rows."""

    small: Small
    form: str  # of `FORMS`, with `IN_SHORT` where weights have eight bits
    divergence: float


def students(teacher: str, X: Any, y: Any, seed: int) -> Iterator[Student]:
    """All models on the paths of the candidates that fits of both forms try."""
    targets: Targets | None = None
    for form, make in FORMS.items():
        plan = plan_of(make(random_state=seed, teacher=TEACHERS[teacher](seed), max_divergence=0))
        with warnings.catch_warnings(action="ignore"):
            problem = prepared(X, y, None, plan)
            # what the teacher says does not depend on the form
            targets = targets or targets_of(plan.teacher, problem)
            tried, _ = tried_candidates(plan, targets, problem.classes, Run(), tolerance=0.0)
            for candidate, fit in tried:
                learned = learned_by(candidate, targets)
                path = points_below(fit.model, learned, plan.recipe, min_weights=1)
                try:
                    for point in path:
                        model = fit.model.with_weights(point.state)
                        for each, of, short in (
                            (model, form, False),
                            (rounded_model(model, BITS), form + IN_SHORT, True),
                        ):
                            loss = divergence_at(each, targets.judged)
                            size = small(each, of, short)
                            yield Student(size, of, loss)
                except FactorizationError:
                    continue


def small(model: FittedModel, form: str, is_short: bool) -> Small:
    """A model with its size."""
    n_weights = int(np.count_nonzero(model.coef))
    offsets, short = model.state.n_components - 1, n_weights
    if isinstance(model.basis, Monomials):
        used = (model.coef != 0.0).any(axis=0)
        numbers = n_weights + offsets + n_centres(model.basis.take(used))
        indices = 2 * n_weights
    else:
        D = len(model.scaler.center)
        numbers, _ = kernel_size(len(model.basis), D, n_weights, 1 + offsets)
        if not n_weights:
            numbers = offsets
        indices = n_weights
        short += len(model.basis) * D
    mixed = model.state.n_components > len(model.classes)
    indices += model.state.n_components * mixed
    return Small(f"{form}, {model.n_weights} weights", numbers, indices, proba_of(model),
                 short if is_short else 0)  # fmt: skip


def proba_of(model: FittedModel) -> Any:
    model = replace(model, covariance=None)
    return lambda X: np.exp(model.log_proba(X))
