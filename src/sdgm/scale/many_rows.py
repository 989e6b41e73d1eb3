"""The fit to more rows than one sample holds, or to rows on disk: an explicit list of stages.

1. A sample tells what the model looks like.
2. Beyond `2 * MIDDLE_ROWS` rows, a second and larger sample goes on from there, and later tells the
   curvature of all rows.
3. All rows bring columns back and decide on the weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d, validate_data

from sdgm._typing import FloatArray
from sdgm.core.data.blocked_rows import BlockedRows
from sdgm.core.data.rows import RowSource, crew_of
from sdgm.estimators.fitting import fit_problem, warn_about
from sdgm.estimators.parameters import (
    check_classes,
    check_labels,
    checked_sample_weight,
    class_factors,
)
from sdgm.estimators.plan import Plan
from sdgm.estimators.preparation import prepared
from sdgm.estimators.run import Run
from sdgm.estimators.training import Fit
from sdgm.scale.refinement import ADMISSIONS, LAST_ADMISSIONS, Stage, refined
from sdgm.scale.sampling import (
    LEAST_SAMPLE_ROWS,
    MIDDLE_ROWS,
    SAMPLE_ROWS,
    SAMPLE_WORK,
    RowReader,
    blocked_table,
    drawn_sample,
    name_inputs,
    rows_by_class,
    weights_of_labels,
)
from sdgm.scale.threads import in_threads

# rows up to which all of them tell what the model looks like: twice a sample, which would save less
LARGE_ROWS = 32_768
# of so many rows of the second sample one leads to the mode in between: as many as a sample has
PART = 4


def why_not_by_sums(plan: Plan) -> str | None:
    """Why a fit needs all rows at once, in words; None where sums over rows are enough."""
    if plan.form.is_precomputed:
        return "kernel='precomputed' has as many columns as rows"
    if not plan.merges_rows:
        return f"preset={str(plan.preset)!r} learns from all rows at once"
    if not isinstance(plan.init, str):
        return "an array for init has a start for every row"
    if plan.max_features is not None:
        return "max_features chooses with all rows at once"
    if plan.previous is not None:
        return "warm_start=True goes on with all rows at once"
    return None


def fit_many_rows(
    table: RowSource, n_inputs: int, classes: np.ndarray[Any, Any], plan: Plan, run: Run
) -> Fit:
    """Structure from a sample, weights from all rows; after an interrupt those of the last stage.

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
        raise ValueError("X has 0 feature(s), and a classifier needs one at least.")
    seed = run.seeds(plan.seeds)[0]
    with in_threads():
        class_rows = rows_by_class(table, len(classes))
        n_rows = sample_rows(len(table), n_inputs, len(classes), plan)
        picked = drawn_sample(table, class_rows, n_rows, seed)
    sample_plan = replace(plan.for_sample(seed), class_weight=None)
    problem = prepared(picked.X, classes[picked.y], picked.s, sample_plan)
    fit = fit_problem(problem, sample_plan, run.at("sample"))
    fit = replace(fit, model=fit.model.at_rows(picked.number))
    if fit.is_interrupted:
        return fit
    try:
        with in_threads() as n_threads:
            for stage in refinements(table, class_rows, seed, n_threads):
                warn_about(fit.training)  # of the last stage the caller is told
                fit = refined(fit, stage, plan, run.at(stage.name))
                if fit.is_interrupted:
                    break
    except KeyboardInterrupt:
        return replace(fit, is_interrupted=True)
    return fit


def refinements(
    table: RowSource, class_rows: FloatArray, seed: int, n_threads: int
) -> Iterator[Stage]:
    """What follows the fit to a sample."""
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


# --- the table ---


def table_of(
    estimator: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[BlockedRows, np.ndarray[Any, Any]]:
    """A table in memory or on disk as blocks of rows, checked, and its labels."""
    if is_on_disk(X):
        check_table(X)
        estimator.n_features_in_ = X.shape[1]
        name_inputs(estimator, X)
        if y is None:
            raise ValueError("y is None; give one label per row.")
        y = column_or_1d(y, warn=True)
        if len(y) != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows and y has {len(y)} labels.")
    else:
        X, y = validate_data(estimator, X, y, dtype=np.float64)
    check_labels(y)
    s: FloatArray = np.broadcast_to(np.float64(1.0), len(y))  # takes no room
    if sample_weight is not None or estimator.class_weight is not None:
        s = checked_sample_weight(sample_weight, y)
        labels, number = np.unique(y, return_inverse=True)
        factors = class_factors(estimator.class_weight, labels, weights_of_labels(number, s))
        s *= np.broadcast_to(factors, len(labels))[number]
    classes = np.unique(y if sample_weight is None else y[s > 0.0])
    # labels that no row of positive weight has count for nothing, as any class
    codes = np.searchsorted(classes, y).astype(np.int32)
    np.minimum(codes, len(classes) - 1, out=codes)
    with in_threads() as n_threads:
        return blocked_table(X, codes, s, n_threads=n_threads), classes


def is_on_disk(X: Any) -> bool:
    """Whether rows are read when they are wanted."""
    return isinstance(X, np.memmap | RowReader)


def check_table(X: Any) -> None:
    """Refuse what is no table of numbers."""
    if len(X.shape) != 2:
        raise ValueError(f"X must have two dimensions, got shape {tuple(X.shape)}; reshape it.")
    kind = getattr(X, "dtype", None)
    if kind is not None and kind.kind not in "biuf":
        raise ValueError(f"X holds {kind}, not numbers; encode it or leave it out.")
