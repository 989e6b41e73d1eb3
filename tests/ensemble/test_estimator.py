"""Claims about `KernelEnsembleClassifier`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from sdgm import KernelEnsembleClassifier
from sdgm.ensemble import fitting
from tests.ensemble.problems import random_table


def proba(X: Any, y: Any, X_new: Any, **options: Any) -> np.ndarray:
    return KernelEnsembleClassifier().fit(X, y, **options).predict_proba(X_new)


def log_loss(P: np.ndarray, y: np.ndarray) -> float:
    return -float(np.log(P[np.arange(len(y)), y]).mean())


def test_weights_are_numbers_of_copies_to_the_last_digit() -> None:
    X, y, s = random_table(60)
    copies = np.repeat(np.arange(60), s.astype(int))
    once, often = proba(X, y, X, sample_weight=s), proba(X[copies], y[copies], X)
    np.testing.assert_array_equal(once, often)


def test_rows_of_weight_zero_are_not_there() -> None:
    X, y, s = random_table(60)
    s[::3] = 0.0
    model = KernelEnsembleClassifier().fit(X, y, s)
    np.testing.assert_array_equal(
        model.predict_proba(X), proba(X[s > 0], y[s > 0], X, sample_weight=s[s > 0])
    )
    np.testing.assert_array_equal(model.loo_proba_[::3], model.train_proba_[::3])
    assert model.loo_proba_.shape == (60, 3)


def test_the_order_of_rows_does_not_matter() -> None:
    X, y, _ = random_table(60)
    order = np.random.default_rng(1).permutation(60)
    one, other = (
        KernelEnsembleClassifier().fit(X, y),
        KernelEnsembleClassifier().fit(X[order], y[order]),
    )
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    np.testing.assert_array_equal(one.loo_proba_[order], other.loo_proba_)


def test_the_names_of_classes_do_not_matter() -> None:
    X, y, _ = random_table(60)
    P, Q = proba(X, y, X), proba(X, 2 - y, X)
    np.testing.assert_allclose(P, Q[:, ::-1], atol=1e-6)


def test_the_order_and_the_units_of_columns_do_not_matter() -> None:
    X, y, _ = random_table(60)
    np.testing.assert_allclose(proba(X, y, X), proba(X[:, ::-1], y, X[:, ::-1]), atol=1e-5)
    other = X * [1e-3, 10.0, 1e6] + [5.0, -3.0, 1e3]
    np.testing.assert_allclose(proba(X, y, X), proba(other, y, other), atol=1e-5)


@pytest.mark.parametrize("constant", [0.0, -3.0, 0.1 + 1e6])
def test_constant_columns_change_nothing(constant: float) -> None:
    X, y, _ = random_table(60)
    with_constant = np.insert(X, 1, constant, axis=1)
    np.testing.assert_allclose(proba(with_constant, y, with_constant), proba(X, y, X), atol=1e-9)


def test_what_rounding_leaves_of_a_constant_column_is_not_learned() -> None:
    X, y, _ = random_table(60)
    column = np.where(y == 0, 0.1 * 3, 0.3)
    with_column = np.column_stack([X, column])
    np.testing.assert_allclose(proba(with_column, y, with_column), proba(X, y, X), atol=1e-9)


def test_without_inputs_that_vary_the_frequencies_are_predicted() -> None:
    X, y = np.ones((8, 2)), np.array([0, 0, 0, 0, 0, 0, 1, 1])
    model = KernelEnsembleClassifier().fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[5.0, 1.0]]), [[0.75, 0.25]])
    np.testing.assert_allclose(model.loo_proba_[0], [5 / 7, 2 / 7])
    assert model.member_weights_ == {}


def test_the_left_out_loss_is_that_of_fits_without_the_row() -> None:
    # weights of members and of inputs are not found again for every row left out: nearly, not quite
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    model = KernelEnsembleClassifier().fit(X, y)
    others = [np.delete(np.arange(len(y)), n) for n in range(len(y))]
    P = np.vstack([proba(X[rest], y[rest], X[n : n + 1]) for n, rest in enumerate(others)])
    assert log_loss(model.loo_proba_, y) == pytest.approx(model.loo_log_loss_)
    assert log_loss(P, y) == pytest.approx(model.loo_log_loss_, abs=0.05)


def test_probabilities_at_the_training_rows_are_those_of_prediction() -> None:
    X, y = load_wine(return_X_y=True)
    model = KernelEnsembleClassifier().fit(X, y)
    np.testing.assert_array_equal(model.train_proba_, model.predict_proba(X))
    np.testing.assert_allclose(model.train_proba_.sum(axis=1), 1.0)
    assert sum(model.member_weights_.values()) == pytest.approx(1.0)
    assert model.loo_log_loss_ > log_loss(model.train_proba_, y)


def test_balanced_class_weights_are_given_factors() -> None:
    X, y, s = random_table(60)
    total = np.bincount(y, s)
    factors = dict(enumerate(s.sum() / (3 * total)))
    one = KernelEnsembleClassifier(class_weight="balanced").fit(X, y, s)
    other = KernelEnsembleClassifier(class_weight=factors).fit(X, y, s)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-9)
    plain = KernelEnsembleClassifier().fit(X, y, s)
    rare = int(np.argmin(total))
    assert one.predict_proba(X)[:, rare].mean() > plain.predict_proba(X)[:, rare].mean()


def test_labels_of_any_kind() -> None:
    X, y, _ = random_table(40)
    names = np.array(["c", "a", "b"])[y]
    model = KernelEnsembleClassifier().fit(X, names)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert set(model.predict(X)) <= {"a", "b", "c"}


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1e9, 1e150])
def test_inputs_of_any_size(size: float) -> None:
    X, y, _ = random_table(40)
    np.testing.assert_allclose(proba(X * size, y, X * size), proba(X, y, X), atol=1e-5)


@pytest.mark.parametrize("far", [1e6, 1e300])
def test_predictions_far_away_are_probabilities(far: float) -> None:
    X, y, _ = random_table(40)
    P = proba(X, y, np.array([[far, -far, far], [0.0, far, 0.0]]))
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[0.0], [1.0]], [0, 1]),
        ([[0.0], [0.0]], [0, 1]),
        ([[0.0], [1.0], [2.0], [3.0]], [0, 0, 0, 1]),
        (np.eye(4), [0, 1, 2, 3]),
        (np.vstack([np.zeros((5, 3)), np.ones((5, 3))]), [0, 1] * 5),
        (np.random.default_rng(0).normal(size=(6, 40)), [0, 1] * 3),
    ],
)
def test_tiny_and_odd_tables(X: Any, y: Any) -> None:
    model = KernelEnsembleClassifier().fit(X, y)
    for P in (model.predict_proba(X), model.loo_proba_):
        assert np.isfinite(P).all()
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert np.isfinite(model.loo_log_loss_)


def test_separated_classes_are_separated() -> None:
    X = np.linspace(-1.0, 1.0, 40)[:, None]
    y = (X[:, 0] > 0).astype(int)
    model = KernelEnsembleClassifier().fit(X, y)
    assert model.score(X, y) == 1.0


def test_one_class_is_refused() -> None:
    with pytest.raises(ValueError, match="y has only one class, 1"):
        KernelEnsembleClassifier().fit([[0.0], [1.0]], [1, 1])


def test_memory_is_asked_for_before_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = random_table(40)
    monkeypatch.setattr("sdgm.scale.memory.available_memory", lambda: 1e4)
    with pytest.raises(MemoryError, match=r"Fitting \d+ rows would need"):
        KernelEnsembleClassifier().fit(X, y)


def moons(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n) > 0).astype(int)


def test_a_sample_decides_on_members_where_rows_are_more() -> None:
    X, y = moons(900)
    X_new, y_new = moons(2000, 1)
    model = KernelEnsembleClassifier().fit(X, y)
    assert 1 <= len(model.member_weights_) <= fitting.MOST_MEMBERS
    assert log_loss(model.predict_proba(X_new), y_new) < 0.3


def test_fewer_centres_than_rows_do_nearly_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = moons(500)
    X_new, y_new = moons(2000, 1)
    exact = log_loss(proba(X, y, X_new), y_new)
    monkeypatch.setattr(fitting, "CENTERS", 100)
    monkeypatch.setattr(fitting, "CENTERS_PER_CLASS", 0)
    few = KernelEnsembleClassifier().fit(X, y)
    assert all(len(m.scorer.space.centers) < 103 for m in few.ensemble_.members)
    assert log_loss(few.predict_proba(X_new), y_new) < exact + 0.03
    assert few.loo_log_loss_ == pytest.approx(log_loss(few.loo_proba_, y))
