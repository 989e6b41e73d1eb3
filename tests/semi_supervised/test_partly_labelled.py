"""Claims about the dense reference of partly labelled rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_moons

from sdgm._typing import BoolArray, FloatArray, IntArray
from sdgm.core.inference.initialization import distinct_rows
from sdgm.core.model.kernels import Kernel, LinearKernel, PolynomialKernel, RBFKernel
from sdgm.core.selection.reference import dense_model
from sdgm.semi_supervised.partly_labelled import (
    Features,
    factor_at_all_rows,
    fit_partly_labelled,
)


def moons(n_labelled: int = 16, N: int = 120) -> tuple[FloatArray, IntArray, FloatArray, BoolArray]:
    X, y = make_moons(N, noise=0.15, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    labelled = np.arange(N) < n_labelled
    order = np.lexsort(X.T[::-1])
    return X[order], y[order], np.ones(N), labelled[order]


@pytest.mark.parametrize("kernel", [RBFKernel(0.5), PolynomialKernel(), LinearKernel()])
@pytest.mark.parametrize("n_labelled", [4, 16])
def test_the_factor_gives_kernels_with_labelled_rows(kernel: Kernel, n_labelled: int) -> None:
    X, _, _, labelled = moons(n_labelled)
    Z = factor_at_all_rows(kernel, X, labelled, 400)
    assert Z.shape[1] <= n_labelled
    np.testing.assert_allclose(Z @ Z[labelled].T, kernel.gram(X, X[labelled]), atol=1e-4)


def test_more_labels_than_the_rank_are_factorised_as_ever() -> None:
    X, _, _, labelled = moons(60)
    assert factor_at_all_rows(RBFKernel(0.5), X, labelled, 10).shape == (120, 10)


def test_rows_of_weight_zero_are_predicted_and_do_not_count() -> None:
    X, y, s, labelled = moons(20)
    kernel = RBFKernel(0.5)
    Z = factor_at_all_rows(kernel, X, labelled, 400)
    everywhere = dense_model("rbf", Features(Z), X, y, np.where(labelled, s, 0.0))
    alone = dense_model("rbf", Features(Z[labelled]), X[labelled], y[labelled], s[labelled])
    assert everywhere.log_evidence == pytest.approx(alone.log_evidence, abs=1e-2)
    assert everywhere.loss == pytest.approx(alone.loss, rel=1e-2)
    np.testing.assert_allclose(everywhere.P_c[labelled], alone.P_c, atol=1e-2)


def test_shares_and_posteriors_are_proper() -> None:
    X, y, s, labelled = moons()
    reference = fit_partly_labelled(X, y, s, labelled)
    assert sum(reference.shares.values()) == pytest.approx(1.0)
    assert 0.0 < reference.unlabelled_share < 1.0
    assert {name.split()[0] for name in reference.shares} >= {
        "linear",
        "quadratic",
        "rbf",
        "graph",
        "clusters",
        "hybrid",
    }
    np.testing.assert_allclose(reference.P_c.sum(axis=1), 1.0)
    assert reference.best("rbf") is not None and reference.best("quadratic") is not None


def test_labels_of_unlabelled_rows_are_not_looked_at() -> None:
    X, y, s, labelled = moons()
    one = fit_partly_labelled(X, y, s, labelled)
    other = fit_partly_labelled(X, np.where(labelled, y, -1), s, labelled)
    np.testing.assert_array_equal(one.P_c, other.P_c)


def test_models_that_foretell_no_labels_get_no_share() -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(100, 2)) - 5.0, rng.normal(size=(100, 2)) + 5.0])
    X, s, _ = distinct_rows(X / X.std(axis=0), np.ones(200))
    y = (X[:, 0] - X[:, 1] > 0.0).astype(int)
    reference = fit_partly_labelled(X, y, s, rng.random(200) < 0.3)
    assert reference.shares["clusters tied 2"] < 0.01
    assert np.mean(reference.P_c.argmax(axis=1) != y) < 0.1
