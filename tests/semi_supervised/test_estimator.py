"""Claims about learning from rows some of which have no label."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from sdgm import KernelSDGMClassifier, SDGMClassifier, SemiSupervisedSDGMClassifier
from sdgm._typing import FloatArray, IntArray
from sdgm.semi_supervised.estimator import has_label
from tests.estimators.problems import blobs, own_warnings_allowed

FAILS = {
    "check_classifiers_classes": "labels -1 and 1 are one class and no label here",
}
both_forms = pytest.mark.parametrize("form", [SDGMClassifier, KernelSDGMClassifier])


def hidden(y: IntArray, n_labels: int, seed: int = 0) -> IntArray:
    """Labels with all but a few, two of each class at least, replaced by -1."""
    order = np.random.default_rng(seed).permutation(len(y))
    first = np.concatenate([order[y[order] == c][:2] for c in np.unique(y)])
    rest = np.setdiff1d(order, first, assume_unique=True)
    kept = np.concatenate([first, rest])[:n_labels]
    result = np.full(len(y), -1)
    result[kept] = y[kept]
    return result


def clouds(n_samples: int = 120) -> tuple[FloatArray, IntArray]:
    X, y = make_blobs(n_samples, centers=[[-2.0, 0.0], [2.0, 0.0]], random_state=0)
    return X, y


@parametrize_with_checks(
    [SemiSupervisedSDGMClassifier()], expected_failed_checks=lambda estimator: FAILS
)
def test_passes_the_battery(estimator: BaseEstimator, check: Any) -> None:
    with own_warnings_allowed():
        check(estimator)


# --- with all labels ---


@both_forms
def test_without_unlabelled_rows_it_is_the_plain_fit(form: Any) -> None:
    X, y = blobs(40, 3)
    s = np.random.default_rng(0).uniform(0.0, 2.0, size=len(y))
    s[5] = 0.0
    plain = form(class_weight="balanced", random_state=0).fit(X, y, s)
    wrapper = SemiSupervisedSDGMClassifier(clone(plain)).fit(X, y, s)
    np.testing.assert_array_equal(wrapper.predict_proba(X), plain.predict_proba(X))
    assert wrapper.shares_ == {} and wrapper.unlabelled_share_ == 0.0
    assert wrapper.n_labelled_ == len(y) - 1
    np.testing.assert_array_equal(wrapper.transduction_, y)
    if form is KernelSDGMClassifier:
        np.testing.assert_array_equal(wrapper.estimator_.relevance_, plain.relevance_)


def test_unlabelled_rows_of_weight_zero_do_not_count() -> None:
    X, y = blobs(60)
    y_partly = np.where(np.arange(60) < 40, y, -1)
    s = (y_partly != -1).astype(float)
    model = SemiSupervisedSDGMClassifier(random_state=0).fit(X, y_partly, s)
    plain = SDGMClassifier(random_state=0).fit(X[:40], y[:40])
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


# --- what unlabelled rows are good for ---


def test_clouds_are_told_apart_with_two_labels_each() -> None:
    X, y = clouds(200)
    X_test, y_test = make_blobs(1000, centers=[[-2.0, 0.0], [2.0, 0.0]], random_state=1)
    plain, semi = [], []
    for seed in range(3):
        partly = hidden(y, 4, seed)
        labelled = partly != -1
        one = SDGMClassifier(random_state=0).fit(X[labelled], y[labelled])
        other = SemiSupervisedSDGMClassifier(random_state=0).fit(X, partly)
        plain.append(np.mean(one.predict(X_test) != y_test))
        semi.append(np.mean(other.predict(X_test) != y_test))
    assert np.mean(semi) < 0.06 and np.mean(semi) < np.mean(plain)


def test_moons_are_told_apart_better_with_unlabelled_rows() -> None:
    X, y = make_moons(200, noise=0.1, random_state=0)
    plain, semi = [], []
    for seed in range(3):
        partly = hidden(y, 12, seed)
        labelled = partly != -1
        one = SDGMClassifier(random_state=0).fit(X[labelled], y[labelled])
        other = SemiSupervisedSDGMClassifier(random_state=0).fit(X, partly)
        plain.append(np.mean(one.predict(X) != y))
        semi.append(np.mean(other.predict(X) != y))
    assert np.mean(semi) < 0.8 * np.mean(plain)


def test_labels_that_have_nothing_to_do_with_clusters_are_learned_all_the_same() -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(150, 2)) - 4.0, rng.normal(size=(150, 2)) + 4.0])
    y = (X[:, 0] - X[:, 1] > 0).astype(int)  # across both clusters
    model = SemiSupervisedSDGMClassifier(random_state=0).fit(X, hidden(y, 40))
    assert model.score(X, y) > 0.9


# --- what is given and what is not ---


def test_minus_one_is_no_class() -> None:
    X, y = clouds()
    partly = hidden(y, 8)
    model = SemiSupervisedSDGMClassifier(random_state=0).fit(X, partly)
    assert model.classes_.tolist() == [0, 1] and model.n_labelled_ == 8
    given = partly != -1
    np.testing.assert_array_equal(model.transduction_[given], y[given])
    np.testing.assert_array_equal(model.transduction_[~given], model.predict(X[~given]))
    assert sum(model.shares_.values()) == pytest.approx(1.0)
    assert 0.0 < model.unlabelled_share_ <= 1.0
    list_of_shares = list(model.shares_.values())
    assert list_of_shares == sorted(list_of_shares, reverse=True)


def test_text_labels_are_the_same_as_numbers() -> None:
    X, y = clouds()
    partly = hidden(y, 8)
    text = np.array(["no", "yes"], dtype=object)[y]
    text[partly == -1] = -1
    number = SemiSupervisedSDGMClassifier(random_state=0).fit(X, partly)
    word = SemiSupervisedSDGMClassifier(random_state=0).fit(X, text)
    assert word.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(word.predict_proba(X), number.predict_proba(X))
    assert set(word.transduction_) == {"no", "yes"}


def test_has_label_knows_the_number_only() -> None:
    assert has_label(np.array([0, -1, 1])).tolist() == [True, False, True]
    assert has_label(np.array([0.0, -1.0])).tolist() == [True, False]
    assert has_label(np.array([True, False])).all()
    assert has_label(np.array(["a", "b"])).all()
    assert has_label(np.array(["a", -1, np.int64(-1)], dtype=object)).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([-1] * 20, "every sample that counts is -1"),
        ([1] * 10 + [-1] * 10, "only one class, 1.*SDGMClassifier takes -1 for a label"),
        (["a", "b"] * 5 + ["-1"] * 10, "dtype object"),
        (np.array(["a", 3] * 5 + [-1] * 10, dtype=object), "mixes labels"),
        ([0.5, 0.25] * 5 + [-1.0] * 10, "Unknown label type"),
    ],
)
def test_labels_that_cannot_be_learned_are_refused(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SemiSupervisedSDGMClassifier().fit(np.arange(40.0).reshape(20, 2), y)


def test_other_classifiers_and_precomputed_kernels_are_refused() -> None:
    X, y = clouds(20)
    with pytest.raises(TypeError, match=r"LogisticRegression.*SelfTrainingClassifier"):
        SemiSupervisedSDGMClassifier(LogisticRegression()).fit(X, y)
    with pytest.raises(ValueError, match="precomputed"):
        SemiSupervisedSDGMClassifier(KernelSDGMClassifier(kernel="precomputed")).fit(X, y)
    with pytest.raises(ValueError, match="max_unlabelled"):
        SemiSupervisedSDGMClassifier(max_unlabelled=-1).fit(X, y)


# --- what must not change a fit ---


def test_order_repetition_and_absence_are_weights() -> None:
    X, y = make_moons(60, noise=0.2, random_state=1)
    partly = hidden(y, 14)
    rng = np.random.default_rng(0)
    s = rng.integers(0, 3, size=len(y))
    s[partly != -1] = rng.integers(1, 3, size=14)
    model = SemiSupervisedSDGMClassifier(random_state=0)
    weighted = clone(model).fit(X, partly, s.astype(float))
    order = rng.permutation(s.sum())
    repeated = clone(model).fit(X.repeat(s, axis=0)[order], partly.repeat(s)[order])
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    assert weighted.shares_ == repeated.shares_


def test_scale_and_origin_of_the_inputs_do_not_matter() -> None:
    X, y = clouds(80)
    partly = hidden(y, 8)
    one = SemiSupervisedSDGMClassifier(random_state=0).fit(X, partly)
    moved = X * [1e6, 1e-6] + [3e7, -1.0]
    other = SemiSupervisedSDGMClassifier(random_state=0).fit(moved, partly)
    np.testing.assert_allclose(other.predict_proba(moved), one.predict_proba(X), atol=1e-2)


def test_class_weights_make_a_class_more_probable() -> None:
    X, y = clouds(80)
    partly = hidden(y, 10)
    plain = SemiSupervisedSDGMClassifier(random_state=0).fit(X, partly)
    by_class = SemiSupervisedSDGMClassifier(SDGMClassifier(class_weight={0: 1.0, 1: 3.0}))
    by_class.set_params(random_state=0).fit(X, partly)
    assert by_class.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean()
    assert by_class.estimator_.class_weight == {0: 1.0, 1: 3.0}


def test_balanced_classes_are_the_same_as_their_weights() -> None:
    X, y = clouds(80)
    partly = hidden(y, 10)
    n = np.bincount(partly[partly != -1])
    weights = dict(enumerate((n.sum() / (2 * n)).tolist()))
    one, other = (
        SemiSupervisedSDGMClassifier(SDGMClassifier(class_weight=each), random_state=0)
        for each in ("balanced", weights)
    )
    np.testing.assert_array_equal(
        one.fit(X, partly).predict_proba(X), other.fit(X, partly).predict_proba(X)
    )


# --- hostile rows ---


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((30, 2)),
        np.repeat([[0.0, 1.0], [1.0, 0.0]], 15, axis=0),
        np.column_stack([np.arange(30.0), np.full(30, 7.0)]),
        np.random.default_rng(0).normal(size=(30, 40)),
        1e60 * np.random.default_rng(0).normal(size=(30, 2)),
        np.random.default_rng(0).standard_cauchy(size=(30, 3)) ** 5,
    ],
    ids=["constant", "two points", "constant column", "wide", "huge", "far out"],
)
@both_forms
def test_odd_rows_are_learned_or_refused(form: Any, X: FloatArray) -> None:
    y = np.tile([0, 1, -1], 10)
    model = SemiSupervisedSDGMClassifier(form(random_state=0))
    with own_warnings_allowed():
        P = model.fit(X, y).predict_proba(X)
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


def test_one_label_per_class_is_enough() -> None:
    X, y = make_blobs(90, centers=3, cluster_std=0.5, random_state=3)
    partly = np.full(90, -1)
    for c in range(3):
        partly[np.flatnonzero(y == c)[0]] = c
    with own_warnings_allowed():
        model = SemiSupervisedSDGMClassifier(random_state=0).fit(X, partly)
    assert model.score(X, y) > 0.9


def test_no_more_unlabelled_rows_are_used_than_wanted() -> None:
    X, y = clouds(120)
    partly = hidden(y, 20)
    few = SemiSupervisedSDGMClassifier(max_unlabelled=40, random_state=0).fit(X, partly)
    assert len(few.transduction_) == 120
    none = SemiSupervisedSDGMClassifier(max_unlabelled=0, random_state=0).fit(X, partly)
    plain = SDGMClassifier(random_state=0).fit(X[partly != -1], y[partly != -1])
    np.testing.assert_array_equal(none.predict_proba(X), plain.predict_proba(X))
    assert none.shares_ == {} and few.shares_ != {}


# --- the learned classifier ---


def test_names_of_columns_are_kept() -> None:
    X, y = clouds(60)
    table = pytest.importorskip("pandas").DataFrame(X, columns=["width", "height"])
    model = SemiSupervisedSDGMClassifier(random_state=0).fit(table, hidden(y, 10))
    assert model.feature_names_in_.tolist() == ["width", "height"]
    assert all("width" in term or "height" in term for term in model.estimator_.terms_)
    model.predict(table)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table.rename(columns={"width": "w"}))


def test_relevance_vectors_are_rows_of_the_user() -> None:
    X, y = make_moons(80, noise=0.2, random_state=0)
    model = SemiSupervisedSDGMClassifier(KernelSDGMClassifier(), random_state=0)
    learned = model.fit(X, hidden(y, 16)).estimator_
    assert len(learned.relevance_) > 0
    np.testing.assert_array_equal(learned.relevance_vectors_, X[learned.relevance_])


def test_the_parameters_and_the_wrapped_classifier_stay_as_they_were() -> None:
    X, y = clouds(60)
    inner = SDGMClassifier()
    model = SemiSupervisedSDGMClassifier(inner, random_state=0).fit(X, hidden(y, 10))
    assert model.estimator is inner and not hasattr(inner, "classes_")
    assert model.estimator_.get_params() == SDGMClassifier(random_state=0).get_params()
    assert set(model.estimator_.chosen_) == {"n_components", "covariance_type"}
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_setting_that_is_named_is_kept() -> None:
    X, y = clouds(60)
    model = SemiSupervisedSDGMClassifier(
        SDGMClassifier(1, covariance_type="tied", teacher=None), random_state=0
    )
    model.fit(X, hidden(y, 10))
    assert not any("^2" in term or "*" in term for term in model.estimator_.terms_)


def test_the_teacher_of_the_wrapped_classifier_is_asked() -> None:
    X, y = clouds(60)
    wrapped = SDGMClassifier(teacher=LogisticRegression())
    model = SemiSupervisedSDGMClassifier(wrapped, random_state=0).fit(X, hidden(y, 20))
    assert 0.0 < model.shares_["LogisticRegression"] < 1.0
    assert model.score(X, y) > 0.9


def test_under_a_ridge_prior_all_weights_are_kept() -> None:
    X, y = blobs(60, 2)
    partly = np.where(np.arange(60) < 20, y, -1)
    wrapped = SDGMClassifier(1, prior="ridge")
    model = SemiSupervisedSDGMClassifier(wrapped, random_state=0).fit(X, partly)
    assert model.estimator_.n_active_weights_ == 2 * 6


def test_responsibilities_to_start_from_are_refused_in_one_sentence() -> None:
    X, y = blobs(60, 2)
    wrapped = SDGMClassifier(1, init=np.ones((60, 2)), teacher=None)
    with pytest.raises(ValueError, match="init of the estimator must be a name") as refusal:
        SemiSupervisedSDGMClassifier(wrapped).fit(X, np.where(np.arange(60) < 20, y, -1))
    assert "\n" not in str(refusal.value)


def test_weights_are_as_uncertain_as_the_labels_leave_them() -> None:
    X, y = clouds(120)
    learned = SemiSupervisedSDGMClassifier(random_state=0).fit(X, hidden(y, 8)).estimator_
    mean, std = learned.predict_proba_averaged(X, return_std=True)
    assert mean.shape == std.shape == (120, 2)
    surer = SDGMClassifier(random_state=0).fit(X, y)
    assert std.mean() > surer.predict_proba_averaged(X, return_std=True)[1].mean()


@both_forms
def test_a_budget_of_weights_is_kept(form: Any) -> None:
    X, y = make_moons(80, noise=0.15, random_state=0)
    model = SemiSupervisedSDGMClassifier(form(max_weights=5), random_state=0)
    with own_warnings_allowed():
        model.fit(X, hidden(y, 20))
    assert model.estimator_.n_active_weights_ <= 5
    assert len(model.estimator_.covariance_) == model.estimator_.n_active_weights_
