"""Many rows: time, memory and what they grow with, beside scikit-learn on the same rows.

Ten inputs; two classes with two components each, or ten with one. All models have two threads.
`growth`: logistic regression is given the 65 quadratic features ready made, and how long they took
to make is a number of its own; the others make their features within the fit. `sample`: fits that
begin with a sample beside fits to all rows at once. `dual`: a candidate column per row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from time import process_time
from typing import Any, Self
from unittest.mock import patch

import numpy as np
from scipy.special import logsumexp, softmax
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from benchmarks.environment import peak_memory, status_bytes
from benchmarks.records import Cell, Record
from benchmarks.runner import Benchmark, Plan
from benchmarks.timing import rotated, timed
from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.scale import many_rows

COMPONENTS = {"2 classes": 2, "10 classes": 1}
SDGM, LOGISTIC, BOOSTING = "SDGM", "logistic regression", "boosted trees"
MODELS = (SDGM, LOGISTIC, BOOSTING)
SIZES = (10_000, 100_000, 1_000_000)
TEST_ROWS = 100_000
# rows from which one round is enough for the models that take minutes there
LONG = 300_000

DEFAULT, NO_RETURN, AT_ONCE = "sample, then all rows", "the same, no column comes back", "all rows"
GENERATED, PIXELS = "2 classes", "MNIST, 20 principal components"
# rows to learn from, and components of each class
SAMPLED = {GENERATED: (100_000, 2), PIXELS: (60_000, 1)}
# parts of the test rows, which are 10,000 or TEST_ROWS
BATCHES = 100

DUAL_ROWS = 100_000
KERNELS = {"polynomial, degree 2": "poly", "RBF": "rbf"}

# rows that are drawn from one seed, and seeds of the rows to learn from and to test on
DRAWN_ROWS, TRAIN, TEST, SHAPES_SEED = 65_536, 0, 1, 7
# rows predicted at a time: the features of all of them would take much memory
PART_ROWS = 8192
# seconds between two looks at the memory
EVERY = 0.02

Table = tuple[np.ndarray, np.ndarray]


def cells(plan: Plan) -> list[Cell]:
    """All models at all sizes in turn, every way on every problem, two kernels."""
    sizes, most = ((10_000, 40_000), 40_000) if plan.quick else (SIZES, 10**9)
    most = plan.rows or most
    growth = [
        {"topic": "growth", "problem": problem, "rows": rows, "model": model, "round": number}
        for problem in COMPONENTS
        for rows in sizes
        if rows <= most
        for number in range(1 if plan.quick else plan.repeats)
        for model in rotated(MODELS, number)
        if number == 0 or rows < LONG or problem == "2 classes"
    ]
    sample = [
        {"topic": "sample", "problem": problem, "rows": min(rows, most), "way": way}
        for problem, (rows, _) in SAMPLED.items()
        for way in (DEFAULT, NO_RETURN, AT_ONCE)
    ]
    rows = plan.rows or min(DUAL_ROWS, most)
    return growth + sample + [{"topic": "dual", "rows": rows, "kernel": k} for k in KERNELS]


def measure(topic: str, **cell: Any) -> Record:
    """One fit, and its test error."""
    return TOPICS[topic](**cell)


def growth(problem: str, rows: int, model: str, round: int) -> Record:
    data = PROBLEMS[problem]
    X, y = data.rows(rows, TRAIN)
    if model == SDGM:
        sdgm = SDGMClassifier(
            COMPONENTS[problem], covariance_type="full", random_state=round, teacher=None
        )
        record = fitted(sdgm, X, y) | sizes_of(sdgm)
        predict = sdgm.predict_proba
    elif model == LOGISTIC:
        record, predict = logistic(X, y)
    else:
        trees = HistGradientBoostingClassifier(random_state=round)
        record = fitted(trees, X, y) | {"iterations": int(trees.n_iter_)}
        predict = trees.predict_proba
    return record | quality_beside_bayes(data, predict)


def logistic(X: np.ndarray, y: np.ndarray) -> tuple[Record, Any]:
    """Fit logistic regression to quadratic features of standardised inputs."""
    scale, powers = StandardScaler(), PolynomialFeatures(2, include_bias=False)
    Phi, seconds, _ = timed(lambda: powers.fit_transform(scale.fit_transform(X)))
    model = LogisticRegression(solver="newton-cholesky")
    record = fitted(model, Phi, y)
    record |= {"feature_seconds": round(seconds, 4), "iterations": int(model.n_iter_.max())}
    return record, lambda x: model.predict_proba(powers.transform(scale.transform(x)))


def sample(problem: str, rows: int, way: str) -> Record:
    (X, y), (X_test, y_test) = tables(problem, rows)
    n_components = SAMPLED[problem][1]
    model = SDGMClassifier(n_components, covariance_type="full", random_state=0, teacher=None)
    changed: list[Any] = {
        DEFAULT: [],
        NO_RETURN: [(many_rows, "ADMISSIONS", 0), (many_rows, "LAST_ADMISSIONS", 0)],
        AT_ONCE: [(many_rows, "LARGE_ROWS", rows)],
    }[way]
    for change in changed:  # for the rest of this process
        patch.object(*change).start()
    record = fitted(model, X, y)
    P = in_parts(model.predict_proba, X_test)
    return record | sizes_of(model) | quality(y_test, P) | by_batch(y_test, P)


def tables(problem: str, rows: int) -> tuple[Table, Table]:
    """Rows to learn from, and to test on."""
    if problem == GENERATED:
        data = PROBLEMS[problem]
        return data.rows(rows, TRAIN), data.rows(TEST_ROWS, TEST)
    from reproduction.deep.images import arranged_idx, read_files  # which brings PyTorch

    train, test = arranged_idx(read_files("mnist"))
    X, X_test = (part[0].reshape(len(part[1]), -1) / 255.0 for part in (train, test))
    components = PCA(20, random_state=0).fit(X)
    y, y_test = (part[1].astype(np.int64) for part in (train, test))
    return (components.transform(X[:rows]), y[:rows]), (components.transform(X_test), y_test)


def by_batch(y: np.ndarray, P: np.ndarray) -> Record:
    """Mean log loss and error of each batch of test rows, by which two models are compared."""
    with np.errstate(divide="ignore"):
        losses = -np.log(P[np.arange(len(y)), y]), P.argmax(axis=1) != y
    names = "batch_log_losses", "batch_errors"
    means = [each.reshape(BATCHES, -1).mean(axis=1).round(6).tolist() for each in losses]
    return dict(zip(names, means, strict=True))


def difference(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Mean of the differences between paired batches, and its standard error."""
    each = np.subtract(one, other)
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each)))


def dual(rows: int, kernel: str) -> Record:
    data = PROBLEMS["2 classes"]
    model = KernelSDGMClassifier(2, kernel=KERNELS[kernel], degree=2, random_state=0, teacher=None)
    record = fitted(model, *data.rows(rows, TRAIN)) | sizes_of(model)
    record["vectors"] = len(model.relevance_vectors_)
    return record | quality_beside_bayes(data, model.predict_proba)


def fitted(model: Any, *data: Any) -> Record:
    """Fit, and what that took."""
    with Watched() as memory:
        begin = process_time()
        _, seconds, warned = timed(lambda: model.fit(*data))
        cpu = process_time() - begin
    times = {"seconds": round(seconds, 4), "cpu_seconds": round(cpu, 4)}
    return {**times, "warned": warned, **memory.record()}


def sizes_of(model: Any) -> Record:
    """Weights of a model, steps of its learning."""
    return {
        "weights": int(model.n_active_weights_),
        "initial_weights": int(model.n_initial_weights_),
        "components": int(np.sum(model.n_components_)),
        "iterations": int(model.n_iter_),
        "newton_steps": sum(record.newton_steps for record in model.history_),
    }


def quality(y: np.ndarray, P: np.ndarray) -> Record:
    """Error and log loss of probabilities of the classes 0, 1, ..."""
    error, loss = (P.argmax(axis=1) != y).mean(), log_loss(y, P, labels=np.arange(P.shape[1]))
    return {"error": round(float(error), 6), "log_loss": round(float(loss), 6)}


def quality_beside_bayes(data: Gaussians, predict: Callable[[np.ndarray], np.ndarray]) -> Record:
    """Of probabilities at test rows, and of Bayes' rule, which is the best there can be."""
    X, y = data.rows(TEST_ROWS, TEST)
    best = {f"bayes_{name}": value for name, value in quality(y, data.posterior(X)).items()}
    return quality(y, in_parts(predict, X)) | best


def in_parts(predict: Callable[[np.ndarray], np.ndarray], X: np.ndarray) -> np.ndarray:
    """Predictions, some rows at a time."""
    parts = [X[i : i + PART_ROWS] for i in range(0, len(X), PART_ROWS)]
    return np.concatenate([predict(part) for part in parts])


class Watched:
    """Peaks of this process's memory while something is done.

    Linux counts two things as resident: memory that the process allocated (``RssAnon``), which
    nobody else can have, and pages of files that are mapped (``RssFile``), which the system takes
    back when it needs them. The first peak is found by looking often, the sum of both (``VmHWM``)
    is kept by the system. `before` is what was allocated at the start: Python, its packages, and
    data in memory.
    """

    def __enter__(self) -> Self:
        with suppress(OSError):  # forget the peak of what was before
            Path("/proc/self/clear_refs").write_text("5")
        self.allocated = self.mapped = self.resident = 0
        self._look()
        self.before = self.allocated
        self._end = Event()
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._end.set()
        self._thread.join()
        self._look()
        self.resident = peak_memory()

    def _watch(self) -> None:
        while not self._end.wait(EVERY):
            self._look()

    def _look(self) -> None:
        self.allocated = max(self.allocated, status_bytes("RssAnon"))
        self.mapped = max(self.mapped, status_bytes("RssFile"))

    def record(self) -> dict[str, int]:
        """For a file of records."""
        kinds = ("before", self.before), ("allocated", self.allocated), ("mapped", self.mapped)
        return {f"{kind}_bytes": size for kind, size in (*kinds, ("peak", self.resident))}


@dataclass(frozen=True)
class Gaussians:
    """Classes of equal size, each a mixture of equally likely Gaussians of different covariance.

    Rows come in blocks with a seed each: a longer table begins with the shorter one.
    """

    n_classes: int
    n_modes: int
    n_inputs: int
    spread: float  # deviation of the means in each informative input
    n_informative: int  # inputs in which the Gaussians differ; the others are noise
    skew: float = 0.18  # deviation of the Gaussians' square roots around 0.8 times the identity

    @cached_property
    def shapes(self) -> tuple[np.ndarray, np.ndarray]:
        """Means (C, M, I) and square roots of the covariances (C, M, I, I)."""
        rng = np.random.default_rng(SHAPES_SEED)
        shape, I = (self.n_classes, self.n_modes), self.n_informative  # noqa: E741
        means = self.spread * rng.normal(size=(*shape, I))
        return means, 0.8 * np.eye(I) + self.skew * rng.normal(size=(*shape, I, I))

    def modes(self) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
        """Class, number, mean and square root of the covariance of each Gaussian."""
        means, roots = self.shapes
        for c, m in np.ndindex(self.n_classes, self.n_modes):
            yield c, m, means[c, m], roots[c, m]

    def block(self, number: int, seed: int, n_rows: int = DRAWN_ROWS) -> Table:
        """Inputs and classes of one block."""
        rng = np.random.default_rng([seed, number])
        y = rng.integers(self.n_classes, size=n_rows)
        mode = rng.integers(self.n_modes, size=n_rows)
        X = rng.normal(size=(n_rows, self.n_inputs))
        informative = X[:, : self.n_informative]
        for c, m, mean, root in self.modes():
            rows = np.flatnonzero((y == c) & (mode == m))
            informative[rows] = informative[rows] @ root.T + mean
        return X, y

    def rows(self, n_rows: int, seed: int) -> Table:
        """A table in memory; the last block is cut."""
        X, y = np.empty((n_rows, self.n_inputs)), np.empty(n_rows, dtype=np.int64)
        for number, first in enumerate(range(0, n_rows, DRAWN_ROWS)):
            size = min(DRAWN_ROWS, n_rows - first)
            for whole, drawn in zip((X, y), self.block(number, seed), strict=True):
                whole[first : first + size] = drawn[:size]
        return X, y

    def posterior(self, X: np.ndarray) -> np.ndarray:
        """P(c | x), by Bayes' rule: (N, C)."""
        log_p = np.empty((len(X), self.n_classes, self.n_modes))
        for c, m, mean, root in self.modes():
            U = np.linalg.solve(root, (X[:, : self.n_informative] - mean).T)
            log_p[:, c, m] = -0.5 * (U**2).sum(axis=0) - np.linalg.slogdet(root)[1]
        return softmax(logsumexp(log_p, axis=2), axis=1)


# what the cells call them
PROBLEMS = {
    "2 classes": Gaussians(2, 2, 10, spread=0.5, n_informative=10),
    "10 classes": Gaussians(10, 1, 10, spread=0.5, n_informative=10, skew=0.25),
}
TOPICS: dict[str, Callable[..., Record]] = {"growth": growth, "sample": sample, "dual": dual}


def write(output: Path) -> Path:
    """The page and its picture; what draws it is not imported before, as it takes memory."""
    path: Path = import_module("benchmarks.scale.page").write(output)
    return path


BENCHMARK = Benchmark("scale", cells, measure, write, repeats=3, threads=2, parts=tuple(TOPICS))
