"""Settings chosen from the training rows: a dense reference, and the smallest model true to it.

1. `core.reference` fits dense models, tunes each by evidence, weighs them by leaving out rows.
2. Candidates learn the posterior of that reference in place of the labels, each row as if it had
   been seen `_replicates` times with these frequencies of the classes. The more replicates, the
   closer to the reference, and the more weights.
3. Simple candidates come first. The first round with a model whose mean divergence from the
   reference is below `FAITHFUL` decides, by the fewest stored numbers; with none, the smallest
   divergence of all.

A richer round that comes no closer ends the search where it was close already. Labels enter through
the reference alone, and nothing is cross-validated: a sparse model can only lose what the reference
knows, and the divergence says how much.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sdgm._typing import FloatArray, IntArray
from sdgm.core.data.rows import Rows
from sdgm.core.inference.evidence import laplace_covariance
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.model.state import Stop
from sdgm.core.selection.reference import Reference
from sdgm.core.solvers.precision import FactorizationError
from sdgm.estimators.journal import attempt
from sdgm.estimators.sample import Sample
from sdgm.exceptions import ComponentsReducedWarning, NumericalTroubleWarning

# components per class that are tried when their number is left open
AUTO_COMPONENTS = (1, 2, 3)
# mean divergence in nats that is as good as none: it adds as much to the log loss
FAITHFUL = 0.005
# a richer round must bring the divergence to this share of what it was for the next to be tried,
# once it is within so many times `FAITHFUL`
WORTH_MORE = 0.9
NEARLY = 3.0
# frequency that a row's own label has at least, lest a rare class be lost
OWN_FREQUENCY = 1e-6
# components times columns beyond which larger candidates are left out: with dozens of classes they
# would take minutes each
MAX_COORDINATES = 8_000
# above this many rows labels are learned as they are: there are enough of them
MAX_ROWS = 10_000


@dataclass(frozen=True)
class Candidate:
    """A model that was tried.

    Attributes
    ----------
    parameters : dict
        Of the estimator.
    replicates : float
    n_weights : int
    n_numbers : int
        Weights, and inputs of relevance vectors.
    divergence : float
        Mean divergence from the reference at the training rows, in nats.
    stop_reason : str
        Why its learning ended.
    """

    parameters: dict[str, Any]
    replicates: float
    n_weights: int
    n_numbers: int
    divergence: float
    stop_reason: str = Stop.CONVERGED.value


def soft_sample(
    X: FloatArray, y: IntArray, s: FloatArray, P_c: FloatArray, replicates: float
) -> Sample:
    """Rows with the reference's posterior in place of labels; a row's own class always stays."""
    frequency = P_c.copy()
    own = np.arange(len(y)), y
    frequency[own] = np.maximum(frequency[own], OWN_FREQUENCY)
    frequency /= frequency.sum(axis=1, keepdims=True)
    return Sample(X, frequency, replicates * s)


def choose(
    estimator: Any,
    rounds: Iterator[Sequence[dict[str, Any]]],
    X: FloatArray,
    y: IntArray,
    s: FloatArray,
    reference: Reference,
    classes: np.ndarray[Any, Any],
    max_weights: int | None = None,
    divergence_within: Callable[[Any, int, Sample], float] | None = None,
    callbacks: tuple[dict[str, Any], Any] = ({}, None),
) -> tuple[Any, list[Candidate], Sample]:
    """The smallest model that is true to the reference.

    Parameters
    ----------
    estimator : SDGMClassifier or KernelSDGMClassifier
        Cloned for every candidate.
    rounds : iterator over sequences of dict
        Parameters of candidates, simple ones in the first rounds.
    X, y, s : arrays of N rows
        Inputs as the user gave them, class indices and weights.
    reference : Reference
    classes : (C,) array
        Labels.
    max_weights : int, optional
        What the model will be cut down to.
    divergence_within : callable, optional
        Divergence that a model has once it is, given the number and the rows; where the choice is
        larger than allowed, the smallest decides.
    callbacks : (dict, context)
        What scikit-learn's callbacks are told of every fit, and in which context.

    Returns
    -------
    model : fitted clone
    tried : list of Candidate
        The chosen one first.
    learned : Sample
        What it was fitted to.
    """
    learned = soft_sample(X, y, s, reference.P_c, estimator._replicates)
    tried: list[tuple[Candidate, Any]] = []
    failures: list[Exception] = []
    closest_before = np.inf
    for parameters_of_round in rounds:
        for parameters in parameters_of_round:
            try:
                with attempt():
                    model = fitted(estimator, parameters, learned, classes, callbacks)
                candidate = judged(model, parameters, estimator._replicates, X, s, reference)
                tried.append((candidate, model))
            except (FactorizationError, MemoryError) as error:
                failures.append(error)  # simpler settings may do
            if tried and is_interrupted(tried[-1][0]):
                break
        if any(is_interrupted(each) or is_faithful(each) for each, _ in tried):
            break
        closest = min((each.divergence for each, _ in tried), default=np.inf)
        if closest < NEARLY * FAITHFUL and closest > WORTH_MORE * closest_before:
            break
        closest_before = closest
    if not tried:
        raise failures[0]
    tried.sort(key=lambda pair: preference(pair[0]))
    if max_weights is not None and tried[0][0].n_weights > max_weights:
        assert divergence_within is not None
        losses = [divergence_within(model, max_weights, learned) for _, model in tried]
        tried = [tried[i] for i in np.argsort(losses, kind="stable").tolist()]
    return tried[0][1], [candidate for candidate, _ in tried], learned


def fitted(
    estimator: Any,
    parameters: dict[str, Any],
    learned: Sample,
    classes: np.ndarray[Any, Any],
    callbacks: tuple[dict[str, Any], Any] = ({}, None),
) -> Any:
    """A clone that learned from the reference, perhaps up to an interrupt."""
    # some estimators have fixed values in place of parameters
    own = {name: parameters[name] for name in parameters.keys() & estimator.get_params().keys()}
    model = clone(estimator).set_params(**own)
    with warnings.catch_warnings():
        # of the chosen model alone the caller is told how it ended
        for category in (ConvergenceWarning, ComponentsReducedWarning, NumericalTroubleWarning):
            warnings.simplefilter("ignore", category)
        try:
            model._fit_sample(learned, classes, *callbacks)
        except KeyboardInterrupt:
            if not hasattr(model, "stop_reason_"):  # nothing is there yet
                raise
    return model


def judged(
    model: Any,
    parameters: dict[str, Any],
    replicates: float,
    X: FloatArray,
    s: FloatArray,
    reference: Reference,
) -> Candidate:
    """A fitted model, measured against the reference."""
    P = reference.P_c
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(P > 0.0, np.log(P) - model.predict_log_proba(X), 0.0)
    divergence = float(s @ np.where(P > 0.0, P * ratio, 0.0).sum(axis=1) / s.sum())
    vectors = getattr(model, "relevance_vectors_", np.empty((0, 0)))
    n_weights = model.n_active_weights_
    n_numbers = n_weights + vectors.size
    return Candidate(parameters, replicates, n_weights, n_numbers, divergence, model.stop_reason_)


def is_interrupted(candidate: Candidate) -> bool:
    """Whether the user ended learning."""
    return candidate.stop_reason == Stop.INTERRUPTED


def is_faithful(candidate: Candidate) -> bool:
    """Whether it says what the reference says."""
    return candidate.divergence <= FAITHFUL


def preference(candidate: Candidate) -> tuple[bool, float, float]:
    """Smaller is better: true to the reference, small or close to it."""
    faithful = is_faithful(candidate)
    size = float(candidate.n_numbers) if faithful else candidate.divergence
    return not faithful, size, candidate.divergence


def honest_covariance(
    model: FittedModel, X: FloatArray, y: IntArray, s: FloatArray
) -> FloatArray | None:
    """Posterior covariance of the model's weights given the labels, each row counted once."""
    Z = model.columns(X)
    try:
        return laplace_covariance(Rows(Z, y, s), np.eye(Z.shape[1]), model.state)
    except FactorizationError:
        return None
