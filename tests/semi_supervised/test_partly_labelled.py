"""Claims about the dense model of partly labelled rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from sdgm._typing import BoolArray, FloatArray, IntArray
from sdgm.core.inference.initialization import distinct_rows
from sdgm.semi_supervised.partly_labelled import (
    DenseModel,
    features_of_all,
    fit_partly_labelled,
    prior_rows,
    sharpened,
    taught_by,
)


def moons(n_labelled: int = 16, N: int = 120) -> tuple[FloatArray, IntArray, BoolArray]:
    X, y = make_moons(N, noise=0.15, random_state=0)
    order = np.lexsort(X.T[::-1])
    return X[order], y[order], (np.arange(N) < n_labelled)[order]


def dense(X: FloatArray, y: IntArray, labelled: BoolArray, **kwargs: Any) -> DenseModel:
    return fit_partly_labelled(X, np.where(labelled, y, -1), np.ones(len(y)), np.ones(2), **kwargs)


def test_shares_and_probabilities_are_proper() -> None:
    model = dense(*moons())
    assert sum(model.shares.values()) == pytest.approx(1.0)
    assert 0.0 < model.unlabelled_share < 1.0
    kinds = {name.split()[0] for name in model.shares}
    assert kinds >= {"standardized", "graph", "clusters", "hybrid"}
    np.testing.assert_allclose(model.P.sum(axis=1), 1.0)


def test_the_log_loss_is_of_labels_left_out() -> None:
    X, y, labelled = moons()
    model = dense(X, y, labelled)
    own = model.P[labelled, y[labelled]]
    assert -np.log(own).mean() < model.log_loss < 0.5
    rng = np.random.default_rng(0)
    guessed = dense(X, rng.permutation(y), labelled)
    assert guessed.log_loss > 0.6


def test_models_that_foretell_no_labels_get_no_share() -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(100, 2)) - 5.0, rng.normal(size=(100, 2)) + 5.0])
    X, _, _ = distinct_rows(X, np.ones(200))
    y = (X[:, 0] - X[:, 1] > 0.0).astype(int)
    model = dense(X, y, rng.random(200) < 0.3)
    assert model.shares["clusters tied 2"] < 0.01
    assert np.mean(model.P.argmax(axis=1) != y) < 0.1


def test_every_kind_has_the_same_prior() -> None:
    prior = prior_rows(["standardized linear", "ranked linear", "graph 3", "graph 10", "hybrid 1"])
    np.testing.assert_allclose(prior, [0.5, 0.5, 0.5, 0.5, 1.0])


def test_sharpening_keeps_the_order() -> None:
    P = sharpened(np.array([[0.5, 0.5], [0.2, 0.8], [1.0, 0.0]]))
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert P[0, 0] == 0.5 and 0.8 < P[1, 1] < 0.9 and P[2, 0] == 1.0


def test_features_are_the_same_at_equal_rows() -> None:
    X, _, _ = moons(N=60)
    twice = X.repeat(2, axis=0)
    for name, Z in features_of_all(twice, np.ones(120), 2):
        np.testing.assert_array_equal(Z[::2], Z[1::2], err_msg=name)


@pytest.mark.parametrize("frozen", [False, True])
def test_a_teacher_takes_the_place_of_the_ensemble(frozen: bool) -> None:
    X, y, labelled = moons(30)
    teacher = LogisticRegression()
    if frozen:
        teacher = FrozenEstimator(teacher.fit(X[labelled], y[labelled]))
    model = dense(X, y, labelled, teach=partial(taught_by, teacher, np.arange(2)))
    assert type(teacher).__name__ in model.shares
    assert not any(name.startswith(("standardized", "ranked")) for name in model.shares)
    assert sum(model.shares.values()) == pytest.approx(1.0)
