"""How a model was learned, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sdgm._typing import FloatArray, IntArray
from sdgm.core.model.state import Record

if TYPE_CHECKING:
    from sdgm.estimators.automatic import Candidate


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
        Words for what must stay the same to go on from the model.
    chosen : dict
        Settings that were chosen from the training rows.
    candidates : list of Candidate
        Models that were tried, the chosen one first.
    learned_reference : bool
        Whether the model learned from a dense one in place of the labels.
    weights_path : dict or None
        The way to a budget of weights, where there was one.
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
        """The same with records that carry no states."""
        return replace(self, history=[replace(record, state=None) for record in self.history])
