"""A table in memory or on disk as blocks of rows, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from sdgm._typing import FloatArray
from sdgm.core.data.blocked_rows import BlockedRows
from sdgm.estimators.parameters import check_labels, checked_sample_weight, class_factors
from sdgm.scale.sampling import RowReader, blocked_table, name_inputs, weights_of_labels
from sdgm.scale.threads import in_threads
from sdgm.scale.validation import validated

# rows up to which the structure is selected on all rows: twice a sample, which would save less
LARGE_ROWS = 32_768


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
        X, y = validated(estimator, X, y)
    check_labels(y)
    s: FloatArray = np.broadcast_to(np.float64(1.0), len(y))  # takes no memory
    if sample_weight is not None or estimator.class_weight is not None:
        s = checked_sample_weight(sample_weight, y)
        labels, number = np.unique(y, return_inverse=True)
        factors = class_factors(estimator.class_weight, labels, weights_of_labels(number, s))
        s *= np.broadcast_to(factors, len(labels))[number]
    classes = np.unique(y if sample_weight is None else y[s > 0.0])
    # labels that only rows of weight zero have are encoded as any class
    codes = np.searchsorted(classes, y).astype(np.int32)
    np.minimum(codes, len(classes) - 1, out=codes)
    with in_threads() as n_threads:
        return blocked_table(X, codes, s, n_threads=n_threads), classes


def is_on_disk(X: Any) -> bool:
    """Whether rows are read when they are needed."""
    return isinstance(X, np.memmap | RowReader)


def check_table(X: Any) -> None:
    """Refuse an X that is not a table of numbers."""
    if len(X.shape) != 2:
        raise ValueError(f"X must have two dimensions, got shape {tuple(X.shape)}; reshape it.")
    kind = getattr(X, "dtype", None)
    if kind is not None and kind.kind not in "biuf":
        raise ValueError(f"X holds {kind}, not numbers; encode it or leave it out.")
