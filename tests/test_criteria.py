"""The mathematics behind the study of selection criteria."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons

from benchmarks.criteria.choices import halving, within_one_error
from benchmarks.criteria.laplace import (
    Mode,
    leave_one_out_losses,
    mode_of,
    observed_evidence,
    problem_of,
)
from benchmarks.criteria.starts import deletions, splits
from benchmarks.criteria.validation import responsibilities
from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.core.data.rows import Rows
from sdgm.core.model.posterior import class_log_posterior, component_log_posterior, scores
from sdgm.core.objective.derivatives import derivatives_of_rows
from sdgm.core.selection.reference import leave_one_out_loss
from sdgm.core.solvers.points import log_posterior

X, Y = make_moons(60, noise=0.3, random_state=0)


def fitted_mode(n_components: int) -> tuple[Mode, Rows, object]:
    model = KernelSDGMClassifier(n_components, kernel="poly", gamma=0.5, random_state=0).fit(X, Y)
    rows, state = problem_of(model, X, Y)
    return mode_of(rows, state), rows, state


def own_loss(mode: Mode, Z: np.ndarray, y: np.ndarray) -> np.ndarray:
    log_P_cm = component_log_posterior(scores(Z, mode.mixture.V, mode.mixture.log_pi))
    log_P_c = class_log_posterior(log_P_cm, mode.mixture.component_class, 2)
    return -log_P_c[np.arange(len(y)), y]


@pytest.mark.parametrize("n_components", [1, 3])
def test_one_newton_step_is_close_to_refits_without_each_row(n_components: int) -> None:
    mode, rows, state = fitted_mode(n_components)
    state = replace(state, w=mode.whitening.to_w(mode.theta))
    exact = []
    for n in range(len(rows)):
        others = np.delete(np.arange(len(rows)), n)
        without = Rows(np.asfortranarray(rows.Z[others]), rows.y[others], rows.s[others])
        row = slice(n, n + 1)
        exact.append(own_loss(mode_of(without, state), rows.Z[row], rows.y[row])[0])
    approximate = leave_one_out_losses(mode, observed=True)
    trained = own_loss(mode, rows.Z, rows.y)
    gap = np.mean(exact) - trained.mean()
    assert gap > 0.01  # there is something to get right
    assert abs(approximate.mean() - np.mean(exact)) < 0.2 * gap
    assert np.corrcoef(approximate - trained, np.array(exact) - trained)[0, 1] > 0.9


def test_without_mixtures_both_kinds_of_information_and_the_dense_model_agree() -> None:
    mode, rows, _ = fitted_mode(1)
    observed = leave_one_out_losses(mode, observed=True)
    np.testing.assert_allclose(leave_one_out_losses(mode, observed=False), observed, rtol=1e-8)
    values, vectors = mode.eigen(observed=True)
    G = rows.Z @ mode.whitening.L
    S = np.stack([G[:, k] @ vectors[k] for k in mode.whitening.coordinates], axis=1)
    covariance = (S / values) @ S.transpose(0, 2, 1)
    f = scores(rows.Z, mode.mixture.V, mode.mixture.log_pi)
    P_c = np.exp(component_log_posterior(f))
    expected = leave_one_out_loss(rows, f, P_c, covariance)
    np.testing.assert_allclose(observed, expected, rtol=1e-6)


def test_observed_evidence_has_the_curvature_of_the_log_posterior() -> None:
    mode, rows, _ = fitted_mode(3)
    m, h = len(mode.theta), 1e-5

    def gradient(theta: np.ndarray) -> np.ndarray:
        mixture = mode.mixture.at(mode.whitening.score_vectors(theta))
        return derivatives_of_rows(rows, mixture, None, mode.whitening).grad - theta

    steps = h * np.eye(m)
    columns = [gradient(mode.theta - d) - gradient(mode.theta + d) for d in steps]
    _, log_det = np.linalg.slogdet(np.array(columns) / (2 * h))
    log_evidence, raised = observed_evidence(mode)
    expected = log_posterior(mode.here.fit, mode.theta, complete=False) - 0.5 * log_det
    assert raised == 0
    assert log_evidence == pytest.approx(expected, rel=1e-5)


def test_moves_keep_each_row_in_its_own_class_and_change_one_count() -> None:
    model = SDGMClassifier(2, covariance_type="full", random_state=0).fit(X, Y)
    r = responsibilities(model, X, Y)
    counts = np.bincount(model.component_class_)
    points = model.model_.scaler.standardized(X)
    for step, moves in ((1, splits(model, points, r, 3)), (-1, deletions(model, points, r))):
        for new_counts, new in moves:
            assert sorted(new_counts - counts) == sorted([0, step])
            own = np.repeat([0, 1], new_counts) == Y[:, None]
            assert (new[~own] == 0).all() and (new.sum(axis=1) > 0).all()
            if step == 1:
                np.testing.assert_allclose(new.sum(axis=1), r.sum(axis=1))


def candidate(loss: list[float], weights: int, quarter: float = 0.0) -> dict[str, Any]:
    cv = {"losses": loss, "loss": float(np.mean(loss)), "weights": weights, "seconds": 1.0}
    part = {"loss": quarter, "seconds": 0.25}
    test = {"error": 0.1, "log_loss": 0.2, "weights": weights, "seconds": 1.0}
    return {"cv": [cv], "quarter": part, "half": part, **test}


def test_one_standard_error_takes_the_smaller_model_only_when_the_rows_cannot_tell() -> None:
    rng = np.random.default_rng(0)
    loss = rng.exponential(size=100)
    large = candidate(loss.tolist(), 30)
    always_worse = candidate((loss + 0.05).tolist(), 5)  # within the error, but on every row
    noisy = candidate((loss + rng.normal(0.0, 1.0, 100)).tolist(), 10)
    far = candidate((loss + 1.0).tolist(), 1)
    candidates = [large, always_worse, noisy, far]
    assert within_one_error(candidates, paired=False) is always_worse
    assert within_one_error(candidates, paired=True) is not always_worse


def test_halving_pays_for_all_rows_only_where_candidates_are_left() -> None:
    candidates = [candidate([float(i)] * 4, weights=i, quarter=-float(i)) for i in range(14)]
    chosen = halving(candidates)
    # the last 7 and then 4 are left; of these the lowest loss on all rows is chosen
    assert chosen.weights == 10
    assert chosen.fits == 3 * (14 + 7 + 4) + 1
    assert chosen.seconds == pytest.approx(0.25 * (14 + 7) + 4 + 1)
