"""Fit time and peak memory as N, D and M grow, dual and primal.

Every point is a process of its own, so that its peak memory is its own, and ends at a time limit.
A point is the median of up to three seeds; no further seed is begun once the first ones took more
than a few seconds. Data are drawn by `data.gaussian_mixtures`. Takes some five minutes
per thread count, most of it for the largest N and D.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.child import records_of_child
from benchmarks.data import gaussian_mixtures
from benchmarks.machine import peak_memory
from benchmarks.settings import Settings
from benchmarks.timing import digits, timed
from sdgm import KernelSDGMClassifier, SDGMClassifier

FORMS = {"dual": KernelSDGMClassifier, "primal": SDGMClassifier}
SEEDS = 3
# seconds of fitting after which no further seed is begun
ENOUGH = 5.0
WARM_UP_ROWS = 50
TEST_ROWS = 5_000
TEST_SEED = 1


@dataclass(frozen=True)
class Point:
    """One problem of a series: its size, and the form that learns it."""

    series: str
    form: str
    N: int
    D: int
    M: int


def points(*, quick: bool) -> list[Point]:
    """All points, each series growing; the two sizes with targets of their own are among them."""
    sizes = (250, 500) if quick else (250, 1_000, 5_000, 20_000, 50_000)
    inputs = (2, 5, 10) if quick else (2, 5, 10, 20, 50, 100, 200)
    components = (1, 2) if quick else range(1, 9)
    return [
        point
        for form in FORMS
        for point in (
            *(Point("N", form, N, D=5, M=3) for N in sizes),
            *(Point("D", form, 300, D, M=1) for D in inputs),
            *(Point("M", form, 1_000, D=5, M=M) for M in components),
        )
    ]


def run(settings: Settings) -> Iterator[dict[str, Any]]:
    """One record per thread count and point, and one of a bare import per thread count."""
    for threads in settings.threads:
        yield from records_of_child("growth:bare_import", {}, threads=threads)
        for point in points(quick=settings.quick):
            yield measured(point, settings, threads)


def measured(point: Point, settings: Settings, threads: int) -> dict[str, Any]:
    """The record of a point, whether or not it came to an end."""
    about = {"threads": threads, **asdict(point)}
    arguments = {
        "form": point.form,
        "N": point.N,
        "D": point.D,
        "M": point.M,
        "seeds": min(SEEDS, settings.repeats),
    }
    try:
        (record,) = records_of_child(
            "growth:measure", arguments, threads=threads, timeout=settings.timeout
        )
    except subprocess.TimeoutExpired:
        return about | {"status": "timeout"}
    except subprocess.CalledProcessError:
        return about | {"status": "failed"}
    return about | record


def bare_import() -> Iterator[dict[str, Any]]:
    """The memory of a process that has imported sdgm and done nothing."""
    yield {"series": "import", "peak_bytes": peak_memory()}


def measure(form: str, N: int, D: int, M: int, seeds: int) -> Iterator[dict[str, Any]]:
    """Fit one problem, in this process, from one or several seeds."""
    X, y = gaussian_mixtures(N, D, seed=0)
    make = FORMS[form]
    timed(lambda: make(n_components=1, random_state=0).fit(X[:WARM_UP_ROWS], y[:WARM_UP_ROWS]))
    models, seconds, peaks, warned = [], [], [], set()
    while len(seconds) < seeds and sum(seconds) < ENOUGH:
        model = make(n_components=M, random_state=len(seconds))
        _, spent, categories = timed(lambda model=model: model.fit(X, y))
        models.append(model)
        seconds.append(spent)
        peaks.append(peak_memory())
        warned.update(categories)
    yield {
        "status": "done",
        "peak_bytes": peaks[0],  # of one fit, without models kept for their test error
        "seconds": digits(seconds),
        "n_iter": float(np.median([model.n_iter_ for model in models])),
        "n_weights": float(np.median([model.n_active_weights_ for model in models])),
        "error": round(float(np.mean([test_error(model, D) for model in models])), 5),
        "warned": sorted(warned),
    }


def test_error(model: Any, D: int) -> float:
    """On rows that the fit has not seen."""
    X, y = gaussian_mixtures(TEST_ROWS, D, seed=TEST_SEED)
    return float((model.predict(X) != y).mean())
