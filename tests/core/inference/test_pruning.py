"""Claims about which components leave, and weights that say nothing that others do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgm._typing import FloatArray
from sdgm.core.inference.evidence import log_evidence
from sdgm.core.inference.recipe import FAST, PAPER
from sdgm.core.inference.relevance import prune_components, relative_to_one_component
from sdgm.core.inference.variations import with_few_weights
from sdgm.core.model.posterior import class_log_posterior, component_log_posterior
from sdgm.core.model.state import State
from sdgm.core.solvers.newton import log_posterior, maximize_over_w
from tests.reference.problems import Problem, dense_weights, random_problem

# --- columns that all components use ---


@settings(deadline=None)
@given(
    n_components=st.integers(2, 4),
    n_columns=st.integers(1, 5),
    share=st.floats(0.5, 1.0),
    seed=st.integers(0, 1000),
)
def test_reference_component_changes_no_posterior_and_saves_a_weight_per_common_column(
    n_components: int, n_columns: int, share: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    active = rng.random((n_components, n_columns)) < share
    component, column = np.nonzero(active)
    state = State(
        w=rng.normal(size=len(column)),
        alpha=10.0 ** rng.uniform(-2, 2, size=len(column)),
        component=component,
        column=column,
        pi=rng.uniform(0.1, 1.0, size=n_components),
        component_class=np.arange(n_components),
    )
    relative = relative_to_one_component(state)
    Phi = rng.normal(size=(9, n_columns))
    np.testing.assert_allclose(class_posterior(relative, Phi), class_posterior(state, Phi))
    assert relative.n_weights == state.n_weights - active.all(axis=0).sum()
    left = np.zeros_like(active)
    left[relative.component, relative.column] = True
    assert not left.all(axis=0).any()
    # columns that some component does without stay as they are
    for h in np.flatnonzero(~active.all(axis=0)):
        np.testing.assert_array_equal(relative.w[relative.column == h], state.w[column == h])
        np.testing.assert_allclose(relative.alpha[relative.column == h], state.alpha[column == h])


def test_reference_is_the_component_of_the_smallest_weight_and_the_last_among_equals() -> None:
    state = state_of([1.0, 1.0, 1.0], [0, 1, 2], [2, 2, 2])
    w = np.array([3.0, 1.0, -2.0, -1.0, 2.5, 1.0 + 1e-9])
    relative = relative_to_one_component(replace(state, w=w))
    np.testing.assert_array_equal(relative.component, [0, 0, 1, 2])
    np.testing.assert_allclose(
        dense_weights(relative, 2), [[5.0, 0.0], [0.0, -2.0], [4.5, 0.0]], atol=1e-8
    )


def test_reference_component_keeps_the_evidence_of_two_components() -> None:
    problem = random_problem(0, "full", kept=1.0, n_components=(1, 1))

    def evidence_at_mode(problem: Problem) -> float:
        mode, _ = maximize_over_w(
            problem.rows,
            problem.whitening,
            problem.mixture(),
            problem.theta,
            max_steps=50,
            tol=1e-14,
            r_from=None,
        )
        return log_evidence(log_posterior(mode.fit, mode.theta, complete=True), mode.precision)

    relative = replace(problem, state=relative_to_one_component(problem.state))
    assert relative.state.n_weights == 6 < problem.state.n_weights
    assert evidence_at_mode(relative) == pytest.approx(evidence_at_mode(problem), rel=1e-8)


def test_pruning_makes_one_component_the_reference_once_weights_are_few() -> None:
    state = state_of([0.5, 0.5, 1.0], [0, 0, 1], [1, 2, 1])  # all use column 0
    pruned = FAST.method.prune(state)
    assert pruned.n_weights == 3
    Phi = np.random.default_rng(0).normal(size=(9, 2))
    np.testing.assert_allclose(class_posterior(pruned, Phi), class_posterior(state, Phi))
    assert PAPER.method.prune(state) is state
    assert with_few_weights(FAST, 1).method.prune(state) is state


# --- components ---


def state_of(
    pi: list[float], component_class: list[int], n_weights: list[int], seed: int = 0
) -> State:
    rng = np.random.default_rng(seed)
    return State(
        w=rng.normal(size=sum(n_weights)),
        alpha=rng.uniform(0.5, 2.0, size=sum(n_weights)),
        component=np.repeat(np.arange(len(pi)), n_weights),
        column=np.concatenate([np.arange(n) for n in n_weights] + [np.arange(0)]).astype(int),
        pi=np.array(pi),
        component_class=np.array(component_class),
    )


def class_posterior(state: State, Phi: FloatArray) -> FloatArray:
    scores = np.log(state.pi) + Phi @ dense_weights(state, Phi.shape[1]).T
    n_classes = state.component_class[-1] + 1
    return np.exp(
        class_log_posterior(component_log_posterior(scores), state.component_class, n_classes)
    )


@settings(deadline=None)
@given(
    n_weights=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=2, max_size=4),
    seed=st.integers(0, 1000),
)
def test_merging_constant_components_leaves_the_class_posteriors_as_they_are(
    n_weights: list[list[int]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    component_class = [c for c, own in enumerate(n_weights) for _ in own]
    pi = rng.uniform(0.1, 1.0, size=len(component_class))
    state = state_of(pi.tolist(), component_class, [n for own in n_weights for n in own], seed)
    pruned = prune_components(state, min_share=1e-5)
    Phi = rng.normal(size=(9, 3))
    np.testing.assert_allclose(class_posterior(pruned, Phi), class_posterior(state, Phi))
    # at most one without weights per class, and nothing with weights has gone
    constant = np.diff(pruned.starts) == 0
    expected = [sum(n > 0 for n in own) + (0 in own) for own in n_weights]
    assert np.bincount(pruned.component_class).tolist() == expected
    assert np.bincount(pruned.component_class[constant], minlength=1).max() <= 1
    np.testing.assert_array_equal(pruned.w, state.w)
    np.testing.assert_allclose(
        np.bincount(pruned.component_class, pruned.pi), np.bincount(component_class, pi)
    )


def test_component_without_samples_leaves_with_its_weights() -> None:
    state = state_of([0.6, 0.4, 1e-7, 0.5, 0.5], [0, 0, 1, 1, 1], [2, 1, 3, 1, 2])
    pruned = prune_components(state, min_share=1e-5)
    np.testing.assert_array_equal(pruned.component_class, [0, 0, 1, 1])
    np.testing.assert_array_equal(pruned.pi, [0.6, 0.4, 0.5, 0.5])
    np.testing.assert_array_equal(pruned.component, [0, 0, 1, 2, 3, 3])
    kept = state.component != 2
    np.testing.assert_array_equal(pruned.w, state.w[kept])
    np.testing.assert_array_equal(pruned.alpha, state.alpha[kept])
    np.testing.assert_array_equal(pruned.column, state.column[kept])


def test_share_of_a_component_is_counted_within_its_class() -> None:
    # a class of one sample in a million is not empty
    state = state_of([0.5, 0.499999, 5e-7, 5e-7], [0, 0, 1, 1], [1, 1, 1, 1])
    assert prune_components(state, min_share=1e-5) is state


def test_constant_component_without_samples_takes_no_other_with_it() -> None:
    state = state_of([1.0, 0.0, 0.4, 0.6], [0, 1, 1, 1], [1, 0, 0, 2])
    pruned = prune_components(state, min_share=1e-5)
    np.testing.assert_array_equal(pruned.pi, [1.0, 0.4, 0.6])
    np.testing.assert_array_equal(np.diff(pruned.starts), [1, 0, 2])


def test_constant_component_without_samples_is_not_merged_but_leaves() -> None:
    state = state_of([0.5, 0.5, 0.0, 1.0], [0, 0, 1, 1], [0, 0, 0, 2])
    pruned = prune_components(state, min_share=1e-5)
    np.testing.assert_array_equal(pruned.pi, [1.0, 1.0])
    np.testing.assert_array_equal(pruned.component_class, [0, 1])
    np.testing.assert_array_equal(pruned.component, [1, 1])


def test_constant_components_of_different_classes_are_not_merged() -> None:
    state = state_of([1.0, 1.0, 1.0], [0, 1, 2], [0, 0, 1])
    assert prune_components(state, min_share=1e-5).n_components == 3
