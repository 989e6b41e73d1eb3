"""Claims about the middle and the innermost loop: r and w, with alpha and pi held."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from sdgm.core.inference.recipe import FAST, PAPER, Recipe
from sdgm.core.inference.variations import with_few_weights
from sdgm.core.objective.derivatives import fit_of_rows, mean_change_of_r
from sdgm.core.objective.whitening import whiten
from sdgm.core.solvers.newton import log_posterior
from tests.reference.problems import FORMS, dense_weights
from tests.reference.recipes import changed
from tests.reference.tasks import BOTH, task


@pytest.mark.parametrize("form", FORMS)
def test_every_pass_of_the_r_loop_from_the_second_on_raises_the_observed_log_posterior(
    form: str,
) -> None:
    given = task(PAPER, form, N=40, weighted=True)
    whitening = whiten(given.Rt, given.state)
    values = []
    for n_passes in range(1, 9):
        find_mode = changed(PAPER, max_passes=n_passes, r_tol=0.0).method.find_mode
        point = find_mode(given.rows, whitening, given.state).point
        values.append(log_posterior(point.fit, point.theta, complete=False))
    rise = np.diff(values)
    assert (rise >= -1e-9 * np.abs(values[-1])).all()
    assert rise[0] > 1e-3


def test_r_loop_ends_when_r_changes_little() -> None:
    given = task(PAPER, N=40)
    whitening = whiten(given.Rt, given.state)
    mixtures = [
        changed(PAPER, max_passes=n_passes, r_tol=0.0)
        .method.find_mode(given.rows, whitening, given.state)
        .point.mixture
        for n_passes in range(1, 30)
    ]
    started = given.rows.without_initial_r()
    changes = [mean_change_of_r(started, a, b) for a, b in pairwise(mixtures)]
    n_passes = 2 + next(i for i, change in enumerate(changes) if change < 0.003)
    assert n_passes > 3
    find_mode = changed(PAPER, r_tol=0.003).method.find_mode
    end = find_mode(given.rows, whitening, given.state).point
    np.testing.assert_array_equal(end.mixture.V, mixtures[n_passes - 1].V)


@BOTH
def test_first_pass_takes_r_from_the_start_and_tells_components_apart(recipe: Recipe) -> None:
    given = task(recipe, max_iter=1, n_components=(3, 3), pinned=False, learn_alpha=False)
    told, untold = given.learn().state, given.on(given.rows.without_initial_r()).learn().state
    dense_told, dense_untold = dense_weights(told, 6), dense_weights(untold, 6)
    assert np.abs(dense_told[0] - dense_told[1]).max() > 1e-3
    # without it, components that start equal stay equal
    np.testing.assert_allclose(dense_untold[0], dense_untold[1], atol=1e-12)


# --- what is told of the mode ---


@BOTH
def test_r_is_summed_by_the_model_there_once_the_start_is_behind(recipe: Recipe) -> None:
    given = task(recipe, weighted=True)
    rows, whitening = given.rows.without_initial_r(), whiten(given.Rt, given.state)
    mode = given.recipe.method.find_mode(rows, whitening, given.state)
    expected = fit_of_rows(rows, mode.point.mixture, None).r_sum
    np.testing.assert_allclose(mode.r_sum, expected, rtol=1e-12)
    assert not mode.has_initial_r
    assert given.recipe.method.find_mode(given.rows, whitening, given.state).has_initial_r


def test_a_few_steps_near_the_mode_and_the_final_phase_reaches_it() -> None:
    given = task(FAST)
    rows, whitening = given.rows.without_initial_r(), whiten(given.Rt, given.state)
    few, many = (with_few_weights(FAST, n).method.find_mode for n in (0, 100))
    near, there = (find_mode(rows, whitening, given.state) for find_mode in (few, many))
    assert near.n_steps <= FAST.method.find_mode.max_steps
    assert there.is_reached and there.point.gain <= FAST.method.find_mode.tol
    assert there.n_steps >= near.n_steps
