"""Claims about students of many rows and classes, which learn the labels with many columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_ridge import KernelRidge

from sdgm import KernelSDGMClassifier
from sdgm.core.model.kernels import KernelBasis, RBFKernel
from sdgm.estimators import choosing, label_ridge, shared_columns
from sdgm.estimators.distillation import targets_of
from sdgm.estimators.label_ridge import labelled, n_centers, ridge_regression
from sdgm.estimators.plan import plan_of
from sdgm.estimators.preparation import prepared
from sdgm.estimators.problem import Sample
from sdgm.estimators.students import ScaleFinder

X, y = load_wine(return_X_y=True)
RBF: dict[str, Any] = {"kernel": "rbf", "gamma": 0.03, "n_components": 1, "random_state": 0}


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three classes are many, and so are 100 rows."""
    monkeypatch.setattr("sdgm.core.selection.screening.MAX_WEIGHTS", 12)
    monkeypatch.setattr(choosing, "MAX_WEIGHTS", 12)
    monkeypatch.setattr(shared_columns, "CROWDED", 0.0)
    monkeypatch.setattr(choosing, "NEEDLESS_WORK", 0.0)  # as of many weights none leaves later
    monkeypatch.setattr(label_ridge, "LEAST_CENTERS", 20)


@pytest.mark.usefixtures("few_are_many")
def test_all_classes_have_a_weight_of_every_centre() -> None:
    model = KernelSDGMClassifier(random_state=0, kernel="rbf").fit(X[::2], y[::2])
    assert model.n_active_weights_ == 3 * (1 + len(y[::2]) // 2)
    assert model.score(X[1::2], y[1::2]) > 0.95
    proba = model.predict_proba(X[1::2])
    assert -np.log(proba[np.arange(len(proba)), y[1::2]]).mean() < 0.3  # calibrated on nine rows
    assert model.fidelity_ > 0.0
    assert model.covariance_ is None or np.isfinite(model.covariance_).all()


@pytest.mark.usefixtures("few_are_many")
def test_the_settings_chosen_give_the_same_model() -> None:
    model = KernelSDGMClassifier(random_state=0, kernel="rbf").fit(X, y)
    again = KernelSDGMClassifier(**model.chosen_, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))


@pytest.mark.usefixtures("few_are_many")
def test_a_teacher_that_is_named_is_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    taught = KernelSDGMClassifier(**RBF, teacher=LinearDiscriminantAnalysis()).fit(X, y)
    monkeypatch.setattr(label_ridge, "LEAST_CENTERS", 10**6)
    same = KernelSDGMClassifier(**RBF, teacher=LinearDiscriminantAnalysis()).fit(X, y)
    np.testing.assert_array_equal(taught.predict_proba(X), same.predict_proba(X))


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("limit", [{"max_weights": 15}, {"max_divergence": 0.1}])
def test_who_names_a_size_gets_weights_of_each_class(limit: dict[str, Any]) -> None:
    assert KernelSDGMClassifier(**RBF, **limit).fit(X, y).n_active_weights_ < 60


@pytest.mark.usefixtures("few_are_many")
def test_some_inputs_are_read_where_few_are_wanted() -> None:
    model = KernelSDGMClassifier(**RBF, max_features=4).fit(X, y)
    assert len(model.features_used_) == 4
    others = np.setdiff1d(np.arange(X.shape[1]), model.features_used_)
    changed = X.copy()
    changed[:, others] += 1.0
    np.testing.assert_array_equal(model.predict_proba(changed), model.predict_proba(X))


@pytest.mark.usefixtures("few_are_many")
def test_the_unit_of_sample_weights_does_not_matter() -> None:
    once, often = (
        KernelSDGMClassifier(**RBF).fit(X, y, sample_weight=np.full(len(y), times))
        for times in (1.0, 4.0)
    )
    np.testing.assert_allclose(once.predict_proba(X), often.predict_proba(X), atol=1e-9)


def test_it_is_ridge_regression_with_the_ridge_that_predicts_best(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(label_ridge, "RIDGES", (0.5,))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    rows = np.arange(len(Z))
    basis = KernelBasis(RBFKernel(0.1), Z, rows, X, 0.1)
    share = np.bincount(y) / len(y)
    W, calibration = ridge_regression(Sample(Z, y, np.ones(len(y))), basis, share)
    expected = KernelRidge(alpha=0.5, kernel="rbf", gamma=0.1).fit(Z, np.eye(3)[y] - share)
    np.testing.assert_allclose(basis.transform(Z) @ W, expected.predict(Z), atol=1e-6)
    assert calibration.slope > 1.0


@pytest.mark.usefixtures("few_are_many")
def test_the_scale_is_the_one_that_predicts_labels_best() -> None:
    plan = plan_of(KernelSDGMClassifier(random_state=0))
    problem = prepared(X, y, None, plan)
    targets = targets_of("auto", problem)
    scales = ScaleFinder(plan, targets, problem.classes, tolerance=0.01)
    rows, share = labelled(problem, problem.y)
    found = scales.for_shared_columns("rbf")

    def loss(gamma: float) -> float:
        basis = KernelBasis(RBFKernel(gamma), rows.X, np.arange(len(rows.s)), rows.X, gamma)
        return ridge_regression(rows, basis, share)[1].loss

    assert loss(found) <= min(loss(found / 10.0), loss(found * 10.0))


def test_only_many_rows_and_an_rbf_kernel_have_as_many() -> None:
    plan = plan_of(KernelSDGMClassifier(**RBF))
    assert [n_centers((n, 9), plan) for n in (1_000, 3_999, 4_000, 10**6)] == [0, 0, 2_000, 4_000]
    assert n_centers((10_000, 200), plan) == 0  # weights would be far more than rows
    poly = plan.with_settings({"kernel": "poly"})
    other = replace(plan, form=replace(plan.form, kernel="poly"), settings=poly.settings)
    assert n_centers((10**6, 9), other) == 0
