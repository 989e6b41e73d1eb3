"""The page of the chips: headers in every precision, and peers at equal or better error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks import markdown
from benchmarks.environment import made_by
from benchmarks.markdown import number, percent, table
from benchmarks.records import Record, find, results, select, values_of
from sdgm.text import listed

FORMS = ("sdgm, original form", "sdgm, dual form")
SMALLEST = "Cortex-M0"
LABEL = "fixed, label"
# of a set: what emlearn needs for an error that is no higher
OUTCOMES = (
    "emlearn does not get there",
    "at most half of emlearn's flash",
    "less than emlearn's, but not half",
    "more than emlearn's",
)


def write(output: Path) -> Path:
    """All tables."""
    records = results(output, "chip")
    shown = [name for name in ("ripley", "seeds") if select(records, data=name)]
    counts, comparisons = against_emlearn(records)
    return markdown.write_filled(
        output,
        "chip",
        made_by=made_by(records),
        precisions=precisions(select(records, board=SMALLEST)),
        boards="\n".join(on_boards(records, name) for name in shown),
        counts=counts,
        comparisons=comparisons,
        agreement=least_agreement(records),
        measured=listed(complete_sets(records)),
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
    rows, errors = [], []
    for r in records:
        if r["method"] in FORMS:
            errors.append(r["error"])
            rows.append(line(r))
    ours = min(errors, default=1.0)
    for method in values_of([r for r in records if r["method"] not in FORMS], "method"):
        peers = select(records, method=method)
        on_smallest = select(peers, board=SMALLEST)
        chosen = matching(on_smallest, ours)
        best = chosen or min(on_smallest, key=lambda r: (r["error"], r["flash"]))
        for r in select(peers, setting=best["setting"]):
            rows.append(line(r, "" if chosen else "higher error"))
    first = records[0]
    title = (
        f"### {data}: {first['inputs']} inputs, {first['classes']} classes, {first['rows']} rows"
    )
    head = ["board", "method", "setting", "error, %", "flash, bytes", "RAM, bytes", "stack, bytes"]
    rows.sort(key=lambda row: row[0])
    return f"{title}\n\n{table([*head, 'instructions', 'difference', ''], rows)}"


def line(r: Record, remark: str = "") -> list[object]:
    fields = [r["board"], r["method"], r["setting"], percent(r["error"])]
    fields += [r["flash"], r["ram"], r["stack"], f"{r['instructions']:,}"]
    return [*fields, number(r.get("difference"), ".0e"), remark]


def against_emlearn(records: Sequence[Record]) -> tuple[str, str]:
    """How often a header has half of emlearn's flash; every set, one line per form."""
    records = select(records, board=SMALLEST)
    methods = [m for m in values_of(records, "method") if m.startswith("emlearn")]
    rows: list[list[object]] = []
    outcomes: dict[str, list[str]] = {form: [] for form in FORMS}
    for data in complete_sets(records):
        for form in FORMS:
            ours = find(records, data=data, method=form, setting=LABEL)
            if ours is None:
                rows.append(
                    [data, form.removeprefix("sdgm, "), "", "refused", *[""] * len(methods)]
                )
                continue
            found = [matching(select(records, data=data, method=m), ours["error"]) for m in methods]
            flashes = [None if r is None else int(r["flash"]) for r in found]
            least = min((flash for flash in flashes if flash is not None), default=None)
            outcomes[form].append(outcome(ours["flash"], least))
            shown = ["none" if flash is None else flash for flash in flashes]
            name = form.removeprefix("sdgm, ")
            rows.append([data, name, percent(ours["error"]), ours["flash"], *shown])
    counted = [
        [form, *(found.count(each) for each in OUTCOMES)] for form, found in outcomes.items()
    ]
    head = ["set", "form", "error, %", "flash, fixed point", *methods]
    return table(["sets", *OUTCOMES], counted), table(head, rows)


def complete_sets(records: Sequence[Record]) -> list[str]:
    """Sets that both forms and all of emlearn's classifiers have been measured on."""
    names = {r["method"] for r in records if not r["method"].startswith("m2cgen")}
    sets = values_of(records, "data")
    return [d for d in sets if names <= {r["method"] for r in select(records, data=d)}]


def outcome(ours: int, least: int | None) -> str:
    """How our flash compares with the least of emlearn's that has no higher error."""
    if least is None:
        return OUTCOMES[0]
    if 2 * ours <= least:
        return OUTCOMES[1]
    return OUTCOMES[2] if ours <= least else OUTCOMES[3]


def least_agreement(records: Sequence[Record]) -> str:
    """How far answers of peers are those of the classifiers that they were made from."""
    found: dict[str, list[float]] = {}
    for r in records:
        if "agreement" in r:
            found.setdefault(r["method"], []).append(r["agreement"])
    rows = [[name, percent(min(each)), percent(median(each))] for name, each in found.items()]
    return table(["peer", "least agreement, %", "median, %"], rows)
