"""Claims about members of the ensemble."""

from __future__ import annotations

import numpy as np
import pytest

from sdgm.ensemble.feature_weights import squared_gradients
from sdgm.ensemble.inputs import NormalScores, Standardized
from sdgm.ensemble.kernels import Kind, MemberKernel
from sdgm.ensemble.members import GaussianSpec, KernelSpec
from sdgm.ensemble.sampling import hashes, spread_sample
from sdgm.ensemble.spaces import Space
from tests.ensemble.problems import random_rows

KERNELS = [
    MemberKernel(Kind.LINEAR),
    MemberKernel(Kind.QUADRATIC, 4.0),
    MemberKernel(Kind.MATERN, 1.0),
]


def as_they_are(X: np.ndarray) -> np.ndarray:
    return X


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_with_a_centre_at_every_row_inducing_points_are_exact(kernel: MemberKernel) -> None:
    rows = random_rows(40)
    spec, space = KernelSpec(kernel), Space("", as_they_are, rows.X)
    exact = spec.fit(space.at_centers(), rows)
    inducing = spec.fit(space.at(rows.X.copy()), rows)
    np.testing.assert_allclose(inducing.P, exact.P, atol=1e-5)
    np.testing.assert_allclose(inducing.P_left_out, exact.P_left_out, atol=1e-5)
    X = np.random.default_rng(1).normal(size=(5, 3))
    scores = [member.scorer.scores(space.at(X)) for member in (inducing, exact)]
    np.testing.assert_allclose(*scores, atol=1e-5)


@pytest.mark.parametrize(
    "spec", [*map(KernelSpec, KERNELS), GaussianSpec(shared=True), GaussianSpec(shared=False)]
)
def test_probabilities_at_the_rows_are_those_of_the_scorer(spec: KernelSpec | GaussianSpec) -> None:
    rows = random_rows(40)
    space = Space("", as_they_are, rows.X)
    member = spec.fit(space.at_centers(), rows)
    P = member.calibration.proba(member.scorer.scores(space.at(rows.X)))
    np.testing.assert_allclose(P, member.P, atol=1e-8)


def test_gradients_agree_with_finite_differences() -> None:
    rows = random_rows(20)
    space, kernel = Space("", as_they_are, rows.X), MemberKernel(Kind.MATERN, 1.5)
    coef = np.random.default_rng(0).normal(size=(len(rows.X), 2))
    X = np.random.default_rng(1).normal(size=(7, 3))
    weight = np.arange(1.0, 8.0)
    expected = np.zeros(3)
    for d in range(3):
        step = 1e-6 * np.eye(3)[d]
        up, down = (space.at(x).gram(kernel) @ coef for x in (X + step, X - step))
        expected[d] = np.average((((up - down) / 2e-6) ** 2).sum(axis=1), weights=weight)
    found = squared_gradients(space.at(X), kernel, coef, weight)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_normal_scores_are_standardised_and_depend_on_ranks_alone() -> None:
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(50, 2)), rng.uniform(0.5, 2.0, 50)
    scores = []
    for table in (X, np.exp(3 * X)):
        inputs = Standardized.of(table, s)
        scores.append(NormalScores.of(inputs, inputs(table), s)(table))
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-9)
    np.testing.assert_allclose(s @ scores[0], 0.0, atol=1e-9)
    np.testing.assert_allclose(s @ scores[0] ** 2 / s.sum(), 1.0)


def test_normal_scores_of_new_rows_lie_in_between() -> None:
    X = np.array([[0.0], [1.0], [10.0]])
    inputs = Standardized.of(X, np.ones(3))
    scores = NormalScores.of(inputs, inputs(X), np.ones(3))
    low, middle, high = scores(X)[:, 0]
    new = scores(np.array([[-5.0], [5.5], [99.0]]))[:, 0]
    np.testing.assert_allclose(new, [low, (middle + high) / 2, high])


def test_a_sample_is_the_same_whatever_the_order() -> None:
    rng = np.random.default_rng(0)
    X, label = rng.normal(size=(500, 2)), np.repeat([0, 1, 2], [400, 90, 10])
    order = rng.permutation(500)
    one = X[spread_sample(X, label, 60)]
    other = X[order][spread_sample(X[order], label[order], 60)]
    assert set(map(tuple, one)) == set(map(tuple, other))
    counts = np.bincount(label[spread_sample(X, label, 60)])
    assert counts.tolist() == [48, 11, 5]


def test_equal_rows_have_equal_hashes() -> None:
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [np.nextafter(0.0, 1.0), 1.0]])
    found = hashes(X).tolist()
    assert found[0] == found[1]
    assert len(set(found)) == 3
    assert hashes(np.asfortranarray(X)).tolist() == found
    share = hashes(np.random.default_rng(0).integers(0, 3, size=(3000, 9)).astype(float)) / 2.0**64
    assert abs(np.unique(share).mean() - 0.5) < 0.02
