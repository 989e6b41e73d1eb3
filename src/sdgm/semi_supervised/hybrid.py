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

# in which labels are left out: four fifths of them are nearly as good to learn from as all
FOLDS = 5
# components per class that BIC chooses from: with few labels more would be told apart by chance
MAX_PER_CLASS = 2


class Hybrid(NamedTuple):
    """Gaussian mixtures of the classes, judged by the labels."""

    shape: CovarianceType
    n_components: int  # per class
    P: FloatArray  # class posterior at all rows: (N, C)
    P_left_out: FloatArray  # at labelled rows, each predicted without its label: (U, C)


class Fit(NamedTuple):
    """What EM ends with: class posterior (N, C), and the Bayesian information criterion."""

    P_c: FloatArray
    bic: float


def hybrid_models(X: FloatArray, y: IntArray, s: FloatArray, labelled: BoolArray) -> list[Hybrid]:
    """Of every shape of covariance, the mixtures with the lowest BIC; none if rows are few.

    Parameters are as in `partly_labelled.fit_partly_labelled`.

    References
    ----------
    K. Nigam, A. McCallum, S. Thrun and T. Mitchell, "Text classification from labeled and unlabeled
    documents using EM", Machine Learning 39, 2000.
    """
    n_classes = int(y[labelled].max()) + 1
    models = []
    for shape in SHAPES:
        fits = {
            M: fitted_hybrid(X, y, s, labelled, M, shape)
            for M in range(1, MAX_PER_CLASS + 1)
            if enough_rows(X, M * n_classes, shape)
        }
        if fits:
            M = min(fits, key=lambda M: fits[M].bic)
            P = tempered(fits[M].P_c, float(s[labelled].sum()))
            models.append(Hybrid(shape, M, P, left_out(X, y, s, labelled, M, shape)))
    return models


def left_out(
    X: FloatArray, y: IntArray, s: FloatArray, labelled: BoolArray, M: int, shape: CovarianceType
) -> FloatArray:
    """Class posterior where labels are hidden in folds, their rows staying among the unlabelled."""
    n_classes = int(y[labelled].max()) + 1
    P = np.full((len(y), n_classes), 1.0 / n_classes)
    fold = np.full(len(y), -1)
    for c in range(n_classes):
        own = np.flatnonzero(labelled & (y == c))
        if len(own) > 1:  # without its only label nothing is known of a class
            fold[own] = np.arange(len(own)) % FOLDS
    for number in range(fold.max() + 1):
        hidden = fold == number
        known = labelled & ~hidden
        fit = fitted_hybrid(X, y, s, known, M, shape)
        P[hidden] = tempered(fit.P_c[hidden], float(s[known].sum()))
    return P[labelled]


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
