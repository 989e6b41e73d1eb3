"""What issue 2 asks for, beside what was measured."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks import growth, peers, prediction
from benchmarks.records import MEGABYTE, Record, Run, median_seconds

FIT_LIMITS = ((peers.FASTRVM, 2.0), (peers.GPC, 0.5), (peers.EMRVC, 1 / 30))
FITS = ((peers.DEFAULT, "default"), (peers.PAPER_MODEL, "paper's model settings"))
PREDICTION_LIMIT = 10.0
MEMORY_LIMIT = 500.0  # megabytes
LARGE_PROBLEMS = (
    (growth.Point("N", "dual", N=20_000, D=5, M=3), 60.0),
    (growth.Point("D", "primal", N=300, D=200, M=1), 20.0),
)


@dataclass(frozen=True)
class Target:
    """One quantity with a limit.

    Attributes
    ----------
    name : str
    limit : float
    unit : str
        Empty for ratios.
    measured : dict from thread count to float or None
        None where the point did not come to an end.
    """

    name: str
    limit: float
    unit: str
    measured: dict[int, float | None]


def ratio(record: Record | None, yardstick: Record | None) -> float | None:
    """Of the median times."""
    if record is None or yardstick is None:
        return None
    return median_seconds(record) / median_seconds(yardstick)


def fit_targets(run: Run) -> list[Target]:
    """Fit time of the preset `fast` over that of each peer."""
    found = []
    for problem in dict.fromkeys(record["problem"] for record in run.records):
        for model, label in FITS:
            for peer, limit in FIT_LIMITS:
                measured = {
                    threads: ratio(
                        run.find(problem=problem, model=model, threads=threads),
                        run.find(problem=problem, model=peer, threads=threads),
                    )
                    for threads in run.threads()
                }
                name = f"{problem}, dual, {label}: fit time over that of `{peer}`"
                found.append(Target(name, limit, "", measured))
    return [target for target in found if any(target.measured.values())]


def prediction_targets(run: Run) -> list[Target]:
    """Time of predict and predict_proba over that of the yardstick."""
    found = []
    for call in dict.fromkeys(record["call"] for record in run.records):
        if call in (prediction.YARDSTICK, prediction.IN_PLACE):
            continue
        measured = {
            threads: ratio(
                run.find(call=call, threads=threads),
                run.find(call=prediction.YARDSTICK, threads=threads),
            )
            for threads in run.threads()
        }
        name = f"`{call}`, time over that of `{prediction.YARDSTICK}`"
        found.append(Target(name, PREDICTION_LIMIT, "", measured))
    return found


def growth_targets(run: Run) -> list[Target]:
    """Time and memory of the two large problems, where they were measured.

    Memory is the whole process, the libraries it loads included.
    """
    found = []
    for point, limit in LARGE_PROBLEMS:
        size = {"N": point.N, "D": point.D, "M": point.M}
        records = run.select(series=point.series, form=point.form, **size)
        if not records:
            continue
        done = [record for record in records if record["status"] == "done"]
        ended_early = dict.fromkeys(record["threads"] for record in records)
        seconds = ended_early | {r["threads"]: median_seconds(r) for r in done}
        memory = ended_early | {r["threads"]: r["peak_bytes"] / MEGABYTE for r in done}
        label = f"{point.form}, N = {point.N:,}, D = {point.D}, M = {point.M}"
        found.append(Target(f"{label}: fit time", limit, "s", seconds))
        found.append(
            Target(f"{label}: peak memory of the whole process", MEMORY_LIMIT, "MB", memory)
        )
    return found
