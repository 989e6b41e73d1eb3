"""The study as a page of Markdown tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from benchmarks.criteria.cells import AUTOMATIC
from benchmarks.criteria.choices import (
    BY_LOSS,
    LEARNED_CLOSEST,
    ORDER,
    SCORES,
    Case,
    Chosen,
    cases_of,
    choices,
    single_setting,
)
from benchmarks.criteria.problems import SCALES
from benchmarks.criteria.starts import N_STARTS
from reproduction.cells import Record
from reproduction.environment import environment

# what the library does, for comparison with every other way
USUAL = next(iter(AUTOMATIC))
FORMS = {
    "dual": "Dual form, three components per class, f = 1",
    "primal": "Primal form, two components per class",
}


def page(records: Sequence[Record], command: str) -> str:
    """Criteria, their regret per data set, the candidates themselves, and the starts."""
    cases = cases_of([record for record in records if "starts" not in record])
    names = list(dict.fromkeys(case.data for case in cases))
    chosen = [choices(case, cases) for case in cases]
    n_candidates = len({name for case in cases for name in case.candidates})
    failed = sum(case.failed for case in cases)
    lines = [
        "# Criteria for choosing settings\n",
        f"Written by `{command}`. {environment()}. {len(names)} data sets, "
        f"{len(cases)} splits in all, {n_candidates} candidates; fits that failed: "
        f"{failed}. Best single setting: "
        f"{single_setting([case.candidates for case in cases])}; learned from the reference: "
        f"{single_setting([case.learned for case in cases])}. What it says: "
        "[../criteria.md](../criteria.md).\n",
        "Regret: test log loss of the choice above that of the best candidate in hindsight, mean "
        "over data sets with its standard error, and the worst data set; then the same against the "
        f"log loss of `{USUAL}` on the same split. Rank correlation: of the "
        "criterion with test log loss over the candidates of a split, mean over splits. Cost: fits "
        "(those of folds are on fewer rows) and processor time, in mean fits of one candidate.\n",
        *criteria_table(cases, chosen, names),
        f"\nThe most costly automatic fit took as long as {most_costly(cases):.1f} fits of one "
        "candidate.",
        "\n## Regret by data set\n",
        *regret_table(cases, chosen, names),
        "\n## What is chosen\n",
        "On how many splits, by number of components and by scale.\n",
        *settings_table(cases),
        "\n## The candidates\n",
        "Means over all splits.\n",
        *candidates_table(cases),
    ]
    starts = [record for record in records if "starts" in record]
    if starts:
        lines += ["\n## Starts, and moves of components\n", *starts_tables(starts)]
    return "\n".join(lines) + "\n"


def by_data(
    cases: Sequence[Case], values: Sequence[float | None], names: Sequence[str]
) -> np.ndarray[Any, Any]:
    """Mean over the splits of each data set; missing values are NaN."""
    numbers = np.array([np.nan if v is None else v for v in values], dtype=float)
    of = np.array([names.index(case.data) for case in cases])
    return np.array([numbers[of == i].mean() for i in range(len(names))])


def regret_of(
    cases: Sequence[Case], chosen: Sequence[dict[str, Chosen]], names: Sequence[str], criterion: str
) -> np.ndarray[Any, Any]:
    """Log loss above the best candidate's, per data set."""
    pairs = zip(cases, chosen, strict=True)
    return by_data(cases, [each[criterion].log_loss - c.least_loss for c, each in pairs], names)


def criteria_table(
    cases: Sequence[Case], chosen: Sequence[dict[str, Chosen]], names: Sequence[str]
) -> list[str]:
    lines = [
        "| chosen by | error % | log loss | weights | regret | worst | "
        "against automatic | rank corr. | fits | time |",
        "|---" * 10 + "|",
    ]
    for criterion in ORDER:
        picks = [each[criterion] for each in chosen]

        def mean(value: Callable[[Chosen], float | None], picks: Any = picks) -> float:
            return float(np.mean(by_data(cases, [value(pick) for pick in picks], names)))

        regret = regret_of(cases, chosen, names, criterion)
        worst = int(regret.argmax())
        against = regret - regret_of(cases, chosen, names, USUAL)
        relative = [
            None if pick.seconds is None else pick.seconds / case.single_fit
            for pick, case in zip(picks, cases, strict=True)
        ]
        fits, time = mean(lambda pick: pick.fits), float(np.mean(by_data(cases, relative, names)))
        weights, correlation = mean(lambda pick: pick.weights), rank_correlation(cases, criterion)
        lines.append(
            f"| {criterion} | {100 * mean(lambda pick: pick.error):.2f} | "
            f"{mean(lambda pick: pick.log_loss):.3f} | {f'{weights:.0f}' if weights else ''} | "
            f"{with_error(regret)} | {regret[worst]:.3f} {names[worst]} | "
            f"{with_error(against)} | "
            f"{shown(correlation, 2)} | {shown(fits, 0)} | {shown(time, 1)} |"
        )
    return lines


def most_costly(cases: Sequence[Case]) -> float:
    """Largest time of an automatic fit, in mean fits of a candidate."""
    return max(
        case.others[name]["seconds"] / case.single_fit for case in cases for name in AUTOMATIC
    )


def rank_correlation(cases: Sequence[Case], criterion: str) -> float:
    """Of a criterion with test log loss; NaN where it is not one number per candidate."""
    is_learned = criterion == LEARNED_CLOSEST
    if criterion not in SCORES and not is_learned:
        return float("nan")
    score = SCORES["divergence from the dense reference" if is_learned else criterion]
    values = []
    for case in cases:
        candidates = list((case.learned if is_learned else case.candidates).values())
        scores = [score(c) for c in candidates]
        first = [s[0] if isinstance(s, tuple) else s for s in scores]
        if len(set(first)) > 1:
            values.append(spearmanr(first, [c["log_loss"] for c in candidates]).statistic)
    return float(np.mean(values)) if values else float("nan")


def with_error(values: np.ndarray[Any, Any]) -> str:
    """Mean and its standard error."""
    if len(values) < 2:
        return f"{values.mean():.3f}"
    return f"{values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}"


def shown(value: float, digits: int) -> str:
    """A number, or nothing where there is none."""
    return "" if np.isnan(value) else f"{value:.{digits}f}"


def regret_table(
    cases: Sequence[Case], chosen: Sequence[dict[str, Chosen]], names: Sequence[str]
) -> list[str]:
    lines = [f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    least = by_data(cases, [case.least_loss for case in cases], names)
    lines.append(f"| lowest log loss | {' | '.join(f'{value:.3f}' for value in least)} |")
    for criterion in ORDER:
        if criterion != BY_LOSS:
            regret = regret_of(cases, chosen, names, criterion)
            lines.append(f"| {criterion} | {' | '.join(f'{value:.3f}' for value in regret)} |")
    return lines


def settings_table(cases: Sequence[Case]) -> list[str]:
    kinds = ("M=1", "M=2", "M=3", *(f"f={f:g}" for f in SCALES), "primal")
    lines = [f"| | {' | '.join(kinds)} |", "|---" * (len(kinds) + 1) + "|"]
    for criterion, score in SCORES.items():
        names = [min(c.candidates, key=lambda n, c=c, s=score: s(c.candidates[n])) for c in cases]
        counts = [sum(kind in name.split() for name in names) for kind in kinds]
        lines.append(f"| {criterion} | {' | '.join(map(str, counts))} |")
    return lines


def candidates_table(cases: Sequence[Case]) -> list[str]:
    lines = [
        "| | error % | log loss | weights | best in hindsight | 3-fold log loss | "
        "approximate leave-one-out | seconds | learned from the reference: error % | log loss | "
        "weights | seconds |",
        "|---" * 12 + "|",
    ]
    for name in sorted({name for case in cases for name in case.candidates}):
        own = [case.candidates[name] for case in cases if name in case.candidates]
        wins = sum(
            case.candidates[name]["log_loss"] == case.least_loss
            for case in cases
            if name in case.candidates
        )
        fields = ("error", "log_loss", "weights", "loo", "seconds")
        error, loss, weights, loo, seconds = (np.mean([c[f] for c in own]) for f in fields)
        cv = np.mean([c["cv"][0]["loss"] for c in own])
        learned = [case.learned[name] for case in cases if name in case.learned]
        error_l, loss_l, weights_l, seconds_l = (
            np.mean([c[f] for c in learned]) for f in ("error", "log_loss", "weights", "seconds")
        )
        lines.append(
            f"| {name} | {100 * error:.2f} | {loss:.3f} | {weights:.0f} | {wins} | {cv:.3f} | "
            f"{loo:.3f} | {seconds:.2f} | {100 * error_l:.2f} | {loss_l:.3f} | {weights_l:.0f} | "
            f"{seconds_l:.2f} |"
        )
    return lines


def starts_tables(records: Sequence[Record]) -> list[str]:
    """One table per form; the first way is what the others are compared with."""
    n_sets = len({record["data"] for record in records})
    lines = [
        f"{n_sets} data sets, {len({record['split'] for record in records})} split. Difference: of "
        "test log loss from one k-means start, mean over data sets with its standard error. "
        f"Of {N_STARTS} starts the first is that one.\n"
    ]
    for form, title in FORMS.items():
        own = [r["starts"] for r in records if r["part"] == f"starts {form}"]
        complete = [each for each in own if all(way is not None for way in each.values())]
        lines += [
            f"{title}, data sets without a failed fit: {len(complete)} of {len(own)}\n",
            "| | error % | log loss | difference | weights | components | fits | time |",
            "|---" * 8 + "|",
        ]
        for way in complete[0] if complete else ():
            lines.append(start_line(way, [each[way] for each in complete], complete))
        lines.append("")
    return lines[:-1]


def start_line(way: str, own: Sequence[Record], complete: Sequence[dict[str, Record]]) -> str:
    """One way to start, over data sets."""
    usual = [next(iter(each.values())) for each in complete]
    pairs = list(zip(own, usual, strict=True))
    difference = np.array([a["log_loss"] - b["log_loss"] for a, b in pairs])
    time = np.mean([a["seconds"] / b["seconds"] for a, b in pairs])
    fields = ("error", "log_loss", "weights", "components", "fits")
    error, loss, weights, components, fits = (np.mean([each[f] for each in own]) for f in fields)
    return (
        f"| {way} | {100 * error:.2f} | {loss:.3f} | {with_error(difference)} | {weights:.0f} | "
        f"{components:.1f} | {fits:.1f} | {time:.1f} |"
    )
