"""A budget of inputs: what is chosen, and that the fit is the one to these inputs alone."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV

import sdgm
from sdgm import (
    KernelSDGMClassifier,
    SDGMClassifier,
    SemiSupervisedSDGMClassifier,
    pac_bayes_bound,
    weights_path,
)
from sdgm._typing import FloatArray, IntArray
from sdgm.description import describe
from sdgm.estimators.inputs import chosen_inputs
from sdgm.estimators.plan import plan_of
from sdgm.export import to_c, to_javascript, to_python
from sdgm.export.model import exportable
from sdgm.report.states import candidate_basis, state_model
from sdgm.scale.many_rows import why_not_by_sums

BOTH = pytest.mark.parametrize("form", [SDGMClassifier, KernelSDGMClassifier])
N_INPUTS, TRUE = 6, [1, 4]


def rows(n: int = 120, seed: int = 0) -> tuple[FloatArray, IntArray]:
    """Of six inputs in their own units the second and the fifth tell the class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_INPUTS))
    y = (X[:, 1] - X[:, 4] ** 2 + 0.5 * rng.normal(size=n) > -0.5).astype(int)
    return 10.0 * X + np.arange(N_INPUTS), y


@BOTH
def test_the_inputs_that_tell_the_class_are_chosen(form: Any) -> None:
    X, y = rows()
    model = form(max_features=2, random_state=0).fit(X, y)
    assert model.features_used_.tolist() == TRUE
    assert model.n_features_in_ == N_INPUTS
    assert model.score(*rows(1000, seed=1)) > 0.8


CASES: list[tuple[Any, dict[str, Any]]] = [
    (SDGMClassifier, {}),
    (SDGMClassifier, {"n_components": 2, "teacher": None}),
    (SDGMClassifier, {"n_components": 1, "covariance_type": "spherical"}),
    (SDGMClassifier, {"n_components": 1, "prior": "ridge", "teacher": None}),
    (SDGMClassifier, {"n_components": 1, "preset": "paper", "standardize": True}),
    (SDGMClassifier, {"max_weights": 3}),
    (SDGMClassifier, {"teacher": RandomForestClassifier(20, random_state=0)}),
    (KernelSDGMClassifier, {}),
    (KernelSDGMClassifier, {"n_components": 1, "kernel": "rbf"}),
    (KernelSDGMClassifier, {"n_components": 2, "shared_vectors": True}),
    (KernelSDGMClassifier, {"max_weights": 3}),
]


@pytest.mark.parametrize(("form", "settings"), CASES)
def test_the_fit_is_that_to_the_inputs_alone(form: Any, settings: dict[str, Any]) -> None:
    X, y = rows(80)
    model = form(max_features=2, random_state=0, **settings).fit(X, y)
    used = model.model_.scaler.inputs
    assert len(used) == 2 and np.isin(model.features_used_, used).all()
    alone = form(random_state=0, **settings).fit(X[:, used], y)
    assert model.n_active_weights_ == alone.n_active_weights_
    assert [c.n_numbers for c in model.candidates_] == [c.n_numbers for c in alone.candidates_]
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X[:, used]), atol=1e-9)
    averaged, expected = model.predict_proba_averaged(X), alone.predict_proba_averaged(X[:, used])
    np.testing.assert_allclose(averaged, expected, atol=1e-9)


@BOTH
def test_inputs_that_are_not_used_can_be_anything(form: Any) -> None:
    X, y = rows(80)
    model = form(max_features=2, random_state=0).fit(X, y)
    other = np.where(np.isin(np.arange(N_INPUTS), model.features_used_), X, -1e300)
    assert np.array_equal(model.predict_proba(other), model.predict_proba(X))


@BOTH
@pytest.mark.parametrize("sample_weight", [None, np.linspace(0.0, 2.0, 80)])
def test_as_many_as_there_are_is_all_of_them(form: Any, sample_weight: Any) -> None:
    X, y = rows(80)
    every = form(max_features=N_INPUTS, random_state=0).fit(X, y, sample_weight)
    plain = form(random_state=0).fit(X, y, sample_weight)
    assert np.array_equal(every.predict_proba(X), plain.predict_proba(X))


def test_features_used_are_those_in_the_terms_without_a_budget_too() -> None:
    X, y = load_iris(return_X_y=True)
    model = SDGMClassifier(1, covariance_type="tied", max_weights=3).fit(X, y)
    terms = model.terms_.tolist()
    assert [f"x{i + 1}" for i in model.features_used_] == sorted(set(terms) - {"1"})
    dual = KernelSDGMClassifier(1, kernel="rbf").fit(X, y)
    assert dual.features_used_.tolist() == [0, 1, 2, 3]
    gram = KernelSDGMClassifier(1, kernel="precomputed").fit(X @ X.T, y)
    assert gram.features_used_.tolist() == sorted(set(gram.relevance_.tolist()))


MISTAKES = [
    ({"max_features": 0}, "at least 1"),
    ({"max_features": 1.5}, "whole number"),
    ({"max_features": N_INPUTS + 1}, "max_features=7 is more than the 6 features of X"),
    ({"max_features": 2, "kernel": "precomputed"}, "kernel is precomputed"),
    ({"max_features": 2, "kernel": np.dot}, "kernel is a function"),
]


@pytest.mark.parametrize(("settings", "words"), MISTAKES)
def test_mistakes_end_in_one_sentence(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        KernelSDGMClassifier(**settings).fit(*rows(40))


def test_unlabelled_rows_and_clusters_say_what_they_do_not_do() -> None:
    X, y = rows(40)
    model = SemiSupervisedSDGMClassifier(SDGMClassifier(max_features=2))
    with pytest.raises(ValueError, match="max_features=2 chooses features by labels"):
        model.fit(X, np.where(np.arange(40) < 20, y, -1))
    reason = why_not_by_sums(plan_of(SDGMClassifier(max_features=2)))
    assert reason == "max_features selects features on all rows at once"


def test_a_search_over_the_number_of_inputs_with_names() -> None:
    pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = SDGMClassifier(1, random_state=0, teacher=None)
    search = GridSearchCV(model, {"max_features": [1, 2]}, cv=3)
    best = search.fit(X, y).best_estimator_
    names = best.feature_names_in_[best.features_used_]
    assert set(names) <= {"petal length (cm)", "petal width (cm)"}
    assert clone(best).get_params()["max_features"] == len(names)


@BOTH
def test_a_warm_start_keeps_the_inputs(form: Any) -> None:
    X, y = rows(80)
    model = form(1, max_features=2, warm_start=True, random_state=0, teacher=None).fit(X, y)
    before = model.model_
    model.fit(X, 1 - y)
    assert np.array_equal(model.model_.scaler.inverse_scale, before.scaler.inverse_scale)
    for n in (None, 3):
        with pytest.raises(ValueError, match="cannot continue from 2 features in use"):
            model.set_params(max_features=n).fit(X, y)


@BOTH
@pytest.mark.parametrize("settings", [{}, {"n_components": 1, "teacher": None}])
def test_the_path_of_weights_is_that_of_the_inputs_alone(form: Any, settings: Any) -> None:
    X, y = rows(80)
    model = form(max_features=2, random_state=0, **settings).fit(X, y)
    used = model.model_.scaler.inputs
    path = weights_path(model, X, y)
    alone = weights_path(form(random_state=0, **settings).fit(X[:, used], y), X[:, used], y)
    assert path.n_weights.tolist() == alone.n_weights.tolist()
    np.testing.assert_allclose(path.log_loss, alone.log_loss, atol=1e-9)


def test_a_teacher_that_has_learned_sees_all_inputs() -> None:
    X, y = rows(80)
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    model = SDGMClassifier(teacher=FrozenEstimator(forest), max_features=2, random_state=0)
    assert model.fit(X, y).features_used_.tolist() == TRUE


def test_very_many_rows_are_sampled_for_the_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdgm.estimators.inputs.MAX_ROWS", 60)
    X, y = rows(200)
    assert chosen_inputs(plan_of(SDGMClassifier()), X, y, np.ones(200), 2).tolist() == TRUE


@BOTH
def test_what_is_kept_answers_the_same(form: Any, tmp_path: Any) -> None:
    X, y = rows(80)
    model = form(max_features=2, random_state=0).fit(X, y)
    sdgm.save(model, tmp_path / "model.sdgm")
    for again in (sdgm.load(tmp_path / "model.sdgm"), pickle.loads(pickle.dumps(model))):
        assert again.max_features == 2
        assert np.array_equal(again.features_used_, model.features_used_)
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


@BOTH
def test_programs_take_only_these_inputs(form: Any) -> None:
    X, y = rows(80)
    model = form(max_features=2, random_state=0).fit(X, y)
    used = model.features_used_
    assert used.tolist() == TRUE
    program: dict[str, Any] = {}
    exec(to_python(model), program)
    assert [name for name, *_ in program["INPUTS"]] == ["x2", "x5"]
    P = [program["predict_proba"](row) for row in X[:, used].tolist()]
    np.testing.assert_allclose(P, model.predict_proba(X), atol=1e-12)
    assert "#define SDGM_N_INPUTS 2" in to_c(model).text
    text = to_javascript(model)
    assert '"name":"x2"' in text and '"name":"x1"' not in text
    # a table as it is, for other exports
    assert len(exportable(model).inputs) == N_INPUTS


@BOTH
def test_what_is_said_of_the_model_names_what_it_leaves_out(form: Any) -> None:
    X, y = rows(80)
    words = describe(form(max_features=2, random_state=0).fit(X, y))
    assert words.inputs == ("x2", "x5") and len(words.unused) == 4
    assert all(np.isfinite(each.scale) for each in words.features)


@BOTH
def test_recorded_states_are_models_of_the_same_inputs(form: Any) -> None:
    X, y = rows(80)
    model = form(1, max_features=2, record_states=True, random_state=0, teacher=None).fit(X, y)
    basis = candidate_basis(model, X, y)
    assert basis is not None
    last = state_model(model.history_[-1].state, basis, model)
    np.testing.assert_allclose(np.exp(last.log_proba(X)), model.predict_proba(X), atol=1e-3)


def test_a_bound_pays_for_the_choice_of_inputs() -> None:
    X, y = rows(120)
    few = SDGMClassifier(1, max_features=2, random_state=0, teacher=None).fit(X, y)
    alone = SDGMClassifier(1, random_state=0, teacher=None).fit(X[:, TRUE], y)
    paid = pac_bayes_bound(few, X, y), pac_bayes_bound(alone, X[:, TRUE], y)
    assert 1.0 >= paid[0].gibbs_bound > paid[1].gibbs_bound
