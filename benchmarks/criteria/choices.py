"""What each criterion chooses among the candidates of a split, and what that costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.criteria.cells import AUTOMATIC, GROUPS, LEARNED, YARDSTICK
from benchmarks.criteria.validation import N_FOLDS
from reproduction.cells import Record

Candidates = dict[str, Record]
Score = Callable[[Record], Any]
# the smaller, the better: by this, candidates of a criterion are ranked
SCORES: dict[str, Score] = {
    "Laplace evidence, complete-data information": lambda c: -c["log_evidence"],
    "Laplace evidence, observed information": lambda c: -c["log_evidence_observed"],
    "approximate leave-one-out, complete-data information": lambda c: c["loo_complete"],
    "approximate leave-one-out, observed information": lambda c: c["loo"],
    "divergence from the dense reference": lambda c: c["divergence"],
    "3-fold log loss": lambda c: c["cv"][0]["loss"],
    "3-fold error": lambda c: (c["cv"][0]["error"], c["cv"][0]["loss"]),
    "3-fold log loss, twice": lambda c: repeated(c, "loss"),
    "3-fold error, twice": lambda c: (repeated(c, "error"), repeated(c, "loss")),
    "3-fold log loss, warm starts along the scales": lambda c: warm_of(c)["cv"]["loss"],
}
ONE_SE = "one standard error of 3-fold log loss, fewest weights"
ONE_SE_PAIRED = "one standard error of the difference, fewest weights"
HALVING = "successive halving of 3-fold log loss"
RANDOM = "no choice: mean of the candidates"
SINGLE, SINGLE_ELSEWHERE = "best single setting", "best single setting of the other sets"
BY_LOSS, BY_ERROR = "hindsight, test log loss", "hindsight, test error"
# the same candidates, learned from the dense reference in place of the labels
LEARNED_BEST = "learned from the reference: hindsight, test log loss"
LEARNED_SINGLE = "learned from the reference: best single setting"
LEARNED_RANDOM = "learned from the reference: mean of the candidates"
LEARNED_CLOSEST = "learned from the reference: smallest divergence"
ORDER = (
    BY_LOSS,
    BY_ERROR,
    SINGLE,
    SINGLE_ELSEWHERE,
    RANDOM,
    *SCORES,
    ONE_SE,
    ONE_SE_PAIRED,
    HALVING,
    LEARNED_BEST,
    LEARNED_SINGLE,
    LEARNED_RANDOM,
    LEARNED_CLOSEST,
    *AUTOMATIC,
    YARDSTICK,
)


@dataclass(frozen=True)
class Case:
    """One split of one data set."""

    data: str
    split: int
    candidates: Candidates
    learned: Candidates
    others: dict[str, Record]
    failed: int

    @property
    def single_fit(self) -> float:
        """Mean seconds of a fit of a candidate."""
        return float(np.mean([c["seconds"] for c in self.candidates.values()]))

    @property
    def least_loss(self) -> float:
        """Of all candidates on the test rows."""
        return min(c["log_loss"] for c in self.candidates.values())


@dataclass(frozen=True)
class Chosen:
    """Test results of what a criterion chose, and its cost."""

    error: float
    log_loss: float
    weights: float
    fits: float | None
    seconds: float | None


def cases_of(records: Sequence[Record]) -> list[Case]:
    """Records of cells, put together."""
    by_split: dict[tuple[str, int], dict[str, Record]] = {}
    for record in records:
        by_split.setdefault((record["data"], record["split"]), {})[record["part"]] = record
    cases = []
    for (data, split), parts in by_split.items():
        tried = [
            {k: c for g in groups for k, c in parts[g]["candidates"].items()}
            for groups in (GROUPS, LEARNED)
        ]
        fitted = [{k: c for k, c in each.items() if not c["failed"]} for each in tried]
        failed = sum(map(len, tried)) - sum(map(len, fitted))
        others = {name: parts[name]["model"] for name in (*AUTOMATIC, YARDSTICK)}
        cases.append(Case(data, split, fitted[0], fitted[1], others, failed))
    return cases


def repeated(candidate: Record, field: str) -> float:
    """Mean over the repetitions of cross-validation."""
    return float(np.mean([cv[field] for cv in candidate["cv"]]))


def warm_of(candidate: Record) -> Record:
    """The candidate on the path of warm starts; of one component per class there is one start."""
    return candidate.get("warm") or {**candidate, "cv": candidate["cv"][0]}


def result(candidate: Record, fits: float | None, seconds: float | None) -> Chosen:
    """A choice with its cost."""
    return Chosen(candidate["error"], candidate["log_loss"], candidate["weights"], fits, seconds)


def choices(case: Case, cases: Sequence[Case]) -> dict[str, Chosen]:
    """What every criterion chooses; the other cases are for the single settings."""
    candidates = list(case.candidates.values())
    chosen = {
        BY_LOSS: result(min(candidates, key=lambda c: c["log_loss"]), None, None),
        BY_ERROR: result(min(candidates, key=lambda c: (c["error"], c["log_loss"])), None, None),
        RANDOM: mean_of(candidates),
    }
    for name, among in (
        (SINGLE, cases),
        (SINGLE_ELSEWHERE, [each for each in cases if each.data != case.data]),
    ):
        single = case.candidates[single_setting([each.candidates for each in among or cases])]
        chosen[name] = result(single, 1, single["seconds"])
    for name, score in SCORES.items():
        best = min(candidates, key=score)
        chosen[name] = result(
            warm_of(best) if "warm" in name else best, *cost(name, candidates, best)
        )
    for name, paired in ((ONE_SE, False), (ONE_SE_PAIRED, True)):
        best = within_one_error(candidates, paired=paired)
        chosen[name] = result(best, *cost("3-fold log loss", candidates, best))
    chosen[HALVING] = halving(candidates)
    chosen |= learned_choices(case, cases)
    for name, model in case.others.items():
        chosen[name] = result(model, model["fits"], model["seconds"])
    return {name: chosen[name] for name in ORDER}


def learned_choices(case: Case, cases: Sequence[Case]) -> dict[str, Chosen]:
    """Choices among the candidates that learned from the reference."""
    candidates = list(case.learned.values())
    closest = min(candidates, key=SCORES["divergence from the dense reference"])
    single = case.learned[single_setting([each.learned for each in cases])]
    best = min(candidates, key=lambda c: c["log_loss"])
    return {
        LEARNED_BEST: result(best, None, None),
        LEARNED_SINGLE: result(single, 2, single["seconds"] + single["reference_seconds"]),
        LEARNED_RANDOM: mean_of(candidates, 2, single["reference_seconds"]),
        LEARNED_CLOSEST: result(closest, *cost("reference", candidates, closest)),
    }


def cost(name: str, candidates: Sequence[Record], best: Record) -> tuple[float, float]:
    """Fits and seconds of a criterion, the fit of the chosen model included."""
    n = len(candidates)
    if "warm" in name:
        ways = [warm_of(c) for c in candidates]
        return n + N_FOLDS * n, sum(c["seconds"] + c["cv"]["seconds"] for c in ways)
    if "3-fold" in name:
        repeats = 2 if "twice" in name else 1
        folds = sum(cv["seconds"] for c in candidates for cv in c["cv"][:repeats])
        return N_FOLDS * repeats * n + 1, folds + best["seconds"]
    seconds = sum(c["seconds"] for c in candidates)
    if "reference" in name:
        return n + 1, seconds + best["reference_seconds"]
    if "Laplace" in name and "complete" in name:  # known after the fit
        return n, seconds
    return n, seconds + sum(c["laplace_seconds"] for c in candidates)


def mean_of(candidates: Sequence[Record], fits: int = 1, more_seconds: float = 0.0) -> Chosen:
    """What a candidate taken at random is expected to do."""
    fields = ("error", "log_loss", "weights", "seconds")
    error, log_loss, weights, seconds = (np.mean([c[f] for c in candidates]) for f in fields)
    return Chosen(
        float(error), float(log_loss), float(weights), fits, float(seconds) + more_seconds
    )


def single_setting(cases: Sequence[Candidates]) -> str:
    """The setting with the lowest mean test log loss, of those that could be fitted everywhere."""
    common = [name for name in cases[0] if all(name in each for each in cases)]
    return min(common, key=lambda name: np.mean([each[name]["log_loss"] for each in cases]))


def within_one_error(candidates: Sequence[Record], *, paired: bool) -> Record:
    """Fewest weights among those not told apart from the lowest loss.

    Weights are those of the folds. The standard error is that of the lowest loss, or of each
    candidate's difference from it, row by row.
    """
    best = min(candidates, key=SCORES["3-fold log loss"])
    lowest = np.array(best["cv"][0]["losses"])

    def is_near(candidate: Record) -> bool:
        difference = np.array(candidate["cv"][0]["losses"]) - lowest
        error = np.std(difference if paired else lowest, ddof=1) / np.sqrt(len(lowest))
        return bool(difference.mean() <= error)

    near = [c for c in candidates if is_near(c)]
    return min(near, key=lambda c: (c["cv"][0]["weights"], c["cv"][0]["loss"]))


def halving(candidates: Sequence[Record]) -> Chosen:
    """A quarter of the rows keeps the better half of the candidates, half of them, then all."""
    left, fits, seconds = list(candidates), 1, 0.0
    for rows in ("quarter", "half"):
        fits += N_FOLDS * len(left)
        seconds += sum(c[rows]["seconds"] for c in left)
        left = sorted(left, key=lambda c: c[rows]["loss"])[: (len(left) + 1) // 2]
    fits += N_FOLDS * len(left)
    seconds += sum(c["cv"][0]["seconds"] for c in left)
    best = min(left, key=SCORES["3-fold log loss"])
    return result(best, fits, seconds + best["seconds"])
