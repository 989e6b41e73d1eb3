"""Laplace posterior of the layer's weights after training."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from sdgm._typing import FloatArray
from sdgm.core.data.rows import Rows
from sdgm.core.inference.evidence import laplace_covariance
from sdgm.core.model.state import State
from sdgm.core.objective.derivatives import Mixture, derivatives_of_rows
from sdgm.core.objective.whitening import whiten
from sdgm.estimators.primal import SDGMClassifier
from sdgm.nn.bridge import as_numpy, to_classifier
from sdgm.nn.layer import SDGM

# weights up to which a covariance is computed
MAX_WEIGHTS = 4_000
# precisions that validation chooses from
ALPHA_GRID = tuple(float(alpha) for alpha in np.logspace(-1.0, 5.0, 13))
# limits of the precision by evidence: beyond, the prior says nothing, or all weights are zero
SMALLEST_ALPHA, LARGEST_ALPHA = 1e-6, 1e6
# relative change from which on it counts as found; deviations change by half of it
ALPHA_TOLERANCE = 1e-3
# fixed-point steps of the precision, so that slow convergence ends
MAX_UPDATES = 100


@dataclass(frozen=True)
class LaplacePosterior:
    """Normal distribution of the remaining weights and biases of a layer.

    Attributes
    ----------
    classifier : SDGMClassifier
        The layer as a classifier with this posterior, for ``predict_proba_averaged``.
    covariance : (n_weights, n_weights) array
        Component by component, the bias first, then weights in the order of the features.
    alpha : float
        Precision of the common prior of all weights.

    Examples
    --------
    >>> layer = SDGM(1, 2, covariance_type="tied", sparse=False)
    >>> x, y = torch.tensor([[-1.0], [1.0]]), torch.tensor([0, 1])
    >>> posterior = laplace(layer, x, y, alpha=4.0)
    >>> posterior.covariance.shape  # two classes, each with a bias and a weight
    (4, 4)
    """

    classifier: SDGMClassifier
    covariance: FloatArray
    alpha: float

    def predict_proba(self, x: Tensor) -> Tensor:
        """Class probabilities of feature vectors (..., D), averaged over the posterior."""
        rows = as_numpy(x.reshape(-1, x.shape[-1]))
        P = torch.as_tensor(self.classifier.predict_proba_averaged(rows))
        return P.to(x).reshape(*x.shape[:-1], P.shape[-1])


@torch.no_grad()
def laplace(
    layer: SDGM,
    x: Tensor,
    y: Tensor,
    *,
    alpha: float | None = None,
    validation: tuple[Tensor, Tensor] | None = None,
) -> LaplacePosterior:
    """Laplace posterior of the layer's weights around their trained values.

    The curvature is the complete-data information of the training samples. Only the weights of the
    layer are uncertain, not the weights of the backbone.

    Parameters
    ----------
    layer : SDGM
        A trained layer; pruning it first makes the posterior small.
    x, y : (N, D) tensor and (N,) integer tensor
        Feature vectors of the training samples in evaluation mode, and their classes.
    alpha : float, optional
        Precision of the prior of all weights.
    validation : (x, y), optional
        Feature vectors and classes of held-out samples, on which alpha is chosen among 13 values
        from 0.1 to 100,000 by the log loss of the averaged probabilities. Without ``alpha`` and
        ``validation``, alpha maximises the evidence (MacKay's update), which gives underconfident
        probabilities: the weights were not trained with this prior, and the features fit the
        training samples too well.

    Examples
    --------
    >>> layer = SDGM(2, 2, dtype=torch.float64).eval()
    >>> x = torch.randn(50, 2, dtype=torch.float64)
    >>> posterior = laplace(layer, x, (x[:, 0] > 0).long(), alpha=1.0)
    >>> posterior.predict_proba(x).shape
    torch.Size([50, 2])
    """
    classifier = to_classifier(layer)
    n_weights = classifier.n_active_weights_
    if n_weights > MAX_WEIGHTS:
        raise ValueError(
            f"the posterior of {n_weights} weights would have a covariance of {n_weights}^2 "
            f"numbers; prune the layer to {MAX_WEIGHTS} weights or fewer."
        )
    if x.ndim != 2 or y.shape != x.shape[:1]:
        raise ValueError(
            f"x has shape {tuple(x.shape)} and y {tuple(y.shape)}; pass one feature vector and "
            "one class index per sample."
        )
    if y.is_floating_point() or bool(((y < 0) | (y >= layer.num_classes)).any()):
        raise ValueError(
            f"y must have class indices from 0 to {layer.num_classes - 1}, got {y.dtype} from "
            f"{y.min().item()} to {y.max().item()}."
        )
    if alpha is not None and not 0.0 < alpha < np.inf:
        raise ValueError(
            f"alpha must be a positive number, got {alpha!r}; leave it out to have it chosen."
        )
    model = classifier.model_
    state, Z = model.state, model.columns(as_numpy(x))
    rows = Rows(Z, y.cpu().numpy().astype(np.intp), np.ones(len(Z)))
    Rt = np.eye(rows.Z.shape[1])

    def posterior(alpha: float) -> LaplacePosterior:
        under_prior = replace(state, alpha=np.full(n_weights, alpha))
        covariance = laplace_covariance(rows, Rt, under_prior)
        with_doubt = copy.copy(classifier)
        with_doubt.model_ = replace(model, covariance=covariance)
        return LaplacePosterior(with_doubt, covariance, alpha)

    if alpha is not None:
        return posterior(alpha)
    if validation is not None:
        return min(map(posterior, ALPHA_GRID), key=lambda found: _nll(found, *validation))
    return posterior(_alpha_by_evidence(rows, Rt, state))


def _nll(posterior: LaplacePosterior, x: Tensor, y: Tensor) -> float:
    """Mean negative log of the averaged probabilities of the true classes."""
    own = posterior.predict_proba(x.double()).gather(-1, y.to(x.device)[..., None])
    return -float(own.clamp_min(torch.finfo(own.dtype).tiny).log().mean())


def _alpha_by_evidence(rows: Rows, Rt: FloatArray, state: State) -> float:
    """MacKay's ``alpha <- gamma / |w|^2``, with the weights held and gamma well determined."""
    whitening = whiten(Rt, state)
    mixture = Mixture(whitening.score_vectors(state.w), np.log(state.pi), state.component_class)
    # the prior has precision one, so that this is the curvature of the weights themselves
    curvature = derivatives_of_rows(rows, mixture, None, whitening).curvature
    eigenvalues = np.maximum(np.linalg.eigvalsh(curvature), 0.0)
    squared_norm = max(float(state.w @ state.w), 1e-300)
    alpha = 1.0
    for _ in range(MAX_UPDATES):
        before = alpha
        gamma = float((eigenvalues / (eigenvalues + alpha)).sum())
        alpha = float(np.clip(gamma / squared_norm, SMALLEST_ALPHA, LARGEST_ALPHA))
        if abs(np.log(alpha / before)) < ALPHA_TOLERANCE:
            break
    return alpha
