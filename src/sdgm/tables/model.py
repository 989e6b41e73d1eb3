"""A model of a table: the columns it reads, the classifier, and how it came about."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdgm._typing import FloatArray
from sdgm.estimators.base import BaseSDGM
from sdgm.tables.inputs import Input


@dataclass
class TableModel:
    """A classifier for the rows of a table, with all that it needs to read them.

    Made by `sdgm.tables.fit_table`, kept by `sdgm.save`.

    Attributes
    ----------
    inputs : tuple of Number and Category
        Columns of the table that are used, in order.
    target : str
        Name of the column with the labels.
    classifier : fitted SDGMClassifier or KernelSDGMClassifier
        Learned from the encoded inputs.
    record : dict
        How the model was made and how well it did, as JSON values; may be empty.
    story : dict of arrays
        The learning, step by step, for the report; may be empty.
    id_column : str or None
        Column that names the rows; it is kept in predictions.

    Examples
    --------
    >>> import polars as pl
    >>> from sdgm.tables import fit_table
    >>> rows = {"size": [1.0, 1.2, 0.9, 3.1, 2.9, 3.3] * 5, "kind": list("aaabbb") * 5}
    >>> model = fit_table(pl.DataFrame(rows), "kind", test_size=0)
    >>> model.predict(pl.DataFrame({"size": [1.1, 3.0]}))
    array(['a', 'b'], ...)
    """

    inputs: tuple[Input, ...]
    target: str
    classifier: BaseSDGM
    record: dict[str, Any] = field(default_factory=dict, repr=False)
    story: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict, repr=False)
    id_column: str | None = None

    @property
    def classes(self) -> np.ndarray[Any, Any]:
        """Labels, in the order of the columns of probabilities."""
        return self.classifier.classes_

    def features(self, frame: Any) -> FloatArray:
        """What the classifier sees of the rows of a polars frame: (N, D).

        Columns are found by name: others are ignored, and their order does not matter.
        """
        from sdgm.tables.matching import encoded, typed

        return encoded(self.inputs, typed(self.inputs, frame))

    def predict(self, frame: Any) -> np.ndarray[Any, Any]:
        """Most probable class of each row of a polars frame: (N,)."""
        return self.classes[self.predict_proba(frame).argmax(axis=1)]

    def predict_proba(self, frame: Any) -> FloatArray:
        """Class probabilities of each row of a polars frame: (N, C)."""
        return self.proba_of(self.features(frame))

    def predict_std(self, frame: Any) -> FloatArray:
        """Standard deviations of the probabilities over the posterior of the weights: (N, C)."""
        return self.std_of(self.features(frame))

    def proba_of(self, X: FloatArray) -> FloatArray:
        """Class probabilities of features (N, D) as `features` makes them: (N, C)."""
        return unnamed(self.classifier.predict_proba, X)

    def std_of(self, X: FloatArray) -> FloatArray:
        """Standard deviations of the probabilities of features (N, D): (N, C)."""

        def std(X: FloatArray) -> Any:
            return self.classifier.predict_proba_averaged(X, return_std=True)[1]

        return unnamed(std, X)

    def _repr_html_(self) -> str | None:
        from sdgm.report import summary_html

        try:
            return summary_html(self)
        except ImportError:  # without jinja2, notebooks show the text
            return None


def unnamed(method: Callable[[FloatArray], FloatArray], X: FloatArray) -> FloatArray:
    """What a method says of features that are in the order of training by construction."""
    if not len(X):  # which scikit-learn refuses
        return unnamed(method, np.zeros((1, X.shape[1])))[:0]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return method(X)
