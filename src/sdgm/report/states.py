"""The classifiers of recorded states, and which component became which."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from sdgm._typing import BoolArray, FloatArray, IntArray
from sdgm.core.model.basis import positions
from sdgm.core.model.features import Monomials, monomials
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.model.kernels import CallableKernel, KernelBasis
from sdgm.core.model.state import State
from sdgm.estimators.kernel_form import MAX_CANDIDATES, first_of_equals
from sdgm.estimators.plan import settings_of
from sdgm.estimators.preparation import prepared_again

CandidateBasis = Monomials | KernelBasis


def state_model(state: State, basis: CandidateBasis, classifier: Any) -> FittedModel:
    """The model that a state in the user's units stands for."""
    model: FittedModel = classifier.model_
    return FittedModel.from_candidates(model.classes, model.scaler, basis, state)


def candidate_basis(classifier: Any, X: FloatArray, y: Any) -> CandidateBasis | None:
    """The columns that recorded states count, made again from the training rows.

    They are not kept by a fit. None where they cannot be made, or turn out to be others: those
    that survived must be the classifier's own.
    """
    own = classifier.model_.basis
    basis: CandidateBasis | None = None
    if isinstance(own, Monomials):
        covariance_type = settings_of(classifier, classifier.chosen_)["covariance_type"]
        inputs = classifier.model_.scaler.inputs
        basis = monomials(len(inputs), covariance_type).without_constant()
        basis = basis.at_inputs(inputs, X.shape[1])
    elif isinstance(own, KernelBasis) and not isinstance(own.kernel, CallableKernel):
        basis = kernel_candidates(classifier, own, X, y)
    if basis is None:
        return None
    states = [record.state for record in classifier.history_ if record.state is not None]
    last = states[-1].column
    if last.max(initial=0) > len(basis):
        return None
    # a budget may have cut down what the last iteration left
    left = basis.take(np.unique(last[last > 0]) - 1)
    return basis if (positions(own, left) >= 0).all() else None


def kernel_candidates(
    classifier: Any, own: KernelBasis, X: FloatArray, y: Any
) -> KernelBasis | None:
    """All rows that could have become relevance vectors."""
    try:
        _, problem = prepared_again(classifier, X, y, chosen=classifier.chosen_)
    except ValueError:  # other rows than those of the fit
        return None
    if not np.array_equal(problem.classes, classifier.classes_):
        return None
    rows = classifier.model_.scaler.standardized(X[problem.first_user_row])
    rows += 0.0  # an input that is left out is zero, whatever its sign
    new = first_of_equals(replace(problem, X=rows))
    vectors, user_rows = rows[new], problem.first_user_row[new]
    if classifier.training_.learned_reference and len(vectors) > MAX_CANDIDATES:
        some = np.linspace(0, len(vectors) - 1, MAX_CANDIDATES).astype(np.intp)
        vectors, user_rows = vectors[some], user_rows[some]
    return KernelBasis(own.kernel, vectors, user_rows, X[user_rows], own.gamma)


def component_identities(states: list[State]) -> list[IntArray]:
    """For every state, which components of the first state its components are.

    States follow one another. Components leave and keep their order; which one left is not
    recorded. A component's columns are among those it had before, and its weights change little.

    Examples
    --------
    >>> zeros, ones = np.zeros(2, dtype=int), np.ones(2)
    >>> before = State(np.array([1.0, -2.0]), ones, np.array([0, 1]), zeros, ones, zeros)
    >>> after = State(np.array([-1.9]), ones[:1], zeros[:1], zeros[:1], ones[:1], zeros[:1])
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
    used = np.unique(np.concatenate([before.column, after.column]))

    def dense(state: State) -> tuple[FloatArray, BoolArray]:
        w = np.zeros((state.n_components, len(used)))
        has = np.zeros(w.shape, dtype=bool)
        place = state.component, np.searchsorted(used, state.column)
        w[place], has[place] = state.w, True
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
