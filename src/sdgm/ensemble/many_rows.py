"""The ensemble for more rows than fit in memory: a sample selects members, all rows fit them.

Kernels are centred at rows of the sample. Ridge regression needs only sums over the other rows. Its
leave-one-out predictions for the rows of the sample determine ridge, calibration and weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.data.rows import Rows, RowSource
from sdgm.ensemble.fitting import (
    Fitted,
    averaged,
    constant_ensemble,
    fit_members,
    input_spaces,
    most_useful,
)
from sdgm.ensemble.members import KernelScorer, KernelSpec, Member
from sdgm.ensemble.ridge import FeatureSums, feature_sums
from sdgm.ensemble.rows import LabelledRows, labelled_rows
from sdgm.ensemble.spaces import Space, View

# number of rows of the sample, and of members that are fitted to all rows
SAMPLE_ROWS = 16_384
STREAMED_MEMBERS = 3
# minimum number of rows of a class in the sample, if the class has as many
RARE_ROWS = 200
# seed of the sample: arbitrary, but fixed
SEED = 0


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows that are added by putting them one after the other."""

    X: FloatArray
    y: IntArray
    s: FloatArray

    def __add__(self, other: Sample) -> Sample:
        return Sample(
            np.concatenate([self.X, other.X]),
            np.concatenate([self.y, other.y]),
            np.concatenate([self.s, other.s]),
        )


@dataclass(frozen=True, eq=False)
class Pick:
    """The rows of a block that belong to the sample, determined by their numbers alone.

    Attributes
    ----------
    chance : (C,) array
        Share of the rows of each class.
    """

    chance: FloatArray

    def __call__(self, block: Rows) -> Sample:
        drawn = np.random.default_rng([SEED, block.first]).random(len(block))
        kept = np.flatnonzero((drawn < self.chance[block.y]) & (block.s > 0.0))
        return Sample(np.ascontiguousarray(block.Z[kept]), block.y[kept], block.s[kept])


@dataclass(frozen=True)
class ClassWeights:
    """Weight of each class in a block of rows."""

    n_classes: int

    def __call__(self, block: Rows) -> FloatArray:
        weights = np.bincount(block.y, block.s, minlength=self.n_classes)
        return weights.astype(np.float64)


@dataclass(frozen=True, eq=False)
class MemberSums:
    """Sums of several members over a block of rows.

    Attributes
    ----------
    scorers : list of KernelScorer
    n_classes : int
    """

    scorers: list[KernelScorer]
    n_classes: int

    def __call__(self, block: Rows) -> SeveralSums:
        Y = np.zeros((len(block), self.n_classes))
        Y[np.arange(len(block)), block.y] = 1.0
        views: dict[Space, View] = {}
        found = []
        for scorer in self.scorers:
            if scorer.space not in views:
                views[scorer.space] = scorer.space.at(block.Z)
            found.append(feature_sums(scorer.features(views[scorer.space]), block.s, Y))
        return SeveralSums(found)


@dataclass(slots=True)
class SeveralSums:
    """Sums that are added one by one."""

    sums: list[FeatureSums]

    def __add__(self, other: SeveralSums) -> SeveralSums:
        return SeveralSums([a + b for a, b in zip(self.sums, other.sums, strict=True)])

    def __iadd__(self, other: SeveralSums) -> SeveralSums:
        for mine, theirs in zip(self.sums, other.sums, strict=True):
            mine += theirs
        return self


def fit_many_rows(
    table: RowSource, class_rows: FloatArray, factors: FloatArray
) -> tuple[Fitted, LabelledRows]:
    """The ensemble of all rows, with its predictions for the sample.

    Parameters
    ----------
    table : RowSource
        With inputs in place of Z, and class indices.
    class_rows : (C,) array
        Rows of each class that count.
    factors : (C,) array
        Weight of one copy of a row of each class, from ``class_weight``.
    """
    share = min(SAMPLE_ROWS / class_rows.sum(), 1.0)
    chance = np.minimum(np.maximum(share, RARE_ROWS / np.maximum(class_rows, 1.0)), 1.0)
    sample = table.total(Pick(chance), 1)
    weight = np.zeros((len(sample.y), len(class_rows)))
    weight[np.arange(len(sample.y)), sample.y] = sample.s / factors[sample.y]
    # weighted as if there were no others, and as a part of all rows
    alone, _ = labelled_rows(sample.X, weight, factors * share / chance)
    among, _ = labelled_rows(sample.X, weight, factors)
    among = replace(among, cases=replace(among.cases, weight=alone.cases.weight))
    members = fit_members(alone, input_spaces(alone.X, alone.s))
    if not members:
        return constant_ensemble(among, table.total(ClassWeights(len(class_rows)), 1)), among
    members = most_useful(members, alone, STREAMED_MEMBERS)
    return averaged(fitted_to_all(members, table, among), among), among


def fitted_to_all(members: Sequence[Member], table: RowSource, rows: LabelledRows) -> list[Member]:
    """Members fitted to all rows of a table, of which ``rows`` are some.

    Gaussian classes keep their fit to the sample, because they have few parameters.
    """
    kernels = [member for member in members if isinstance(member.scorer, KernelScorer)]
    found = [member for member in members if not isinstance(member.scorer, KernelScorer)]
    if not kernels:
        return found
    scorers = [member.scorer for member in kernels if isinstance(member.scorer, KernelScorer)]
    width = max(len(scorer.space.centers) for scorer in scorers)
    sums = table.total(MemberSums(scorers, rows.Y.shape[1]), width)
    for member, scorer, own in zip(kernels, scorers, sums.sums, strict=True):
        spectrum = own.spectrum(scorer.whitener())
        smoother = spectrum.at(scorer.features(scorer.space.at(rows.X)), rows)
        assert isinstance(member.spec, KernelSpec)
        found.append(member.spec.at(smoother, scorer.space, explicit=scorer.explicit))
    return found
