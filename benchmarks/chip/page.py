"""The page of the chips: headers in every precision, and peers at equal or better error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks import markdown
from benchmarks.environment import made_by
from benchmarks.markdown import number, percent, table
from benchmarks.records import Record, find, results, select, values_of

FORMS = ("sdgm, original form", "sdgm, dual form")
SMALLEST = "Cortex-M0"
IN_SHORT = "fixed, 8 bits"  # of weights
# headers in fixed point that are asked for labels: form and setting
HEADERS = {
    "original form": (FORMS[0], "fixed, label"),
    "original form, 8 bits": (FORMS[0], f"{IN_SHORT}, label"),
    "dual form": (FORMS[1], "fixed, label"),
    "dual form, 8 bits": (FORMS[1], f"{IN_SHORT}, label"),
}
EITHER = "best of these"
# shown on all boards, but no development sets
OTHERS = ("ripley", "seeds")
COSTS = ("flash", "stack", "instructions")
# of a set, the best first: what emlearn needs for an error that is no higher
OUTCOMES = (
    "at most half of emlearn's flash",
    "no size of emlearn has an error as low",
    "less than emlearn's, but not half",
    "more than emlearn's",
)


def write(output: Path) -> Path:
    """All tables."""
    records = results(output, "chip")
    shown = [name for name in OTHERS if select(records, data=name)]
    counts, comparisons, verdict = against_emlearn(records)
    return markdown.write_filled(
        output,
        "chip",
        made_by=made_by(records),
        tools=" and ".join(dict.fromkeys(r["tools"] for r in records if "tools" in r)),
        verdict=verdict,
        precisions=precisions(select(records, board=SMALLEST)),
        boards="\n".join(on_boards(records, name) for name in shown),
        counts=counts,
        comparisons=comparisons,
        agreement=least_agreement(records),
    )


def matching(peers: Sequence[Record], error: float) -> Record | None:
    """The one with the least flash among those with no higher error."""
    good = [r for r in peers if r["error"] <= error + 1e-9]
    return min(good, key=lambda r: r["flash"], default=None)


def precisions(records: Sequence[Record]) -> str:
    """Ratios of float to fixed point over all sets and forms, per question."""
    rows = []
    for question in "label", "probabilities":
        fixed = select(records, setting=f"fixed, {question}")
        for other in "float", "double":
            pairs = [
                (
                    f,
                    select(
                        records, data=f["data"], method=f["method"], setting=f"{other}, {question}"
                    ),
                )
                for f in fixed
            ]
            pairs = [(f, r[0]) for f, r in pairs if r]
            speeds = sorted(r["instructions"] / f["instructions"] for f, r in pairs)
            sizes = sorted(r["flash"] / f["flash"] for f, r in pairs)
            if speeds:
                rows.append([
                    question, other, len(pairs),
                    f"{median(speeds):.1f} ({speeds[0]:.1f} to {speeds[-1]:.1f})",
                    f"{median(sizes):.1f} ({sizes[0]:.1f} to {sizes[-1]:.1f})",
                ])  # fmt: skip
    head = ["question", "type", "models", "instructions, times fixed", "flash, times fixed"]
    return table(head, rows)


def on_boards(records: Sequence[Record], data: str) -> str:
    """Headers in every precision, and every peer at its matching size, on all boards."""
    records = select(records, data=data)
    own = [r for r in records if r["method"] in FORMS]
    ours = min((r["error"] for r in own), default=1.0)
    rows = [line(records, *key) for key in dict.fromkeys((r["method"], r["setting"]) for r in own)]
    for method in values_of([r for r in records if r["method"] not in FORMS], "method"):
        on_smallest = select(records, method=method, board=SMALLEST)
        chosen = matching(on_smallest, ours)
        best = chosen or min(on_smallest, key=lambda r: (r["error"], r["flash"]))
        rows.append(line(records, method, best["setting"], "" if chosen else "higher error"))
    first = records[0]
    title = (
        f"### {data}: {first['inputs']} inputs, {first['classes']} classes, {first['rows']} rows"
    )
    head = ["method", "setting", "error, %", *COSTS, "RAM", "difference", ""]
    return f"{title}\n\n{table(head, rows)}"


def line(records: Sequence[Record], method: str, setting: str, remark: str = "") -> list[object]:
    """A model on all boards."""
    found = select(records, method=method, setting=setting)
    costs = [" / ".join(f"{r[what]:,}" for r in found) for what in COSTS]
    first = found[0]
    off = number(first.get("difference"), ".0e")
    return [method, setting, percent(first["error"]), *costs, first["ram"], off, remark]


def against_emlearn(records: Sequence[Record]) -> tuple[str, str, str]:
    """How often a header has half of emlearn's flash; every set, a line per header; a sentence."""
    records = select(records, board=SMALLEST)
    methods = [m for m in values_of(records, "method") if m.startswith("emlearn")]
    rows: list[list[object]] = []
    outcomes: dict[str, list[str]] = {name: [] for name in (*HEADERS, EITHER)}
    sets = [name for name in complete_sets(records) if name not in OTHERS]
    for data in sets:
        peers = [select(records, data=data, method=m) for m in methods]
        lowest = min(r["error"] for own in peers for r in own)
        found = []
        for name, (form, setting) in HEADERS.items():
            ours = find(records, data=data, method=form, setting=setting)
            if ours is None:
                rows.append([data, name, "", "refused", *[""] * len(methods), percent(lowest)])
                continue
            matches = [matching(own, ours["error"]) for own in peers]
            flashes = [None if r is None else int(r["flash"]) for r in matches]
            least = min((flash for flash in flashes if flash is not None), default=None)
            found.append(outcome(ours["flash"], least))
            outcomes[name].append(found[-1])
            shown = ["none" if flash is None else flash for flash in flashes]
            rows.append([data, name, percent(ours["error"]), ours["flash"], *shown,
                         percent(lowest)])  # fmt: skip
        outcomes[EITHER].append(min(found, key=OUTCOMES.index))
    counted = [
        [name, *(found.count(each) for each in OUTCOMES)] for name, found in outcomes.items()
    ]
    n_half, n_none = (outcomes[EITHER].count(each) for each in OUTCOMES[:2])
    verdict = (
        f"On {n_half} of {len(sets)} data sets with at most 20 inputs, a header of sdgm takes at "
        f"most half of the flash of every emlearn classifier with no higher error; on {n_none} "
        "more no size of emlearn reaches its error."
    )
    head = ["set", "header", "error, %", "flash", *methods, "emlearn's lowest error, %"]
    return table(["sets", *OUTCOMES], counted), table(head, rows), verdict


def complete_sets(records: Sequence[Record]) -> list[str]:
    """Sets that both forms and all of emlearn's classifiers have been measured on."""
    names = {r["method"] for r in records if r["method"].startswith(("sdgm", "emlearn"))}
    sets = values_of(records, "data")
    return [d for d in sets if names <= {r["method"] for r in select(records, data=d)}]


def outcome(ours: int, least: int | None) -> str:
    """How our flash compares with the least of emlearn's that has no higher error."""
    if least is None:
        return OUTCOMES[1]
    if 2 * ours <= least:
        return OUTCOMES[0]
    return OUTCOMES[2] if ours <= least else OUTCOMES[3]


def least_agreement(records: Sequence[Record]) -> str:
    """How far answers of peers are those of the classifiers that they were made from."""
    found: dict[str, list[float]] = {}
    for r in records:
        if "agreement" in r:
            found.setdefault(r["method"], []).append(r["agreement"])
    rows = [[name, percent(min(each)), percent(median(each))] for name, each in found.items()]
    return table(["peer", "least agreement, %", "median, %"], rows)
