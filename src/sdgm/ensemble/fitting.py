"""The fit of an ensemble: spaces, members, weights.

Members are many and most of them get no weight. So with many rows, a sample says which are worth
fitting to all.
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

# rows of the sample that says which members are worth fitting, and most centres of kernels
SCREEN_ROWS, SCREEN_ROWS_PER_CLASS = 400, 30
MOST_MEMBERS = 5
# weight of a member in the average of the sample from which on it is, and in the average of all
SCREEN_WEIGHT = 0.02
LEAST_WEIGHT = 0.005
# centres of kernels, for every class more, up to so many numbers in a matrix of rows and centres, of
# which there are three at a time; with up to so many rows per centre, all rows are centres
CENTERS, CENTERS_PER_CLASS, MATRIX_NUMBERS = 500, 60, 1 << 25
EXACT_SHARE = 2.0
# correlation of normal scores and inputs, of every input, from which they are the same
SAME_INPUTS = 0.995
LINEAR = KernelSpec(MemberKernel(Kind.LINEAR))
QUADRATIC = [KernelSpec(MemberKernel(Kind.QUADRATIC, g)) for g in (0.25, 4.0)]
MATERN = [KernelSpec(MemberKernel(Kind.MATERN, g)) for g in (0.3, 1.0, 3.0)]
# rounds of learning the weights of inputs
ROUNDS = 2


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted ensemble, with what it says of the rows.

    Attributes
    ----------
    ensemble : Ensemble
    P : (N, C) array
        Probabilities at the rows.
    P_left_out : (U, C) array
        Probabilities of the cases, each without it.
    """

    ensemble: Ensemble
    P: FloatArray
    P_left_out: FloatArray

    def loss(self, rows: LabelledRows) -> float:
        """Mean log loss of the cases, each predicted without it."""
        cases = rows.cases
        P = self.P_left_out[np.arange(len(cases)), cases.label]
        return -float(cases.weight @ np.log(np.maximum(P, np.finfo(float).tiny))) / float(
            cases.weight.sum()
        )


def fit_ensemble(rows: LabelledRows) -> Fitted:
    """The ensemble of distinct rows in memory."""
    inputs = Standardized.of(rows.X, rows.s)
    if not len(inputs.varying):
        return constant_ensemble(rows)
    n_screened = max(SCREEN_ROWS, SCREEN_ROWS_PER_CLASS * rows.Y.shape[1])
    sample = spread_sample(rows.X, rows.Y.argmax(axis=1), n_screened)
    few = rows if len(sample) == len(rows.s) else rows_at(rows, sample)
    members = list(candidates(inputs, rows, few))
    weights = member_weights(members, few)
    if few is not rows:
        members = refitted(members, weights, rows)
        weights = member_weights(members, rows)
    return averaged(members, weights, rows)


def constant_ensemble(rows: LabelledRows) -> Fitted:
    """The frequencies of the classes, where no input varies."""
    cases, mass = rows.cases, rows.s @ rows.Y
    left = np.tile(mass, (len(cases), 1))
    left[np.arange(len(cases)), cases.label] -= cases.mass
    total = left.sum(axis=1, keepdims=True)
    left = np.where(total > 0.0, left / np.where(total > 0.0, total, 1.0), 1.0 / len(mass))
    ensemble = Ensemble(mass / mass.sum(), [])
    return Fitted(ensemble, ensemble.proba(rows.X), left)


def candidates(standardized: Inputs, rows: LabelledRows, few: LabelledRows) -> Iterator[Member]:
    """All members, fitted to a few of the rows; inputs are scaled by all of them."""
    Z = standardized(rows.X)
    spaces: list[tuple[str, Inputs]] = [("standardized", standardized)]
    scores = NormalScores.of(standardized, Z, rows.s)
    if differ(scores(rows.X), Z, rows.s):
        spaces.append(("ranked", scores))
    for name, inputs in spaces:
        space = Space(name, inputs, inputs(few.X))
        view = space.at_centers()
        members = [spec.fit(view, few) for spec in plain_specs(view, few)]
        yield from members
        if view.Z.shape[1] > 1:
            yield from weighted_members(space, view, members, few)


def differ(A: FloatArray, B: FloatArray, s: FloatArray) -> bool:
    """Whether some standardised column is not nearly the same in both."""
    return bool((s @ (A * B) / s.sum()).min() < SAME_INPUTS)


def plain_specs(view: View, rows: LabelledRows) -> list[Spec]:
    """Members of inputs as they are."""
    D, C = view.Z.shape[1], rows.Y.shape[1]
    gaussians = [GaussianSpec(shared=True)] if len(rows.s) > D else []
    if len(rows.s) > C * D:
        gaussians.append(GaussianSpec(shared=False))
    return [*gaussians, LINEAR, *QUADRATIC, *MATERN]


def weighted_members(
    space: Space, view: View, members: Iterable[Member], rows: LabelledRows
) -> list[Member]:
    """Members of inputs weighted by the average squared gradients of the best Matérn member."""
    matern = [member for member in members if member.spec in MATERN]
    factor = np.ones(view.Z.shape[1])
    for round_ in range(ROUNDS):
        best = min(matern, key=lambda member: member.calibration.loss)
        factor = factor * relative_gradients(best, view, rows)
        inputs = Weighted(space.inputs, factor)
        view = Space(f"weighted {space.name}", inputs, inputs(rows.X)).at_centers()
        # on the way, the scale that was best will do
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


def member_weights(members: Sequence[Member], rows: LabelledRows) -> FloatArray:
    """Weights in the average, small ones left out: (J,)."""
    cases = rows.cases
    own = np.arange(len(cases)), cases.label
    P = np.stack([member.P_left_out[own] for member in members], axis=1)
    weights = stacked(np.maximum(P, np.finfo(float).tiny), cases.weight)
    weights = np.where(weights < LEAST_WEIGHT, 0.0, weights)
    return weights / weights.sum()


def refitted(members: Sequence[Member], weights: FloatArray, rows: LabelledRows) -> list[Member]:
    """Members that are worth it, fitted to all rows."""
    worth = [j for j in np.argsort(-weights, kind="stable")[:MOST_MEMBERS] if weights[j] > 0.0]
    enough = [j for j in worth if weights[j] >= SCREEN_WEIGHT] or worth[:1]
    centers = spread_sample(rows.X, rows.Y.argmax(axis=1), n_centers(*rows.Y.shape))
    found: list[Member] = []
    for space in {members[j].scorer.space: None for j in enough}:
        view = view_of_rows(space, rows, centers)
        specs = [members[j].spec for j in enough if members[j].scorer.space is space]
        found += [spec.fit(view, rows) for spec in specs]
    return found


def n_centers(n_rows: int, n_classes: int) -> int:
    """Rows that kernels are centred at: all, or as many as there are time and room for."""
    some = min(CENTERS + CENTERS_PER_CLASS * n_classes, MATRIX_NUMBERS // n_rows)
    return n_rows if n_rows <= EXACT_SHARE * some else some


def view_of_rows(space: Space, rows: LabelledRows, centers: IntArray) -> View:
    """All rows, in a space that was made for some of them."""
    wider = Space(space.name, space.inputs, space.inputs(rows.X[centers]))
    return wider.at_centers() if len(centers) == len(rows.s) else wider.at(rows.X)


def averaged(members: Sequence[Member], weights: FloatArray, rows: LabelledRows) -> Fitted:
    """The average of members."""
    order = [j for j in np.argsort(-weights, kind="stable") if weights[j] > 0.0]
    P = sum(weights[j] * members[j].P for j in order)
    P_left_out = sum(weights[j] * members[j].P_left_out for j in order)
    kept = [
        WeightedMember(
            members[j].name, float(weights[j]), members[j].scorer, members[j].calibration
        )
        for j in order
    ]
    return Fitted(Ensemble(rows.s @ rows.Y / rows.s.sum(), kept), P, P_left_out)
