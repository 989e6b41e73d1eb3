"""Claims about students whose classes all have the same columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine, make_moons

from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.core.inference.initialization import initial_state
from sdgm.core.inference.variations import at_fixed_alpha
from sdgm.core.selection.screening import Linearised
from sdgm.estimators import choosing, shared_columns
from sdgm.estimators.distillation import targets_of
from sdgm.estimators.fitting import learned
from sdgm.estimators.plan import plan_of
from sdgm.estimators.preparation import prepared
from sdgm.estimators.problem import Columns
from sdgm.estimators.quadratic_form import QuadraticForm
from sdgm.estimators.run import Run
from sdgm.estimators.shared_columns import is_crowded, n_shared_columns, shared_fit, shared_state
from sdgm.estimators.students import (
    ScaleFinder,
    Scales,
    some_columns,
    student_problem,
    unit_columns,
)

both_forms = pytest.mark.parametrize("form", [SDGMClassifier, KernelSDGMClassifier])
X, y = load_wine(return_X_y=True)


@pytest.fixture
def few_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Learning starts with at most eight weights per class, so that three classes are many."""
    monkeypatch.setattr("sdgm.core.selection.screening.MAX_WEIGHTS", 12)
    monkeypatch.setattr(choosing, "MAX_WEIGHTS", 12)
    monkeypatch.setattr(shared_columns, "CROWDED", 0.0)
    monkeypatch.setattr(QuadraticForm, "rows_per_shared_weight", 0.0)
    monkeypatch.setattr(choosing, "NEEDLESS_WORK", 0.0)  # as of many weights none leaves later


def has_shared_columns(model: Any) -> bool:
    """Whether every class has all columns."""
    state = model.model_.state
    columns = [state.column[state.component == k].tolist() for k in range(state.n_components)]
    return all(own == columns[0] for own in columns)


@both_forms
@pytest.mark.usefixtures("few_weights")
def test_crowded_classes_share_columns_and_come_closer(
    form: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = form(random_state=0).fit(X[::2], y[::2])
    assert has_shared_columns(shared)
    assert shared.score(X[1::2], y[1::2]) > 0.93
    np.testing.assert_allclose(shared.predict_proba(X).sum(axis=1), 1.0)
    monkeypatch.setattr(shared_columns, "CROWDED", 2.0)
    own = form(random_state=0).fit(X[::2], y[::2])
    assert not has_shared_columns(own)
    assert shared.n_active_weights_ > own.n_active_weights_


@both_forms
@pytest.mark.usefixtures("few_weights")
def test_the_settings_chosen_give_the_same_model(form: Any) -> None:
    model = form(random_state=0).fit(X, y)
    again = form(**model.chosen_, random_state=0).fit(X, y)
    assert has_shared_columns(model)
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))


@pytest.mark.usefixtures("few_weights")
def test_few_rows_do_not_share_monomials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QuadraticForm, "rows_per_shared_weight", 1.0)
    assert not has_shared_columns(SDGMClassifier(random_state=0).fit(X, y))


@both_forms
@pytest.mark.parametrize("limit", [{"max_weights": 15}, {"max_divergence": 0.1}])
@pytest.mark.usefixtures("few_weights")
def test_who_names_a_size_gets_weights_of_each_class(form: Any, limit: dict[str, Any]) -> None:
    model = form(random_state=0, **limit).fit(X, y)
    assert not has_shared_columns(model)
    assert model.n_active_weights_ < 60


@pytest.mark.usefixtures("few_weights")
def test_two_classes_are_never_many() -> None:
    problem, columns, _, rows, share = iris_student()
    state = shared_state(columns.design.Z, rows, share, 1.0)
    assert is_crowded(state)
    two = initial_state(len(columns.design.scale), np.ones(2, dtype=int), share[:2], alpha=1.0)
    assert two.n_weights > 12
    assert not is_crowded(two)
    X2, y2 = make_moons(200, noise=0.2, random_state=0)
    assert KernelSDGMClassifier(random_state=0).fit(X2, y2).n_active_weights_ < 60
    assert len(problem.classes) == 3


def iris_student() -> tuple[Any, Columns, Any, Linearised, Any]:
    """A problem with 40 columns, and what a shared fit needs."""
    X, y = load_iris(return_X_y=True)
    plan = plan_of(KernelSDGMClassifier(random_state=0))
    problem = prepared(X, y, None, plan)
    targets = targets_of("auto", problem)
    settings = {"kernel": "rbf", "gamma": 0.5, "n_components": 1}
    own = replace(plan.with_settings(settings), previous=None)
    student = student_problem(own, targets, 32.0, problem.classes)
    basis = own.form.basis_at(student, targets.n_rows)
    Phi, scale = unit_columns(basis, student)
    columns = some_columns(Phi, scale, basis, np.arange(40), student)
    rows = Linearised.around(student.y, student.s)
    return student, columns, own, rows, student.s @ student.y / student.s.sum()


def test_the_weights_are_near_their_mode() -> None:
    problem, columns, plan, rows, share = iris_student()
    fit = shared_fit(problem, columns, rows, share, plan, Run())
    assert fit.training.converged
    total = float(problem.s.sum())
    state = shared_state(columns.design.Z, rows, share, 1e-3 * total / len(problem.s))
    exact = at_fixed_alpha(problem.recipe, max_iter=5, tol=1e-9 * total, pi_tol=1.0)
    best = learned(replace(problem, recipe=exact), columns, state, plan, Run(), 0, is_warm=True)
    gap = best.records[-1].log_posterior - fit.training.history[-1].log_posterior
    assert -1e-9 * total < gap < 1e-2 * total
    assert best.records[-1].log_posterior < 0.0


def test_more_rows_have_more_columns_up_to_a_limit() -> None:
    assert [n_shared_columns(n) for n in (100, 1_000, 10**6)] == [250, 500, 1_000]


def test_shared_columns_may_have_a_sharper_kernel() -> None:
    plan = plan_of(KernelSDGMClassifier(random_state=0))
    problem = prepared(X, y, None, plan)
    targets = targets_of("auto", problem)
    own = plan.with_settings({"kernel": "rbf", "n_components": 1})
    scales = ScaleFinder(own, targets, problem.classes, tolerance=1e-9)
    assert 0.0 < scales.smoothest("rbf") <= scales.for_shared_columns("rbf")
    wide = ScaleFinder(own, targets, problem.classes, tolerance=100.0)
    assert wide.smoothest("rbf") < scales.for_shared_columns("rbf")
    found = Scales(2.0, [9.0, 7.0, 4.0, 5.0, 6.0], weight=1.0)
    assert [found.smoothest(enough) for enough in (4.0, 7.5, 9.0)] == [2.0, 0.6, 0.2]
