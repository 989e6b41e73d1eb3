"""Claims about relevance vectors that all components share."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris

from sdgm import KernelSDGMClassifier, weights_path
from sdgm._typing import FloatArray, IntArray
from tests.estimators.problems import assert_proper, blobs, own_warnings_allowed, two_modes

MODELS = {
    "poly": KernelSDGMClassifier(2, shared_vectors=True, random_state=0, teacher=None),
    "rbf": KernelSDGMClassifier(2, kernel="rbf", shared_vectors=True, random_state=0, teacher=None),
    "automatic": KernelSDGMClassifier(shared_vectors=True, random_state=0),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
few_examples = settings(max_examples=3, deadline=None, derandomize=True)


def fitted(model: Any, X: FloatArray, y: Any, s: FloatArray | None = None) -> Any:
    with own_warnings_allowed():
        return clone(model).fit(X, y, s)


def components_without(model: Any) -> IntArray:
    """How many components do without each column, the constant first."""
    without: IntArray = (~model.model_.active).sum(axis=0)
    return without if model.model_.active[:, 0].any() else without[1:]


# --- what sharing means ---


@every_model
@few_examples
@given(n_classes=st.integers(2, 4), seed=st.integers(0, 1000))
def test_every_relevance_vector_is_used_by_all_components_but_at_most_one(
    model: Any, n_classes: int, seed: int
) -> None:
    X, y = blobs(45, n_classes, seed=seed)
    shared = fitted(model, X, y)
    assert_proper(shared, X)
    assert (components_without(shared) <= 1).all()
    np.testing.assert_array_equal(X[shared.relevance_], shared.relevance_vectors_)


def test_without_sharing_components_have_vectors_of_their_own() -> None:
    X, y = load_iris(return_X_y=True)
    own = fitted(clone(MODELS["rbf"]).set_params(shared_vectors=False), X, y)
    assert components_without(own).max() > 1
    shared = fitted(MODELS["rbf"], X, y)
    assert len(shared.relevance_) < len(own.relevance_)
    assert shared.score(X, y) > 0.95


def test_the_paper_s_way_shares_too() -> None:
    X, y = two_modes(40)
    model = KernelSDGMClassifier(
        2, shared_vectors=True, preset="paper", max_iter=40, random_state=0
    )
    assert (components_without(fitted(model, X, y)) <= 1).all()


def test_classes_of_two_modes_are_told_apart() -> None:
    X, y = two_modes(120)
    X_test, y_test = two_modes(500, seed=1)
    for model in MODELS.values():
        assert fitted(model, X, y).score(X_test, y_test) > 0.85


# --- what must not change a fit ---


@every_model
@few_examples
@given(n_classes=st.integers(2, 3), ties=st.booleans(), seed=st.integers(0, 1000))
def test_repetition_order_and_absence_are_weights(
    model: Any, n_classes: int, ties: bool, seed: int
) -> None:
    X, y = blobs(30, n_classes, seed=seed)
    X = X.round(1) if ties else X
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 4, size=len(y))
    s[:n_classes] = 1
    weighted = fitted(model, X, y, s.astype(float))
    order = rng.permutation(s.sum())
    repeated = fitted(model, X.repeat(s, axis=0)[order], y.repeat(s)[order])
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    assert weighted.n_active_weights_ == repeated.n_active_weights_


@every_model
def test_names_of_classes_do_not_matter(model: Any) -> None:
    X, y = blobs(60, 3)
    numbers, words = fitted(model, X, y), fitted(model, X, np.array(["a", "b", "c"])[y])
    np.testing.assert_array_equal(numbers.predict_proba(X), words.predict_proba(X))
    assert words.classes_.tolist() == ["a", "b", "c"]


@every_model
def test_units_of_the_inputs_do_not_matter(model: Any) -> None:
    X, y = blobs(60, 3)
    there = X * [1e-3, 1e4] + [5.0, -2.0]
    np.testing.assert_allclose(
        fitted(model, X, y).predict_proba(X),
        fitted(model, there, y).predict_proba(there),
        atol=1e-6,
    )


@every_model
def test_a_pickled_model_and_a_refitted_clone_predict_the_same(model: Any) -> None:
    X, y = blobs(60, 3)
    first = fitted(model, X, y)
    for other in (pickle.loads(pickle.dumps(first)), fitted(first, X, y)):
        assert other.shared_vectors is True
        np.testing.assert_array_equal(first.predict_proba(X), other.predict_proba(X))


# --- with other settings ---


def test_under_a_ridge_prior_there_is_nothing_to_share() -> None:
    X, y = blobs(60, 3)
    own = KernelSDGMClassifier(1, prior="ridge", alpha=2.0, random_state=0)
    shared = clone(own).set_params(shared_vectors=True)
    np.testing.assert_array_equal(
        fitted(own, X, y).predict_proba(X), fitted(shared, X, y).predict_proba(X)
    )


def test_along_a_path_the_precisions_are_held() -> None:
    X, y = blobs(90, 3)
    model = fitted(MODELS["poly"], X, y)
    path = weights_path(model, X, y)
    assert path.n_weights[-1] == 1
    before = set(model.model_.state.alpha.tolist())
    assert set(path.models[0].model_.state.alpha.tolist()) == before
    np.testing.assert_allclose(path.models[0].predict_proba(X), model.predict_proba(X), atol=0.05)


@every_model
def test_a_budget_is_kept(model: Any) -> None:
    X, y = blobs(60, 3)
    small = fitted(clone(model).set_params(max_weights=2), X, y)
    assert small.n_active_weights_ <= 2
    assert_proper(small, X)


def test_a_warm_start_goes_on_with_shared_vectors() -> None:
    X, y = load_iris(return_X_y=True)
    model = fitted(clone(MODELS["poly"]).set_params(warm_start=True), X, y)
    n_vectors = len(model.relevance_)
    with own_warnings_allowed():
        model.fit(X, y)
    assert len(model.relevance_) <= n_vectors
    assert (components_without(model) <= 1).all()


@pytest.mark.parametrize("value", [None, 2, "yes"])
def test_what_is_neither_true_nor_false_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="shared_vectors must be True or False"):
        KernelSDGMClassifier(shared_vectors=value).fit(*blobs())
