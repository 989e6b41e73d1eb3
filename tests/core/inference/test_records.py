"""Claims about what is written down of every outer pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sdgm.core.inference.recipe import PAPER, Recipe
from sdgm.core.model.state import Record
from tests.reference.problems import Problem
from tests.reference.tasks import BOTH, task


@BOTH
def test_records_tell_what_each_pass_did(recipe: Recipe) -> None:
    seen: list[Record] = []
    given = task(recipe, "poly", max_iter=8)

    def look(record: Record) -> None:
        seen.append(record)

    result = given.recipe.learn(given.rows, given.Rt, given.state, look, keep_states=True)
    assert seen == result.records
    assert [record.iteration for record in seen] == list(range(1, len(seen) + 1))
    seconds = [record.seconds for record in seen]
    assert seconds == sorted(seconds) and seconds[0] > 0
    for record in seen:
        assert record.state is not None
        assert record.n_weights == record.state.n_weights
        assert record.n_components == record.state.n_components
        assert record.newton_steps >= 1
        assert record.log_likelihood < 0 and record.log_posterior < record.log_likelihood
        assert np.isfinite(record.log_evidence)
    assert seen[-1].state is result.state
    plain = given.recipe.learn(given.rows, given.Rt, given.state)
    assert all(record.state is None for record in plain.records)


def test_records_hold_the_dense_log_likelihood_log_posterior_and_log_evidence() -> None:
    given = task(PAPER, learn_alpha=False, max_iter=3, r_tol=1e-12, max_passes=5000, weighted=True)
    records = given.learn().records
    before, after = records[-2].state, records[-1].state
    assert before is not None and after is not None
    # the last pass had the pi before and found the w after
    problem = Problem(given.Phi, given.rows, given.Rt, replace(before, w=after.w))
    w, alpha = after.w, before.alpha
    penalty = 0.5 * alpha @ w**2
    assert records[-1].log_likelihood == pytest.approx(problem.log_likelihood(w), rel=1e-9)
    assert records[-1].log_posterior == pytest.approx(problem.log_likelihood(w) - penalty, rel=1e-9)
    evidence = (
        problem.J(w, problem.r(w))
        - penalty
        + 0.5 * np.log(alpha).sum()
        - 0.5 * np.linalg.slogdet(problem.precision(w)).logabsdet
    )
    assert records[-1].log_evidence == pytest.approx(evidence, rel=1e-6)
