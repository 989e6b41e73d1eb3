"""Fit time and peak memory as N, D and M grow, dual and primal.

Every point is a process of its own, so that its peak memory is its own, and ends at a time limit.
A point is the median of up to three seeds; no further seed is begun once the first ones took more
than a few seconds. Data are drawn by `gaussian_mixtures`. Takes some five minutes
per thread count, most of it for the largest N and D.
"""

from __future__ import annotations

import numpy as np

from benchmarks.environment import peak_memory
from benchmarks.records import Cell, Record
from benchmarks.runner import Benchmark, Plan
from benchmarks.speed_page import IMPORT, write_page
from benchmarks.timing import digits, timed
from sdgm import KernelSDGMClassifier, SDGMClassifier

FORMS = {"dual": KernelSDGMClassifier, "primal": SDGMClassifier}
# seconds of fitting after which no further seed is begun
ENOUGH = 5.0
WARM_UP_ROWS = 50
TEST_ROWS = 5_000
TEST_SEED = 1

# the mixtures: how many Gaussians per class, and how many inputs tell the classes apart
GAUSSIANS_PER_CLASS = 3
INFORMATIVE = 5
MEAN_DEVIATION = 1.5
MEANS_SEED = 2


def cells(plan: Plan) -> list[Cell]:
    """A bare import and all points, each series growing."""
    sizes = (250, 500) if plan.quick else (250, 1_000, 5_000, 20_000, 50_000)
    inputs = (2, 5, 10) if plan.quick else (2, 5, 10, 20, 50, 100, 200)
    components = (1, 2) if plan.quick else range(1, 9)
    points = [
        *(("N", N, 5, 3) for N in sizes),
        *(("D", 300, D, 1) for D in inputs),
        *(("M", 1_000, 5, M) for M in components),
    ]
    bare: Cell = {"series": IMPORT, "form": "", "N": 0, "D": 0, "M": 0, "seeds": 0}
    return [
        {**cell, "threads": threads}
        for threads in plan.threads
        for cell in (
            bare,
            *(
                {"series": series, "form": form, "N": N, "D": D, "M": M, "seeds": plan.repeats}
                for form in FORMS
                for series, N, D, M in points
            ),
        )
    ]


def measure(series: str, form: str, N: int, D: int, M: int, seeds: int, threads: int) -> Record:
    """Fit one problem from one or several seeds; or only say what an import takes."""
    if series == IMPORT:
        return {"peak_bytes": peak_memory()}
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
    X_test, y_test = gaussian_mixtures(TEST_ROWS, D, seed=TEST_SEED)
    return {
        "peak_bytes": peaks[0],  # of one fit, without models kept for their test error
        "seconds": digits(seconds),
        "n_iter": float(np.median([model.n_iter_ for model in models])),
        "n_weights": float(np.median([model.n_active_weights_ for model in models])),
        "error": round(float(np.mean([model.predict(X_test) != y_test for model in models])), 5),
        "warned": sorted(warned),
    }


def gaussian_mixtures(n_samples: int, n_inputs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of equal size, each a mixture of three equally likely Gaussians.

    All have unit covariance. Their means are drawn once and for all, with deviation 1.5 in each of
    the first five inputs (or all, when there are fewer); in every further input they are zero, so
    that those are noise. Bayes' rule errs on 11% of the rows with five inputs or more, and on 22%
    with two. The means do not depend on the seed.
    """
    n_informative = min(n_inputs, INFORMATIVE)
    means = np.zeros((2, GAUSSIANS_PER_CLASS, n_inputs))
    drawn = np.random.default_rng(MEANS_SEED).standard_normal((2, GAUSSIANS_PER_CLASS, INFORMATIVE))
    means[..., :n_informative] = MEAN_DEVIATION * drawn[..., :n_informative]
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_samples) % 2)
    gaussian = rng.integers(GAUSSIANS_PER_CLASS, size=n_samples)
    return means[y, gaussian] + rng.standard_normal((n_samples, n_inputs)), y


BENCHMARK = Benchmark("growth", cells, measure, write_page, repeats=3, timeout=300.0)
