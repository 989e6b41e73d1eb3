"""The fit of an ensemble: spaces, members, weights.

There are many members, and most of them get no weight. With many rows, a sample therefore decides
which members are fitted to all rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.ensemble.feature_weights import squared_gradients
from sdgm.ensemble.inputs import Inputs, NormalScores, Standardized, Weighted
from sdgm.ensemble.kernels import Kind, MemberKernel
from sdgm.ensemble.members import GaussianSpec, KernelScorer, KernelSpec, Member, Spec
from sdgm.ensemble.model import Ensemble, WeightedMember
from sdgm.ensemble.rows import LabelledRows, rows_at
from sdgm.ensemble.sampling import spread_sample
from sdgm.ensemble.spaces import Space, View
from sdgm.ensemble.stacking import stacked

# size of that sample: minimum, and per class
SCREEN_ROWS, SCREEN_ROWS_PER_CLASS = 400, 30
# number of members that are fitted to all rows, and the multiplications for Gram matrices they may
# take
LEAST_MEMBERS, MOST_MEMBERS, MEMBERS_WORK = 2, 8, 1e10
# smallest weight of a member in the average, for the sample and at the end: small weights matter if
# there are few rows
SCREEN_WEIGHT = 0.02
LEAST_WEIGHT = 1e-3
# number of kernel centres: a minimum, more per class, limited by the numbers in a matrix of rows
# and centres, of which four exist at a time; up to this many rows per centre, all rows are centres
CENTERS, CENTERS_PER_CLASS, MATRIX_NUMBERS = 500, 60, 1 << 25
EXACT_SHARE = 1.25
MATRICES = 4
# correlation of normal scores and inputs above which they count as the same, for every input
SAME_INPUTS = 0.995
LINEAR = KernelSpec(MemberKernel(Kind.LINEAR))
QUADRATIC = [KernelSpec(MemberKernel(Kind.QUADRATIC, g)) for g in (0.25, 4.0)]
MATERN = [KernelSpec(MemberKernel(Kind.MATERN, g)) for g in (0.3, 1.0, 3.0)]
# rounds of learning the weights of inputs
ROUNDS = 2


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted ensemble, with its predictions for the rows.

    Attributes
    ----------
    ensemble : Ensemble
    P : (N, C) array
        Probabilities at the rows.
    P_left_out : (U, C) array
        Probabilities of the cases, each predicted without the case.
    """

    ensemble: Ensemble
    P: FloatArray
    P_left_out: FloatArray

    def loss(self, rows: LabelledRows) -> float:
        """Mean log loss of the cases, each predicted without the case."""
        cases = rows.cases
        P = self.P_left_out[np.arange(len(cases)), cases.label]
        return -float(cases.weight @ np.log(np.maximum(P, np.finfo(float).tiny))) / float(
            cases.weight.sum()
        )


def fit_ensemble(rows: LabelledRows) -> Fitted:
    """The ensemble of distinct rows in memory."""
    members = fit_members(rows, input_spaces(rows.X, rows.s))
    return averaged(members, rows) if members else constant_ensemble(rows, rows.s @ rows.Y)


def input_spaces(X: FloatArray, s: FloatArray) -> list[tuple[str, Inputs]]:
    """Maps of inputs by name, from rows and their weights; none where no input varies."""
    standardized = Standardized.of(X, s)
    if not len(standardized.varying):
        return []
    Z = standardized(X)
    scores = NormalScores.of(standardized, Z, s)
    spaces: list[tuple[str, Inputs]] = [("standardized", standardized)]
    return [*spaces, ("ranked", scores)] if differ(scores(X), Z, s) else spaces


def fit_members(rows: LabelledRows, spaces: Sequence[tuple[str, Inputs]]) -> list[Member]:
    """Members for the average, with these maps of inputs."""
    N, C = rows.Y.shape
    n_sample = max(SCREEN_ROWS, SCREEN_ROWS_PER_CLASS * C)
    if n_sample >= N or not spaces:
        return list(candidates(spaces, rows))
    sample = rows_at(rows, spread_sample(rows.X, rows.Y.argmax(axis=1), n_sample))
    members = list(candidates(spaces, sample))
    work = float(N) * n_centers(N, C) ** 2
    n_most = int(np.clip(MEMBERS_WORK / work, LEAST_MEMBERS, MOST_MEMBERS))
    return refitted(most_useful(members, sample, n_most), rows)


def constant_ensemble(rows: LabelledRows, mass: FloatArray) -> Fitted:
    """The frequencies of the classes, where no input varies.

    Parameters
    ----------
    rows : LabelledRows
        To predict.
    mass : (C,) array
        Weight of each class among all rows.
    """
    cases = rows.cases
    left = np.tile(mass, (len(cases), 1))
    left[np.arange(len(cases)), cases.label] -= cases.mass
    total = left.sum(axis=1, keepdims=True)
    left = np.where(total > 0.0, left / np.where(total > 0.0, total, 1.0), 1.0 / len(mass))
    ensemble = Ensemble(mass / mass.sum(), [])
    return Fitted(ensemble, ensemble.proba(rows.X), left)


def candidates(spaces: Sequence[tuple[str, Inputs]], rows: LabelledRows) -> Iterator[Member]:
    """All members."""
    for name, inputs in spaces:
        space = Space(name, inputs, inputs(rows.X))
        view = space.at_centers()
        members = [spec.fit(view, rows) for spec in plain_specs(view, rows)]
        yield from members
        if view.Z.shape[1] > 1:
            yield from weighted_members(space, view, members, rows)


def differ(A: FloatArray, B: FloatArray, s: FloatArray) -> bool:
    """Whether some standardised column is not nearly the same in both."""
    return bool((s @ (A * B) / s.sum()).min() < SAME_INPUTS)


def plain_specs(view: View, rows: LabelledRows) -> list[Spec]:
    """Members with unweighted inputs."""
    D, C = view.Z.shape[1], rows.Y.shape[1]
    gaussians = [GaussianSpec(shared=True)] if len(rows.s) > D else []
    if len(rows.s) > C * D:
        gaussians.append(GaussianSpec(shared=False))
    return [*gaussians, LINEAR, *QUADRATIC, *MATERN]


def weighted_members(
    space: Space, view: View, members: Iterable[Member], rows: LabelledRows
) -> list[Member]:
    """Members with inputs weighted by the average squared gradients of the best Matérn member."""
    matern = [member for member in members if member.spec in MATERN]
    factor = np.ones(view.Z.shape[1])
    for round_ in range(ROUNDS):
        best = min(matern, key=lambda member: member.calibration.loss)
        factor = factor * relative_gradients(best, view, rows)
        inputs = Weighted(space.inputs, factor)
        view = Space(f"weighted {space.name}", inputs, inputs(rows.X)).at_centers()
        # until the last round, the best scale so far is used
        specs = MATERN if round_ == ROUNDS - 1 else [best.spec]
        matern = [spec.fit(view, rows) for spec in specs]
    return matern


def relative_gradients(member: Member, view: View, rows: LabelledRows) -> FloatArray:
    """Root mean squared gradients of a member by its inputs, of mean square one: (D,)."""
    scorer = member.scorer
    assert isinstance(scorer, KernelScorer)
    squared = squared_gradients(view, scorer.kernel, scorer.coef, rows.s)
    mean = squared.mean()
    return np.sqrt(squared / mean) if mean > 0.0 else np.ones(len(squared))


def most_useful(members: Sequence[Member], rows: LabelledRows, n_most: int) -> list[Member]:
    """Members with the largest weights in the average, at least one."""
    weights = member_weights(members, rows)
    order = np.argsort(-weights, kind="stable")[:n_most]
    return [members[j] for j in order if weights[j] >= SCREEN_WEIGHT] or [members[order[0]]]


def member_weights(members: Sequence[Member], rows: LabelledRows) -> FloatArray:
    """Weights in the average, of sum one: (J,)."""
    cases = rows.cases
    own = np.arange(len(cases)), cases.label
    P = np.stack([member.P_left_out[own] for member in members], axis=1)
    return stacked(np.maximum(P, np.finfo(float).tiny), cases.weight)


def refitted(members: Sequence[Member], rows: LabelledRows) -> list[Member]:
    """The same kinds of members, fitted to all rows."""
    centers = spread_sample(rows.X, rows.Y.argmax(axis=1), n_centers(*rows.Y.shape))
    found: list[Member] = []
    for space in {member.scorer.space: None for member in members}:
        view = view_of_rows(space, rows, centers)
        specs = [member.spec for member in members if member.scorer.space is space]
        found += [spec.fit(view, rows) for spec in specs]
    return found


def n_centers(n_rows: int, n_classes: int) -> int:
    """Number of kernel centres: all rows, or as many as time and memory allow."""
    some = min(CENTERS + CENTERS_PER_CLASS * n_classes, MATRIX_NUMBERS // n_rows)
    return n_rows if n_rows <= EXACT_SHARE * some else some


def fit_bytes(rows: LabelledRows) -> float:
    """Memory of a fit beyond the data: matrices of rows and centres, and predictions of members."""
    N, C = rows.Y.shape
    matrices = MATRICES * N * n_centers(N, C)
    members = 2 * MOST_MEMBERS * (N + len(rows.cases)) * C
    return 8.0 * (matrices + members + 4 * rows.X.size)


def view_of_rows(space: Space, rows: LabelledRows, centers: IntArray) -> View:
    """All rows, in a space that was made for some of them."""
    wider = Space(space.name, space.inputs, space.inputs(rows.X[centers]))
    return wider.at_centers() if len(centers) == len(rows.s) else wider.at(rows.X)


def averaged(members: Sequence[Member], rows: LabelledRows) -> Fitted:
    """The average of members, with weights found by stacking."""
    weights = member_weights(members, rows)
    weights = np.where(weights < LEAST_WEIGHT, 0.0, weights)
    weights /= weights.sum()
    P, P_left_out = np.zeros(rows.Y.shape), np.zeros((len(rows.cases), rows.Y.shape[1]))
    kept = []
    for j in np.argsort(-weights, kind="stable"):
        if not weights[j]:
            break
        member, weight = members[j], float(weights[j])
        P += weight * member.P
        P_left_out += weight * member.P_left_out
        kept.append(WeightedMember(member.name, weight, member.scorer, member.calibration))
    return Fitted(Ensemble(rows.s @ rows.Y / rows.s.sum(), kept), P, P_left_out)
