"""The configuration of a fit, and the two presets `PAPER` and `FAST`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sdgm._typing import FloatArray
from sdgm.core.data.rows import RowSource
from sdgm.core.inference.evidence import Settled
from sdgm.core.inference.fixed_alpha import FixedAlpha, learn_with_fixed_alpha
from sdgm.core.inference.learning import Method, Result, learn
from sdgm.core.inference.mode import EM, EMGradient, FewWeights
from sdgm.core.inference.preset import Preset
from sdgm.core.inference.relevance import (
    Bounds,
    EmptyComponents,
    EmptyComponentsAndTies,
    MacKay,
    TwoPhase,
    relative_to_one_component,
)
from sdgm.core.model.state import Record, State, Stop
from sdgm.core.solvers.precision import FactorizationError

# called with every record; returning True stops learning
Callback = Callable[[Record], bool | None]


@dataclass(frozen=True)
class Preparation:
    """Preprocessing of the data.

    Attributes
    ----------
    standardize : bool
        Whether features are standardised by default.
    merge_rows : bool
        Whether identical rows are merged, in the dual form into one candidate column.
    scale_columns : bool
        Whether alpha is relative to the norms of the columns.
    pinned : bool
        Whether the last component of the last class has no weights.
    ties_two : bool
        Whether one of two components has no weights, since only their difference matters.
    alpha : float
        Initial precision of every weight.
    """

    standardize: bool
    merge_rows: bool
    scale_columns: bool
    pinned: bool
    ties_two: bool
    alpha: float


@dataclass(frozen=True)
class Recipe:
    """Preprocessing and method."""

    preparation: Preparation
    method: Method | FixedAlpha

    @property
    def learns_alpha(self) -> bool:
        """Whether precisions are learned, so that weights can be removed."""
        return isinstance(self.method, Method)

    @property
    def min_share(self) -> float:
        """Share of its class below which a component counts as empty."""
        return self.method.min_share

    def begun(self, state: State) -> State:
        """The initial state; with ``ties_two``, one of two components has no weights."""
        if self.preparation.ties_two and state.n_components == 2:
            return relative_to_one_component(state)
        return state

    def learn(
        self,
        rows: RowSource,
        Rt: FloatArray,
        state: State,
        callback: Callback | None = None,
        earlier: Sequence[Record] = (),
        *,
        keep_states: bool = False,
    ) -> Result:
        """Algorithm 1, or its inner loops with alpha fixed.

        A keyboard interrupt, or a precision matrix that cannot be factorised, ends learning with
        the current state; before the end of the first pass it is raised.

        Parameters
        ----------
        rows, Rt, state, earlier
            As in `learn`.
        callback : callable, optional
            Called with the record of every outer pass, including its state; returning True stops
            learning.
        keep_states : bool
            Whether the records of the result include the state after their pass.
        """
        records, last = list(earlier), state

        def observe(state: State, record: Record) -> bool | None:
            nonlocal last
            last = state
            told = replace(record, state=state)
            records.append(told if keep_states else record)
            return callback(told) if callback is not None else None

        try:
            if isinstance(self.method, FixedAlpha):
                result = learn_with_fixed_alpha(rows, Rt, state, self.method, observe, earlier)
            else:
                result = learn(rows, Rt, state, self.method, observe, earlier)
        except (KeyboardInterrupt, FactorizationError) as trouble:
            if not records:
                raise
            is_interrupt = isinstance(trouble, KeyboardInterrupt)
            return Result(last, records, Stop.INTERRUPTED if is_interrupt else Stop.NUMERICAL)
        # the record of a model without weights is not observed
        return replace(result, records=[*records, *result.records[len(records) :]])


# --- the two presets, part by part ---

# The authors' thresholds: alpha above 1e5 is infinite, pi below 1e-5 is zero, r has converged if
# its mean change is below 1e-3, alpha if its squared changes sum to less than 1e-5. The lower bound
# on alpha is ours; without it 1 / alpha overflows on badly scaled features.
PAPER = Recipe(
    Preparation(
        standardize=False,
        merge_rows=False,
        scale_columns=False,
        pinned=True,
        ties_two=False,
        alpha=1.0,
    ),
    Method(
        max_iter=20_000,
        find_mode=EM(max_passes=500, r_tol=1e-3, max_steps=100, tol=1e-12),
        update_alpha=MacKay(Bounds(floor=1e-12, cap=1e5)),
        prune=EmptyComponents(min_share=1e-5),
        has_converged=Settled(tol=0.0, squared_tol=1e-5),
        class_prior=False,
    ),
)

# Twelve weights per component, three Newton steps, the initial alpha of 0.1 and the evidence of
# 0.05 were chosen on Ripley's data and Banana; docs/reproduction.md has the results.
FEW = FewWeights(12)
FAST = Recipe(
    Preparation(
        standardize=True,
        merge_rows=True,
        scale_columns=True,
        pinned=False,
        ties_two=True,
        alpha=0.1,
    ),
    Method(
        max_iter=500,
        find_mode=EMGradient(max_steps=3, tol=1e-3, to_mode=FEW),
        update_alpha=TwoPhase(Bounds(floor=1e-8, cap=1e5), FEW, min_evidence=0.05),
        prune=EmptyComponentsAndTies(min_share=1e-5, final_phase=FEW),
        has_converged=Settled(tol=1e-2, waits=FEW),
        class_prior=True,
    ),
)
PRESETS = {Preset.FAST: FAST, Preset.PAPER: PAPER}
