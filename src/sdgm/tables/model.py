"""A model of a table: the columns it reads, the classifier, and the record of its training."""

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
    """A classifier for the rows of a table, and how to encode them.

    Made by `sdgm.tables.fit_table`, written by `sdgm.save`.

    Attributes
    ----------
    inputs : tuple of Number and Category
        Columns of the table that are used, in order.
    target : str
        Name of the column with the labels.
    classifier : fitted SDGMClassifier or KernelSDGMClassifier
        Learned from the encoded inputs.
    record : dict
        How the model was trained and how well it did, as JSON values; may be empty.
    story : dict of arrays
        The learning, step by step, for the report; may be empty.
    id_column : str or None
        Row ID; not used as a feature, kept in predictions.

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
    def classes_(self) -> np.ndarray[Any, Any]:
        """Labels, in the order of the columns of probabilities."""
        return self.classifier.classes_

    def features(self, frame: Any) -> FloatArray:
        """Features of the rows of a pandas, polars or pyarrow frame: (N, D).

        Columns are found by name: others are ignored, and their order does not matter.
        """
        from sdgm.tables.matching import encoded, typed
        from sdgm.tables.reading import polars_frame

        return encoded(self.inputs, typed(self.inputs, polars_frame(frame)))

    def predict(self, frame: Any) -> np.ndarray[Any, Any]:
        """Most probable class of each row of a frame: (N,)."""
        return self.classes_[self.predict_proba(frame).argmax(axis=1)]

    def predict_proba(self, frame: Any) -> FloatArray:
        """Class probabilities of each row of a frame: (N, C)."""
        return self.proba_of(self.features(frame))

    def predict_std(self, frame: Any) -> FloatArray:
        """Standard deviations of the probabilities over the posterior of the weights: (N, C)."""
        return self.std_of(self.features(frame))

    def proba_of(self, X: FloatArray) -> FloatArray:
        """Class probabilities of features (N, D) as `features` makes them: (N, C)."""
        return unnamed(self.classifier.predict_proba, X)

    def std_of(self, X: FloatArray) -> FloatArray:
        """Standard deviations of the probabilities of features (N, D): (N, C)."""
        averaged = self.classifier.predict_proba_averaged
        return unnamed(lambda X: averaged(X, return_std=True)[1], X)

    def _repr_html_(self) -> str | None:
        from sdgm.report import summary_html

        try:
            return summary_html(self)
        except ImportError:  # without jinja2, notebooks show the text
            return None


def unnamed(method: Callable[[FloatArray], FloatArray], X: FloatArray) -> FloatArray:
    """A method applied to features that are in the order of training by construction."""
    if not len(X):  # scikit-learn refuses no rows
        return unnamed(method, np.zeros((1, X.shape[1])))[:0]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return method(X)
