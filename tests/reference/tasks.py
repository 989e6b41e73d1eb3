"""Small learning tasks, and how their results are compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from sdgm._typing import FloatArray, LabelArray
from sdgm.core.data.rows import Rows
from sdgm.core.inference.initialization import initial_state
from sdgm.core.inference.learning import Result, class_shares
from sdgm.core.inference.recipe import FAST, PAPER, Recipe
from sdgm.core.model.posterior import class_log_posterior, component_log_posterior
from sdgm.core.model.state import State
from sdgm.core.objective.derivatives import class_weights
from tests.reference.problems import (
    dense_weights,
    design_of,
    random_responsibilities,
    random_rows,
)
from tests.reference.recipes import changed

M = (2, 1, 3)
BOTH = pytest.mark.parametrize("recipe", [PAPER, FAST], ids=["paper", "fast"])


@dataclass(frozen=True)
class Task:
    """Everything that learning is given."""

    Phi: FloatArray
    rows: Rows
    Rt: FloatArray
    state: State
    recipe: Recipe

    def learn(self, **changes: Any) -> Result:
        recipe = changed(self.recipe, **changes)
        return recipe.learn(self.rows, self.Rt, recipe.begun(self.state), keep_states=True)

    def on(self, rows: Rows) -> Task:
        """The same task on other rows."""
        return replace(self, rows=rows)


def task(
    recipe: Recipe,
    form: str = "full",
    *,
    seed: int = 0,
    N: int = 60,
    n_components: tuple[int, ...] = M,
    weighted: bool = False,
    **changes: Any,
) -> Task:
    """Blobs, random responsibilities and zero weights."""
    rng = np.random.default_rng(seed)
    recipe = changed(recipe, **changes)
    X, y = random_rows(rng, N, len(n_components))
    Phi, design = design_of(form, X)
    s = rng.integers(1, 4, size=N).astype(float) if weighted else np.ones(N)
    if recipe.preparation.scale_columns:
        design = design.scaled(s)
    state = start_of(recipe, Phi.shape[1], np.array(n_components), y, s)
    r0 = random_responsibilities(rng, y, n_components)
    return Task(Phi / design.scale, Rows(design.Z, y, s, r0), design.Rt, state, recipe)


def start_of(
    recipe: Recipe, n_columns: int, n_components: np.ndarray, y: LabelArray, s: FloatArray
) -> State:
    """Zero weights, as the recipe prepares them."""
    preparation = recipe.preparation
    return initial_state(
        n_columns,
        n_components,
        shares(recipe, y, s),
        alpha=preparation.alpha,
        pinned=preparation.pinned,
    )


def shares(recipe: Recipe, y: LabelArray, s: FloatArray) -> FloatArray:
    """What pi sums to within each class."""
    return class_shares(class_weights(y, s), recipe.method.class_prior)


def class_posterior(Phi: FloatArray, state: State) -> FloatArray:
    scores = np.log(state.pi) + Phi @ dense_weights(state, Phi.shape[1]).T
    n_classes = int(state.component_class[-1]) + 1
    return np.exp(
        class_log_posterior(component_log_posterior(scores), state.component_class, n_classes)
    )


def assert_same_state(one: State, other: State, tol: float = 1e-8) -> None:
    np.testing.assert_array_equal(one.component, other.component)
    np.testing.assert_array_equal(one.column, other.column)
    np.testing.assert_array_equal(one.component_class, other.component_class)
    np.testing.assert_allclose(one.w, other.w, rtol=tol, atol=tol * np.abs(other.w).max(initial=1))
    np.testing.assert_allclose(one.alpha, other.alpha, rtol=100 * tol)
    np.testing.assert_allclose(one.pi, other.pi, rtol=tol)
