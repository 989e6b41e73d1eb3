"""The fit of an estimator to more rows than one sample holds, or to rows on disk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import column_or_1d, validate_data

from sdgm._typing import FloatArray
from sdgm.core.data.blocked_rows import BlockedRows
from sdgm.core.data.rows import crew_of
from sdgm.core.inference.learning import Result
from sdgm.core.inference.recipe import Recipe
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.model.state import Record, Stop
from sdgm.estimators.fitted import warn_about
from sdgm.estimators.large import (
    LARGE_ROWS,
    LEAST_SAMPLE_ROWS,
    MIDDLE_ROWS,
    SAMPLE_ROWS,
    SAMPLE_WORK,
    RowReader,
    blocked_table,
    drawn_sample,
    rows_by_class,
    weights_of_labels,
)
from sdgm.estimators.parameters import (
    check_classes,
    check_labels,
    checked_sample_weight,
    class_factors,
)
from sdgm.estimators.polishing import ModelColumns, polished
from sdgm.estimators.progress import print_line
from sdgm.estimators.threads import in_threads
from sdgm.estimators.training import Training

# times that columns may come back which the first sample had removed, and which the second had
ADMISSIONS, LAST_ADMISSIONS = 2, 1
# of so many rows of the second sample one leads to the mode in between
PART = 4


class ManyRowsMixin:
    """Structure from a sample, weights from all rows."""

    n_features_in_: int
    class_weight: Any
    verbose: int
    max_weights: int | None
    record_states: bool
    init: Any
    model_: FittedModel
    training_: Training
    _goes_on: Any
    _is_precomputed: Any
    _seeds: Any

    # set for the fit to a sample, which may be large when there are many rare classes
    _is_sample_fit = False

    def _unfitted_local(self) -> Any:
        """An unfitted estimator of the same kind that takes arrays."""
        return clone(self)

    def _has_many_rows(self, X: Any, options: Recipe) -> bool:
        """Whether a sample decides what the model looks like."""
        shape = getattr(X, "shape", None)
        if shape is None:
            shape = (len(X) if hasattr(X, "__len__") else 0,)
        return (
            len(shape) > 0
            and shape[0] > LARGE_ROWS
            and not self._is_sample_fit
            and options.preparation.merge_rows
            and isinstance(self.init, str)
            and not self._is_precomputed()
            and not self._goes_on()
        )

    def _fit_many_rows(self, X: Any, y: Any, sample_weight: Any, options: Recipe) -> Self:
        """Fit to a table in memory or on disk."""
        if is_on_disk(X):
            check_table(X)
            self.n_features_in_ = X.shape[1]
            self._set_names(X)
            if y is None:
                raise ValueError("y is None; give one label per row.")
            y = column_or_1d(y, warn=True)
            if len(y) != X.shape[0]:
                raise ValueError(f"X has {X.shape[0]} rows and y has {len(y)} labels.")
        else:
            X, y = validate_data(self, X, y, dtype=np.float64)
        check_labels(y)
        s: FloatArray = np.broadcast_to(np.float64(1.0), len(y))  # takes no room
        if sample_weight is not None or self.class_weight is not None:
            s = checked_sample_weight(sample_weight, y)
            labels, number = np.unique(y, return_inverse=True)
            factors = class_factors(self.class_weight, labels, weights_of_labels(number, s))
            s *= np.broadcast_to(factors, len(labels))[number]
        classes = np.unique(y if sample_weight is None else y[s > 0.0])
        # labels that no row of positive weight has count for nothing, as any class
        codes = np.searchsorted(classes, y).astype(np.int32)
        np.minimum(codes, len(classes) - 1, out=codes)
        with in_threads() as n_threads:
            table = blocked_table(X, codes, s, n_threads=n_threads)
        return self._fit_table(table, classes, options)

    def _set_names(self, X: Any) -> None:
        """Names of the inputs, where a table that is read in parts has them."""
        vars(self).pop("feature_names_in_", None)
        names = getattr(X, "columns", None)
        if names is None:
            return
        if len(names) != X.shape[1]:
            raise ValueError(f"X has {X.shape[1]} columns and {len(names)} names for them.")
        self.feature_names_in_ = np.asarray(names, dtype=object)

    def _fit_table(self, table: Any, classes: np.ndarray[Any, Any], options: Recipe) -> Self:
        """Fit to rows with inputs in place of Z; ``n_features_in_`` is set."""
        check_classes(classes)
        seed = self._seeds()[0]
        with in_threads():
            class_rows = rows_by_class(table, len(classes))
            n_rows = self._sample_rows(len(table), len(classes))
            picked = drawn_sample(table, class_rows, n_rows, seed)
        model = self._unfitted_local()
        model.set_params(class_weight=None, warm_start=False, random_state=seed)
        model._is_sample_fit = True
        try:
            model.fit(picked.X, classes[picked.y], picked.s)
        finally:
            if hasattr(model, "training_"):  # also what an interrupt left
                self.model_ = model.model_.at_rows(picked.number)
                self.training_ = model.training_
        with in_threads() as n_threads:
            middle = None
            if len(table) > 2 * MIDDLE_ROWS:
                drawn = drawn_sample(table, class_rows, MIDDLE_ROWS, seed + 1)
                middle = BlockedRows.of(drawn.rows(), n_threads=n_threads)
                own_rows = rows_by_class(middle, len(classes))
                part = drawn_sample(middle, own_rows, MIDDLE_ROWS // PART, seed + 2)
                with crew_of(n_threads) as crew:  # the part has one block or two
                    few = BlockedRows.of(part.rows().shared_by(crew))
                    self._polish(middle, options, few=few, is_last=False)
            self._polish(table, options, middle)
        return self

    def _polish(
        self,
        table: Any,
        options: Recipe,
        sample: BlockedRows | None = None,
        *,
        few: BlockedRows | None = None,
        is_last: bool = True,
    ) -> None:
        """Go on learning on all rows, near the model of this sample of them."""
        model, admissions = self.model_, 0
        candidates = self._candidate_basis()
        if candidates is not None and options.learns_alpha and self.max_weights is None:
            model = replace(model, basis=candidates, state=model.among(candidates))
            admissions = ADMISSIONS if sample is None else LAST_ADMISSIONS

        def show(record: Record) -> None:
            if self.verbose:
                print_line(record)

        end = polished(
            table,
            ModelColumns(model.scaler, model.basis),
            model.state,
            options,
            show,
            admissions=admissions,
            sample=sample,
            few=few,
            is_last=is_last,
        )
        self.model_ = model.with_weights(end.state, end.covariance)
        self.training_ = continued(self.training_, end.result)
        if end.result.stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt
        if end.result.stop is Stop.NUMERICAL:
            warn_about(end.result)

    def _sample_rows(self, n_rows: int, n_classes: int) -> int:
        """Rows of the sample: half as many where another follows, fewer with very many columns."""
        candidates = self._candidate_basis()
        if candidates is None:
            return SAMPLE_ROWS
        most = SAMPLE_ROWS // 2 if n_rows > 2 * MIDDLE_ROWS else SAMPLE_ROWS
        by_work = SAMPLE_WORK / (n_classes * max(len(candidates), 1) ** 2)
        return int(np.clip(by_work, min(LEAST_SAMPLE_ROWS, most), most))

    def _candidate_basis(self) -> Any:
        """All columns but the constant, in order, where they do not depend on the sample."""
        return None


def continued(training: Training, result: Result) -> Training:
    """How a model was learned that went on with all rows."""
    return replace(
        training,
        log_evidence=result.records[-1].log_evidence,
        history=[*training.history, *result.records],
        stop_reason=result.stop.value,
        # with millions of rows learning ends after a few passes by intent
        converged=result.stop in (Stop.CONVERGED, Stop.EMPTY, Stop.MAX_ITER),
    )


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
