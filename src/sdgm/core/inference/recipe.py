"""All of a fit that does not depend on the data, and the two presets: `PAPER` and `FAST`."""

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

# called with every record; a true answer ends learning
Callback = Callable[[Record], bool | None]


@dataclass(frozen=True)
class Preparation:
    """What is done to the data before learning.

    Attributes
    ----------
    standardize : bool
        Whether inputs are standardised unless the user says otherwise.
    merge_rows : bool
        Whether identical rows are one row, and one candidate column in the dual form.
    scale_columns : bool
        Whether alpha is measured in units of the columns' norms.
    pinned : bool
        Whether the last component of the last class has no weights.
    ties_two : bool
        Whether of two components, which say the same with opposite signs, one does without weights.
    alpha : float
        Precision of every weight at the start.
    """

    standardize: bool
    merge_rows: bool
    scale_columns: bool
    pinned: bool
    ties_two: bool
    alpha: float


@dataclass(frozen=True)
class Recipe:
    """A preparation and a method."""

    preparation: Preparation
    method: Method | FixedAlpha

    @property
    def learns_alpha(self) -> bool:
        """Whether precisions are learned, so that weights can leave."""
        return isinstance(self.method, Method)

    @property
    def min_share(self) -> float:
        """Share of its class below which a component counts as empty."""
        return self.method.min_share

    def begun(self, state: State) -> State:
        """The state to start from: of two components, one does without weights where that ties."""
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
        """Algorithm 1, or what is left of it with alpha held.

        An interrupt from the keyboard, or a precision that cannot be factorised, ends learning
        with the state so far; before the first pass there is none, and it is raised.

        Parameters
        ----------
        rows, Rt, state, earlier
            As in `learn`.
        callback : callable, optional
            Called with the record of every outer pass and the state after it; a true answer ends
            learning.
        keep_states : bool
            Whether the records of the result carry the state after their pass.
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

# The authors' thresholds: alpha above 1e5 is infinite, pi below 1e-5 is zero, r has converged when
# its mean change is below 1e-3, alpha when its squared changes sum to less than 1e-5. They have no
# lower bound of alpha; without one 1 / alpha overflows on weakly scaled inputs.
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

# Twelve weights per component, three Newton steps, a start of alpha = 0.1 and 0.05 of evidence were
# settled on Ripley's data and Banana; docs/reproduction.md has what they lead to.
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
