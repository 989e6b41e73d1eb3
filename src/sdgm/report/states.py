"""The classifiers of recorded states, and which component became which."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from sdgm._typing import BoolArray, FloatArray, IntArray
from sdgm.core.features import Monomials, monomials
from sdgm.core.kernels import CallableKernel
from sdgm.core.posterior import class_log_posterior, component_log_posterior
from sdgm.core.state import State
from sdgm.estimators.kernel_columns import KernelBasis, spread_candidates
from sdgm.estimators.parameters import components_per_class

CandidateBasis = Monomials | KernelBasis


@dataclass(frozen=True)
class StateClassifier:
    """The classifier of a recorded state.

    It has what `sdgm.estimators.quadratics` needs of a fitted one.

    Attributes
    ----------
    classes_ : (C,) array
    coef_ : (K, n_columns) array
    intercept_, mixture_weights_ : (K,) arrays
    component_class_ : (K,) integer array
    _basis : the columns in use
    _center, _inverse_scale : (D,) arrays
    """

    classes_: np.ndarray[Any, Any]
    coef_: FloatArray
    intercept_: FloatArray
    mixture_weights_: FloatArray
    component_class_: IntArray
    _basis: CandidateBasis
    _center: FloatArray
    _inverse_scale: FloatArray

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Class posterior P(c | x) (Eq. 1): (N, C)."""
        Phi = self._basis.transform((X - self._center) * self._inverse_scale)
        scores = Phi @ self.coef_.T + self.intercept_ + np.log(self.mixture_weights_)
        log_P_cm = component_log_posterior(scores)
        return np.exp(class_log_posterior(log_P_cm, self.component_class_, len(self.classes_)))

    @property
    def relevance_(self) -> IntArray | None:
        """Rows of the relevance vectors; None in the original form."""
        return self._basis.user_rows if isinstance(self._basis, KernelBasis) else None


def state_classifier(state: State, basis: CandidateBasis, classifier: Any) -> StateClassifier:
    """The classifier that a state in the user's units stands for."""
    used = np.unique(state.column[state.column > 0])
    w = np.zeros((state.n_components, 1 + len(used)))
    w[state.component, np.searchsorted(np.append(0, used), state.column)] = state.w
    return StateClassifier(
        classes_=classifier.classes_,
        coef_=w[:, 1:],
        intercept_=w[:, 0],
        mixture_weights_=state.pi,
        component_class_=state.component_class,
        _basis=basis.take(used),
        _center=classifier._center,
        _inverse_scale=classifier._inverse_scale,
    )


def candidate_basis(classifier: Any, X: FloatArray, y: Any) -> CandidateBasis | None:
    """The columns that recorded states count, made again from the training rows.

    They are not kept by a fit. None where they cannot be made, or turn out to be others: those
    that survived must be the classifier's own.

    Parameters
    ----------
    classifier : fitted SDGMClassifier or KernelSDGMClassifier
    X, y : the rows it was fitted to
    """
    own = classifier._basis
    if isinstance(own, Monomials):
        basis: CandidateBasis = monomials(X.shape[1], classifier._setting("covariance_type"))
    elif isinstance(own, KernelBasis) and not isinstance(own.kernel, CallableKernel):
        candidates = kernel_candidates(classifier, own, X, y)
        if candidates is None:
            return None
        basis = candidates
    else:
        return None
    survivors = np.unique(classifier._state.column[classifier._state.column > 0])
    largest = len(basis) - 1 if isinstance(basis, Monomials) else len(basis.vectors)
    if survivors.max(initial=0) > largest or not same_columns(basis.take(survivors), own):
        return None
    return basis


def kernel_candidates(
    classifier: Any, own: KernelBasis, X: FloatArray, y: Any
) -> KernelBasis | None:
    """All rows that could have become relevance vectors."""
    probe = clone(classifier)
    probe.chosen_ = classifier.chosen_
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem = probe._prepare(X, y, None, probe._options())
    except ValueError:  # other rows than those of the fit
        return None
    if not np.array_equal(probe.classes_, classifier.classes_):
        return None
    rows = classifier._standardized(X[problem.first_user_row])
    new = np.ones(len(rows), dtype=bool)
    if problem.options.merge_rows:
        new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    vectors, user_rows = rows[new], problem.first_user_row[new]
    if getattr(classifier, "_learned_reference", False):
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
    return KernelBasis(own.kernel, vectors, user_rows)


def same_columns(a: CandidateBasis, b: CandidateBasis) -> bool:
    """Whether two bases are the same functions of the input."""
    if isinstance(a, Monomials) and isinstance(b, Monomials):
        return np.array_equal(a.first, b.first) and np.array_equal(a.second, b.second)
    if isinstance(a, KernelBasis) and isinstance(b, KernelBasis):
        return np.array_equal(a.vectors, b.vectors)
    return False


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
