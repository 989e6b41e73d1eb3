"""Gaussian classes, every case left out exactly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sdgm.ensemble.gaussians import ORIGIN_ROWS, Moments
from sdgm.ensemble.rows import labelled_rows
from tests.ensemble.problems import random_rows, without


@pytest.mark.parametrize("shared", [True, False])
def test_a_case_left_out_is_scored_as_by_a_fit_without_it(shared: bool) -> None:
    rows = random_rows()
    moments = Moments(rows.X, rows, shared=shared)
    F = moments.left_out(0.2)
    for case in range(len(rows.cases)):
        rest = without(rows, case)
        fit = Moments(rest.X, rest, shared=shared, sphere=moments.sphere).model(0.2)
        scores = fit.scores(rows.X[rows.cases.row[case]][None])[0]
        difference = scores - F[case]
        np.testing.assert_allclose(difference - difference.mean(), 0.0, atol=1e-10)


def test_scores_are_the_log_densities_of_the_shrunken_gaussians() -> None:
    rows = random_rows(60)
    moments = Moments(rows.X, rows, shared=False)
    r, weight = 0.1, rows.s[:, None] * rows.Y
    F = moments.model(r).scores(rows.X)
    for c in range(3):
        X = np.vstack([rows.X, np.zeros(3)])
        w = np.append(weight[:, c], ORIGIN_ROWS)
        covariance = (1 - r) * np.cov(X.T, aweights=w, ddof=0) + r * moments.sphere * np.eye(3)
        density = stats.multivariate_normal(np.average(X, axis=0, weights=w), covariance)
        expected = density.logpdf(rows.X) + np.log(w.sum()) + 1.5 * np.log(2 * np.pi)
        np.testing.assert_allclose(F[:, c], expected)


def test_a_class_of_one_row_can_be_left_out() -> None:
    X = random_rows().X
    rows, _ = labelled_rows(X, np.eye(3)[[0, 0, 1] + [2] * (len(X) - 3)])
    for shared in (True, False):
        assert np.isfinite(Moments(rows.X, rows, shared=shared).left_out(0.01)).all()
