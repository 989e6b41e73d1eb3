"""What every export starts from: a fitted model and the columns of the table that it reads.

row of the table -> features (inputs) -> standardised, clipped -> columns (basis)
                 -> scores of components -> probabilities of classes
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.model.kernels import (
    KernelBasis,
    LinearKernel,
    PolynomialKernel,
    PrecomputedBasis,
    RBFKernel,
    name_of,
)
from sdgm.estimators.base import BaseSDGM
from sdgm.estimators.parameters import Predictive
from sdgm.estimators.prediction import attribute_of
from sdgm.tables.inputs import Input, Number, feature_names

# kernels whose formulas all exports know
EXPORTED = LinearKernel, PolynomialKernel, RBFKernel


@dataclass(frozen=True, eq=False)
class ExportModel:
    """A fitted model and the columns of the table that it reads."""

    inputs: tuple[Input, ...]  # columns of the user's table, and how they become features
    model: FittedModel  # on a basis of monomials or named kernels

    classes = attribute_of("model.classes")
    center = attribute_of("model.scaler.center")
    inverse_scale = attribute_of("model.scaler.inverse_scale")
    reach = attribute_of("model.scaler.reach")
    basis = attribute_of("model.basis")
    coef = attribute_of("model.coef")
    offset = attribute_of("model.offset")
    component_class = attribute_of("model.component_class")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, as the encoded inputs are called."""
        return feature_names(self.inputs)

    def only_inputs_read(self) -> ExportModel:
        """Without the columns of the table that ``max_features`` left out."""
        owner = np.repeat(np.arange(len(self.inputs)), [len(i.features) for i in self.inputs])
        kept = np.unique(owner[self.model.scaler.inputs])
        if len(kept) == len(self.inputs):
            return self
        features = np.flatnonzero(np.isin(owner, kept))
        inputs = tuple(self.inputs[i] for i in kept)
        return ExportModel(inputs, self.model.only_inputs(features))


def exportable(model: Any) -> ExportModel:
    """The numbers of a fitted classifier of this package, or of a model of a table.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sdgm import SDGMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = SDGMClassifier(n_components=1).fit(X, y)
    >>> np.allclose(exportable(classifier).model.log_proba(X), classifier.predict_log_proba(X))
    True
    """
    classifier, inputs = classifier_and_inputs(model)
    if classifier.predictive == Predictive.AVERAGED:
        raise ValueError(
            "a model with predictive='averaged' cannot be exported because it averages over draws "
            "of the weights; use set_params(predictive='map')."
        )
    basis = classifier.model_.basis
    if isinstance(basis, PrecomputedBasis):
        raise ValueError(
            "A model with kernel='precomputed' cannot be exported because it has no features; use "
            "kernel='poly', 'rbf' or 'linear'."
        )
    if isinstance(basis, KernelBasis) and not isinstance(basis.kernel, EXPORTED):
        name = name_of(basis.kernel)
        what = "given as a function" if name is None else repr(str(name))
        raise ValueError(
            f"A kernel {what} cannot be exported; use kernel='poly', 'rbf' or 'linear'."
        )
    return ExportModel(inputs, classifier.model_)


def only_what_is_read(model: Any) -> ExportModel:
    """The same without inputs that ``max_features`` left out; an ExportModel as it is."""
    return model if isinstance(model, ExportModel) else exportable(model).only_inputs_read()


def classifier_and_inputs(model: Any) -> tuple[BaseSDGM, tuple[Input, ...]]:
    """The fitted classifier inside a model, and the columns that it reads."""
    inputs: tuple[Input, ...] | None = getattr(model, "inputs", None)
    outer = model if inputs is None else model.classifier
    classifier = getattr(outer, "estimator_", outer)
    if not isinstance(classifier, BaseSDGM):
        raise TypeError(
            f"{type(classifier).__name__} cannot be described or exported; use an SDGMClassifier, "
            "a KernelSDGMClassifier or one of their special cases."
        )
    check_is_fitted(classifier)
    if inputs is None:
        names = getattr(outer, "feature_names_in_", getattr(classifier, "feature_names_in_", None))
        if names is None:
            names = [f"x{i + 1}" for i in range(classifier.n_features_in_)]
        inputs = tuple(Number(str(name)) for name in names)
    return classifier, inputs
