"""From a table to a model of it: labels, columns, learning, and a test on rows held out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from sdgm._typing import IntArray
from sdgm.json_values import json_value
from sdgm.tables.errors import SettingError, quoted
from sdgm.tables.labels import check_training, split_rows
from sdgm.tables.settings import Settings
from sdgm.tables.training_rows import TrainingRows, encoded_rows, rows_of_table
from sdgm.text import counted

if TYPE_CHECKING:
    from sdgm.tables.model import TableModel

# a warning says so where a class has fewer training rows: its variances would be mostly noise
FEW_TO_LEARN = 10
# or the test fewer rows: the standard error of an error rate is then up to nine points
FEW_TO_TEST = 30


def fit_table(
    source: Any,
    target: Any,
    *,
    id_column: str | None = None,
    weights: str | None = None,
    exclude: Sequence[str] = (),
    form: str = "auto",
    components: int | str = "auto",
    class_weight: Mapping[Any, float] | str | None = None,
    max_weights: int | None = None,
    teacher: str = "auto",
    test_size: float = 0.25,
    missing: str = "impute",
    refit: bool = False,
    random_state: int = 0,
    progress: Callable[[str, int], None] | None = None,
) -> TableModel:
    """Fit a model that predicts a column of a table from the others.

    Numeric columns are used directly, dates become days since 1970, and text columns are one-hot
    encoded. Row IDs and constant columns are left out; ``model.record["source"]["columns"]`` lists
    how each column is used.

    Parameters
    ----------
    source : path, "-", a pandas, polars or pyarrow frame, a dict of columns, or an array of rows
        A file .csv, .tsv, .parquet or .npz; "-" for CSV on standard input. The columns of an array
        are called x1, x2 and so on.
    target : str or array-like of shape (n_rows,)
        Column with the labels, or the labels. Rows without a label are left out.
    id_column : str, optional
        Row ID; not used as a feature, copied to predictions.
    weights : str, optional
        Column of frequencies, as in a contingency table, or of sample weights. If all values are
        whole numbers, they are frequencies, and copies of a row are split between training and
        test; otherwise each row is in one of the two.
    exclude : sequence of str, optional
        Columns to leave out.
    form : {"auto", "primal", "dual"}, default="auto"
        Quadratic features, kernels at training rows, or the better of the two. "auto" is "primal"
        if that is within 0.01 nats of a dense model, and with more than 10,000 rows; otherwise it
        is the form that stores fewer numbers, unless the other is closer to the dense model by more
        than 0.01 nats.
    components : int or "auto", default="auto"
        Initial number of components per class.
    class_weight : mapping from label to number, "balanced" or None, default=None
        Weights of the classes, which multiply the weights of the rows.
    max_weights : int, optional
        Maximum number of weights.
    teacher : {"auto", "labels", "forest", "boosting"}, default="auto"
        What the model learns from: the probabilities of a `KernelEnsembleClassifier`, a random
        forest or boosted trees, or the labels.
    test_size : float, default=0.25
        Fraction of the rows held out for the test, stratified by class; 0 for no test.
    missing : {"impute", "error"}, default="impute"
        "impute" replaces missing numbers by the median, with an indicator feature; missing text is
        a category of its own. "error" raises an error.
    refit : bool, default=False
        Whether to refit to all rows after the test; otherwise the tested model is returned.
    random_state : int, default=0
        Random seed for split and fit.
    progress : callable, optional
        Called with the form that is being fitted and its number of iterations so far.

    Examples
    --------
    >>> import polars as pl
    >>> rows = {"size": [1.0, 1.2, 0.9, 3.1, 2.9, 3.3] * 10, "kind": list("aaabbb") * 10}
    >>> model = fit_table(pl.DataFrame(rows), "kind")
    >>> model.record["held_out"]["error"]
    0.0
    """
    start = perf_counter()
    given: dict[str, Any] = {
        "form": str(form),
        "components": components,
        "missing": str(missing),
        "class_weight": class_weight,
        "max_weights": max_weights,
        "teacher": str(teacher),
        "random_state": random_state,
    }
    settings = Settings(**given)
    data = rows_of_table(source, target, id_column, weights, exclude)
    train, test = split_rows(data.labels, test_size, random_state)
    check_training(data.labels[train])
    check_enough(data.labels[train], settings.n_components)
    settings.class_weight_of(np.unique(data.labels).tolist())

    def model_of(rows: IntArray, settings: Settings) -> TableModel:
        encoded = encoded_rows(data, rows, allow_missing=settings.missing == "impute")
        # scikit-learn takes a second to import: what is wrong with the table is said before
        from sdgm.tables.learning import learned
        from sdgm.tables.model import TableModel

        parts = learned(data, rows, encoded, settings, progress)
        return TableModel.of(*parts, **given, exclude=list(data.excluded) or None)

    model = model_of(train, settings)
    tested: dict[str, Any] = {}
    if len(test):
        from sdgm.tables.held_out import held_out_record

        tested = held_out_record(model, data, train, test)
    if refit and len(test):
        same_form = Settings(**given | {"form": model.record["form"]})
        model = model_of(np.arange(len(data.labels)), same_form)
    model.record |= tested
    model.record["refit"] = bool(refit and len(test))
    model.record["settings"] = model.get_params()
    model.record["source"] |= {"train_rows": len(train)}
    model.record["warnings"] += data.remarks + advice(data, train, test)
    model.record["seconds"] = perf_counter() - start
    model.record = json_value(model.record)
    return model


def check_enough(labels: np.ndarray[Any, Any], components: int | str) -> None:
    """Refuse more components than the largest class has training rows; others get fewer."""
    largest = int(np.unique(labels, return_counts=True)[1].max())
    if components != "auto" and int(components) > largest:
        raise SettingError(
            "components",
            f"must be at most {largest:,}, the number of training rows of the largest class, "
            f"got {components:,}; start with 1 to 3.",
        )


def advice(data: TrainingRows, train: IntArray, test: IntArray) -> list[str]:
    """Warnings about too few rows."""
    said = []
    classes, counts = np.unique(data.labels[train], return_counts=True)
    for label, count in zip(classes.tolist(), counts.tolist(), strict=True):
        if count < FEW_TO_LEARN:
            said.append(f"Class {quoted(label)} has only {counted(count, 'training row')}.")
    if 0 < len(test) < FEW_TO_TEST:
        said.append(f"Only {counted(len(test), 'row')} held out: the scores are rough.")
    if not len(test):
        said.append("No rows were held out, so there are no test scores.")
    return said
