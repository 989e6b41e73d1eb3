"""A sparse model that learns from a teacher: columns screened first, then learned jointly."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.inference.evidence import SettledOrIdle
from sdgm.core.inference.initialization import initial_state
from sdgm.core.inference.learning import Method, class_shares
from sdgm.core.inference.mode import EMGradient
from sdgm.core.inference.recipe import Recipe
from sdgm.core.inference.relevance import TwoPhase
from sdgm.core.inference.variations import for_sample, with_few_weights, with_finder
from sdgm.core.model.basis import Basis
from sdgm.core.model.design import Design
from sdgm.core.model.kernels import KernelBasis, KernelName
from sdgm.core.model.state import Record, State
from sdgm.core.objective.derivatives import class_weights
from sdgm.core.selection.screening import (
    Linearised,
    pool_of,
    screened_state,
    screening_bytes,
    unexplained,
)
from sdgm.estimators.budget import within_budget
from sdgm.estimators.distillation import Targets
from sdgm.estimators.fitting import fit_columns, fit_problem
from sdgm.estimators.label_ridge import label_ridge, labelled, n_centers, ridge_regression
from sdgm.estimators.parameters import components_per_class
from sdgm.estimators.plan import Plan
from sdgm.estimators.preparation import prepared_sample
from sdgm.estimators.problem import LARGEST_VALUE, Columns, Problem, Sample
from sdgm.estimators.requirements import smaller
from sdgm.estimators.run import Run
from sdgm.estimators.shared_columns import is_crowded, n_shared_columns, shared_fit
from sdgm.estimators.training import Fit
from sdgm.scale.memory import require_memory

# number of columns that each of several components of a class starts with
MIXED_COLUMNS = 40
# number of weights at which the final phase begins: minimum per component, and in total. With 48
# per component instead of 12, ten and eleven classes take twice the time, for a tenth fewer weights
FEW_PER_COMPONENT, FEW_WEIGHTS = 12, 96
# Newton steps per pass of the final phase: components that separate need very many, and the next
# pass continues
STEPS_TO_MODE = 10
# multiplications of a Newton step above which diagonal blocks are used, if they are much less work:
# with 200 classes learning takes a third of the time, with the same error
LITTLE_WORK = 1e9
# kernel scales that are compared, in units of the inverse squared size of the inputs, and the
# number of columns and of rows used
SCALES = (0.1, 0.3, 1.0, 3.0, 10.0)
SCALE_COLUMNS, SCALE_ROWS = 100, 1_000
# of the scales that leave at most so many times what the best leaves unexplained, the smoothest
# needs the fewest vectors; of an rbf kernel also of those that leave no more than may be lost
ENOUGH = 1.5
# the same where all classes share many columns. On 15,000 rows of letter (26 classes) the scale
# that `ENOUGH` allows has an error of 16.4%, this one 4.3%, and the best of `SCALES` 5.0%
NEARLY_BEST = 1.2


def student_recipe(recipe: Recipe, n_classes: int, *, several: bool) -> Recipe:
    """How a student learns: soft rows keep more weights than labels do."""
    if not recipe.learns_alpha:
        return recipe
    few = FEW_PER_COMPONENT if several else max(FEW_PER_COMPONENT, FEW_WEIGHTS // n_classes)
    recipe = for_sample(with_few_weights(recipe, few))
    settled, find_mode = recipe.method.has_converged, recipe.method.find_mode
    idle = SettledOrIdle(settled.tol, settled.squared_tol, settled.waits)
    recipe = replace(recipe, method=replace(recipe.method, has_converged=idle))
    if isinstance(find_mode, EMGradient):
        solver = replace(find_mode.solver, little_work=LITTLE_WORK)
        find_mode = replace(find_mode, steps_to_mode=STEPS_TO_MODE, solver=solver)
        recipe = with_finder(recipe, find_mode)
    return recipe


def student_fit(
    plan: Plan, targets: Targets, replicates: float, classes: np.ndarray[Any, Any], run: Run
) -> Fit:
    """A model that learned from targets, with each row counted ``replicates`` times.

    The more replicates, the closer to the teacher, and the more weights.
    """
    problem = student_problem(plan, targets, replicates, classes)
    if not problem.recipe.learns_alpha:
        return fit_problem(problem, plan, run)
    basis = plan.form.basis_at(problem, targets.n_rows)
    N, H = len(problem.X), 1 + len(basis)
    require_memory(
        screening_bytes(N, H), f"Screening {H} columns of {N} rows", smaller(problem, plan)
    )
    Phi, scale = unit_columns(basis, problem)
    rows = Linearised.around(problem.y, problem.s)
    share = class_shares(class_weights(problem.y, problem.s), True)
    method, several = problem.recipe.method, int(problem.n_components.max()) > 1
    assert isinstance(method, Method)
    state: State
    if several or not isinstance(method.update_alpha, TwoPhase):
        used = pool_of(Phi, rows, MIXED_COLUMNS if several else None)
        alpha = problem.recipe.preparation.alpha
        state = initial_state(len(used), problem.n_components, share, alpha=alpha)
    else:
        bounds = method.update_alpha.bounds
        pool = pool_of(Phi, rows)
        state = screened_state(Phi[:, pool], rows, share, (bounds.floor, bounds.cap))
        n_shared = min(n_shared_columns(targets.n_rows), H)
        has_rows = targets.n_rows >= plan.form.rows_per_shared_weight * n_shared * len(classes)
        if plan.may_share and has_rows and is_crowded(state):
            n = n_centers(targets.shape, plan)
            if n and targets.labels is not None:
                centers = plan.form.basis_at(problem, targets.n_rows, n)
                assert isinstance(centers, KernelBasis)
                return label_ridge(problem, centers, targets.labels, plan, run)
            used = pool_of(Phi, rows, n_shared)
            columns = some_columns(Phi, scale, basis, used, problem)
            fit = shared_fit(problem, columns, rows, share, plan, run)
            return replace(fit, training=replace(fit.training, history=among_all(fit, used)))
        needed = np.union1d([0], state.column)
        state = replace(state, column=np.searchsorted(needed, state.column))
        used = pool[needed]
    columns = some_columns(Phi, scale, basis, used, problem)
    fit = fit_columns(problem, columns, state, plan, run, is_warm=not several)
    fit = replace(fit, training=replace(fit.training, history=among_all(fit, used)))
    if plan.max_weights is None or fit.is_interrupted:
        return fit
    return within_budget(fit, plan.max_weights, plan.recipe, problem.sample, problem.sample)


def among_all(fit: Fit, used: IntArray) -> list[Record]:
    """The history of a fit to some columns, with states that count all candidates."""
    return [
        record
        if record.state is None
        else replace(record, state=replace(record.state, column=used[record.state.column]))
        for record in fit.training.history
    ]


def student_problem(
    plan: Plan, targets: Targets, replicates: float, classes: np.ndarray[Any, Any]
) -> Problem:
    """The problem with these targets, for a plan whose settings are known."""
    learned = replicated(targets.learned, replicates)
    several = bool((components_per_class(plan.settings["n_components"], classes) > 1).any())
    plan = replace(plan, recipe=student_recipe(plan.recipe, len(classes), several=several))
    return prepared_sample(learned, classes, plan, targets.n_rows)


def replicated(sample: Sample, times: float) -> Sample:
    """The sample with the weight of every row multiplied."""
    return replace(sample, s=times * sample.s)


def unit_columns(basis: Basis, problem: Problem) -> tuple[FloatArray, FloatArray]:
    """A constant and the columns of a basis, of unit mean square, and their norms."""
    with np.errstate(over="ignore", invalid="ignore"):
        Phi = basis.transform_with_constant(problem.X)
    if not np.abs(Phi).max() < LARGEST_VALUE:
        raise ValueError(
            f"the columns are too large (largest input {np.abs(problem.X).max():.3g}); scale the "
            "inputs, or lower the scale of the kernel."
        )
    scale = np.sqrt(problem.s @ Phi**2 / problem.s.sum())
    scale[scale == 0.0] = 1.0
    Phi /= scale
    return Phi, scale


def some_columns(
    Phi: FloatArray, scale: FloatArray, basis: Basis, used: IntArray, problem: Problem
) -> Columns:
    """A selection of the candidate columns of a problem, the constant first."""
    design = Design(np.asfortranarray(Phi[:, used]), np.eye(len(used)), scale[used])
    return Columns(design, basis.take(used[1:] - 1), problem.X)


class Scales(NamedTuple):
    """What each of `SCALES` leaves unexplained at rows of this total weight."""

    plain: float
    losses: list[float]
    weight: float

    def smoothest(self, enough: float) -> float:
        """The smoothest scale that leaves no more than that."""
        pairs = zip(SCALES, self.losses, strict=True)
        return float(self.plain * next(factor for factor, loss in pairs if loss <= enough))


class ScaleFinder:
    """Scales of a kernel with which few columns explain the teacher's logits.

    Parameters
    ----------
    plan : Plan
    targets : Targets
    classes : (C,) array
    tolerance : float
        Divergence up to which a scale is good enough.
    """

    def __init__(
        self, plan: Plan, targets: Targets, classes: np.ndarray[Any, Any], tolerance: float
    ) -> None:
        self._plan, self._targets, self._classes = plan, targets, classes
        self._tolerance = tolerance
        self._known: dict[str, Scales] = {}

    def smoothest(self, kernel: str) -> float:
        """The smoothest scale that is good enough with few columns."""
        found = self._scales(kernel)
        enough = ENOUGH * min(found.losses)
        if kernel == KernelName.RBF:
            # half of what is unexplained is the divergence, to second order
            enough = max(enough, 2.0 * self._tolerance * found.weight)
        return found.smoothest(enough)

    def for_shared_columns(self, kernel: str) -> float:
        """The smoothest scale that is nearly the best, for many columns.

        Where they learn labels, the scale with which a thousand of them predict labels best.
        """
        found, targets = self._scales(kernel), self._targets
        own = self._plan.with_settings({"kernel": kernel, "gamma": "scale"})
        if targets.labels is None or not n_centers(targets.shape, own):
            return found.smoothest(NEARLY_BEST * min(found.losses))
        problem = student_problem(own, targets, 1.0, self._classes)
        rows, share = labelled(problem, targets.labels)

        def loss_with(gamma: float) -> float:
            basis = own.with_settings({"gamma": gamma}).form.basis_at(problem, targets.n_rows)
            assert isinstance(basis, KernelBasis)
            return ridge_regression(rows, basis, share)[1].loss

        return min([factor * found.plain for factor in SCALES], key=loss_with)

    def _scales(self, kernel: str) -> Scales:
        if kernel not in self._known:
            self._known[kernel] = self._compared(kernel)
        return self._known[kernel]

    def _compared(self, kernel: str) -> Scales:
        n_rows = self._targets.n_rows
        own = self._plan.with_settings({"kernel": kernel, "gamma": "scale"})
        problem = student_problem(own, self._targets, 1.0, self._classes)
        plain = own.form.basis_at(problem, n_rows).gamma  # type: ignore[attr-defined]
        order = np.random.RandomState(0).permutation(len(problem.y))[:SCALE_ROWS]
        some = replace(problem, X=problem.X[order], y=problem.y[order], s=problem.s[order])
        rows = Linearised.around(some.y, some.s)
        train, test = np.arange(0, len(order), 2), np.arange(1, len(order), 2)

        def loss_with(factor: float) -> float:
            form = self._plan.with_settings({"kernel": kernel, "gamma": factor * plain}).form
            basis = form.basis_at(problem, n_rows, len(train))
            Phi, _ = unit_columns(basis, some)
            return unexplained(Phi, rows, train, test, SCALE_COLUMNS)

        return Scales(plain, list(map(loss_with, SCALES)), float(some.s[test].sum()))
