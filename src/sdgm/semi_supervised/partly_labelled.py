"""The dense reference of rows some of which have no label.

Three families of dense models are softmax models with Gaussian process priors, fitted to the
labelled rows alone:

- the kernels of `core.selection.reference`, which know nothing of unlabelled rows;
- kernels on a graph of near rows (`graph`): labels spread along a manifold;
- kernels on the clusters of all rows (`core.mixtures.clusters`): rows of a cluster share a label.

Unlabelled rows only shape the kernels, so that every model has the evidence of the labels and the
loss with each label left out. Beside them stand Gaussian mixtures per class, of the labelled rows
(`core.selection.generative`) and of all rows (`hybrid`), judged by labels left out in folds. The
shares of the average, exp(score), say how far unlabelled rows are believed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sdgm._typing import BoolArray, FloatArray, IntArray
from sdgm.core.inference.initialization import distinct_rows
from sdgm.core.mixtures.clusters import cluster_models
from sdgm.core.model.kernels import Kernel, RBFKernel
from sdgm.core.selection.generative import bayes, generative_model
from sdgm.core.selection.reference import (
    FACTOR_TOLERANCE,
    RBF_SCALES,
    Reference,
    dense_model,
    fixed_kernels,
    kernel_factor,
    largest_rank,
    without_constants,
)
from sdgm.semi_supervised.graph import graph_vectors
from sdgm.semi_supervised.hybrid import hybrid_models

# how long labels spread along the graph
SPREADING_TIMES = (3.0, 10.0, 30.0, 100.0, 300.0)
# share of the largest that an eigenvalue of a kernel must have
KERNEL_RANK_TOLERANCE = 1e-10
# first words of the names of models that use unlabelled rows
UNLABELLED_KINDS = ("graph", "clusters", "hybrid")


@dataclass(frozen=True)
class Features(Kernel):
    """The kernel ``z'z`` of features that are known at given rows only."""

    Z: FloatArray

    def gram(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        raise NotImplementedError("features of other rows are not known")

    def explicit(self, X: FloatArray) -> FloatArray:
        """The features of the rows, in their order."""
        return self.Z

    def explicit_size(self, n_features: int) -> int:
        """Below any number of rows: there is nothing to be computed."""
        return -1


@dataclass(frozen=True)
class PartlyLabelledReference(Reference):
    """A reference with the share of each model in it, by name, the largest first."""

    shares: dict[str, float]

    @property
    def unlabelled_share(self) -> float:
        """Share of the models that use unlabelled rows."""
        return sum(
            share for name, share in self.shares.items() if name.startswith(UNLABELLED_KINDS)
        )


def fit_partly_labelled(
    X: FloatArray, y: IntArray, s: FloatArray, labelled: BoolArray
) -> PartlyLabelledReference:
    """Dense models of the labelled rows, averaged, with their posterior at all rows.

    Parameters
    ----------
    X : (N, D) array
        Standardised rows, sorted.
    y : (N,) integer array
        Class index of each labelled row; others are not looked at.
    s : (N,) array
        Sample weights.
    labelled : (N,) array of bool
    """
    X = without_constants(X)
    y = np.where(labelled, y, 0)
    s_labels = np.where(labelled, s, 0.0)
    models = [
        replace(dense_model(name, Features(Z), X, y, s_labels), kernel=kernel)
        for name, kernel, Z in candidates(X, y, s, labelled)
    ]
    models.sort(key=lambda model: -model.score)
    names = [model.name for model in models]
    log_share = [model.score for model in models]
    posteriors = [model.P_c for model in models]
    for name, P_c, loss in generative_models(X, y, s, labelled):
        names.append(name)
        # it has no evidence of this kind: the best dense model's stands in for it
        log_share.append(models[0].score + 0.5 * (models[0].loss - loss))
        posteriors.append(P_c)
    share = np.exp(np.array(log_share) - max(log_share))
    share /= share.sum()
    P_c = np.einsum("m,mnc->nc", share, np.array(posteriors))
    order = np.argsort(-share, kind="stable")
    shares = {names[i]: float(share[i]) for i in order}
    return PartlyLabelledReference(models, float(share[len(models) :].sum()), P_c, shares)


def candidates(
    X: FloatArray, y: IntArray, s: FloatArray, labelled: BoolArray
) -> Iterator[tuple[str, Kernel, FloatArray]]:
    """Names, kernels and their factors at all rows: (N, p)."""
    n_classes = int(y.max()) + 1
    max_rank = largest_rank(n_classes)
    D = X.shape[1]
    kernels = list(fixed_kernels(D))
    kernels += [(f"rbf {scale:g}", RBFKernel(scale / D)) for scale in RBF_SCALES]
    for name, kernel in kernels:
        yield name, kernel, factor_at_all_rows(kernel, X, labelled, max_rank)
    points, weight, where = distinct_rows(X, s)
    graph = graph_vectors(points)
    if graph is not None:
        eigenvalues, vectors = graph
        for time in SPREADING_TIMES:
            decay = np.exp(-time * eigenvalues)
            used = decay > FACTOR_TOLERANCE
            Z = vectors[:, used] * np.sqrt(decay[used])
            yield f"graph {time:g}", Features(Z[where]), Z[where]
    for shape, r, _ in cluster_models(points, weight, n_classes):
        Z = r[where]
        yield f"clusters {shape} {Z.shape[1]}", Features(Z), Z


def factor_at_all_rows(
    kernel: Kernel, X: FloatArray, labelled: BoolArray, max_rank: int
) -> FloatArray:
    """Z with ``Z Z'`` the kernel between any row and a labelled one: (N, p).

    The posterior of a Gaussian process needs no more, and p is at most the number of labels.
    """
    size = kernel.explicit_size(X.shape[1])
    n_labelled = int(labelled.sum())
    if n_labelled > max_rank or (size is not None and size < min(n_labelled, max_rank)):
        return kernel_factor(kernel, X, max_rank)
    gram = kernel.gram(X, X[labelled])
    eigenvalues, V = np.linalg.eigh(gram[labelled])
    used = eigenvalues > KERNEL_RANK_TOLERANCE * eigenvalues[-1]
    return gram @ (V[:, used] / np.sqrt(eigenvalues[used]))


def generative_models(
    X: FloatArray, y: IntArray, s: FloatArray, labelled: BoolArray
) -> Iterator[tuple[str, FloatArray, float]]:
    """Names, posteriors at all rows and losses on labels left out of mixtures per class."""
    known_y, known_s = y[labelled], s[labelled]
    generative = generative_model(X[labelled], known_y, known_s)
    if generative is not None:
        P_c = np.exp(bayes(generative.mixtures, X, np.bincount(known_y, known_s)))
        yield "mixtures", P_c, -float(known_s @ generative.log_left_out)
    for shape, M, P_c, loss in hybrid_models(X, y, s, labelled):
        yield f"hybrid {shape} {M}", P_c, loss
