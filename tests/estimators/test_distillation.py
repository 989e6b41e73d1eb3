"""Claims about teachers: what is learned from them, and which are refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

from sdgm import KernelSDGMClassifier, RVMClassifier, SDGMClassifier
from sdgm.datasets import make_ripley
from sdgm.estimators.distillation import SHARE_BETWEEN, targets_of
from sdgm.estimators.preparation import prepared_again
from tests.estimators.problems import assert_proper

X, y, X_test, y_test = make_ripley(120, 200).split()
both_forms = pytest.mark.parametrize("form", [SDGMClassifier, KernelSDGMClassifier])


def targets(teacher: Any, s: Any = None) -> Any:
    _, problem = prepared_again(SDGMClassifier(), X, y, s)
    return problem, targets_of(teacher, problem)


# --- what is learned ---


def test_rows_in_between_have_inputs_of_training_rows_and_half_of_the_weight() -> None:
    problem, found = targets("auto")
    n = found.n_rows
    np.testing.assert_array_equal(found.learned.X[:n], problem.sample.X)
    for rows in (found.learned.X[n:], found.judged.X):
        for j in range(X.shape[1]):
            assert np.isin(rows[:, j], X[:, j]).all()
    assert found.learned.s.sum() == pytest.approx(len(y))
    assert found.learned.s[n:].sum() == pytest.approx(SHARE_BETWEEN * len(y))
    for P in (found.learned.y, found.judged.y):
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
        assert P.min() > 0.0


def test_rows_to_judge_by_are_not_learned() -> None:
    _, found = targets("auto")
    learned = {row.tobytes() for row in found.learned.X[found.n_rows :]}
    same = [row.tobytes() in learned for row in found.judged.X]
    assert np.mean(same) < 0.6  # two inputs: a few are equal by chance


def test_a_teacher_learns_from_repeated_rows_as_they_are() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, size=(200, 2))
    labels = np.where(rng.uniform(size=200) < 0.1, 1 - codes[:, 0], codes[:, 0])
    # with at least 20 rows in a leaf; merged there are only eight
    trees = HistGradientBoostingClassifier(min_samples_leaf=20)
    with pytest.MonkeyPatch.context() as patch:
        seen = []
        fit = HistGradientBoostingClassifier.fit

        def noted(self: Any, rows: Any, *args: Any, **kwargs: Any) -> Any:
            seen.append(len(rows))
            return fit(self, rows, *args, **kwargs)

        patch.setattr(HistGradientBoostingClassifier, "fit", noted)
        model = SDGMClassifier(teacher=trees, random_state=0).fit(codes, labels)
    assert seen == [160] * 5 + [200]
    assert (model.predict(codes) == codes[:, 0]).all()


def test_a_frozen_teacher_is_taken_as_it_is() -> None:
    linear = LogisticRegression().fit(X, y)
    _, found = targets(FrozenEstimator(linear))
    np.testing.assert_allclose(
        found.learned.y, linear.predict_proba(found.learned.X), rtol=0, atol=1e-5
    )


def test_of_rows_that_it_has_seen_a_teacher_is_heard_half() -> None:
    problem, found = targets(RandomForestClassifier(30, random_state=0))
    n = found.n_rows
    own = found.learned.y[np.arange(n), problem.y]
    assert 0.1 < found.log_loss < 1.0
    assert own.min() < 0.9  # forests are sure of all rows that they have seen


@both_forms
def test_any_classifier_can_be_the_teacher(form: Any) -> None:
    teacher = LogisticRegression()
    model = form(teacher=teacher, random_state=0).fit(X, y)
    assert_proper(model, X)
    assert model.fidelity_ < 0.01
    linear = clone(teacher).fit(X, y)
    assert np.abs(model.predict_proba(X_test) - linear.predict_proba(X_test)).max() < 0.15
    assert not hasattr(teacher, "classes_")  # it is the user's, and stays as it is


@both_forms
def test_a_warm_start_after_an_automatic_fit_learns_the_dense_model_and_not_labels(
    form: Any,
) -> None:
    model = form(warm_start=True, random_state=0).fit(X, y)
    before = model.predict_proba(X_test)
    by_labels = form(**model.chosen_, teacher=None, random_state=0).fit(X, y)
    assert np.abs(by_labels.predict_proba(X_test) - before).max() > 0.05
    model.fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X_test), before, atol=1e-9)


@both_forms
def test_a_warm_start_follows_its_teacher_where_labels_say_the_contrary(form: Any) -> None:
    linear = LogisticRegression().fit(X, y)
    model = form(teacher=FrozenEstimator(linear), warm_start=True, random_state=0).fit(X, y)
    model.fit(X, 1 - y)
    assert np.mean(model.predict(X_test) == linear.predict(X_test)) > 0.95


def test_settings_that_are_named_stay_with_a_teacher() -> None:
    model = KernelSDGMClassifier(1, kernel="poly", teacher=LogisticRegression()).fit(X, y)
    assert model.chosen_["kernel"] == "poly" and model.chosen_["n_components"] == 1
    assert model.gamma_ > 0.0


def test_labels_of_any_kind_have_a_teacher() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["b", "c", "a"])[y]
    model = SDGMClassifier(teacher=LogisticRegression(max_iter=1000)).fit(X, names)
    assert model.score(X, names) > 0.93


# --- refused in one sentence ---


class Odd(ClassifierMixin, BaseEstimator):
    """A classifier with something wrong."""

    def __init__(self, wrong: str = "") -> None:
        self.wrong = wrong

    def fit(self, X: Any, y: Any) -> Odd:
        if self.wrong == "fails":
            raise RuntimeError("no memory on the device")
        self.classes_ = np.unique(y)[:1] if self.wrong == "classes" else np.unique(y)
        return self

    def predict_proba(self, X: Any) -> Any:
        P = np.full((len(X), len(self.classes_)), 1.0 / len(self.classes_))
        match self.wrong:
            case "nan":
                P[0] = np.nan
            case "sums":
                P *= 2.0
            case "shape":
                P = P[:, :1]
        return P


@pytest.mark.parametrize(
    ("teacher", "message"),
    [
        ("forest", "teacher must be 'auto', None or a classifier"),
        (3, "teacher must be 'auto', None or a classifier"),
        (LinearRegression(), "teacher must be a classifier"),
        (LinearSVC(), "has no predict_proba"),
        (Odd("classes"), "does not know the class"),
        (Odd("nan"), "not all finite"),
        (Odd("sums"), "do not sum to one"),
        (Odd("shape"), "predict_proba has shape"),
        (Odd("fails"), r"Odd in fold 1 of 5\): no memory on the device"),
    ],
    ids=str,
)
def test_a_teacher_that_cannot_teach(teacher: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        SDGMClassifier(teacher=teacher).fit(X, y)
    assert re.fullmatch(r"[^\n]*[^.]\.", str(caught.value)) and ". " not in str(caught.value)
    if isinstance(teacher, Odd) and teacher.wrong == "fails":
        assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize(
    "setting", [{"prior": "ridge"}, {"preset": "paper"}, {"standardize": False}], ids=str
)
def test_a_teacher_where_it_cannot_be_learned_from(setting: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"^a teacher needs [^.]*\.$"):
        SDGMClassifier(2, teacher=LogisticRegression(), **setting).fit(X, y)


def test_a_class_with_few_rows_has_fewer_folds_and_a_warning() -> None:
    labels = np.repeat([0, 1], [len(y) - 3, 3])
    with pytest.warns(UserWarning, match="Class 1 has 3 rows: .* in 3 instead of 5 folds"):
        SDGMClassifier(teacher=Odd()).fit(X, labels)
    labels[-3:-1] = 0
    with pytest.raises(ValueError, match="class 1 has a single row"):
        SDGMClassifier(teacher=Odd()).fit(X, labels)


def test_without_a_teacher_labels_are_learned() -> None:
    plain = SDGMClassifier(3, covariance_type="full", random_state=0, teacher=None).fit(X, y)
    model = SDGMClassifier(teacher=None, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    with pytest.raises(AttributeError, match="only available after a fit with a teacher"):
        model.training_ and model.fidelity_  # noqa: B018
    assert not hasattr(RVMClassifier().fit(X, y), "fidelity_")
