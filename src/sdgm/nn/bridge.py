"""From a fitted `SDGMClassifier` to an `SDGM` layer and back, with equal probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from sdgm._typing import FloatArray, IntArray
from sdgm.core.model.features import ABSENT, SQUARED_NORM, Monomials, monomials
from sdgm.core.model.fitted_model import FAR_AWAY, FittedModel, Scaler
from sdgm.core.model.state import State, Stop
from sdgm.estimators.primal import SDGMClassifier
from sdgm.estimators.training import Training
from sdgm.nn.compact import factors, remaining_components
from sdgm.nn.layer import SDGM
from sdgm.nn.quadratic import CovarianceType
from sdgm.nn.variational import SMALLEST_WEIGHT, START_LOG_ALPHA


@torch.no_grad()
def from_classifier(
    classifier: SDGMClassifier,
    *,
    sparse: bool = False,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> SDGM:
    """A layer with the weights of a fitted classifier; pruned weights stay pruned.

    Class i of the layer is ``classifier.classes_[i]``.

    Parameters
    ----------
    classifier : fitted SDGMClassifier
    sparse : bool, default=False
        Whether the weights of the layer have noise, for further training. Evaluation does not
        average over it until ``averages_noise`` is set.
    device, dtype :
        As in `torch.nn.Linear`. Probabilities are equal up to the precision of ``dtype``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SDGMClassifier(n_components=2, random_state=0).fit(X, y)
    >>> layer = from_classifier(model, dtype=torch.float64)
    >>> P = layer.log_prob(torch.as_tensor(X)).exp().detach().numpy()
    >>> bool(abs(P - model.predict_proba(X)).max() < 1e-10)
    True
    """
    check_is_fitted(classifier)
    model = classifier.model_
    basis: Any = model.basis
    layer = SDGM(
        classifier.n_features_in_,
        len(classifier.classes_),
        n_components=classifier.n_components_.tolist(),
        covariance_type=smallest_type(basis),
        sparse=sparse,
        device=device,
        dtype=dtype,
    )
    weight, active = np.zeros((2, *layer.weight.shape))
    for h, columns in enumerate(columns_of(basis, layer)):
        weight[:, columns] = model.coef[:, [h]]
        active[:, columns] = model.active[:, [h + 1]]
    layer.weight.copy_(torch.as_tensor(weight))
    layer.mask.copy_(torch.as_tensor(active > 0))
    assert layer.bias is not None
    layer.bias.copy_(torch.as_tensor(model.offset))
    layer.center.copy_(torch.as_tensor(model.scaler.center))
    layer.inverse_scale.copy_(torch.as_tensor(model.scaler.inverse_scale))
    layer.scales_itself = False
    if layer.log_sigma2 is not None:
        layer.averages_noise = False  # over noise that was not learned
        # the ratio of noise to weight that new layers have on average
        size = layer.weight.abs() + SMALLEST_WEIGHT
        layer.log_sigma2.copy_(START_LOG_ALPHA + 2.0 * size.log())
    return layer


def smallest_type(basis: Monomials) -> CovarianceType:
    """The covariance type with the fewest features that has all of these."""
    is_product = basis.second != ABSENT
    if np.any(is_product & (basis.first != basis.second)):
        return CovarianceType.FULL
    if np.any(is_product | (basis.first == SQUARED_NORM)):
        return CovarianceType.DIAG
    return CovarianceType.TIED


def columns_of(basis: Monomials, layer: SDGM) -> list[list[int]]:
    """For each monomial, the features of the layer whose sum it is."""
    pairs = [tuple(pair) for pair in factors(layer).tolist()]
    column = {pair: h for h, pair in enumerate(pairs)}
    squares = [column[i, i] for i in range(layer.in_features) if (i, i) in column]
    return [
        squares if first == SQUARED_NORM else [column[first, second]]
        for first, second in zip(basis.first.tolist(), basis.second.tolist(), strict=True)
    ]


@torch.no_grad()
def to_classifier(
    layer: SDGM, classes: ArrayLike | None = None, *, covariance: FloatArray | None = None
) -> SDGMClassifier:
    """A fitted classifier with the means of the weights that a layer uses in evaluation.

    Its probabilities are those of the layer with ``averages_noise = False``.

    Parameters
    ----------
    layer : SDGM
        With any covariance type except ``low_rank``.
    classes : array of shape (num_classes,), optional
        Labels of the classes of the layer, by default 0, 1, ... The classifier sorts them, as
        scikit-learn does.
    covariance : array of shape (n_weights, n_weights), optional
        Posterior covariance of the weights, as from `laplace`, for averaged probabilities.

    Returns
    -------
    classifier : SDGMClassifier
        It can be saved, described and exported like a fitted one. Its ``stop_reason_`` is "learned
        elsewhere", and its ``history_`` is empty.

    Examples
    --------
    >>> layer = SDGM(2, 3, n_components=2, sparse=False, dtype=torch.float64).eval()
    >>> x = torch.randn(5, 2, dtype=torch.float64)
    >>> P = to_classifier(layer).predict_proba(x.numpy())
    >>> bool(abs(P - layer.log_prob(x).exp().detach().numpy()).max() < 1e-12)
    True
    """
    if not isinstance(layer, SDGM):
        raise TypeError(
            f"to_classifier takes an SDGM layer, got {type(layer).__name__}; pass the layer as it "
            "was before compact."
        )
    if layer.covariance_type == CovarianceType.LOW_RANK:
        raise ValueError(
            "to_classifier cannot take a layer with covariance_type='low_rank', since a "
            "classifier has no projection; use 'full', 'diag' or 'tied'."
        )
    labels = np.arange(layer.num_classes) if classes is None else np.asarray(classes)
    if len(labels) != layer.num_classes or len(np.unique(labels)) != len(labels):
        raise ValueError(
            f"classes has {len(labels)} labels for the {layer.num_classes} classes of the layer; "
            "pass one label per class, all different."
        )
    classifier = SDGMClassifier(
        n_components=max(layer.n_components), covariance_type=layer.covariance_type
    )
    model = fitted_model(layer, labels, covariance)
    training = Training(
        history=[],
        log_evidence=np.nan,
        start_log_evidences=np.empty(0),
        n_initial_weights=model.state.n_weights,
        converged=False,
        stop_reason=Stop.ELSEWHERE.value,
        settings="the weights of a layer",
    )
    return classifier.publish(model, training)


def fitted_model(
    layer: SDGM, classes: np.ndarray[Any, Any], covariance: FloatArray | None
) -> FittedModel:
    """The weights that evaluation uses, under a prior of precision one; components by class."""
    weight, bias, classes_of, _ = map(as_numpy, remaining_components(layer))
    sorted_labels, rank = np.unique(classes, return_inverse=True)
    component_class: IntArray = rank[classes_of.astype(np.intp)]
    by_class = np.argsort(component_class, kind="stable")
    component_class = component_class[by_class]
    used = (weight != 0.0).any(axis=0)
    n_components = np.bincount(component_class, minlength=layer.num_classes)
    # any split of the bias into intercept and log mixture weight is the same model
    mixture_weights = 1.0 / n_components[component_class]
    weight, bias = weight[by_class], bias[by_class]
    w = np.column_stack([bias - np.log(mixture_weights), weight[:, used]])
    active = w != 0.0
    active[:, 0] = True
    component, column = active.nonzero()
    if covariance is not None:
        # of the weights in the order of the layer's components
        place = np.lexsort([column, by_class[component]]).argsort()
        covariance = covariance[np.ix_(place, place)]
    phi = monomials(layer.in_features, layer.covariance_type)
    scaler = Scaler(as_numpy(layer.center), as_numpy(layer.inverse_scale), FAR_AWAY)
    state = State(
        w=w[component, column],
        alpha=np.ones(len(column)),
        component=component,
        column=column,
        pi=mixture_weights,
        component_class=component_class,
    )
    basis = phi.without_constant().take(used)
    return FittedModel(sorted_labels, scaler, basis, state, covariance)


def as_numpy(tensor: Tensor) -> FloatArray:
    """A tensor as an array of float64."""
    return tensor.detach().cpu().double().numpy()
