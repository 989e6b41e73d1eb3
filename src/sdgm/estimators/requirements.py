"""Whether there is enough memory to learn; columns call `require_memory` themselves."""

from __future__ import annotations

import numpy as np

from sdgm.core.inference.recipe import Recipe
from sdgm.core.inference.variations import with_solver
from sdgm.core.solvers.select import Solver
from sdgm.estimators.plan import Plan
from sdgm.estimators.problem import Problem
from sdgm.scale.memory import (
    available_memory,
    covariance_bytes,
    factor_bytes,
    learning_bytes,
    n_free,
    require_memory,
)
from sdgm.scale.threads import sharing_threads


def require_learning(problem: Problem, plan: Plan, n_columns: int, rank: int) -> None:
    """Refuse to learn with this number of columns of this rank, if that cannot fit in memory."""
    K, recipe = int(problem.n_components.sum()), problem.recipe

    def need(recipe: Recipe) -> float:
        size = largest_matrix_of(problem, rank, recipe)
        n_threads = sharing_threads(len(problem.y), size)
        n_classes = len(problem.n_components)
        return learning_bytes(problem.X.shape, n_columns, rank, K, n_classes, recipe, n_threads)

    n_bytes, available = need(recipe), available_memory()
    if n_bytes > available:
        remedies = smaller(problem, plan)
        by_blocks = need(with_solver(recipe, Solver.BLOCK))
        if "solver" in plan.parameters and by_blocks < min(n_bytes, available):
            remedies.append("solver='block'")
        what = f"Fitting {K} components x {n_columns} columns of rank {rank}"
        require_memory(n_bytes, what, remedies)
    n_weights = n_free(K, recipe) * n_columns
    # all of them stay, and the choice between them needs their covariance
    if plan.max_weights is not None and not recipe.learns_alpha:
        what = f"The covariance of {n_weights} weights"
        require_memory(covariance_bytes(n_weights), what, smaller(problem, plan))


def require_rank(problem: Problem, plan: Plan, n_columns: int, rank: int) -> None:
    """Refuse a kernel whose rank turns out to be at least this, if that cannot fit in memory."""
    N, D = problem.X.shape
    what = f"The kernel matrix of {N} rows, of rank {rank} and more,"
    require_memory(factor_bytes(N, D, rank), what, smaller(problem, plan))
    require_learning(problem, plan, n_columns, rank)


def smaller(problem: Problem, plan: Plan) -> list[str]:
    """Words for what would make the problem smaller."""
    can_have_fewer = "n_components" in plan.parameters and int(problem.n_components.max()) > 1
    return plan.form.remedies() + ["fewer components"] * can_have_fewer


def largest_matrix(problem: Problem, rank: int) -> int:
    """Rows of the largest matrix of Newton's method, with a design of this rank."""
    return largest_matrix_of(problem, rank, problem.recipe)


def largest_matrix_of(problem: Problem, rank: int, recipe: Recipe) -> int:
    """The same with another recipe; with blocks there is one matrix per component."""
    K = int(problem.n_components.sum())
    solver = recipe.method.find_mode.solver
    blocks = solver.uses_blocks(len(problem.y), np.full(K, float(rank)), rank)
    return rank if blocks else K * rank
