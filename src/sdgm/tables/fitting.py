"""From a table to a model of it: labels, columns, learning, and a test on rows held out."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sdgm._typing import IntArray
from sdgm.estimators.dual import KernelSDGMClassifier
from sdgm.json_values import json_value
from sdgm.tables.columns import chosen_columns
from sdgm.tables.errors import SettingError, TableError, quoted, short_rows_sentence
from sdgm.tables.evaluation import evaluation, lead, losses, scores
from sdgm.tables.forms import Progress, fitted_classifier, forget_states, learning_record
from sdgm.tables.inputs import feature_names
from sdgm.tables.labels import (
    check_named,
    check_training,
    class_counts,
    codes_among,
    labels_and_rows,
    named_column,
    split_rows,
)
from sdgm.tables.matching import encoded, typed
from sdgm.tables.model import TableModel
from sdgm.tables.reading import whole_table
from sdgm.tables.settings import Form, check_missing, checked_components
from sdgm.text import counted

# a warning says so where a class has fewer training rows: its variances would be mostly noise
FEW_TO_LEARN = 10
# or the test fewer rows: the standard error of an error rate is then up to nine points
FEW_TO_TEST = 30


@dataclass(frozen=True)
class Labelled:
    """Rows of a table that have a label."""

    name: str
    frame: Any
    labels: np.ndarray[Any, Any]
    rows: IntArray  # where they are in the file
    n_rows: int  # of the file
    target: str
    id_column: str | None
    short_rows: int  # of the file, without all columns


def fit_table(
    source: Any,
    target: str,
    *,
    id_column: str | None = None,
    form: str = "auto",
    components: int | str = "auto",
    test_size: float = 0.25,
    missing: str = "impute",
    refit: bool = False,
    random_state: int = 0,
    progress: Progress | None = None,
) -> TableModel:
    """Learn to predict a column of a table from the others.

    Columns of numbers are used as they are, columns of names one-hot encoded; dates, row IDs and
    constant columns are left out, as ``model.record["source"]["columns"]`` says.

    Parameters
    ----------
    source : path, "-" or a pandas, polars or pyarrow frame
        A file .csv, .tsv, .parquet or .npz; "-" for CSV on standard input.
    target : str
        Column with the labels. Rows without one are left out.
    id_column : str, optional
        Row ID; not used as a feature, kept in predictions.
    form : {"auto", "primal", "dual"}, default="auto"
        Quadratic features, kernels at training rows, or the better of both. "auto" is "primal" when
        that is within 0.01 nats of a dense model, and beyond 10,000 rows; else the form with fewer
        numbers, unless the other is closer to the dense model by more than 0.01 nats.
    components : int or "auto", default="auto"
        Components that each class starts with.
    test_size : float, default=0.25
        Share of the rows to hold out and test on, stratified by class; 0 for no test.
    missing : {"impute", "error"}, default="impute"
        Missing numbers become the median, with an indicator feature, and missing names a level of
        their own; or they are refused.
    refit : bool, default=False
        After the test, learn again from all rows. Otherwise the model is the one that was tested.
    random_state : int, default=0
        Random seed for split and fit.
    progress : callable, optional
        Called with the form that is being learned and its iterations so far.

    Examples
    --------
    >>> import polars as pl
    >>> rows = {"size": [1.0, 1.2, 0.9, 3.1, 2.9, 3.3] * 10, "kind": list("aaabbb") * 10}
    >>> model = fit_table(pl.DataFrame(rows), "kind")
    >>> model.record["held_out"]["error"]
    0.0
    """
    start = perf_counter()
    check_missing(missing)
    settings = (Form(form), checked_components(components), missing == "impute", random_state)
    data = labelled_rows(source, target, id_column)
    train, test = split_rows(data.labels, test_size, random_state)
    check_training(data.labels[train])
    check_enough(data.labels[train], settings[1])
    model = fitted_model(data, train, *settings, progress)
    tested = held_out_record(model, data, train, test) if len(test) else {}
    if refit and len(test):
        settings = (Form(model.record["form"]), *settings[1:])
        model = fitted_model(data, np.arange(len(data.labels)), *settings, progress)
    model.record |= tested
    model.record["refit"] = bool(refit and len(test))
    model.record["source"] |= {"train_rows": len(train)}
    model.record["warnings"] += advice(data, train, test)
    model.record["seconds"] = perf_counter() - start
    model.record = json_value(model.record)
    return model


def check_enough(labels: np.ndarray[Any, Any], components: int | str) -> None:
    """Refuse more components than the largest class has training rows; others get fewer."""
    largest = int(np.unique(labels, return_counts=True)[1].max())
    if components != "auto" and int(components) > largest:
        raise SettingError(
            "components",
            f"must be at most {largest:,}, the rows to learn from of the largest class, got "
            f"{components:,}; 3 are many already.",
        )


def labelled_rows(source: Any, target: str, id_column: str | None) -> Labelled:
    """The rows of a table that have a label."""
    frame, name, short_rows = whole_table(source, (target, id_column or target))
    series = named_column(frame, target, "target")
    if id_column is not None:
        check_named(frame.columns, id_column, "id")
        if id_column == target:
            raise TableError(f"Column {quoted(target)} cannot be both target and id.")
    if not len(frame):
        raise TableError(f"{name} has a header but no rows.")
    labels, rows = labels_and_rows(series)
    return Labelled(name, frame[rows], labels, rows, len(frame), target, id_column, short_rows)


def fitted_model(
    data: Labelled,
    train: IntArray,
    form: Form,
    components: int | str,
    allow_missing: bool,
    random_state: int,
    progress: Progress | None,
) -> TableModel:
    """A model learned from some of the rows."""
    from sdgm.report.story import film

    others = data.target, data.id_column
    inputs, notes = chosen_columns(
        data.frame, train, others, allow_missing=allow_missing, rows=data.rows
    )
    X = encoded(inputs, typed(inputs, data.frame)[train])
    labels = data.labels[train]
    classifier, forms, said = fitted_classifier(
        X, feature_names(inputs), labels, form, components, random_state, progress
    )
    record = learning_record(classifier, forms[0]["form"])
    record |= {"forms": forms, "warnings": said}
    if isinstance(classifier, KernelSDGMClassifier):  # as all rows of files, they count from 1
        record["relevance_rows"] = data.rows[train][classifier.relevance_] + 1
    record["source"] = {
        "name": data.name,
        "rows": data.n_rows,
        "rows_used": len(data.labels),
        "class_counts": class_counts(data.labels),
        "columns": [asdict(note) for note in notes],
    }
    story = film(classifier, X, labels)
    forget_states(classifier)
    return TableModel(inputs, data.target, classifier, record, story, data.id_column)


def held_out_record(
    model: TableModel, data: Labelled, train: IntArray, test: IntArray
) -> dict[str, Any]:
    """Measures on the rows held out, of the model and of baselines."""
    inputs = typed(model.inputs, data.frame)
    X_train, X_test = (encoded(model.inputs, inputs[rows]) for rows in (train, test))
    train_codes, codes = (codes_among(data.labels[rows], model.classes_) for rows in (train, test))
    P = model.proba_of(X_test)
    values = partial(inputs[test].row, named=True)
    held_out = evaluation(P, codes, model.classes_, values, data.rows[test])
    shares = np.bincount(train_codes, minlength=len(model.classes_)) / len(train)
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # good enough for a baseline
        logistic.fit(X_train, train_codes)
    baselines = {
        "logistic regression": logistic.predict_proba(X_test),
        "majority class": np.tile(shares, (len(test), 1)),
    }
    return {
        "held_out": held_out.as_dict(),
        "baselines": [
            {"name": name, **scores(Q, codes), **lead(losses(P, codes), losses(Q, codes))}
            for name, Q in baselines.items()
        ],
    }


def advice(data: Labelled, train: IntArray, test: IntArray) -> list[str]:
    """Warnings about the rows: left out, cut short, too few."""
    said = []
    if data.n_rows > len(data.labels):
        said.append(f"{counted(data.n_rows - len(data.labels), 'row')} without a label left out.")
    if data.short_rows:
        said.append(short_rows_sentence(data.short_rows))
    classes, counts = np.unique(data.labels[train], return_counts=True)
    for label, count in zip(classes.tolist(), counts.tolist(), strict=True):
        if count < FEW_TO_LEARN:
            said.append(f"Class {quoted(label)} has only {counted(count, 'row')} to learn from.")
    if 0 < len(test) < FEW_TO_TEST:
        said.append(f"The test has only {counted(len(test), 'row')}: its numbers are rough.")
    if not len(test):
        said.append("No rows were held out: how well the model does is not known.")
    return said
