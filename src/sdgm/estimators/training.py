"""How a model was learned, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from sdgm._typing import FloatArray, IntArray
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.model.state import Record, Stop


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
        Mean divergence in nats from the teacher, or from labels, at validation rows.
    stop_reason : str
        Why its learning ended.
    """

    parameters: dict[str, Any]
    replicates: float
    n_weights: int
    n_numbers: int
    divergence: float
    stop_reason: str = Stop.CONVERGED.value


@dataclass(frozen=True, eq=False)
class Training:
    """How a fitted model was learned.

    Attributes
    ----------
    history : list of Record
        One per iteration.
    log_evidence : float
        At the end.
    start_log_evidences : array of shape (n_init,)
    n_initial_weights : int
    converged : bool
    stop_reason : str
    settings : str
        A description of what must stay the same for a warm start from the model.
    chosen : dict
        Settings that were chosen from the training rows.
    candidates : list of Candidate
        Models that were tried, the chosen one first.
    learned_reference : bool
        Whether the model learned from a dense one in place of the labels.
    weights_path : dict or None
        The elimination path to the budget of weights, if there was one.
    """

    history: list[Record]
    log_evidence: float
    start_log_evidences: FloatArray
    n_initial_weights: int
    converged: bool
    stop_reason: str
    settings: str
    chosen: dict[str, Any] = field(default_factory=dict)
    candidates: list[Candidate] = field(default_factory=list)
    learned_reference: bool = False
    weights_path: dict[str, IntArray | FloatArray] | None = None

    @property
    def n_iter(self) -> int:
        """Iterations."""
        return len(self.history)

    def without_states(self) -> Training:
        """The same, with records without states."""
        return replace(self, history=[replace(record, state=None) for record in self.history])


@dataclass(frozen=True)
class Fit:
    """The result of a fit: a model, how it was learned, and whether the user ended it."""

    model: FittedModel
    training: Training
    is_interrupted: bool = False
