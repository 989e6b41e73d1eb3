"""Claims about the dense model: mode, evidence, leaving out rows, choice of variance and kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax
from sklearn.datasets import make_circles

from reproduction.gaussian_processes import latent as gaussian_processes
from reproduction.gaussian_processes.latent import Latent, latent_mode
from sdgm._typing import FloatArray, IntArray
from sdgm.core.data.rows import Rows
from sdgm.core.model.kernels import Kernel, LinearKernel, PolynomialKernel, RBFKernel
from sdgm.core.objective.derivatives import derivatives_of_rows, row_space_derivatives
from sdgm.core.selection import reference
from sdgm.core.selection.generative import generative_models
from sdgm.core.selection.reference import (
    CONSTANT_ALPHA,
    FACTOR_TOLERANCE,
    PRIOR_ROWS,
    VARIANCES,
    Dense,
    dense_model,
    fit_reference,
    kernel_factor,
    latent_covariances,
    leave_one_out_loss,
    rbf_models,
    stacked_shares,
)
from sdgm.core.solvers.newton import newton_point
from sdgm.core.solvers.precision import DensePrecision, RowSpacePrecision
from tests.reference.problems import FORMS, random_problem

KERNELS: dict[str, Kernel] = {
    "linear": LinearKernel(),
    "quadratic": PolynomialKernel(gamma=0.5),
    "rbf": RBFKernel(0.5),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
two_and_three_classes = pytest.mark.parametrize("n_classes", [2, 3])


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modes and factors to many digits, so that comparisons can be close."""
    monkeypatch.setattr(reference, "GAIN_TOLERANCE", 1e-14)
    monkeypatch.setattr(reference, "FACTOR_TOLERANCE", 1e-12)


def classes_that_overlap(
    n_samples: int = 30, n_classes: int = 2, *, seed: int = 0
) -> tuple[FloatArray, IntArray]:
    """Standardised rows in the plane; classes of equal size if their number divides the rows."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    X = rng.normal(size=(n_samples, 2)) + 1.2 * rng.normal(size=(n_classes, 2))[y]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def at_variance(
    monkeypatch: pytest.MonkeyPatch,
    variance: float,
    kernel: Kernel,
    X: FloatArray,
    y: IntArray,
    weight: float = 1.0,
) -> Dense:
    """The dense model with this prior variance, every row with the same weight."""
    with monkeypatch.context() as patch:
        patch.setattr(reference, "VARIANCES", (variance,))
        patch.setattr(reference, "FIRST_VARIANCE", 0)
        return dense_model("one", kernel, X, y, np.full(len(y), weight))


def covariance_of_functions(kernel: Kernel, variance: float, X: FloatArray) -> FloatArray:
    """Prior covariance of a latent function, the constant included: (N, N)."""
    gram = kernel.gram(X, X)
    return variance * gram / gram.diagonal().mean() + 1.0 / CONSTANT_ALPHA


class Laplace(NamedTuple):
    """Latent values at the mode (N, C), gradients there (N, C), and the log evidence."""

    f: FloatArray
    a: FloatArray
    log_evidence: float


def laplace(gram: FloatArray, y: IntArray, pi: FloatArray, weight: float = 1.0) -> Laplace:
    """Laplace's method for a softmax of Gaussian processes, on one matrix of (NC)^2 numbers.

    Every row has the same weight. Of two classes the second has no function.
    """
    N, C = len(y), len(pi)
    free = [1.0, 0.0] if C == 2 else [1.0] * C
    K = np.kron(np.diag(free), gram)
    T = np.eye(C)[y].T.ravel()
    a = np.zeros(N * C)
    for _ in range(40):
        log_P = log_softmax((K @ a).reshape(C, N).T + np.log(pi), axis=1)
        P = np.exp(log_P).T  # (C, N)
        W = np.diag(P.ravel()) - np.block(
            [[np.diag(P[i] * P[j]) for j in range(C)] for i in range(C)]
        )
        W *= weight
        # Newton's method, whose fixed point is a = T - P
        a = np.linalg.solve(np.eye(N * C) + W @ K, W @ K @ a + weight * (T - P.ravel()))
    log_likelihood = weight * log_P[np.arange(N), y].sum()
    log_det = np.linalg.slogdet(np.eye(N * C) + W @ K)[1]
    f = (K @ a).reshape(C, N).T
    log_evidence = log_likelihood - 0.5 * float(a @ K @ a) - 0.5 * log_det
    return Laplace(f, a.reshape(C, N).T * free, float(log_evidence))


# --- mode and evidence ---


def test_two_classes_are_a_gaussian_process_classifier(
    exact: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gaussian_processes, "GAIN_TOLERANCE", 1e-14)
    X, y = classes_that_overlap(40)
    kernel, variance = RBFKernel(0.5), 3.0
    model = at_variance(monkeypatch, variance, kernel, X, y)
    gram = covariance_of_functions(kernel, variance, X)
    zero = np.zeros((2, len(y)))
    latent, log_evidence = latent_mode(
        gram,
        y,
        np.arange(2),
        np.array([True, False]),
        Latent(zero, zero, np.ones(2), np.eye(2)[y]),
        from_start=True,
    )
    P_c = np.exp(log_softmax(latent.f.T, axis=1))
    np.testing.assert_allclose(model.P_c, P_c, atol=1e-6)
    assert model.log_evidence == pytest.approx(log_evidence, abs=1e-5)


@every_kernel
@pytest.mark.parametrize("n_samples", [24, 25])
@two_and_three_classes
def test_mode_and_evidence_are_those_of_laplaces_method(
    exact: None, monkeypatch: pytest.MonkeyPatch, n_classes: int, n_samples: int, kernel: Kernel
) -> None:
    X, y = classes_that_overlap(n_samples, n_classes)
    model = at_variance(monkeypatch, 2.0, kernel, X, y)
    pi = np.bincount(y) / len(y)
    expected = laplace(covariance_of_functions(kernel, 2.0, X), y, pi)
    P_c = np.exp(log_softmax(expected.f + np.log(pi), axis=1))
    np.testing.assert_allclose(model.P_c, P_c, atol=1e-6)
    assert model.log_evidence == pytest.approx(expected.log_evidence, abs=1e-5)


# --- leaving out rows ---


@every_kernel
@two_and_three_classes
@pytest.mark.parametrize("weight", [1.0, 0.5, 0.1])
def test_leaving_out_by_one_newton_step_is_close_to_learning_again(
    exact: None, monkeypatch: pytest.MonkeyPatch, weight: float, n_classes: int, kernel: Kernel
) -> None:
    X, y = classes_that_overlap(24, n_classes)
    model = at_variance(monkeypatch, 2.0, kernel, X, y, weight)
    gram, pi = covariance_of_functions(kernel, 2.0, X), np.bincount(y) / len(y)
    loss = 0.0
    for n in range(len(y)):
        others = np.arange(len(y)) != n
        without = laplace(gram[np.ix_(others, others)], y[others], pi, weight)
        f = gram[n, others] @ without.a
        loss -= weight * log_softmax(f + np.log(pi))[y[n]]
    assert model.loss == pytest.approx(loss, rel=0.04)
    # and far from the loss on the rows that were learned
    assert model.loss > -1.05 * weight * np.log(model.P_c[np.arange(len(y)), y]).sum()


@pytest.mark.parametrize("kept", [0.3, 1.0], ids=["few", "many"])
@pytest.mark.parametrize("form", FORMS)
def test_latent_covariances_are_quadratic_forms_in_the_inverse_precision(
    form: str, kept: float
) -> None:
    problem = random_problem(3, form, kept=kept)
    rows, whitening, mixture = problem.rows, problem.whitening, problem.mixture()
    system = newton_point(rows, whitening, mixture, problem.theta, None)
    curvature = derivatives_of_rows(rows, mixture, None, whitening).curvature
    _, _, Gt, P_cm = row_space_derivatives(rows, mixture, None, whitening)
    dense = system._replace(precision=DensePrecision.from_curvature(curvature))
    in_rows = system._replace(
        precision=RowSpacePrecision.from_rows(Gt, P_cm, whitening.coordinates)
    )
    covariance = np.linalg.inv(np.eye(len(curvature)) + curvature)
    G, blocks = rows.Z @ whitening.L, whitening.coordinates
    expected = np.zeros((len(rows), len(blocks), len(blocks)))
    for n in range(len(rows)):
        for k, one in enumerate(blocks):
            for j, other in enumerate(blocks):
                expected[n, k, j] = G[n, one] @ covariance[one, other] @ G[n, other]
    for each in (dense, in_rows):
        np.testing.assert_allclose(
            latent_covariances(rows, each, whitening), expected, rtol=1e-6, atol=1e-8
        )


@pytest.mark.parametrize("leverage", [0.5, 0.999, 1.0, 1.0 + 1e-9, 3.0])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_a_row_that_is_left_out_is_never_better_explained(n_classes: int, leverage: float) -> None:
    # the largest eigenvalue of covariance x curvature is one where a row alone decides its values,
    # and rounding may lead beyond
    rng = np.random.default_rng(n_classes)
    N = 20
    y = rng.integers(n_classes, size=N)
    f = rng.normal(size=(N, n_classes))
    P_c = np.exp(log_softmax(f, axis=1))
    roots = rng.normal(size=(N, n_classes, n_classes))
    covariance = roots @ roots.transpose(0, 2, 1)
    for n, p in enumerate(P_c):
        largest = np.linalg.eigvals(covariance[n] @ (np.diag(p) - np.outer(p, p))).real.max()
        covariance[n] *= leverage / largest
    loss = leave_one_out_loss(Rows(np.ones((N, 1)), y, np.ones(N)), f, P_c, covariance)
    assert np.isfinite(loss).all()
    assert (loss >= -np.log(P_c[np.arange(N), y]) - 1e-9).all()


def test_a_row_from_which_nothing_was_learned_keeps_its_loss() -> None:
    rows = Rows(np.ones((1, 1)), np.array([1]), np.ones(1))
    P_c = np.array([[0.3, 0.7]])
    loss = leave_one_out_loss(rows, np.log(P_c), P_c, np.zeros((1, 2, 2)))
    np.testing.assert_allclose(loss, -np.log(0.7))


# --- choice of the variance ---


@every_kernel
@two_and_three_classes
@pytest.mark.parametrize("seed", range(2))
def test_the_variance_has_the_highest_evidence_of_its_grid(
    exact: None, monkeypatch: pytest.MonkeyPatch, seed: int, n_classes: int, kernel: Kernel
) -> None:
    X, y = classes_that_overlap(60, n_classes, seed=seed)
    chosen = dense_model("chosen", kernel, X, y, np.ones(len(y)))
    grid = [at_variance(monkeypatch, v, kernel, X, y) for v in VARIANCES]
    best = max(grid, key=lambda model: model.log_evidence)
    assert chosen.log_evidence == pytest.approx(best.log_evidence, abs=1e-6)
    np.testing.assert_allclose(chosen.P_c, best.P_c, atol=1e-5)


# --- what must not change a model ---


@every_kernel
@two_and_three_classes
def test_weight_two_is_the_row_twice(exact: None, n_classes: int, kernel: Kernel) -> None:
    X, y = classes_that_overlap(40, n_classes)
    s = np.random.default_rng(1).integers(1, 4, size=len(y))
    weighted = dense_model("weighted", kernel, X, y, s.astype(float))
    repeated = dense_model("repeated", kernel, X.repeat(s, axis=0), y.repeat(s), np.ones(s.sum()))
    np.testing.assert_allclose(weighted.P_c.repeat(s, axis=0), repeated.P_c, atol=1e-6)
    assert weighted.log_evidence == pytest.approx(repeated.log_evidence, abs=1e-5)
    assert weighted.loss == pytest.approx(repeated.loss, rel=1e-6)


@every_kernel
@two_and_three_classes
def test_order_of_rows_does_not_matter(exact: None, n_classes: int, kernel: Kernel) -> None:
    X, y = classes_that_overlap(40, n_classes)
    rng = np.random.default_rng(1)
    s, order = rng.uniform(0.5, 2.0, size=len(y)), rng.permutation(len(y))
    one = dense_model("one", kernel, X, y, s)
    other = dense_model("other", kernel, X[order], y[order], s[order])
    np.testing.assert_allclose(other.P_c, one.P_c[order], atol=1e-6)
    assert other.log_evidence == pytest.approx(one.log_evidence, abs=1e-5)
    assert other.loss == pytest.approx(one.loss, rel=1e-6)


@every_kernel
@two_and_three_classes
def test_order_of_classes_does_not_matter(exact: None, n_classes: int, kernel: Kernel) -> None:
    X, y = classes_that_overlap(41, n_classes)
    s = np.ones(len(y))
    one = dense_model("one", kernel, X, y, s)
    other = dense_model("other", kernel, X, n_classes - 1 - y, s)
    np.testing.assert_allclose(other.P_c[:, ::-1], one.P_c, atol=1e-6)
    assert other.log_evidence == pytest.approx(one.log_evidence, abs=1e-5)
    assert other.loss == pytest.approx(one.loss, rel=1e-6)


# --- several kernels ---


@given(
    n_samples=st.integers(6, 40),
    n_features=st.integers(1, 4),
    n_classes=st.integers(2, 3),
    seed=st.integers(0, 1000),
)
@settings(max_examples=10, deadline=None, derandomize=True)
def test_the_average_is_a_posterior_between_those_of_the_models(
    n_samples: int, n_features: int, n_classes: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    X = np.sort(rng.normal(size=(n_samples, n_features)), axis=0)
    s = rng.uniform(0.1, 3.0, size=n_samples)
    found = fit_reference(X, y, s)
    generative = generative_models(X, y, s)
    parts = [model.P_c for model in found.models] + [model.P_c for model in generative]
    assert 0.0 <= found.generative_share <= (1.0 if generative else 0.0)
    for P in (found.P_c, *parts):
        np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-9)
    assert (found.P_c >= np.min(parts, axis=0) - 1e-12).all()
    assert (found.P_c <= np.max(parts, axis=0) + 1e-12).all()
    assert all(np.isfinite([model.log_evidence, model.loss]).all() for model in found.models)
    scores = [model.score for model in found.models]
    assert scores == sorted(scores, reverse=True)


def test_columns_that_do_not_vary_change_nothing() -> None:
    X, y = classes_that_overlap(60)
    s = np.ones(60)
    plain, padded = fit_reference(X, y, s), fit_reference(np.insert(X, [0, 2], 0.0, axis=1), y, s)
    np.testing.assert_array_equal(plain.P_c, padded.P_c)
    assert [model.kernel for model in plain.models] == [model.kernel for model in padded.models]


def test_without_any_column_that_varies_the_shares_of_the_classes_are_left() -> None:
    y = np.arange(40) % 4 // 3
    found = fit_reference(np.zeros((40, 2)), y, np.ones(40))
    np.testing.assert_allclose(found.P_c, np.tile([0.75, 0.25], (40, 1)), atol=1e-3)


def brute_force_shares(log_left_out: FloatArray, s: FloatArray, prior: FloatArray) -> FloatArray:
    """The best shares of three models on a fine grid."""
    grid = np.linspace(0.0, 1.0, 101)
    a, b = (each.ravel() for each in np.meshgrid(grid, grid))
    shares = np.stack([a, b, 1.0 - a - b], axis=1)[a + b <= 1.0 + 1e-12]
    shares = np.clip(shares, 1e-12, 1.0)
    value = np.log(shares @ np.exp(log_left_out)) @ s + np.log(shares) @ prior
    best: FloatArray = shares[value.argmax()]
    return best


@pytest.mark.parametrize("seed", range(3))
def test_shares_make_the_most_of_rows_left_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    log_left_out = np.log(rng.uniform(0.05, 1.0, size=(3, 40)))
    s = rng.uniform(0.5, 2.0, size=40)
    log_prior = rng.normal(size=3)
    prior = PRIOR_ROWS * np.exp(log_prior) / np.exp(log_prior).sum()
    found = stacked_shares(log_left_out, s, log_prior)
    assert found.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found, brute_force_shares(log_left_out, s, prior), atol=0.02)


def test_models_that_agree_share_as_their_scores_say() -> None:
    log_prior = np.array([0.0, -1.0, -2.0])
    found = stacked_shares(np.full((3, 50), -0.3), np.ones(50), log_prior)
    expected = np.exp(log_prior) / np.exp(log_prior).sum()
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_two_models_that_err_on_different_rows_share() -> None:
    good, bad = np.full(30, -0.05), np.full(30, -2.0)
    log_left_out = np.array([np.r_[good, bad], np.r_[bad, good], np.full(60, -1.5)])
    found = stacked_shares(log_left_out, np.ones(60), np.array([0.0, -5.0, -5.0]))
    assert found[1] > 0.3
    assert found[2] < 0.05


def test_a_linear_boundary_prefers_the_linear_kernel() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = (X @ np.array([2.0, -1.0, 1.0, 0.0, 0.0]) + rng.logistic(size=200) > 0.0).astype(int)
    found = fit_reference(X, y, np.ones(200))
    assert found.models[0].name == "linear"


def test_circles_prefer_a_curved_kernel_by_far() -> None:
    X, y = make_circles(120, noise=0.1, factor=0.5, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    found = fit_reference(X, y, np.ones(len(y)))
    assert found.models[0].name.startswith(("rbf", "quadratic"))
    linear = found.best("linear")
    assert linear is not None and linear.score < found.models[0].score - 20.0
    assert ((found.P_c.argmax(axis=1)) == y).mean() > 0.95


def test_one_gaussian_per_class_is_known_to_the_gaussian_mixtures() -> None:
    # the boundary of two correlated Gaussians in many dimensions: few rows for a dense model
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    roots = rng.normal(size=(2, 5, 5))
    X = np.stack([roots[c] @ rng.normal(size=5) for c in y])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    found = fit_reference(X, y, np.ones(len(y)))
    assert found.generative_share > 0.5


def test_best_is_the_highest_score_of_its_kind() -> None:
    X, y = classes_that_overlap(40)
    found = fit_reference(X, y, np.ones(len(y)))
    for kind in ("linear", "quadratic", "rbf"):
        scores = [model.score for model in found.models if model.name.startswith(kind)]
        best = found.best(kind)
        assert best is not None and best.score == max(scores)
    assert found.best("cubic") is None


@pytest.mark.parametrize("scale", [0.2, 1.0, 4.0])
def test_the_search_for_an_rbf_scale_finds_the_best_of_all(scale: float) -> None:
    # stripes of several widths
    X = np.random.default_rng(0).uniform(-1.7, 1.7, size=(80, 2))
    y = (np.sin(scale * 2.0 * X[:, 0]) > 0.0).astype(int)
    s = np.ones(len(y))
    found = max(model.score for model in rbf_models(X, y, s))
    for each in reference.RBF_SCALES:
        assert dense_model("each", RBFKernel(each / 2), X, y, s).score <= found + 1e-9


@every_kernel
def test_the_factor_gives_the_kernel_matrix_back(kernel: Kernel) -> None:
    X, _ = classes_that_overlap(60)
    gram = kernel.gram(X, X)
    Z = kernel_factor(kernel, X, 400)
    np.testing.assert_allclose(Z @ Z.T, gram, atol=FACTOR_TOLERANCE * gram.max())
    assert kernel_factor(RBFKernel(50.0), X, 7).shape[1] <= 7
