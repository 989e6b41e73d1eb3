"""Fits to more rows than a sample holds, or to rows on disk, as an explicit list of stages.

1. A sample selects the structure of the model. Open settings are chosen by labels of other rows; of
   the dual form with many classes by a teacher of the sample.
2. Beyond `2 * MIDDLE_ROWS` rows, the fit continues on a second, larger sample, which later supplies
   the curvature for the steps on all rows.
3. All rows add columns back and determine the weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sdgm._typing import FloatArray
from sdgm.core.data.blocked_rows import BlockedRows
from sdgm.core.data.rows import RowSource, crew_of
from sdgm.estimators.choosing import MAX_ROWS as MAX_ROWS
from sdgm.estimators.choosing import can_be_taught, fit_automatically, targets_for
from sdgm.estimators.fitting import fit_problem, warn_about
from sdgm.estimators.parameters import check_classes, is_given
from sdgm.estimators.plan import Plan
from sdgm.estimators.preparation import prepared
from sdgm.estimators.run import Run
from sdgm.estimators.training import Fit
from sdgm.scale.choice import chosen_by_labels
from sdgm.scale.refinement import ADMISSIONS, LAST_ADMISSIONS, Stage, refined
from sdgm.scale.sampling import (
    LEAST_SAMPLE_ROWS,
    MIDDLE_ROWS,
    SAMPLE_ROWS,
    SAMPLE_WORK,
    Picked,
    drawn_sample,
    rows_by_class,
)
from sdgm.scale.table import LARGE_ROWS as LARGE_ROWS
from sdgm.scale.threads import in_threads

# number of rows up to which the teacher and the choice use all rows. With more, the labels of all
# rows determine the weights, which takes longer than a teacher of this many rows
CHOSEN_AT_ONCE = 16_384
# classes up to which labels choose in the dual form: 20,000 rows of six classes have a log loss of
# .42 with 256 candidates that learn labels, and .39 with 1,000 that learn from a teacher
LABELLED_CLASSES = 2
# one in this many rows of the second sample is used to find the mode while columns are added back
PART = 4


def rows_at_once(plan: Plan) -> int:
    """Number of rows up to which the structure is selected on all rows."""
    return CHOSEN_AT_ONCE if can_be_taught(plan) and not is_given(plan.teacher) else LARGE_ROWS


def why_not_by_sums(plan: Plan) -> str | None:
    """Reason why a fit needs all rows at once; None if sums over rows are enough."""
    if plan.form.is_precomputed:
        return "kernel='precomputed' has as many columns as rows"
    if not plan.merges_rows:
        return f"preset={str(plan.preset)!r} fits all rows at once"
    if not isinstance(plan.init, str):
        return "an array for init has a value for every row"
    if plan.max_features is not None:
        return "max_features selects features on all rows at once"
    if plan.previous is not None:
        return "warm_start=True continues with all rows at once"
    return None


def fit_many_rows(
    table: RowSource, n_inputs: int, classes: np.ndarray[Any, Any], plan: Plan, run: Run
) -> Fit:
    """Structure from a sample, weights from all rows; after an interrupt, those of the last stage.

    Parameters
    ----------
    table : RowSource
        With inputs in place of Z.
    n_inputs : int
    classes : (C,) array
        Labels.
    plan : Plan
    run : Run
    """
    check_classes(classes)
    if n_inputs == 0:
        raise ValueError("X has 0 feature(s), but a classifier needs at least one.")
    seed = run.seeds(plan.seeds)[0]
    # with many classes, learning relevance vectors from labels takes minutes; from a teacher they
    # are few
    is_quick = plan.form.candidate_basis(n_inputs) is not None or len(classes) <= LABELLED_CLASSES
    labels_choose = can_be_taught(plan) and is_quick
    with in_threads():
        class_rows = rows_by_class(table, len(classes))
        n_rows = sample_rows(len(table), n_inputs, len(classes), plan)
        if can_be_taught(plan):
            n_rows = min(n_rows, MAX_ROWS)
        picked = drawn_sample(table, class_rows, n_rows, seed)
        others = drawn_sample(table, class_rows, MAX_ROWS, seed + 3) if labels_choose else None
    # shared columns of all rows would take too long
    sample_plan = replace(plan.for_sample(seed), class_weight=None, may_share=False)
    if others is None:
        fit = fit_to_sample(picked, classes, sample_plan, run.at("sample"))
    else:
        fit = chosen_by_labels(picked, others, classes, sample_plan, run.at("sample"))
    plan = plan.with_settings(fit.training.chosen)
    fit = replace(fit, model=fit.model.at_rows(picked.number))
    if fit.is_interrupted:
        return fit
    try:
        with in_threads() as n_threads:
            for stage in refinements(table, class_rows, seed, n_threads):
                warn_about(fit.training)  # the caller warns about the last stage
                fit = refined(fit, stage, plan, run.at(stage.name))
                if fit.is_interrupted:
                    break
    except KeyboardInterrupt:
        return replace(fit, is_interrupted=True)
    return fit


def fit_to_sample(picked: Picked, classes: np.ndarray[Any, Any], plan: Plan, run: Run) -> Fit:
    """The fit to a sample: from a teacher of the sample, or with given settings."""
    problem = prepared(picked.X, classes[picked.y], picked.s, plan)
    targets = targets_for(problem, plan)
    if targets is None:
        return fit_problem(problem, plan, run)
    fit = fit_automatically(targets, problem, plan, run)
    # the fit to the labels of all rows continues from what was learned from the teacher
    return replace(fit, training=replace(fit.training, learned_reference=False))


def refinements(
    table: RowSource, class_rows: FloatArray, seed: int, n_threads: int
) -> Iterator[Stage]:
    """The stages after the fit to a sample."""
    if len(table) <= 2 * MIDDLE_ROWS:
        yield Stage("all rows", table, ADMISSIONS)
        return
    drawn = drawn_sample(table, class_rows, MIDDLE_ROWS, seed + 1)
    middle = BlockedRows.of(drawn.rows(), n_threads=n_threads)
    own_rows = rows_by_class(middle, len(class_rows))
    part = drawn_sample(middle, own_rows, MIDDLE_ROWS // PART, seed + 2)
    with crew_of(n_threads) as crew:  # the part has one block or two
        few = BlockedRows.of(part.rows().shared_by(crew))
        yield Stage("second sample", middle, ADMISSIONS, few=few, is_last=False)
    yield Stage("all rows", table, LAST_ADMISSIONS, sample=middle)


def sample_rows(n_rows: int, n_inputs: int, n_classes: int, plan: Plan) -> int:
    """Rows of the sample: half as many where another follows, fewer with very many columns."""
    candidates = plan.form.candidate_basis(n_inputs)
    if candidates is None:
        return SAMPLE_ROWS
    most = SAMPLE_ROWS // 2 if n_rows > 2 * MIDDLE_ROWS else SAMPLE_ROWS
    by_work = SAMPLE_WORK / (n_classes * max(len(candidates), 1) ** 2)
    return int(np.clip(by_work, min(LEAST_SAMPLE_ROWS, most), most))
