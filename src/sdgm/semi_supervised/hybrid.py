"""A Gaussian mixture per class, learned by EM from labelled and unlabelled rows.

The E-step leaves a labelled row in its class and shares an unlabelled one among all classes, so
that unlabelled rows say where the classes are, once labelled ones have said which is which.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sdgm._typing import BoolArray, FloatArray, IntArray
from sdgm.core.mixtures.clusters import SHAPES, enough_rows, likelihood_is_settled, shrunk
from sdgm.core.mixtures.gaussian_mixture import Expectation, bic, em
from sdgm.core.mixtures.kmeans import kmeans
from sdgm.core.model.features import CovarianceType
from sdgm.core.model.posterior import class_log_posterior, component_log_posterior, log_sum_exp
from sdgm.core.selection.generative import FOLDS

# components per class that BIC chooses from: with few labels more would be told apart by chance
MAX_PER_CLASS = 2


class Hybrid(NamedTuple):
    """Gaussian mixtures of the classes, judged by the labels."""

    shape: CovarianceType
    n_components: int  # per class
    P_c: FloatArray  # class posterior at all rows: (N, C)
    loss: float  # log loss over labelled rows, each predicted without its label


class Fit(NamedTuple):
    """What EM ends with: class posterior (N, C), and the Bayesian information criterion."""

    P_c: FloatArray
    bic: float


def hybrid_models(X: FloatArray, y: IntArray, s: FloatArray, labelled: BoolArray) -> list[Hybrid]:
    """Of every shape of covariance, the mixtures with the lowest BIC; none if labels are few.

    Parameters are as in `partly_labelled.fit_partly_labelled`.

    References
    ----------
    K. Nigam, A. McCallum, S. Thrun and T. Mitchell, "Text classification from labeled and unlabeled
    documents using EM", Machine Learning 39, 2000.
    """
    n_labels = np.bincount(y[labelled])
    if n_labels.min() < 2:  # a class without labels cannot be left out
        return []
    models = []
    for shape in SHAPES:
        fits = {
            M: fitted_hybrid(X, y, s, labelled, M, shape)
            for M in range(1, MAX_PER_CLASS + 1)
            if enough_rows(X, M * len(n_labels), shape)
        }
        if fits:
            M = min(fits, key=lambda M: fits[M].bic)
            loss = left_out_loss(X, y, s, labelled, M, shape)
            P_c = tempered(fits[M].P_c, float(s[labelled].sum()))
            models.append(Hybrid(shape, M, P_c, loss))
    return models


def left_out_loss(
    X: FloatArray, y: IntArray, s: FloatArray, labelled: BoolArray, M: int, shape: CovarianceType
) -> float:
    """Log loss over labels that are hidden in folds, their rows staying among the unlabelled."""
    fold = np.full(len(y), -1)
    for c in range(int(y[labelled].max()) + 1):
        own = np.flatnonzero(labelled & (y == c))
        fold[own] = np.arange(len(own)) % FOLDS
    loss = 0.0
    for left_out in range(FOLDS):
        hidden = fold == left_out
        if not hidden.any():
            continue
        known = labelled & ~hidden
        fit = fitted_hybrid(X, y, s, known, M, shape)
        P_c = tempered(fit.P_c[hidden], float(s[known].sum()))
        loss -= float(s[hidden] @ np.log(P_c[np.arange(len(P_c)), y[hidden]]))
    return loss


def tempered(P_c: FloatArray, weight: float) -> FloatArray:
    """A posterior no surer than labels of this weight allow, by the rule of succession."""
    doubt = 1.0 / (weight + 2.0)
    return (1.0 - doubt) * P_c + doubt / P_c.shape[1]


def fitted_hybrid(
    X: FloatArray, y: IntArray, s: FloatArray, labelled: BoolArray, M: int, shape: CovarianceType
) -> Fit:
    """EM from the means of M clusters of labelled rows per class; labels stay as they are."""
    means, component_class = [], []
    for c in range(int(y[labelled].max()) + 1):
        own = labelled & (y == c)
        label = kmeans(X[own], s[own], M, np.random.RandomState(0))
        if M == 1:
            label = np.zeros_like(label)
        for m in np.unique(label):
            means.append(np.average(X[own][label == m], axis=0, weights=s[own][label == m]))
            component_class.append(c)
    mean = np.array(means)
    distance = (mean * mean).sum(axis=1) - 2.0 * (X @ mean.T)  # up to the common |x|^2
    r = np.exp(component_log_posterior(-0.5 * distance))
    own = np.array(component_class) == y[labelled][:, None]

    def in_class(r: FloatArray) -> FloatArray:
        # a labelled row that its class has nothing to do with still belongs to it
        inside = np.where(own, np.maximum(r[labelled], np.finfo(float).tiny), 0.0)
        r[labelled] = inside / inside.sum(axis=1, keepdims=True)
        return r

    def expect(log_joint: FloatArray, s: FloatArray) -> Expectation:
        log_p = log_sum_exp(log_joint)
        log_p[labelled] = log_sum_exp(np.where(own, log_joint[labelled], -np.inf))
        r = in_class(np.exp(component_log_posterior(log_joint)))
        return Expectation(log_joint, r, float(s @ log_p / s.sum()))

    end = em(X, s, in_class(r), shrunk(shape), likelihood_is_settled, expect)
    log_P_cm = component_log_posterior(end.log_joint)
    log_P_c = class_log_posterior(log_P_cm, np.array(component_class), component_class[-1] + 1)
    total = s.sum()
    criterion = bic(total * end.log_likelihood, X.shape[1], r.shape[1], shape, total)
    return Fit(np.exp(log_P_c), criterion)
