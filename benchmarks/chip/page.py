"""The page of the chips: headers in every precision, and peers at equal or better error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks import markdown
from benchmarks.environment import made_by
from benchmarks.markdown import number, percent, table
from benchmarks.records import Record, results, select, values_of

FORMS = ("sdgm, original form", "sdgm, dual form")
SMALLEST = "Cortex-M0"
LABEL = "fixed, label"
FLOATS = ("float, label", "float, probabilities")


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
    rows, halves, together = [], {form: [] for form in FORMS}, {}
    for data in values_of(records, "data"):
        for form in FORMS:
            ours = next(iter(select(records, data=data, method=form, setting=LABEL)), None)
            if ours is None:
                continue
            found = [matching(select(records, data=data, method=m), ours["error"]) for m in methods]
            flashes = [None if r is None else r["flash"] for r in found]
            # a peer that never gets as far loses
            forest = dict(zip(methods, flashes, strict=True)).get("emlearn, random forest")
            half = [
                all(f is None or 2 * ours["flash"] <= f for f in each)
                for each in ([forest], flashes)
            ]
            halves[form].append(half)
            together[data] = [a or b for a, b in zip(together.get(data, half), half, strict=True)]
            cells = ["none" if flash is None else flash for flash in flashes]
            rows.append(
                [data, form.removeprefix("sdgm, "), percent(ours["error"]), ours["flash"], *cells]
            )
    words = []
    for name, found in (*halves.items(), ("the better of both", list(together.values()))):
        n_forest, n_all = (sum(each[k] for each in found) for k in range(2))
        words.append(
            f"- {name}: on {n_forest} of {len(found)} sets at most half the flash of emlearn's "
            f"random forest, on {n_all} at most half of anything that emlearn has."
        )
    head = ["set", "form", "error, %", "flash, fixed point", *methods]
    return "\n".join(words), table(head, rows)
