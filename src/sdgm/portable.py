"""A fitted model as plain numbers: what every way of carrying it away starts from.

row of the table -> features (inputs) -> standardised, clipped -> columns (basis)
                 -> scores of components -> probabilities of classes
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sdgm._typing import FloatArray, IntArray
from sdgm.core.model.features import Monomials
from sdgm.core.model.kernel_basis import KernelBasis, PrecomputedBasis
from sdgm.core.model.kernels import CallableKernel
from sdgm.core.model.posterior import class_log_posterior, component_log_posterior
from sdgm.estimators.base import BaseSDGM
from sdgm.estimators.parameters import Predictive
from sdgm.tables.inputs import Input, Number, feature_names


@dataclass(frozen=True)
class PortableModel:
    """All that prediction needs, and nothing of how it was learned.

    With x the features of a row, the scores are::

        z = clip((x - center) * inverse_scale, -reach, reach)
        score_k = offset_k + sum_j coef_kj column_j(z)
        P(c | x) = sum of exp(score_k) over the components of c / sum over all

    Attributes
    ----------
    inputs : tuple of Number and Category
        Columns of the user's table, and how they become features.
    classes : array of shape (n_classes,)
        Labels as the user has them.
    center, inverse_scale : arrays of shape (n_features,)
    reach : float
        Furthest standardised input that is taken as it is.
    basis : Monomials or KernelBasis
        The surviving columns, without the constant.
    coef : array of shape (n_components, n_columns)
    offset : array of shape (n_components,)
        Weight of the constant plus log mixture weight.
    component_class : array of shape (n_components,)
        Class index of each component, non-decreasing.
    """

    inputs: tuple[Input, ...]
    classes: np.ndarray[Any, Any]
    center: FloatArray
    inverse_scale: FloatArray
    reach: float
    basis: Monomials | KernelBasis
    coef: FloatArray
    offset: FloatArray
    component_class: IntArray

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, as the encoded inputs are called."""
        return feature_names(self.inputs)

    def standardized(self, X: FloatArray) -> FloatArray:
        """Features as the columns take them: (N, D)."""
        with np.errstate(over="ignore"):
            z = (X - self.center) * self.inverse_scale
        return np.clip(z, -self.reach, self.reach)

    def log_proba(self, X: FloatArray) -> FloatArray:
        """Log class probabilities at rows of features: (N, C)."""
        scores = self.basis.transform(self.standardized(X)) @ self.coef.T + self.offset
        log_P_cm = component_log_posterior(scores)
        return class_log_posterior(log_P_cm, self.component_class, len(self.classes))


def portable(model: Any) -> PortableModel:
    """The plain numbers of a fitted classifier, or of a model of a table.

    Parameters
    ----------
    model : fitted SDGMClassifier, KernelSDGMClassifier or one of their corners, a
        SemiSupervisedSDGMClassifier, or a TableModel

    Returns
    -------
    PortableModel

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sdgm import SDGMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SDGMClassifier(n_components=1).fit(X, y)
    >>> np.allclose(portable(model).log_proba(X), model.predict_log_proba(X))
    True
    """
    classifier, inputs = classifier_and_inputs(model)
    if classifier.predictive == Predictive.AVERAGED:
        raise ValueError(
            "a model of predictive='averaged' cannot be carried away, since it averages over draws "
            "of the weights; use set_params(predictive='map')."
        )
    basis = classifier._basis
    if isinstance(basis, PrecomputedBasis):
        raise ValueError(
            "A model of kernel='precomputed' has no inputs to compute with; name a kernel."
        )
    if isinstance(basis, KernelBasis) and isinstance(basis.kernel, CallableKernel):
        raise ValueError(
            "A kernel given as a function cannot be carried away; use kernel='poly', 'rbf' or "
            "'linear'."
        )
    return PortableModel(
        inputs=inputs,
        classes=classifier.classes_,
        center=classifier._center,
        inverse_scale=classifier._inverse_scale,
        reach=classifier._reach,
        basis=basis,
        coef=classifier.coef_,
        offset=classifier.intercept_ + np.log(classifier.mixture_weights_),
        component_class=classifier.component_class_,
    )


def classifier_and_inputs(model: Any) -> tuple[BaseSDGM, tuple[Input, ...]]:
    """The fitted classifier inside a model, and the columns that it reads."""
    inputs: tuple[Input, ...] | None = getattr(model, "inputs", None)
    outer = model if inputs is None else model.classifier
    classifier = getattr(outer, "estimator_", outer)
    if not isinstance(classifier, BaseSDGM):
        raise TypeError(
            f"{type(classifier).__name__} is no model of sdgm that could be described or carried "
            "away; use an SDGMClassifier, a KernelSDGMClassifier or one of their relatives."
        )
    check_is_fitted(classifier)
    if inputs is None:
        names = getattr(outer, "feature_names_in_", getattr(classifier, "feature_names_in_", None))
        if names is None:
            names = [f"x{i + 1}" for i in range(classifier.n_features_in_)]
        inputs = tuple(Number(str(name)) for name in names)
    return classifier, inputs
