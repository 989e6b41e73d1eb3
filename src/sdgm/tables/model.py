"""A model of a table: the columns it reads, the classifier, and the record of its training."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from sdgm._typing import FloatArray
from sdgm.estimators.base import BaseSDGM
from sdgm.metrics import checked_weights
from sdgm.tables.inputs import Input
from sdgm.tables.labels import check_training
from sdgm.tables.settings import Settings
from sdgm.tables.training_rows import TARGET, encoded_rows, rows_of_arrays


class TableModel(ClassifierMixin, BaseEstimator):
    """Classifier for tables with numbers, text, dates and missing values.

    `sdgm.tables.fit_table` fits one to a file or data frame and tests it on held-out rows. `fit`
    takes a data frame and labels, as in scikit-learn. `sdgm.save` saves it.

    Parameters
    ----------
    form, components, missing, class_weight, max_weights, teacher :
        As in `sdgm.tables.fit_table`.
    exclude : sequence of str, optional
        Columns to leave out.
    random_state : int, RandomState instance or None, default=None
        Random seed of the fit.

    Attributes
    ----------
    inputs : tuple of Number and Category
        Columns in use, in order.
    target : str
        Name of the column with the labels.
    classifier : fitted SDGMClassifier or KernelSDGMClassifier
        Classifier fitted to the encoded columns.
    record : dict
        Information about the fit and its scores, as JSON values; may be empty.
    story : dict of arrays
        Frames of the animation in the report; may be empty.
    id_column : str or None
        Row ID; not used as a feature, copied to predictions.
    classes_ : array of shape (n_classes,)
        Class labels, in the order of the columns of `predict_proba`.

    Examples
    --------
    >>> import polars as pl
    >>> from sklearn.model_selection import cross_val_score
    >>> rows = pl.DataFrame({"size": [1.0, 1.2, 0.9, 3.1, 2.9, 3.3] * 5, "hue": list("rgb") * 10})
    >>> kinds = list("aaabbb") * 5
    >>> cross_val_score(TableModel(random_state=0), rows, kinds, cv=2)
    array([1., 1.])
    >>> TableModel(random_state=0).fit(rows, kinds).predict(rows.head(1))
    array(['a'], ...)
    """

    inputs: tuple[Input, ...]
    target: str
    classifier: BaseSDGM
    record: dict[str, Any]
    story: dict[str, np.ndarray[Any, Any]]
    id_column: str | None

    def __init__(
        self,
        *,
        form: str = "auto",
        components: int | str = "auto",
        missing: str = "impute",
        class_weight: Mapping[Any, float] | str | None = None,
        max_weights: int | None = None,
        teacher: str = "auto",
        exclude: Sequence[str] | None = None,
        random_state: Any = None,
    ) -> None:
        self.form = form
        self.components = components
        self.missing = missing
        self.class_weight = class_weight
        self.max_weights = max_weights
        self.teacher = teacher
        self.exclude = exclude
        self.random_state = random_state

    @classmethod
    def of(
        cls,
        inputs: Sequence[Input],
        target: str,
        classifier: BaseSDGM,
        record: dict[str, Any] | None = None,
        story: dict[str, np.ndarray[Any, Any]] | None = None,
        id_column: str | None = None,
        **parameters: Any,
    ) -> Self:
        """A fitted model of its parts; ``parameters`` are those of the constructor."""
        model = cls(**parameters)
        model.inputs, model.target, model.classifier = tuple(inputs), target, classifier
        model.record = {} if record is None else record
        model.story = {} if story is None else story
        model.id_column = id_column
        return model

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to the rows of a data frame.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, dict of columns, or array of rows
            The columns of an array are called x1, x2 and so on.
        y : array-like of shape (n_samples,)
            Labels: numbers, strings or booleans.
        sample_weight : array-like of shape (n_samples,), optional
            Sample weights, treated as frequencies; zero leaves a sample out.
        """
        from sdgm.json_values import json_value
        from sdgm.tables.learning import learned

        given = self.get_params()
        given.pop("exclude")
        settings = Settings(**given)
        target = str(getattr(y, "name", None) or TARGET)
        y = column_or_1d(y)
        check_classification_targets(y)
        s = None if sample_weight is None else checked_weights(sample_weight, len(y))
        data = rows_of_arrays(X, y, s, target, tuple(self.exclude or ()))
        check_training(data.labels)
        every = np.arange(len(data.labels))
        rows = encoded_rows(data, every, allow_missing=self.missing == "impute")
        parts = learned(data, every, rows, settings)
        self.inputs, self.target, self.classifier, record, self.story, self.id_column = parts
        self.record = json_value(record)
        return self

    @property
    def classes_(self) -> np.ndarray[Any, Any]:
        """Labels, in the order of the columns of probabilities."""
        check_is_fitted(self)
        return self.classifier.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of columns that are used."""
        check_is_fitted(self)
        return len(self.inputs)

    @property
    def feature_names_in_(self) -> np.ndarray[Any, Any]:
        """Names of the columns that are used."""
        check_is_fitted(self)
        return np.array([column.name for column in self.inputs], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classifier")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags

    def features(self, frame: Any) -> FloatArray:
        """Features of the rows of a frame: (N, D).

        Columns are found by name: others are ignored, and their order does not matter.
        """
        from sdgm.tables.matching import encoded, typed
        from sdgm.tables.reading import polars_frame

        check_is_fitted(self)
        return encoded(self.inputs, typed(self.inputs, polars_frame(frame)))

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """Most probable class of each row of a frame: (N,)."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities of each row of a frame: (N, C)."""
        return self.proba_of(self.features(X))

    def predict_std(self, X: Any) -> FloatArray:
        """Standard deviations of the probabilities over the posterior of the weights: (N, C)."""
        return self.std_of(self.features(X))

    def proba_of(self, X: FloatArray) -> FloatArray:
        """Class probabilities of features (N, D) as `features` makes them: (N, C)."""
        return unnamed(self.classifier.predict_proba, X)

    def std_of(self, X: FloatArray) -> FloatArray:
        """Standard deviations of the probabilities of features (N, D): (N, C)."""
        averaged = self.classifier.predict_proba_averaged
        return unnamed(lambda X: averaged(X, return_std=True)[1], X)

    def _repr_html_(self) -> str | None:
        from sdgm.report import summary_html

        if not self.__sklearn_is_fitted__():
            return None
        try:
            return summary_html(self)
        except ImportError:  # without jinja2, notebooks show the text
            return None

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        page = self._repr_html_()
        return {"text/plain": repr(self), **({} if page is None else {"text/html": page})}


def unnamed(method: Callable[[FloatArray], FloatArray], X: FloatArray) -> FloatArray:
    """A method applied to features that are in the order of training by construction."""
    if not len(X):  # scikit-learn refuses no rows
        return unnamed(method, np.zeros((1, X.shape[1])))[:0]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return method(X)
