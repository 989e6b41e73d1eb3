"""When learning has converged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sdgm._typing import FloatArray
from sdgm.core.inference.mode import Mode
from sdgm.core.inference.phases import NEVER, Phase
from sdgm.core.model.state import Record, State
from sdgm.core.solvers.block_precision import BlockPrecision

# passes, and the log evidence that they must add for learning to go on: per weight where the rows
# are a sample, since all rows decide again; per component where it comes from diagonal blocks
STALLED_PASSES = 10
SAMPLE_GAIN, BLOCKS_GAIN = 0.05, 0.01


@dataclass(frozen=True)
class Settled:
    """Whether precisions have settled, w is at its mode and nothing left.

    Of hundreds of weights some are always on their way out. With the approximate evidence of
    diagonal blocks it is not worth waiting for the last of them: learning also ends when the
    evidence stalls.

    Attributes
    ----------
    tol : float
        Largest relative change that counts as none.
    squared_tol : float
        Sum of squared changes that does, the authors' rule; zero for never.
    waits : Phase
        When a stall does not count, since the last weights are judged one by one.
    """

    tol: float
    squared_tol: float = 0.0
    waits: Phase = NEVER

    def __call__(
        self,
        changed: tuple[FloatArray, FloatArray],
        before: State,
        after: State,
        mode: Mode,
        records: Sequence[Record],
    ) -> bool:
        """Whether to stop, given precisions before and after, the states, mode and records."""
        if not mode.is_reached or mode.has_initial_r:
            return False
        is_approximate = isinstance(mode.point.precision, BlockPrecision)
        may_stall = is_approximate and not self.waits(after)
        if may_stall and has_stalled(records, BLOCKS_GAIN * after.n_components):
            return True
        same_size = (
            before.n_weights == after.n_weights and before.n_components == after.n_components
        )
        return same_size and self.is_small(*changed)

    def is_small(self, before: FloatArray, after: FloatArray) -> bool:
        """Whether the change counts as none."""
        squared = float(((after - before) ** 2).sum())
        return log_change(before, after) < self.tol or squared < self.squared_tol


@dataclass(frozen=True)
class SettledOrStalled(Settled):
    """The same, or the evidence has stalled: for a sample, after which all rows decide again."""

    def __call__(
        self,
        changed: tuple[FloatArray, FloatArray],
        before: State,
        after: State,
        mode: Mode,
        records: Sequence[Record],
    ) -> bool:
        if not self.waits(after) and has_stalled(records, SAMPLE_GAIN * after.n_weights):
            return True
        return super().__call__(changed, before, after, mode, records)


def has_stalled(records: Sequence[Record], least: float) -> bool:
    """Whether the log evidence rose by less than that above its lowest of the last passes.

    Evidence that only falls has stalled; at first it falls and rises, while the components of a
    class part.
    """
    last = [record.log_evidence for record in records[-1 - STALLED_PASSES :]]
    return len(last) > STALLED_PASSES and last[-1] - min(last) < least


def log_change(before: FloatArray, after: FloatArray) -> float:
    """Largest relative change, on the log scale."""
    return float(np.abs(np.log(after / before)).max(initial=0.0))
