"""The classifiers that recorded states stand for, and which component became which."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from sdgm._typing import FloatArray, IntArray
from sdgm.core.features import Monomials, monomials
from sdgm.core.kernels import CallableKernel
from sdgm.core.model.basis import positions
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.model.kernel_basis import KernelBasis
from sdgm.core.state import State
from sdgm.estimators.kernel_columns import spread_candidates
from sdgm.estimators.parameters import components_per_class

CandidateBasis = Monomials | KernelBasis


def state_model(state: State, basis: CandidateBasis, classifier: Any) -> FittedModel:
    """The model that a state in the user's units stands for."""
    model: FittedModel = classifier.model_
    return FittedModel.from_candidates(model.classes, model.scaler, basis, state)


def candidate_basis(classifier: Any, X: FloatArray, y: Any) -> CandidateBasis | None:
    """The columns that recorded states count, made again from the training rows.

    They are not kept by a fit. None where they cannot be made, or turn out to be others: those
    that survived must be the classifier's own.

    Parameters
    ----------
    classifier : fitted SDGMClassifier or KernelSDGMClassifier
    X, y : the rows it was fitted to
    """
    own = classifier.model_.basis
    if isinstance(own, Monomials):
        phi = monomials(X.shape[1], classifier._setting("covariance_type"))
        basis: CandidateBasis = phi.without_constant()
    elif isinstance(own, KernelBasis) and not isinstance(own.kernel, CallableKernel):
        candidates = kernel_candidates(classifier, own, X, y)
        if candidates is None:
            return None
        basis = candidates
    else:
        return None
    last = classifier.history_[-1].state.column
    if last.max(initial=0) > len(basis):
        return None
    # a budget may have cut down what the last iteration left
    left = basis.take(np.unique(last[last > 0]) - 1)
    return basis if (positions(own, left) >= 0).all() else None


def kernel_candidates(
    classifier: Any, own: KernelBasis, X: FloatArray, y: Any
) -> KernelBasis | None:
    """All rows that could have become relevance vectors."""
    probe = clone(classifier)
    probe.training_ = classifier.training_
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem = probe._prepare(X, y, None, probe._options())
    except ValueError:  # other rows than those of the fit
        return None
    if not np.array_equal(problem.classes, classifier.classes_):
        return None
    rows = classifier.model_.scaler.standardized(X[problem.first_user_row])
    new = np.ones(len(rows), dtype=bool)
    if problem.options.merge_rows:
        new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    vectors, user_rows = rows[new], problem.first_user_row[new]
    if classifier.training_.learned_reference:
        n_classes = len(classifier.classes_)
        asked = components_per_class(classifier._setting("n_components"), classifier.classes_)
        learned = replace(
            problem,
            y=np.ones((len(rows), n_classes)),
            n_components=np.minimum(asked, len(rows)),
        )
        spread = spread_candidates(own.kernel, vectors, learned)
        if spread is not None:
            vectors, user_rows = vectors[spread], user_rows[spread]
    return KernelBasis(own.kernel, vectors, user_rows, X[user_rows], own.gamma)


def component_identities(states: list[State]) -> list[IntArray]:
    """For every state, which components of the first state its components are.

    Components leave and keep their order; which one left is not recorded. A component's columns
    are among those it had before, and its weights change little from one state to the next.

    Parameters
    ----------
    states : list of State
        After consecutive iterations.

    Returns
    -------
    identities : list of (K,) integer arrays

    Examples
    --------
    >>> zeros = np.zeros(2, dtype=int)
    >>> before = State(
    ...     np.array([1.0, -2.0]), np.ones(2), np.array([0, 1]), zeros, np.ones(2), zeros
    ... )
    >>> after = State(np.array([-1.9]), np.ones(1), zeros[:1], zeros[:1], np.ones(1), zeros[:1])
    >>> component_identities([before, after])
    [array([0, 1]), array([1])]
    """
    identities: list[IntArray] = [np.arange(states[0].n_components)]
    for before, after in pairwise(states):
        known = identities[-1]
        if not np.array_equal(before.component_class, after.component_class):
            known = known[survivors_in_order(dissimilarity(before, after))]
        identities.append(known)
    return identities


def dissimilarity(before: State, after: State) -> FloatArray:
    """How unlike the components of two states are: (K after, K before)."""
    n_columns = 1 + max(before.column.max(initial=0), after.column.max(initial=0))
    used = np.unique(np.concatenate([before.column, after.column]))
    place = np.full(n_columns, -1)
    place[used] = np.arange(len(used))

    def dense(state: State) -> tuple[FloatArray, Any]:
        w = np.zeros((state.n_components, len(used)))
        has = np.zeros(w.shape, dtype=bool)
        w[state.component, place[state.column]] = state.w
        has[state.component, place[state.column]] = True
        return w, has

    (w, has), (w_new, has_new) = dense(before), dense(after)
    squares = (w**2).sum(axis=1) + (w_new**2).sum(axis=1)[:, None]
    distance = squares - 2.0 * w_new @ w.T
    share = np.where(squares > 0.0, distance / np.where(squares > 0.0, squares, 1.0), 0.0)
    appeared = has_new.astype(float) @ (~has).T.astype(float)
    other_class = after.component_class[:, None] != before.component_class
    drift = np.abs(np.log(after.pi)[:, None] - np.log(before.pi))
    return share + 10.0 * appeared + 1e6 * other_class + 0.01 * np.minimum(drift, 10.0)


def survivors_in_order(cost: FloatArray) -> IntArray:
    """For every row a column, increasing, with the smallest sum of costs."""
    n, m = cost.shape
    total = np.full((n + 1, m + 1), np.inf)  # rows i.. in columns j..
    total[n] = 0.0
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            total[i, j] = min(total[i, j + 1], cost[i, j] + total[i + 1, j + 1])
    chosen, j = [], 0
    for i in range(n):
        while total[i, j + 1] <= total[i, j] and m - j > n - i:
            j += 1
        chosen.append(j)
        j += 1
    return np.array(chosen, dtype=np.intp)
