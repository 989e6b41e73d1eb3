"""What a fit costs: passes over the rows, and the work of each.

Whole fits say how many passes there are and how long each takes at different numbers of rows.
Passes alone, with weights drawn at random, say how that depends on inputs, weights and components.
"""

from __future__ import annotations

from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.records import Record
from benchmarks.scale.cells import Plan, Topic, fitted, sizes_of
from benchmarks.scale.disk import write_elsewhere
from benchmarks.scale.passes import (
    CROSS,
    DERIVATIVES,
    GRADIENTS,
    NORMS,
    OBSERVED,
    SLOPES,
    counted,
)
from benchmarks.scale.problems import TRAIN, wide
from reproduction.cells import Key
from sdgm import SDGMClassifier
from sdgm.core.cost import pairs_work, whole_work
from sdgm.core.data.blocked_rows import BlockedRows
from sdgm.core.model.features import monomials
from sdgm.core.model.state import State
from sdgm.core.objective.derivatives import Mixture, derivatives_of_rows, gradient_of_rows
from sdgm.core.objective.pairwise import PAIRS_PAY
from sdgm.core.objective.whitening import whiten
from sdgm.scale.sampling import blocked_table
from sdgm.scale.refinement import ModelColumns
from sdgm.scale.threads import in_threads

SIZES = (100_000, 1_000_000, 10_000_000)
# rows above which the table is in a file
ON_DISK = 2_000_000
COMPONENTS, CLASSES = 4, 2
PASS_ROWS = 100_000
# inputs, and weights of each component
PASSES = ((10, 5), (10, 25), (10, 60), (30, 25), (30, 100), (100, 25), (100, 100), (100, 250))
KINDS = (GRADIENTS, DERIVATIVES, OBSERVED)
PASS_REPEATS = 5
TWO_PROCESSES = "two processes"


def keys(plan: Plan) -> list[Key]:
    """Fits to ever more rows and inputs, then passes alone."""
    sizes = (40_000, 100_000) if plan.quick else SIZES
    fits = [(rows, 10) for rows in sizes if rows <= (plan.rows or sizes[-1])]
    fits += [(sizes[0], 30)] if plan.quick else [(sizes[0], 30), (sizes[0], 50)]
    n_rows = 32_768 if plan.quick else PASS_ROWS
    return [
        *({"what": "fit", "rows": rows, "inputs": D, "weights": 0} for rows, D in fits),
        *({"what": "pass", "rows": n_rows, "inputs": D, "weights": n} for D, n in PASSES),
        {"what": TWO_PROCESSES, "rows": n_rows, "inputs": 10, "weights": 60},
    ]


TOPIC = Topic("cost", keys)


def measure(what: str, rows: int, inputs: int, weights: int) -> Iterator[Record]:
    """A fit, or passes alone, in one process or in two."""
    if what == "pass":
        yield one_pass(rows, inputs, weights)
        return
    if what == TWO_PROCESSES:
        yield gain_of_two(rows, inputs, weights)
        return
    model = SDGMClassifier(2, covariance_type="full", random_state=0)
    data = wide(inputs)
    if rows <= ON_DISK:
        table: Any = data.rows(rows, TRAIN)
        yield of_fit(model, *table)
        return
    with TemporaryDirectory() as folder:
        write_elsewhere(data, Path(folder), rows)
        mapped = np.load(Path(folder) / "X.npy", mmap_mode="r")
        yield of_fit(model, mapped, np.load(Path(folder) / "y.npy"))


def of_fit(model: SDGMClassifier, X: Any, y: np.ndarray) -> Record:
    """Passes of a fit, and what it was left with."""
    with counted(BlockedRows) as passes:
        record = fitted(model, X, y)
    sizes = sizes_of(model)
    return {
        **record,
        **passes.record(),
        "weights_left": sizes.pop("weights"),  # "weights" is a part of the key
        **sizes,
        "columns": 1 + len(model.terms_),
        "by_component": np.bincount(model._state.component).tolist(),
    }


def one_pass(rows: int, inputs: int, weights: int) -> Record:
    """Passes of every kind, for so many weights per component."""
    X, y = wide(inputs).rows(rows, TRAIN)
    basis = monomials(inputs, "full")
    rng = np.random.default_rng(0)
    # every component has its own columns, as far as there are enough of them
    column = np.concatenate(
        [np.sort(rng.choice(len(basis), weights, replace=False)) for _ in range(COMPONENTS)]
    )
    left = np.unique(np.concatenate([[0], column]))
    n_left = len(left)
    state = State(
        w=0.1 * rng.normal(size=len(column)),
        alpha=np.ones(len(column)),
        component=np.repeat(np.arange(COMPONENTS), weights),
        column=np.searchsorted(left, column),
        pi=np.full(COMPONENTS, 0.25),
        component_class=np.arange(COMPONENTS) // 2,
    )
    columns = ModelColumns(np.zeros(inputs), np.ones(inputs), 10.0, basis.take(left[1:]), len(left))
    with in_threads() as n_threads:
        table = blocked_table(
            X, y.astype(np.int32), np.broadcast_to(1.0, rows), n_threads=n_threads
        )
        mapped = table.mapped(columns, columns.n_columns)
        whitening = whiten(np.eye(n_left), state)
        V = whitening.score_vectors(whitening.to_theta(state.w))
        mixture = Mixture(V, np.log(state.pi), state.component_class)

        def go_over(kind: str) -> None:
            if kind == GRADIENTS:
                gradient_of_rows(mapped, mixture, None)
            else:
                derivatives_of_rows(mapped, mixture, None, whitening, missing=kind == OBSERVED)

        seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for _ in range(PASS_REPEATS):
            for kind in KINDS:
                begin = perf_counter()
                go_over(kind)
                seconds[kind].append(perf_counter() - begin)
    return {
        "pass_median": {kind: round(float(np.median(s)), 5) for kind, s in seconds.items()},
        "columns": n_left,
        "by_component": [weights] * COMPONENTS,
    }


def gain_of_two(rows: int, inputs: int, weights: int) -> Record:
    """How many times as many rows two processes of one thread go over as one, in the same time.

    That is what the cores of a machine give to work that shares nothing.
    """
    given = rows, inputs, weights
    with get_context("spawn").Pool(2) as pool:
        alone = pool.apply(pass_of_one_thread, given)
        both = pool.starmap(pass_of_one_thread, [given, given], chunksize=1)
    gain = {kind: 2.0 * alone[kind] / max(each[kind] for each in both) for kind in KINDS}
    return {"gain": {kind: round(factor, 3) for kind, factor in gain.items()}}


def pass_of_one_thread(rows: int, inputs: int, weights: int) -> dict[str, float]:
    """Median seconds by kind, in a process of its own."""
    with threadpool_limits(1):
        return one_pass(rows, inputs, weights)["pass_median"]


def work(kind: str, inputs: int, columns: int, by_component: list[int]) -> tuple[float, float]:
    """Work of one row in one pass; norms and slopes are those of all columns there could be.

    Returns
    -------
    element_wise : float
        Numbers that are made or changed one by one: inputs, columns, posteriors, and the columns of
        the weights, weighted twice for each information, or all columns once for each pair.
    products : float
        Multiplications and additions in products of matrices.
    """
    sizes = np.array(by_component, dtype=float)
    m, K = sizes.sum(), len(sizes)
    if kind == NORMS:
        return 3.0 * inputs + 3 * columns, 2.0 * columns
    if kind == SLOPES:
        return 3.0 * inputs + 3 * columns + 15 * K, 6.0 * columns * K
    if kind == CROSS:
        return 3.0 * inputs + 3 * columns + 15 * K + 2 * m + 2 * K * columns, 2.0 * K * m * columns
    element_wise = 3.0 * inputs + 2 * columns + 15 * K
    products = 4.0 * columns * K
    by_pairs = PAIRS_PAY * pairs_work(sizes, columns) <= whole_work(sizes)
    if kind != GRADIENTS and by_pairs:
        element_wise += K * (K - 1) / 2 * columns
        products += pairs_work(sizes, columns)
    elif kind != GRADIENTS:
        element_wise += 4 * m
        products += whole_work(sizes)
    if kind == OBSERVED:  # every class has its own rows
        M = K / CLASSES
        element_wise += M * (M - 1) / 2 * columns if by_pairs else 3 * m / CLASSES
        whole = (m**2 / CLASSES + float(sizes @ sizes)) / CLASSES
        products += M * (M - 1) / 2 * columns**2 if by_pairs else whole
    return float(element_wise), float(products)
