"""What a sparse model learns in place of labels: the probabilities of a teacher.

A teacher is most confident at the training rows: on nearly separable data its probabilities there
are zeros and ones, and many models agree with them. They differ between the rows. Therefore half of
what is learned are synthetic rows in between: copies of training rows in which each input comes
from the row itself or from one of its nearest neighbours, so that codes stay codes. Another set of
such rows, which no model learns from, measures how much of the teacher is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import has_fit_parameter

from sdgm._typing import FloatArray, IntArray
from sdgm.ensemble.estimator import KernelEnsembleClassifier
from sdgm.ensemble.model import prediction_bytes
from sdgm.estimators.parameters import is_given
from sdgm.estimators.problem import Problem, Sample
from sdgm.estimators.run import warn_user
from sdgm.scale.memory import require_memory

# minimum probability of a row's own class, and of every other, so that no rare class is lost
LEAST_PROBABILITY = 1e-6
# rows in between to learn from: as many as training rows, but at least so many (at most three of
# each) and at most so many; and rows to judge by
MIN_BETWEEN, COPIES, MAX_BETWEEN = 1_000, 3, 2_000
MAX_JUDGED = 500
# share of the total weight that rows in between have
SHARE_BETWEEN = 0.5
# number of nearest neighbours that inputs are exchanged with, and the digits of standardised inputs
# used to find them: with more, rounding would decide between rows at the same distance
NEIGHBOURS = 5
DIGITS = 9
# folds of the cross-fitting of a teacher
FOLDS = 5
# largest deviation from one of the sum of a row's probabilities
SUM_TOLERANCE = 1e-3

Proba = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Targets:
    """Rows with the probabilities of a teacher.

    Attributes
    ----------
    learned : Sample
        To learn from: the rows of a problem first, then rows in between.
    judged : Sample
        Other rows, to judge by.
    n_rows : int
        Rows of the problem.
    log_loss : float
        Of the teacher, out of sample.
    name : str
        Of the teacher.
    labels : (n_rows,) array or None
        Class indices of the rows of the problem, if a model may learn them as well; None where the
        user names the teacher.
    """

    learned: Sample
    judged: Sample
    n_rows: int
    log_loss: float
    name: str
    labels: IntArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of the problem and classes."""
        return self.n_rows, self.learned.y.shape[1]

    @classmethod
    def at_rows(cls, sample: Sample, log_loss: float = 0.0, name: str = "dense model") -> Targets:
        """Probabilities that are known at the rows alone."""
        bounded = Sample(sample.X, at_least(sample.y), sample.s)
        return cls(bounded, bounded, len(sample.s), log_loss, name)


def targets_of(teacher: Any, problem: Problem) -> Targets:
    """Probabilities of a teacher at the rows of a problem, and in between.

    Parameters
    ----------
    teacher : "auto" or classifier
        As the estimators take it.
    problem : Problem
        With labels.
    """
    rows, N = problem.sample, len(problem.s)
    assert rows.y.ndim == 1
    # a teacher that is already fitted needs all features
    seen = problem.read if not is_frozen(teacher) else lambda X: X
    n_others = sum(numbers_between(N))
    if is_given(teacher):
        given = problem.sample_as_given  # weights need not mean repeated rows to a teacher
        P, log_loss, proba = taught(teacher, replace(given, X=seen(given.X)), problem.classes)
        P = problem.merged_means(P)
    else:
        what = f"A teacher of {N} rows that predicts {n_others} others"
        require_memory(prediction_bytes(N, n_others), what, ["fewer rows"])
        P, log_loss, proba = taught_by_ensemble(replace(rows, X=seen(rows.X)), problem.class_factor)
    read = np.arange(rows.X.shape[1]) if problem.inputs is None else problem.inputs
    X = rows_between(rows.X, problem.X, read, n_others)
    name = type(teacher).__name__ if is_given(teacher) else KernelEnsembleClassifier.__name__
    targets = targets_at(Sample(rows.X, P, rows.s), X, proba(seen(X)), log_loss, name)
    return targets if is_given(teacher) else replace(targets, labels=rows.y)


def numbers_between(N: int) -> tuple[int, int]:
    """How many rows in between there are beside N rows: to learn from, and to judge by."""
    n_between = min(max(N, min(COPIES * N, MIN_BETWEEN)), MAX_BETWEEN)
    return n_between, min(max(N, MIN_BETWEEN // COPIES), MAX_JUDGED)


def targets_at(rows: Sample, X: FloatArray, P: FloatArray, log_loss: float, name: str) -> Targets:
    """Probabilities of rows, and P of rows X in between; `numbers_between` says how many."""
    n_between, n_judged = numbers_between(len(rows.s))
    P = at_least(P)
    between = np.full(n_between, SHARE_BETWEEN * rows.s.sum() / n_between)
    learned = Sample(
        np.concatenate([rows.X, X[:n_between]]),
        np.concatenate([at_least(rows.y), P[:n_between]]),
        np.concatenate([(1.0 - SHARE_BETWEEN) * rows.s, between]),
    )
    judged = Sample(X[n_between:], P[n_between:], np.ones(n_judged))
    return Targets(learned, judged, len(rows.s), log_loss, name)


def taught_by_ensemble(
    rows: Sample, class_factor: FloatArray | None
) -> tuple[FloatArray, float, Proba]:
    """The same for our own dense model.

    A weight means repeated rows, of which one is left out at a time. Factors of classes do not, so
    that they are taken out of the weights.
    """
    dense, s = KernelEnsembleClassifier(), rows.s
    if class_factor is not None:
        dense.set_params(class_weight=dict(enumerate(class_factor.tolist())))
        s = s / class_factor[rows.y]
    dense.fit(rows.X, rows.y, sample_weight=s)
    return dense.train_proba_, dense.loo_log_loss_, dense.predict_proba


def taught(
    teacher: Any, rows: Sample, classes: np.ndarray[Any, Any]
) -> tuple[FloatArray, float, Proba]:
    """Probabilities at the rows, log loss at rows not seen, and probabilities anywhere."""
    name, labels = type(teacher).__name__, classes[rows.y]
    if is_frozen(teacher):
        proba = checked_proba(teacher, classes)
        P = proba(rows.X)
        return P, log_loss_of(P, rows), proba
    unseen = out_of_fold(teacher, rows, classes)
    proba = checked_proba(fitted_clone(teacher, rows.X, labels, rows.s, name), classes)
    # a teacher may be too confident at rows that it has seen, and knows less of those it has not
    return 0.5 * (proba(rows.X) + unseen), log_loss_of(unseen, rows), proba


def is_frozen(teacher: Any) -> bool:
    """Whether it is scikit-learn's `FrozenEstimator`, which `fit` does not change."""
    return type(teacher).__name__ == "FrozenEstimator"


def out_of_fold(teacher: Any, rows: Sample, classes: np.ndarray[Any, Any]) -> FloatArray:
    """Probabilities of rows by clones that have not seen them: (N, C)."""
    counts = np.bincount(rows.y, minlength=len(classes))
    n_folds = min(FOLDS, int(counts.min()))
    if n_folds < FOLDS:
        fewest = classes.tolist()[int(counts.argmin())]
        if n_folds < 2:
            raise ValueError(
                f"class {fewest!r} has a single row, but cross-fitting the teacher needs at least "
                "two; leave the class out, or pass a FrozenEstimator."
            )
        warn_user(
            f"Class {fewest!r} has {n_folds} rows: the teacher is cross-fitted in {n_folds} "
            f"instead of {FOLDS} folds.",
            UserWarning,
        )
    P = np.empty((len(rows.y), len(classes)))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    for number, (train, test) in enumerate(folds.split(rows.X, rows.y)):
        what = f"{type(teacher).__name__} in fold {number + 1} of {n_folds}"
        labels = classes[rows.y[train]]
        fitted = fitted_clone(teacher, rows.X[train], labels, rows.s[train], what)
        P[test] = checked_proba(fitted, classes)(rows.X[test])
    return P


def fitted_clone(
    teacher: Any, X: FloatArray, y: np.ndarray[Any, Any], s: FloatArray, what: str
) -> Any:
    """A clone fitted to these rows; its error is the cause of ours."""
    copy = clone(teacher)
    weights = {"sample_weight": s} if has_fit_parameter(copy, "sample_weight") else {}
    try:
        return copy.fit(X, y, **weights)
    except Exception as error:
        raise ValueError(
            f"the teacher could not be fitted ({what}): {error}; see the error above, or use "
            "another teacher."
        ) from error


def checked_proba(teacher: Any, classes: np.ndarray[Any, Any]) -> Proba:
    """The probabilities of a fitted teacher, in the order of the classes, checked on every call."""
    known = list(getattr(teacher, "classes_", classes))
    missing = [label for label in classes.tolist() if label not in known]
    if missing:
        raise ValueError(
            f"the teacher does not know the class {missing[0]!r}, only {known}; fit it to rows of "
            "all classes."
        )
    order = [known.index(label) for label in classes.tolist()]

    def proba(X: FloatArray) -> FloatArray:
        P = np.asarray(teacher.predict_proba(X), dtype=np.float64)
        if P.shape != (len(X), len(known)):
            raise ValueError(
                f"the teacher's predict_proba has shape {P.shape} for {len(X)} rows and "
                f"{len(known)} classes; one row per sample and one column per class are needed."
            )
        if not np.isfinite(P).all():
            raise ValueError("the teacher's probabilities are not all finite; use another teacher.")
        if (P < 0.0).any() or np.abs(P.sum(axis=1) - 1.0).max() > SUM_TOLERANCE:
            raise ValueError(
                "the teacher's probabilities are negative or do not sum to one; calibrate it."
            )
        P = P[:, order]
        total = P.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, P / np.where(total > 0.0, total, 1.0), 1.0 / len(order))

    return proba


def at_least(P: FloatArray) -> FloatArray:
    """Probabilities none of which is zero."""
    P = np.maximum(P, LEAST_PROBABILITY)
    return P / P.sum(axis=1, keepdims=True)


def log_loss_of(P: FloatArray, rows: Sample) -> float:
    """Mean log loss of the labels."""
    own = np.maximum(P[np.arange(len(P)), rows.y], LEAST_PROBABILITY)
    return -float(rows.s @ np.log(own) / rows.s.sum())


def rows_between(X: FloatArray, Z: FloatArray, read: IntArray, n: int) -> FloatArray:
    """Rows whose inputs each come from a row or from one of its nearest neighbours: (n, D).

    Parameters
    ----------
    X : (N, D) array
    Z : (N, D') array
        The same rows standardised, used to find neighbours.
    read : integer array
        The inputs that are exchanged; others stay with the row.
    n : int
    """
    rng = np.random.RandomState(0)
    N = len(X)
    base = np.concatenate([rng.permutation(N) for _ in range(-(-n // N))])[:n]
    other = partners(Z, base, rng)
    is_other = np.zeros((n, X.shape[1]), dtype=bool)
    is_other[:, read] = rng.uniform(size=(n, len(read))) >= 0.5
    return np.where(is_other, X[other], X[base])


def partners(X: FloatArray, base: IntArray, rng: np.random.RandomState) -> IntArray:
    """For each of these rows, one of its nearest neighbours: (n,)."""
    n_near = min(NEIGHBOURS, len(X) - 1)
    X = X.round(DIGITS)
    which, inverse = np.unique(base, return_inverse=True)
    near = NearestNeighbors(n_neighbors=n_near + 1).fit(X)
    found = near.kneighbors(X[which], return_distance=False)[inverse]  # itself among them
    choice = rng.randint(n_near, size=len(base))
    is_own = found[np.arange(len(base)), choice] == base
    return found[np.arange(len(base)), np.where(is_own, n_near, choice)]
