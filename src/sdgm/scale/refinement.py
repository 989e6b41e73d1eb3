"""From the model of a sample to the model of all rows.

A sample selects the components and the most important columns. With all rows, columns that the
sample could not distinguish from noise are added back if they would increase the evidence. Learning
then continues with sums over all rows: the same loop, over blocks that are read when needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.data.blocked_rows import BlockedRows
from sdgm.core.data.rows import Rows, RowSource
from sdgm.core.inference.evidence import laplace_covariance
from sdgm.core.inference.learning import Result, class_shares
from sdgm.core.inference.recipe import Callback, Recipe
from sdgm.core.inference.variations import limited, one_climb, with_finder
from sdgm.core.model.basis import Basis
from sdgm.core.model.fitted_model import FittedModel, Scaler
from sdgm.core.model.state import Record, State, Stop
from sdgm.core.objective.derivatives import Mixture, class_totals
from sdgm.core.selection.admission import is_near_enough, is_no_noise, quality_of_absent
from sdgm.core.solvers.newton import STEPS_TO_MODE
from sdgm.core.solvers.precision import FactorizationError
from sdgm.core.solvers.sampled import RowsWithSample
from sdgm.estimators.plan import Plan
from sdgm.estimators.problem import LARGEST_INPUT
from sdgm.estimators.run import Run
from sdgm.estimators.training import Fit
from sdgm.scale.memory import keeps_covariance

# multiplications in all passes of the outer loop together, some seconds: with millions of rows the
# weights hardly depend on the precisions
PASSED_WORK = 4.5e10
# limits on the number of passes: the second pass reacts to the changes of the first; thirty are few
# compared with the 500 of a fit, because most quantities have converged on the sample
LEAST_PASSES, MOST_PASSES = 2, 30
# number of passes if more rows follow, and of Newton steps in each
MIDDLE_PASSES, MIDDLE_NEWTON = 8, 2
# multiplications of one pass above which few steps to the mode are taken: about as many as
# PASSED_WORK allows for all passes together
HEAVY_WORK = 5e10
# number of steps in that case, and if more rows follow; usually enough to reach the mode
FEW_STEPS = 10
# maximum number of columns added back at a time, or the number of weights if larger
FEW_COLUMNS = 200
# how often columns removed by the first sample, and by the second, may be added back; the cost of
# never doing so is measured by `python -m benchmarks scale sample`, in
# docs/results/scale.md
ADMISSIONS, LAST_ADMISSIONS = 2, 1


def passes_for(n_rows: int, state: State, *, is_last: bool) -> int:
    """Number of passes of the outer loop, given the number of rows and the work per pass."""
    sizes = np.bincount(state.component, minlength=1).astype(np.float64)
    work = n_rows * max(float(sizes @ sizes), 1.0) * len(sizes)
    most = MOST_PASSES if is_last else MIDDLE_PASSES
    return int(np.clip(PASSED_WORK / work, LEAST_PASSES, most))


def work_with_more(n_rows: int, state: State, columns: ModelColumns) -> float:
    """Multiplications of a pass once columns have come back."""
    most = state.n_components * columns.n_columns
    return n_rows * float(min(state.n_weights + may_come_back(state), most)) ** 2


def may_come_back(state: State) -> int:
    """Columns that may come back at a time: as many as there are weights, or a few."""
    return max(state.n_weights, FEW_COLUMNS)


def mapped(table: Any, columns: ModelColumns) -> Any:
    """The rows of a table of inputs with these columns in place of Z."""
    return table.mapped(columns, columns.n_columns)


@dataclass(frozen=True)
class ModelColumns:
    """Columns at rows of inputs, the constant first: Z of the refinement."""

    scaler: Scaler
    basis: Basis

    @property
    def n_columns(self) -> int:
        """Number of columns, with the constant."""
        return 1 + len(self.basis)

    def take(self, columns: IntArray) -> ModelColumns:
        """The constant, which is column zero, and a selection of the others."""
        return replace(self, basis=self.basis.take(columns - 1))

    def __call__(self, X: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            # always in this layout, because the rounding of matrix products depends on it
            standardized = np.subtract(X, self.scaler.center, order="C")
            standardized *= self.scaler.inverse_scale
        furthest = np.abs(standardized).max(initial=0.0)
        if not furthest < LARGEST_INPUT:
            raise ValueError(
                f"the inputs are too large, up to {furthest:.3g} in units of their deviation: "
                "their squares would overflow; leave out such rows or rescale them."
            )
        np.clip(standardized, -self.scaler.reach, self.scaler.reach, out=standardized)
        return self.basis.transform_with_constant(standardized)


@dataclass(frozen=True)
class AllRows:
    """All rows, in the units of the columns' norms over them.

    Attributes
    ----------
    table : RowSource
        With inputs in place of Z.
    columns : ModelColumns
        All columns that may be used.
    norm : (1 + n_columns,) array
        Root mean square of each over all rows, or one.
    sample : BlockedRows or None
        Some of the rows, weighted to stand for all.
    """

    table: Any
    columns: ModelColumns
    norm: FloatArray
    sample: BlockedRows | None

    @classmethod
    def of(
        cls,
        table: Any,
        columns: ModelColumns,
        recipe: Recipe,
        sample: BlockedRows | None = None,
    ) -> AllRows:
        """All rows, with norms computed in one pass."""
        norm = root_mean_squares(mapped(table, columns))
        return cls(
            table,
            columns,
            norm if recipe.preparation.scale_columns else np.ones_like(norm),
            sample,
        )

    def seen_by(self, state: State) -> tuple[RowSource, FloatArray, State]:
        """Rows, Rt and the state, with the columns that the state uses and the constant."""
        used = np.unique(np.concatenate([[0], state.column]))
        columns = self.columns.take(used[1:])
        rows = mapped(self.table, columns)
        if self.sample is not None:
            rows = RowsWithSample(rows, mapped(self.sample, columns))
        column = np.searchsorted(used, state.column)
        return rows, np.diag(1.0 / self.norm[used]), replace(state, column=column)

    def learn(
        self, state: State, recipe: Recipe, run: Run, callback: Callback | None = None
    ) -> Result:
        """Learn from a state with all rows."""
        used = np.unique(np.concatenate([[0], state.column]))
        rows, Rt, seen = self.seen_by(state)

        def in_all_columns(state: State) -> State:
            return replace(state, column=used[state.column])

        def told(record: Record) -> bool | None:
            assert callback is not None and record.state is not None
            return callback(replace(record, state=in_all_columns(record.state)))

        tell = None if callback is None else told
        result = run.learning(recipe)(rows, Rt, recipe.begun(seen), tell)
        if result.stop is Stop.INTERRUPTED and not recipe.learns_alpha:
            raise KeyboardInterrupt  # in between; the model of the sample can be used
        return replace(result, state=in_all_columns(result.state))

    def in_units_of_norms(self, state: State) -> State:
        """A state in the user's units, in those of these rows."""
        scale = self.norm[state.column]
        return replace(state, w=state.w * scale, alpha=state.alpha / scale**2)

    def in_user_units(self, state: State) -> State:
        """The reverse of `in_units_of_norms`."""
        scale = self.norm[state.column]
        return replace(state, w=state.w / scale, alpha=state.alpha * scale**2)

    def covariance(self, state: State) -> FloatArray | None:
        """Posterior covariance of the weights."""
        try:
            return laplace_covariance(*self.seen_by(state))
        except FactorizationError:
            return None

    def with_columns_back(self, state: State, recipe: Recipe) -> State:
        """The state with weights that would each increase the evidence; few are noise."""
        V = np.zeros((len(self.norm), state.n_components))
        V[state.column, state.component] = state.w / self.norm[state.column]
        mixture = Mixture(V, np.log(state.pi), state.component_class)
        rows = mapped(self.table, self.columns)
        sample = rows if self.sample is None else mapped(self.sample, self.columns)
        quality = quality_of_absent(rows, sample, mixture, state, self.norm)
        k, h = np.nonzero(~np.isnan(quality.ratio))
        ratio, surprise = quality.ratio[k, h], quality.surprise[k, h]
        # if there are many, those that add most: others are redundant with them, and will be tested
        # again
        best = np.argsort(-ratio, kind="stable")[: may_come_back(state)]
        best = best[(is_no_noise(surprise) & (ratio > 1.0))[best]]
        k, h = k[best], h[best]
        if len(k) == 0:
            return state
        # a weak prior: weights that are correlated with others will be larger than by themselves
        alpha = np.concatenate([state.alpha, np.full(len(k), recipe.preparation.alpha)])
        component = np.concatenate([state.component, k])
        column = np.concatenate([state.column, h])
        order = np.lexsort((column, component))
        return replace(
            state,
            w=np.concatenate([state.w, np.zeros(len(k))])[order],
            alpha=alpha[order],
            column=column[order],
            component=component[order],
        )


def root_mean_squares(rows: RowSource) -> FloatArray:
    """Root mean square of each column of Z under the sample weights; one for a column of zeros."""

    def sums(block: Rows) -> FloatArray:
        return np.append(block.s @ block.Z**2, block.s.sum())

    total = rows.total(sums, 64)
    norm = np.sqrt(total[:-1] / total[-1])
    return np.where(norm > 0.0, norm, 1.0)


def with_shares(class_share: FloatArray, state: State) -> State:
    """The state with pi that sums to these shares within the classes."""
    before = np.bincount(state.component_class, state.pi)
    return replace(state, pi=state.pi * (class_share / before)[state.component_class])


@dataclass(frozen=True)
class Stage:
    """A refinement of a model by more rows.

    Attributes
    ----------
    name : str
    table : RowSource
        With inputs in place of Z.
    admissions : int
        How often columns that the model does not use may be added back.
    sample : BlockedRows or None
        A part of the rows that led to the model; its information directs the steps.
    few : BlockedRows or None
        Some of these rows, which lead to the mode while columns come back, where it is near enough.
    is_last : bool
        Whether no more rows follow.
    """

    name: str
    table: Any
    admissions: int
    sample: BlockedRows | None = None
    few: BlockedRows | None = None
    is_last: bool = True

    def standing_for(self, total: FloatArray) -> Stage:
        """The stage with samples that stand for all rows, given the weights of the classes."""

        def repeated(some: BlockedRows | None) -> BlockedRows | None:
            if some is None:
                return None
            return some.repeated(total.sum() / class_totals(some, len(total)).sum())

        return replace(self, sample=repeated(self.sample), few=repeated(self.few))


def refined(fit: Fit, stage: Stage, plan: Plan, run: Run) -> Fit:
    """Continue learning with the rows of a stage."""
    model, admissions = fit.model, 0
    candidates = plan.form.candidate_basis(len(model.scaler.center))
    if candidates is not None and plan.recipe.learns_alpha and plan.max_weights is None:
        model = replace(model, basis=candidates, state=model.among(candidates))
        admissions = stage.admissions
    try:
        refinement = refine(model, replace(stage, admissions=admissions), plan.recipe, run)
    except FactorizationError:  # in its first pass; the model of the stage before can be used
        trouble = replace(fit.training, stop_reason=Stop.NUMERICAL.value, converged=False)
        return replace(fit, training=trouble)
    result = refinement.result
    training = replace(
        fit.training,
        log_evidence=result.records[-1].log_evidence,
        history=[*fit.training.history, *result.records],
        stop_reason=result.stop.value,
        # with millions of rows, learning ends after a few passes on purpose
        converged=result.stop in (Stop.CONVERGED, Stop.EMPTY, Stop.MAX_ITER),
    )
    model = model.with_weights(refinement.state, refinement.covariance)
    return Fit(model, training, result.stop is Stop.INTERRUPTED)


@dataclass(frozen=True)
class Refinement:
    """The result of learning from the rows of a stage, in the user's units."""

    state: State
    result: Result
    covariance: FloatArray | None


def refine(model: FittedModel, stage: Stage, recipe: Recipe, run: Run) -> Refinement:
    """Continue learning from the weights of a model; all of its columns may be used."""
    table, columns = stage.table, ModelColumns(model.scaler, model.basis)
    total = class_totals(table, model.state.n_classes)
    stage = stage.standing_for(total)
    rows = AllRows.of(table, columns, recipe, stage.sample)
    class_share = class_shares(total, recipe.method.class_prior)
    state = rows.in_units_of_norms(with_shares(class_share, model.state))
    # the weights at their mode, while the precisions stay as they are
    in_few_steps = not stage.is_last or work_with_more(len(table), state, columns) > HEAVY_WORK
    # as far as a few steps and the passes below bring them
    to_mode = one_climb(recipe, FEW_STEPS if in_few_steps else STEPS_TO_MODE)

    def is_near(some: BlockedRows | None, state: State) -> bool:
        return some is not None and is_near_enough(len(table), some, state, columns.n_columns)

    def climbed(name: str, state: State, otherwise: State, *, by_few: bool = False) -> State:
        by = replace(rows, table=stage.few) if by_few and is_near(stage.few, state) else rows
        try:
            # the class shares of these few rows differ, which would affect the test of the constant
            return with_shares(class_share, by.learn(state, to_mode, run.at(name)).state)
        except FactorizationError:
            return otherwise

    if stage.admissions and not is_near(stage.sample, state):
        state = climbed("first climb", state, otherwise=state, by_few=True)
    for left in reversed(range(stage.admissions)):
        larger = rows.with_columns_back(state, recipe)
        if stage.sample is None and larger is not state and (left or not in_few_steps):
            larger = climbed(f"admission {left}", larger, otherwise=state, by_few=True)
        if larger is state:
            break
        state = larger
    passes = limited_passes(recipe, len(table), state, is_last=stage.is_last)

    def attributes(record: Record) -> dict[str, Any]:
        assert record.state is not None
        return {"model_": model.with_weights(rows.in_user_units(record.state))}

    result = rows.learn(state, passes, run.at("passes"), run.observer(attributes))
    if result.stop is Stop.MAX_ITER and stage.is_last:
        last = climbed("last climb", result.state, otherwise=result.state)
        result = replace(result, state=last)
    end = result.state
    has_covariance = end.n_weights > 0 and keeps_covariance(end.n_weights)
    covariance = rows.covariance(end) if has_covariance else None
    if covariance is not None:
        scale = rows.norm[end.column]
        covariance = covariance / scale / scale[:, None]
    return Refinement(rows.in_user_units(end), result, covariance)


def limited_passes(recipe: Recipe, n_rows: int, state: State, *, is_last: bool) -> Recipe:
    """The recipe with the numbers of passes and steps that the number of rows allows."""
    most = passes_for(n_rows, state, is_last=is_last)
    passes = limited(recipe, max_iter=min(recipe.method.max_iter, most))
    if is_last:
        return passes
    find_mode = passes.method.find_mode
    steps = min(find_mode.max_steps, MIDDLE_NEWTON)
    return with_finder(passes, replace(find_mode, max_steps=steps))
