"""All of a fit that does not depend on the data: how it is prepared, and how it is learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sdgm._typing import FloatArray
from sdgm.core.data.rows import RowSource
from sdgm.core.inference.fixed_alpha import FixedAlpha, learn_with_fixed_alpha
from sdgm.core.inference.learning import Method, Result, class_shares, learn
from sdgm.core.inference.pruning import relative_to_one_component
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

    def class_shares(self, totals: FloatArray) -> FloatArray:
        """What pi sums to within each class, given the summed weights of its samples: (C,)."""
        return class_shares(totals, self.method.class_prior)

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

        An interrupt from the keyboard, or a precision that cannot be factorised after the first
        pass, ends learning with the state so far.

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
        except KeyboardInterrupt:
            return Result(last, records, Stop.INTERRUPTED)
        except FactorizationError:
            if not records:
                raise
            return Result(last, records, Stop.NUMERICAL)
        # the record of a model without weights is not observed
        return replace(result, records=[*records, *result.records[len(records) :]])
