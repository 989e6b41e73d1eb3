"""Each setting is chosen on its own, and what was chosen can be named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.model_selection import GridSearchCV

from sdgm import KernelSDGMClassifier, SDGMClassifier
from tests.estimators.problems import blobs, two_modes

PROBLEMS = {
    "two modes": two_modes(),
    "three blobs": blobs(90, 3),
    "moons": make_moons(120, noise=0.2, random_state=0),
    "iris": load_iris(return_X_y=True),
}
every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
both_forms = pytest.mark.parametrize("estimator", [SDGMClassifier, KernelSDGMClassifier])


@both_forms
@every_problem
def test_what_was_chosen_gives_the_same_model_when_named(estimator: Any, problem: Any) -> None:
    X, y = problem
    chosen = estimator(random_state=0).fit(X, y)
    named = estimator(**chosen.chosen_, random_state=0).fit(X, y)
    np.testing.assert_array_equal(named.predict_proba(X), chosen.predict_proba(X))
    assert named.chosen_ == chosen.chosen_
    assert named.fidelity_ == chosen.fidelity_


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (SDGMClassifier, "n_components"),
        (SDGMClassifier, "covariance_type"),
        (KernelSDGMClassifier, "n_components"),
        (KernelSDGMClassifier, "kernel"),
        (KernelSDGMClassifier, "gamma"),
    ],
)
def test_naming_one_of_the_chosen_settings_changes_nothing(estimator: Any, name: str) -> None:
    X, y = blobs(90, 3)
    chosen = estimator(random_state=0).fit(X, y)
    named = estimator(**{name: chosen.chosen_[name]}, random_state=0).fit(X, y)
    assert named.chosen_ == chosen.chosen_
    np.testing.assert_array_equal(named.predict_proba(X), chosen.predict_proba(X))


def test_a_named_setting_holds_and_the_others_are_still_chosen() -> None:
    X, y = make_moons(120, noise=0.2, random_state=0)
    model = KernelSDGMClassifier(kernel="poly", random_state=0).fit(X, y)
    assert {each.parameters["kernel"] for each in model.candidates_} == {"poly"}
    assert {each.parameters["n_components"] for each in model.candidates_} > {1}
    assert model.fidelity_ == model.candidates_[0].divergence
    two = KernelSDGMClassifier(n_components=2, random_state=0).fit(X, y)
    assert {each.parameters["n_components"] for each in two.candidates_} == {2}
    assert {each.parameters["kernel"] for each in two.candidates_} == {"rbf", "poly"}


@both_forms
def test_without_a_teacher_nothing_is_chosen(estimator: Any) -> None:
    X, y = two_modes()
    model = estimator(teacher=None, random_state=0).fit(X, y)
    assert model.chosen_ == {} and model.candidates_ == []
    assert not hasattr(model, "fidelity_")
    named = estimator(3, teacher=None, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), named.predict_proba(X))


@both_forms
@pytest.mark.parametrize(
    "others", [{"preset": "paper"}, {"prior": "ridge"}, {"standardize": False}], ids=str
)
def test_what_cannot_be_taught_learns_labels(estimator: Any, others: dict[str, Any]) -> None:
    X, y = two_modes(60)
    model = estimator(**others, max_iter=5, random_state=0)
    labels = clone(model).set_params(teacher=None)
    with pytest.warns():  # five passes are few
        P = model.fit(X, y).predict_proba(X)
    with pytest.warns():
        np.testing.assert_array_equal(P, labels.fit(X, y).predict_proba(X))
    assert model.chosen_ == {}


def test_a_search_over_a_setting_leaves_the_others_open() -> None:
    X, y = two_modes(80)
    grid = {"n_components": [1, 2], "teacher": ["auto", None]}
    search = GridSearchCV(SDGMClassifier(random_state=0), grid, cv=2).fit(X, y)
    best = search.best_params_
    assert search.best_estimator_.get_params()["covariance_type"] == "auto"
    assert search.best_estimator_.chosen_.get("n_components", best["n_components"]) in (1, 2)


# --- many rows ---


@both_forms
def test_of_many_rows_a_sample_chooses_and_all_decide(
    estimator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MAX_ROWS", "CHOSEN_AT_ONCE"):
        monkeypatch.setattr(f"sdgm.scale.many_rows.{name}", 300)
    X, y = make_moons(2_000, noise=0.2, random_state=0)
    model = estimator(random_state=0).fit(X, y)
    assert set(model.chosen_) == set(estimator.fixed_settings)
    assert model.chosen_ == model.candidates_[0].parameters
    assert not hasattr(model, "fidelity_")  # labels of all rows have changed the weights
    X_test, y_test = make_moons(2_000, noise=0.2, random_state=1)
    assert model.score(X_test, y_test) > 0.95
    assert model.model_.state.n_weights > 0
    again = estimator(random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
