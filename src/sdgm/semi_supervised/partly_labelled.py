"""The dense model of rows some of which have no label: an ensemble with further members.

Members of four kinds are averaged by what they say of labels left out, as in `ensemble`:

- the members of the ensemble of the labelled rows, whose inputs are scaled by all rows, or else
  the user's teacher;
- ridge regression on a graph of near rows (`graph`): labels spread along a manifold;
- ridge regression on the clusters of all rows (`core.mixtures.clusters`): rows of a cluster share a
  label;
- Gaussian mixtures of the classes, with unlabelled rows in EM (`hybrid`).

In ridge regression unlabelled rows only shape the features, so that each label is left out exactly.
The weights of the average say how far unlabelled rows are believed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.inference.initialization import distinct_rows
from sdgm.core.mixtures.clusters import cluster_models
from sdgm.ensemble.fitting import fit_members, input_spaces
from sdgm.ensemble.members import Member, chosen_ridge
from sdgm.ensemble.model import Ensemble, WeightedMember
from sdgm.ensemble.ridge import smoother_of_features
from sdgm.ensemble.rows import LabelledRows, labelled_rows
from sdgm.ensemble.stacking import PRIOR_ROWS, stacked
from sdgm.estimators.distillation import (
    at_least,
    checked_proba,
    fitted_clone,
    is_frozen,
    out_of_fold,
)
from sdgm.estimators.problem import Sample
from sdgm.semi_supervised.graph import graph_vectors
from sdgm.semi_supervised.hybrid import hybrid_models

UNLABELLED = -1  # as in scikit-learn's semi_supervised
# how long labels spread along the graph
SPREADING_TIMES = (3.0, 10.0, 30.0, 100.0, 300.0)
# share of the first one from which on a direction of the graph counts
LEAST_DECAY = 1e-4
# first words of the names of members that use unlabelled rows
UNLABELLED_KINDS = ("graph", "clusters", "hybrid")
# power of the averaged probabilities: an average of calibrated probabilities is not sure enough.
# With 1, 1.25, 1.4, 1.5 and 2 the log loss of unlabelled rows is .300, .286, .284, .285 and .301,
# in the mean over the eight sets of docs/semi_supervised.md, 6 to 100 labels and five splits
SHARPENING = 1.4


class DenseModel(NamedTuple):
    """An average of members.

    Attributes
    ----------
    P : (N, C) array
        Probabilities at all rows.
    log_loss : float
        Of the labels, each predicted without it.
    shares : dict
        Weight of each member in the average, by name, the largest first.
    """

    P: FloatArray
    log_loss: float
    shares: dict[str, float]

    @property
    def unlabelled_share(self) -> float:
        """Weight of the members that use unlabelled rows."""
        return sum(
            share for name, share in self.shares.items() if name.startswith(UNLABELLED_KINDS)
        )


class Extra(NamedTuple):
    """A member beside those of the ensemble.

    Attributes
    ----------
    name : str
    P : (N, C) array
        Probabilities at all rows.
    P_left_out : (U, C) array
        Probabilities of the labelled rows, each without its label.
    """

    name: str
    P: FloatArray
    P_left_out: FloatArray


def fit_partly_labelled(
    X: FloatArray,
    y: IntArray,
    s: FloatArray,
    factors: FloatArray,
    teach: Callable[[FloatArray, Sample], Extra] | None = None,
) -> DenseModel:
    """Members for the labels, averaged.

    Parameters
    ----------
    X : (N, D) array
        Sorted rows, distinct together with their labels.
    y : (N,) integer array
        Class of each row; -1 of those without a label.
    s : (N,) array
        How often each row is there.
    factors : (C,) array
        Weight of one copy of a labelled row of each class, from ``class_weight``.
    teach : callable, optional
        Gives a member from all rows and the labelled ones, in place of those of the ensemble.
    """
    known = np.flatnonzero(y != UNLABELLED)
    frequency = np.zeros((len(known), len(factors)))
    frequency[np.arange(len(known)), y[known]] = s[known]
    # rows are sorted by inputs and label: the cases are the labelled rows, in their order
    rows, where = labelled_rows(X[known], frequency, factors)
    spaces = input_spaces(X, s)
    own = fit_members(rows, spaces) if teach is None else []
    extra = [] if teach is None else [teach(X, Sample(X[known], y[known], rows.cases.weight))]
    if spaces:
        Z = spaces[0][1](X)
        first = np.empty(len(rows.s), dtype=np.intp)
        first[where] = known
        extra += regressions(Z, s, first, rows)
        extra += hybrids(Z, y, s)
    return averaged(own, extra, X, rows)


def averaged(
    own: Sequence[Member], extra: Sequence[Extra], X: FloatArray, rows: LabelledRows
) -> DenseModel:
    """The average of members of the ensemble and others, at rows X."""
    mass = rows.s @ rows.Y
    ensemble = Ensemble(mass / mass.sum(), [])
    members: list[Member | Extra] = [*own, *extra]
    if not members:
        return DenseModel(ensemble.proba(X), 0.0, {})
    cases = rows.cases
    label = np.arange(len(cases)), cases.label
    P_label = np.stack([member.P_left_out[label] for member in members], axis=1)
    names = [member.name for member in members]
    weights = stacked(np.maximum(P_label, np.finfo(float).tiny), cases.weight, prior_rows(names))
    P, P_left_out = np.zeros((len(X), len(mass))), np.zeros((len(cases), len(mass)))
    for member, weight in zip(members, weights.tolist(), strict=True):
        P_left_out += weight * member.P_left_out
        if isinstance(member, Extra):
            P += weight * member.P
        else:
            kept = WeightedMember(member.name, weight, member.scorer, member.calibration)
            ensemble.members.append(kept)
    if own:
        P += ensemble.proba(X)
    loss = -np.log(sharpened(P_left_out)[label])
    order = np.argsort(-weights, kind="stable")
    shares = {names[j]: float(weights[j]) for j in order}
    return DenseModel(sharpened(P), float(cases.weight @ loss / cases.weight.sum()), shares)


def prior_rows(names: Sequence[str]) -> FloatArray:
    """Rows that speak for each member beforehand: every kind has as many, whatever its size."""
    kinds = [name.split()[0] if name.startswith(UNLABELLED_KINDS) else "" for name in names]
    n_kinds = len(set(kinds))
    return np.array([PRIOR_ROWS / (n_kinds * kinds.count(kind)) for kind in kinds])


def sharpened(P: FloatArray) -> FloatArray:
    """Probabilities to a power, of sum one."""
    P = np.maximum(P, np.finfo(float).tiny) ** SHARPENING
    return P / P.sum(axis=1, keepdims=True)


def regressions(
    Z: FloatArray, s: FloatArray, first: IntArray, rows: LabelledRows
) -> Iterator[Extra]:
    """Ridge regressions of the labels on features that all rows shape.

    Parameters
    ----------
    Z : (N, D) array
        All rows, standardised.
    s : (N,) array
    first : (n,) integer array
        Which of them the labelled rows are.
    rows : LabelledRows
    """
    for name, features in features_of_all(Z, s, rows.Y.shape[1]):
        smoother = smoother_of_features(features[first], rows)
        if not len(smoother.spectrum.k):  # the same at all labelled rows
            continue
        chosen = chosen_ridge(smoother)
        coef, constant = smoother.spectrum.coefficients(chosen.value)
        proba = chosen.calibration.proba
        yield Extra(name, proba(features @ coef + constant), proba(chosen.F_left_out))


def features_of_all(
    Z: FloatArray, s: FloatArray, n_classes: int
) -> Iterator[tuple[str, FloatArray]]:
    """Names and features of all rows: (N, p)."""
    points, weight, where = distinct_rows(Z, s)
    graph = graph_vectors(points)
    if graph is not None:
        eigenvalues, vectors = graph
        for time in SPREADING_TIMES:
            decay = np.exp(-time * eigenvalues)
            used = decay > LEAST_DECAY
            yield f"graph {time:g}", (vectors[:, used] * np.sqrt(decay[used]))[where]
    for shape, r, _ in cluster_models(points, weight, n_classes):
        yield f"clusters {shape} {r.shape[1]}", r[where]


def hybrids(Z: FloatArray, y: IntArray, s: FloatArray) -> Iterator[Extra]:
    """Gaussian mixtures of the classes, of all rows."""
    for shape, M, P, P_left_out in hybrid_models(Z, y, s, y != UNLABELLED):
        yield Extra(f"hybrid {shape} {M}", P, P_left_out)


def taught_by(teacher: Any, classes: np.ndarray[Any, Any], X: FloatArray, rows: Sample) -> Extra:
    """The member that any classifier is, cross-fitted to the labelled rows."""
    name = type(teacher).__name__
    if is_frozen(teacher):
        proba = checked_proba(teacher, classes)
        P_left_out = proba(rows.X)
    else:
        P_left_out = out_of_fold(teacher, rows, classes)
        fitted = fitted_clone(teacher, rows.X, classes[rows.y], rows.s, name)
        proba = checked_proba(fitted, classes)
    return Extra(name, at_least(proba(X)), at_least(P_left_out))
