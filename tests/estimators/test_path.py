"""Claims about paths from a fitted model to smaller ones, and about budgets of weights."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

from sdgm import (
    DiscriminativeGMMClassifier,
    KernelSDGMClassifier,
    RVMClassifier,
    SDGMClassifier,
    WeightsPath,
    weights_path,
)
from sdgm._typing import FloatArray, IntArray
from sdgm.core.selection import elimination as core_elimination
from sdgm.core.solvers.precision import FactorizationError
from sdgm.datasets import make_ripley
from sdgm.estimators import budget
from sdgm.estimators.choosing import candidate_fit, learned_by, targets_for
from sdgm.estimators.plan import recipe_of
from sdgm.estimators.preparation import prepared_again
from sdgm.estimators.run import Run
from sdgm.estimators.training import Fit
from sdgm.estimators.weights_path import samples_of_fit
from tests.estimators.problems import assert_proper, blobs, own_warnings_allowed
from tests.fitted import set_weights

X, y, X_test, y_test = make_ripley(120, 100).split()
both_forms = pytest.mark.parametrize("form", [SDGMClassifier, KernelSDGMClassifier])
few_examples = settings(max_examples=5, deadline=None, derandomize=True)

MODELS: dict[str, Any] = {
    "primal": lambda: SDGMClassifier(2, random_state=0, teacher=None),
    "dual": lambda: KernelSDGMClassifier(2, random_state=0, teacher=None),
    "rvm": lambda: RVMClassifier(),
    "ridge": lambda: DiscriminativeGMMClassifier(2, covariance_type="diag", random_state=0),
    "paper": lambda: SDGMClassifier(1, preset="paper", random_state=0),
    "automatic primal": lambda: SDGMClassifier(random_state=0),
    "automatic dual": lambda: KernelSDGMClassifier(random_state=0),
}
named_and_automatic = pytest.mark.parametrize(
    "name", ["primal", "dual", "automatic primal", "automatic dual"]
)
every_model = pytest.mark.parametrize("name", MODELS)


@cache
def fitted(name: str) -> Any:
    """A model that nobody may change."""
    return MODELS[name]().fit(X, y)


@cache
def path(name: str) -> WeightsPath:
    return weights_path(fitted(name), X, y)


# --- the models ---


@every_model
def test_a_path_leads_from_the_model_to_one_weight(name: str) -> None:
    n = path(name).n_weights
    assert n[0] == fitted(name).n_active_weights_ and n[-1] == 1
    assert (np.diff(n) < 0).all()
    np.testing.assert_allclose(
        path(name).models[0].predict_proba(X), fitted(name).predict_proba(X), atol=0.02
    )


@every_model
def test_every_model_is_consistent_in_itself(name: str) -> None:
    full = fitted(name)
    for model, n_weights in zip(path(name).models, path(name).n_weights, strict=True):
        assert type(model) is type(full)
        assert_proper(model, X_test)
        n_columns = np.any(model.coef_ != 0.0, axis=0).sum()
        assert model.coef_.shape == (len(model.intercept_), n_columns)
        n_nonzero = np.count_nonzero(model.coef_) + np.count_nonzero(model.intercept_)
        assert model.n_active_weights_ == n_nonzero == n_weights
        assert model.covariance_.shape == (n_weights, n_weights)
        assert np.linalg.eigvalsh(model.covariance_).min() > 0.0
        assert model.n_components_.sum() == len(model.component_class_) == len(model.coef_)
        assert len(model.mixture_weights_) == len(model.coef_)
        if hasattr(model, "terms_"):
            assert len(model.terms_) == n_columns
            assert set(model.terms_) <= set(full.terms_)
        else:
            np.testing.assert_array_equal(model.relevance_vectors_, X[model.relevance_])
            assert set(model.relevance_) <= set(full.relevance_)
            assert len(model.relevance_) == n_columns
        mean = model.predict_proba_averaged(X_test)
        np.testing.assert_allclose(mean.sum(axis=1), 1.0)
        assert model.get_params() == full.get_params()


@every_model
def test_the_fitted_model_is_left_as_it_is(name: str) -> None:
    model = pickle.loads(pickle.dumps(fitted(name)))
    before = pickle.dumps(model)
    weights_path(model, X, y, min_weights=2)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("name", ["primal", "dual", "automatic dual"])
def test_a_model_of_the_path_survives_pickling_and_a_warm_start(name: str) -> None:
    small = path(name).at_most(3)
    again = pickle.loads(pickle.dumps(small))
    np.testing.assert_array_equal(again.predict_proba(X_test), small.predict_proba(X_test))
    with own_warnings_allowed():
        again.set_params(warm_start=True).fit(X, y)
    if again.training_.learned_reference:  # what was chosen stays, and the teacher is asked again
        assert again.chosen_ == small.chosen_
    else:
        assert again.n_initial_weights_ == small.n_active_weights_


def test_scores_are_those_of_the_models() -> None:
    found = path("dual").evaluate(X_test, y_test)
    for i, model in enumerate(path("dual").models):
        assert found.error[i] == pytest.approx(1.0 - model.score(X_test, y_test))
        assert found.log_loss[i] == pytest.approx(log_loss(y_test, model.predict_proba(X_test)))
    training = path("dual").evaluate(X, y)
    np.testing.assert_array_equal(training.error, path("dual").error)
    np.testing.assert_array_equal(training.log_loss, path("dual").log_loss)


@few_examples
@given(st.integers(0, 100))
def test_weights_of_rows_are_repetition(seed: int) -> None:
    s = np.random.default_rng(seed).integers(0, 3, size=len(y))
    s[:2] = 1
    model = SDGMClassifier(1, random_state=0, teacher=None).fit(X, y, s.astype(float))
    by_weight = weights_path(model, X, y, s.astype(float))
    repeated = weights_path(model, X.repeat(s, axis=0), y.repeat(s))
    np.testing.assert_array_equal(by_weight.n_weights, repeated.n_weights)
    np.testing.assert_allclose(by_weight.log_loss, repeated.log_loss, rtol=1e-9)
    np.testing.assert_allclose(by_weight.models[-1].coef_, repeated.models[-1].coef_, rtol=1e-7)


def test_a_path_does_better_than_keeping_the_largest_weights() -> None:
    full = fitted("ridge")
    for n in (4, 8):
        crude = pickle.loads(pickle.dumps(full))
        w = np.concatenate([crude.intercept_[:, None], crude.coef_], axis=1)
        w[np.abs(w) < np.sort(np.abs(w).ravel())[-n]] = 0.0
        set_weights(crude, w[:, 1:], w[:, 0])
        ours = path("ridge").at_most(n).predict_proba(X_test)
        assert log_loss(y_test, ours) < log_loss(y_test, crude.predict_proba(X_test))


# --- what the weights are estimated from ---


@pytest.mark.parametrize("name", ["automatic primal", "automatic dual"])
def test_an_automatic_model_stays_with_the_teacher(name: str) -> None:
    model = fitted(name)
    learned, labelled = samples_of_fit(model, X, y, None)
    assert learned.s.sum() == pytest.approx(model.candidates_[0].replicates * len(y))
    assert labelled.s.sum() == len(y)
    assert learned.y.shape == (len(learned.X), 2) and learned.entropy > 0.0
    recipe = recipe_of(model)
    points = list(budget.points_below(model.model_, learned, recipe, min_weights=1000))
    divergence = budget.divergences(points, learned)[0]
    assert divergence == pytest.approx(model.candidates_[0].divergence, abs=2e-3)


@pytest.mark.parametrize("name", ["primal", "ridge", "paper"])
def test_other_models_learn_the_labels(name: str) -> None:
    learned, labelled = samples_of_fit(fitted(name), X, y, None)
    assert learned is labelled
    assert learned.entropy == 0.0 and learned.s.sum() == len(y)


def test_after_a_warm_start_an_automatic_model_still_learns_from_the_teacher() -> None:
    model = SDGMClassifier(random_state=0, warm_start=True).fit(X, y)
    assert samples_of_fit(model, X, y, None)[0].entropy > 0.0
    with own_warnings_allowed():
        model.fit(X, y)
    assert model.training_.learned_reference
    assert samples_of_fit(model, X, y, None)[0].entropy > 0.0


# --- budgets ---


@named_and_automatic
def test_a_budget_of_a_fit_is_that_of_the_path(name: str) -> None:
    full = fitted(name)
    n = max(full.n_active_weights_ - 2, 1)
    fit = clone(full).set_params(max_weights=n).fit(X, y)
    assert fit.n_active_weights_ <= n
    assert not hasattr(full, "weights_path_")
    assert fit.weights_path_["n_weights"][-1] == fit.n_active_weights_
    assert len(fit.weights_path_["divergence"]) == len(fit.weights_path_["n_weights"])
    if fit.chosen_ == full.chosen_:
        expected = weights_path(full, X, y, min_weights=n).at_most(n)
        np.testing.assert_allclose(
            fit.predict_proba(X_test), expected.predict_proba(X_test), atol=1e-9
        )
        np.testing.assert_allclose(fit.covariance_, expected.covariance_, rtol=1e-6)


def test_the_divergence_from_labels_is_the_log_loss() -> None:
    model = SDGMClassifier(2, max_weights=3, random_state=0, teacher=None).fit(X, y)
    expected = log_loss(y, model.predict_proba(X))
    assert model.weights_path_["divergence"][-1] == pytest.approx(expected, abs=1e-4)


@named_and_automatic
def test_a_budget_above_the_model_changes_nothing(name: str) -> None:
    plain = fitted(name)
    model = clone(plain).set_params(max_weights=1000).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert model.weights_path_["n_weights"].tolist() == [plain.n_active_weights_]


@both_forms
@pytest.mark.parametrize(
    "settings",
    [
        {"n_components": 2, "teacher": None},
        {},
        {"prior": "ridge"},
        {"preset": "paper", "n_components": 1},
    ],
    ids=["named", "automatic", "ridge", "paper"],
)
def test_a_budget_of_one_is_kept(form: Any, settings: dict[str, Any]) -> None:
    with own_warnings_allowed():
        model = form(random_state=0, max_weights=1, **settings).fit(X[::2], y[::2])
    assert model.n_active_weights_ == 1
    assert model.covariance_.shape == (1, 1)
    assert_proper(model, X_test)


def test_another_fit_without_a_budget_forgets_the_path() -> None:
    model = SDGMClassifier(2, max_weights=3, random_state=0, teacher=None).fit(X, y)
    model.set_params(max_weights=None).fit(X, y)
    assert not hasattr(model, "weights_path_")


@pytest.mark.parametrize("name", ["primal", "automatic primal"])
def test_an_interrupted_elimination_leaves_the_whole_model(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    full = fitted(name)
    # the automatic choice itself stays whole: no candidate is above the budget
    n = full.n_active_weights_ - 1
    monkeypatch.setattr("sdgm.estimators.choosing.divergence_within", lambda *_: 0.0)
    monkeypatch.setattr(core_elimination, "settled", interrupted)
    model = clone(full).set_params(max_weights=n)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), full.predict_proba(X))


def test_a_candidate_that_cannot_be_cut_down_is_no_choice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def trouble(*_: Any, **__: Any) -> None:
        raise FactorizationError("cannot be factorised")

    model = fitted("primal")
    learned, _ = samples_of_fit(model, X, y, None)
    fit, recipe = Fit(model.model_, model.training_), recipe_of(model)
    assert budget.divergence_within(fit, 2, recipe, learned) < np.inf
    monkeypatch.setattr(budget, "points_below", trouble)
    assert budget.divergence_within(fit, 2, recipe, learned) == np.inf


# --- hostile ---


def test_what_is_no_sdgm_is_refused() -> None:
    linear = LogisticRegression().fit(X, y)
    with pytest.raises(TypeError, match=r"got LogisticRegression; .*last step"):
        weights_path(linear, X, y)
    with pytest.raises(TypeError, match="got Pipeline"):
        weights_path(make_pipeline(SDGMClassifier(1, teacher=None)).fit(X, y), X, y)


@both_forms
def test_an_unfitted_estimator_is_refused(form: Any) -> None:
    with pytest.raises(NotFittedError):
        weights_path(form(), X, y)


def test_rows_that_cannot_be_those_of_the_fit_are_refused() -> None:
    model = fitted("primal")
    with pytest.raises(ValueError, match="features"):
        weights_path(model, X[:, :1], y)
    with pytest.raises(ValueError, match=r"y has classes \[1, 2\].* fitted to\.$"):
        weights_path(model, X, y + 1)
    with pytest.raises(ValueError, match="inconsistent"):
        weights_path(model, X, y[:-1])
    with pytest.raises(ValueError, match=r"sample_weight has shape"):
        weights_path(model, X, y, np.ones(3))
    with pytest.raises(ValueError, match=r"label 7, which is none of"):
        path("primal").evaluate(X[:2], [0, 7])
    with pytest.raises(ValueError, match="give one per row"):
        path("primal").evaluate(X[:2], [0])


@pytest.mark.parametrize("name", ["primal", "dual"])
def test_other_rows_of_the_same_kind_estimate_the_weights_anew(name: str) -> None:
    other = weights_path(fitted(name), X_test, y_test)
    assert_proper(other.models[-1], X)
    assert other.n_weights[0] == fitted(name).n_active_weights_
    own_loss = path(name).evaluate(X_test, y_test).log_loss[0]
    assert other.log_loss[0] != own_loss
    assert other.log_loss[0] < own_loss + 0.02


@pytest.mark.parametrize(("option", "value"), [("min_weights", -1), ("step", 0), ("step", 1.5)])
def test_numbers_out_of_range_are_refused(option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{option} must be a whole number"):
        weights_path(fitted("primal"), X, y, **{option: value})


def test_budgets_of_a_path() -> None:
    whole = path("dual")
    assert whole.at_most(10**6) is whole.models[0]
    for n in whole.n_weights.tolist():
        assert whole.at_most(n).n_active_weights_ == n
    with pytest.raises(ValueError, match=r"at most 0 weights, the smallest has 1; .*min_weights"):
        whole.at_most(0)
    with pytest.raises(ValueError, match="whole number"):
        whole.at_most(2.5)  # type: ignore[arg-type]


def test_without_weights_the_shares_of_the_classes_are_left() -> None:
    unequal = np.flatnonzero((y == 0) | (np.arange(len(y)) % 3 == 0))
    model = KernelSDGMClassifier(2, random_state=0, teacher=None).fit(X[unequal], y[unequal])
    empty = weights_path(model, X[unequal], y[unequal], min_weights=0).models[-1]
    assert empty.n_active_weights_ == 0
    assert len(empty.relevance_vectors_) == 0 and empty.covariance_.shape == (0, 0)
    share = (y[unequal] == 1).mean()
    np.testing.assert_allclose(empty.predict_proba(X_test)[:, 1], share, rtol=1e-9)


def test_a_precomputed_kernel_has_the_path_of_the_kernel() -> None:
    def gram(A: FloatArray, B: FloatArray) -> FloatArray:
        return (0.5 * A @ B.T + 1.0) ** 2

    shared = {"random_state": 0, "standardize": False, "n_components": 1}
    named = KernelSDGMClassifier(kernel="poly", gamma=0.5, **shared, teacher=None).fit(X, y)
    model = KernelSDGMClassifier(kernel="precomputed", **shared).fit(gram(X, X), y)
    found = weights_path(model, gram(X, X), y)
    assert found.n_weights[-1] == 1
    for each in found.models:
        assert each.relevance_vectors_ is None
        assert each.coef_.shape[1] == len(each.relevance_)
        assert_proper(each, gram(X_test, X))
    expected = weights_path(named, X, y)
    if model.n_active_weights_ == named.n_active_weights_:
        np.testing.assert_allclose(found.log_loss[0], expected.log_loss[0], rtol=1e-3)


def test_names_of_columns_and_classes_are_kept() -> None:
    data, target = load_iris(return_X_y=True)
    table = pytest.importorskip("pandas").DataFrame(data, columns=list("abcd"))
    names = np.array(["one", "three", "two"])[target]
    model = SDGMClassifier(1, random_state=0, teacher=None).fit(table, names)
    small = weights_path(model, table, names).at_most(4)
    assert set("".join(small.terms_)) <= set("abcd^2*")
    assert set(small.predict(table)) <= {"one", "two", "three"}
    assert small.score(table, names) > 0.9


def test_many_classes() -> None:
    data, target = load_digits(return_X_y=True)
    data, target = data[:300:, ::4], target[:300]
    with own_warnings_allowed():
        model = SDGMClassifier(1, covariance_type="tied", random_state=0, teacher=None).fit(
            data, target
        )
        found = weights_path(model, data, target, min_weights=9, step=4)
    assert found.n_weights[-1] <= 9
    half = found.at_most(model.n_active_weights_ // 2)
    assert half.score(data, target) > 0.5


def test_class_weights_are_part_of_what_is_learned() -> None:
    model = SDGMClassifier(2, class_weight={0: 1.0, 1: 4.0}, random_state=0, teacher=None).fit(X, y)
    learned, _ = samples_of_fit(model, X, y, None)
    np.testing.assert_array_equal(np.unique(learned.s), [1.0, 4.0])
    shift = weights_path(model, X, y).at_most(3).predict_proba(X)[:, 1].mean()
    assert shift > path("primal").at_most(3).predict_proba(X)[:, 1].mean() + 0.05


@few_examples
@given(n_classes=st.integers(2, 4), seed=st.integers(0, 100))
def test_log_loss_of_training_rows_hardly_falls_on_the_way_down(n_classes: int, seed: int) -> None:
    data, target = blobs(60, n_classes, seed=seed)
    with own_warnings_allowed():
        model = SDGMClassifier(2, random_state=0, teacher=None).fit(data, target)
        found = weights_path(model, data, target, min_weights=0)
    if len(found.n_weights) > 1:
        # with the precisions held, a smaller model may shrink less: little can be gained
        assert np.diff(found.log_loss).min() > -0.05
        assert found.log_loss[-1] == found.log_loss.max()


def test_a_clone_of_a_small_model_is_a_new_start() -> None:
    again = clone(path("dual").at_most(2)).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), fitted("dual").predict_proba(X))


def moons() -> tuple[FloatArray, IntArray]:
    return make_moons(100, noise=0.2, random_state=0)


def test_where_the_choice_is_too_large_the_closest_within_the_budget_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, target = moons()
    max_weights = 3
    model = KernelSDGMClassifier(random_state=0, max_weights=max_weights).fit(data, target)
    taken = model.weights_path_["divergence"][-1]
    assert len(model.candidates_) > 1
    plan, problem = prepared_again(model, data, target)
    targets, recipe = targets_for(problem, plan), recipe_of(model)
    assert targets is not None
    plan = replace(plan, max_weights=None)
    for candidate in model.candidates_:
        own = plan.with_settings(candidate.parameters)
        fit = candidate_fit(own, targets, candidate.replicates, model.classes_, Run())
        learned = learned_by(candidate, targets)
        assert taken <= budget.divergence_within(fit, max_weights, recipe, learned) + 1e-6
