"""Fits to many rows: what the model looks like from a sample, its weights from all of them.

Candidate columns are many and rows are many, but a sample of some ten thousand rows tells which
columns matter. From then on the columns are few, and learning goes on from where the sample left it
with every row in every sum: the same loop, over blocks that are read when they are wanted.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.learning import Result, laplace_covariance, shares
from sdgm.core.objective import class_totals
from sdgm.core.options import Options
from sdgm.core.precision import NumericalTrouble
from sdgm.core.reduction import BlockedRows
from sdgm.core.rows import CANONICAL_ROWS, Rows, RowSource
from sdgm.core.state import Record, State, Stop
from sdgm.estimators.journal import journaled_learn
from sdgm.estimators.problem import LARGEST_INPUT

# rows up to which all of them tell what the model looks like, and how many do beyond that
LARGE_ROWS = 32_768
SAMPLE_ROWS = 16_384
# rows of a class that the sample has at least, if there are as many
RARE_ROWS = 500
# passes of the outer loop over all rows: the precisions have converged on the sample, and with so
# many rows the weights hardly depend on them
POLISHING_PASSES = 5


@runtime_checkable
class RowReader(Protocol):
    """A table that is read in parts."""

    shape: tuple[int, int]

    def read(self, start: int, stop: int) -> FloatArray:
        """Rows from ``start`` up to ``stop``: (stop - start, n_features)."""
        ...


def blocked_table(
    X: FloatArray | RowReader, y: IntArray, s: FloatArray, *, n_threads: int
) -> BlockedRows:
    """A table in canonical blocks, inputs in place of Z; every block is checked when it is read."""
    n_rows, n_features = X.shape

    def read(i: int) -> Rows:
        start, stop = i * CANONICAL_ROWS, min((i + 1) * CANONICAL_ROWS, n_rows)
        block = np.asarray(X.read(start, stop) if isinstance(X, RowReader) else X[start:stop])
        if block.dtype.kind not in "biuf":
            raise ValueError(f"X holds {block.dtype}, not numbers; encode it or leave it out.")
        block = block.astype(np.float64, copy=isinstance(X, np.memmap))
        if isinstance(X, np.memmap):
            hand_back(X)
        if block.shape != (stop - start, n_features):
            raise ValueError(
                f"rows {start} to {stop} of X came as an array of shape {block.shape} instead of "
                f"{(stop - start, n_features)}; look at what read(start, stop) returns."
            )
        if not np.isfinite(block).all():
            n, d = np.argwhere(~np.isfinite(block))[0]
            raise ValueError(
                f"Input X contains NaN or infinity: {block[n, d]} in row {start + n}, column {d}; "
                "fill in or leave out such rows."
            )
        return Rows(block, y[start:stop], s[start:stop], first=start)

    return BlockedRows(n_rows, read, n_threads)


def hand_back(X: np.memmap[Any, Any]) -> None:
    """Give up the pages of a mapped file that were read; the system may keep them in its cache.

    They would count as memory of this process until there is no other left.
    """
    mapping = getattr(X, "_mmap", None)
    # pages of a private mapping may have been written to
    if mapping is not None and X.mode in ("r", "r+") and hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)


@dataclass(frozen=True)
class Picked:
    """Rows of a sample, which are added by putting them one after the other.

    Attributes
    ----------
    X, y, s : arrays of n rows
    number : (n,) integer array
        Which rows of the table they are.
    """

    X: FloatArray
    y: IntArray
    s: FloatArray
    number: IntArray

    def __add__(self, other: Picked) -> Picked:
        return Picked(
            np.concatenate([self.X, other.X]),
            np.concatenate([self.y, other.y]),
            np.concatenate([self.s, other.s]),
            np.concatenate([self.number, other.number]),
        )


def drawn_sample(rows: RowSource, class_rows: FloatArray, n_rows: int, seed: int) -> Picked:
    """About ``n_rows`` rows at random, rare classes whole, weighted to stand for all.

    Which rows are drawn depends on their number and the seed, not on where they are kept.

    Parameters
    ----------
    rows : RowSource
        With inputs in place of Z, and class indices.
    class_rows : (C,) array
        Rows of each class that count.
    n_rows : int
    seed : int
    """
    share = min(n_rows / class_rows.sum(), 1.0)
    chance = np.minimum(np.maximum(share, RARE_ROWS / np.maximum(class_rows, 1.0)), 1.0)

    def of_block(block: Rows) -> Picked:
        rng = np.random.default_rng([seed, block.first])
        kept = np.flatnonzero((rng.random(len(block)) < chance[block.y]) & (block.s > 0.0))
        y = block.y[kept]
        return Picked(
            np.array(block.Z[kept]), y, block.s[kept] * (share / chance[y]), block.first + kept
        )

    return rows.total(of_block, 1)


def rows_by_class(rows: RowSource, n_classes: int) -> FloatArray:
    """How many rows of positive weight each class has: (C,)."""

    def of_block(block: Rows) -> FloatArray:
        counted = block.y[block.s > 0.0]
        return np.bincount(counted, minlength=n_classes).astype(np.float64)

    return rows.total(of_block, n_classes)


@dataclass(frozen=True)
class ModelColumns:
    """The columns of a fitted model at rows of inputs, the constant first: Z of the polishing."""

    center: FloatArray
    inverse_scale: FloatArray
    reach: float
    basis: Any

    def __call__(self, X: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            standardized = (X - self.center) * self.inverse_scale
        furthest = np.abs(standardized).max(initial=0.0)
        if not furthest < LARGEST_INPUT:
            raise ValueError(
                f"the inputs are too large, up to {furthest:.3g} in units of their deviation: "
                "their squares would overflow; leave out such rows or rescale them."
            )
        np.clip(standardized, -self.reach, self.reach, out=standardized)
        Phi = self.basis.transform(standardized)
        Z = np.empty((len(X), 1 + Phi.shape[1]), order="F")
        Z[:, 0], Z[:, 1:] = 1.0, Phi
        return Z


def root_mean_squares(rows: RowSource) -> FloatArray:
    """Root mean square of each column of Z under the sample weights; one for a column of zeros."""

    def sums(block: Rows) -> FloatArray:
        return np.append(block.s @ block.Z**2, block.s.sum())

    total = rows.total(sums, 64)
    norm = np.sqrt(total[:-1] / total[-1])
    return np.where(norm > 0.0, norm, 1.0)


@dataclass(frozen=True)
class Polished:
    """What learning from all rows led to, in the user's units and the model's own columns."""

    state: State
    result: Result
    covariance: FloatArray | None


def polished(
    rows: RowSource,
    state: State,
    options: Options,
    callback: Callable[[Record], bool | None] | None,
    *,
    max_covariance: int,
    keep_states: bool = False,
) -> Polished:
    """Go on learning on all rows.

    Parameters
    ----------
    rows : RowSource
        With the model's columns as Z, the constant first.
    state : State
        What the sample led to, in the user's units.
    options : Options
    callback : callable, optional
    max_covariance : int
        Weights up to which their covariance is computed.
    keep_states : bool
        Whether the records carry states.
    """
    columns = np.unique(np.concatenate([[0], state.column]))
    position = np.searchsorted(columns, state.column)
    norm = root_mean_squares(rows) if options.scale_columns else np.ones(len(columns))
    class_share = shares(class_totals(rows, state.n_classes), options)
    before = np.bincount(state.component_class, state.pi)
    start = replace(
        state,
        column=position,
        w=state.w * norm[position],
        alpha=state.alpha / norm[position] ** 2,
        pi=state.pi * (class_share / before)[state.component_class],
    )
    Rt = np.diag(1.0 / norm)
    passes = replace(options, max_iter=min(options.max_iter, POLISHING_PASSES))
    result = journaled_learn(rows, Rt, start, passes, callback, keep_states=keep_states)
    if result.stop is Stop.MAX_ITER:
        # the weights at their mode, now that the precisions stay as they are
        last = replace(options, learn_alpha=False, max_iter=1)
        result = Result(
            journaled_learn(rows, Rt, result.state, last).state, result.records, result.stop
        )
    end = result.state
    scale = norm[end.column]
    covariance = None
    if 0 < end.n_weights <= max_covariance:
        try:
            covariance = laplace_covariance(rows, Rt, end) / scale / scale[:, None]
        except NumericalTrouble:
            covariance = None
    in_user_units = replace(
        end, w=end.w / scale, alpha=end.alpha * scale**2, column=columns[end.column]
    )
    return Polished(in_user_units, result, covariance)
