"""The fits whose outcome is stored: small, quick, and all through the public interface."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine

import sdgm
from reproduction.gaussian_processes.estimator import MixtureOfGPsClassifier
from sdgm import (
    DiscriminativeGMMClassifier,
    FamiliarityDetector,
    KernelSDGMClassifier,
    RVMClassifier,
    SDGMClassifier,
    SemiSupervisedSDGMClassifier,
)
from sdgm.datasets import make_ripley
from tests.golden.outcomes import Outcome, description, fields_of, numbers
from tests.small_scale import make_small, make_small_on_dask

FITS: dict[str, Callable[[], Outcome]] = {}


def fit(name: str) -> Callable[[Callable[[], Outcome]], Callable[[], Outcome]]:
    """Enter a function that returns an outcome under a name."""

    def enter(function: Callable[[], Outcome]) -> Callable[[], Outcome]:
        assert name not in FITS
        FITS[name] = function
        return function

    return enter


# --- data ---


class Table:
    """Rows to learn from and others to predict."""

    def __init__(self, X: Any, y: Any, X_test: Any, y_test: Any) -> None:
        self.X, self.y, self.X_test, self.y_test = X, y, X_test, y_test

    def outcome(self, model: Any, *, sample_weight: Any = None) -> Outcome:
        """What a model has learned from these rows."""
        model.fit(self.X, self.y, *([] if sample_weight is None else [sample_weight]))
        return description(model, self.X_test, self.y_test)


def ripley(n_train: int = 120, n_test: int = 60) -> Table:
    return Table(*make_ripley(n_train, n_test, random_state=1).split())


def alternating(X: Any, y: Any, n_train: int | None = None) -> Table:
    """Every second row to learn from."""
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    return Table(X[::2][:n_train], y[::2][:n_train], X[1::2], y[1::2])


def iris() -> Table:
    X, y = load_iris(return_X_y=True)
    return alternating(X, np.array(["setosa", "versicolor", "virginica"])[y])


def wine(n_train: int | None = None) -> Table:
    return alternating(*load_wine(return_X_y=True), n_train)


def three_groups(n_train: int = 1500, n_test: int = 100) -> Table:
    """Rows of three overlapping classes, the first of which has two modes."""
    rng = np.random.default_rng(0)
    mode = rng.integers(4, size=n_train + n_test)
    centers = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 2.0], [3.0, 3.0]])
    X, y = rng.normal(size=(len(mode), 2)) + centers[mode], mode % 3
    return Table(X[:n_train], y[:n_train], X[n_train:], y[n_train:])


# --- the paper's data, where they are at hand ---


def published_ripley() -> Table:
    folder = os.environ.get("SDGM_DATA")
    if not folder:
        pytest.skip("real data are needed: set SDGM_DATA to the folder that holds them")
    with np.load(Path(folder) / "ripley" / "ripley_synth.npz") as data:
        return Table(*(data[key] for key in ("X_train", "y_train", "X_test", "y_test")))


# the names are those of the tests in `test_results`
RIPLEY: dict[str, Any] = {
    "primal, fast": SDGMClassifier(3, random_state=0, teacher=None),
    "primal, paper": SDGMClassifier(3, preset="paper", random_state=0),
    "dual, fast": KernelSDGMClassifier(3, random_state=0, teacher=None),
    "dual, paper": KernelSDGMClassifier(3, preset="paper", random_state=0),
}
for _name, _model in RIPLEY.items():
    fit(f"published Ripley, {_name}")(lambda model=_model: published_ripley().outcome(clone(model)))


# --- forms, presets and solvers ---

FORMS = {"primal": SDGMClassifier, "dual": KernelSDGMClassifier}
for _form, _class in FORMS.items():
    for _preset in "fast", "paper":
        for _solver in "full", "block":
            _model = _class(2, preset=_preset, solver=_solver, random_state=0)
            # conjugate gradients amplify the last digits, least of all with these rows
            _table = wine if (_preset, _solver) == ("fast", "block") else ripley
            fit(f"{_form}, {_preset}, {_solver}")(
                lambda table=_table, model=_model: table().outcome(clone(model))
            )


# --- one setting each ---

SETTINGS: dict[str, tuple[Callable[[], Table], Any]] = {
    "fewer rows than coordinates": (
        lambda: wine(40),
        SDGMClassifier(2, solver="full", random_state=0, teacher=None),
    ),
    "fewer rows than coordinates, paper": (
        lambda: wine(40),
        SDGMClassifier(2, preset="paper", standardize=True, solver="full", random_state=0),
    ),
    "many components": (iris, SDGMClassifier(12, random_state=0, teacher=None)),
    "many components by blocks": (
        wine,
        SDGMClassifier(10, covariance_type="diag", solver="block", random_state=0, teacher=None),
    ),
    "components by class": (
        iris,
        SDGMClassifier(
            {"setosa": 1, "versicolor": 2, "virginica": 3}, random_state=0, teacher=None
        ),
    ),
    "diagonal covariance": (
        wine,
        SDGMClassifier(2, covariance_type="diag", random_state=0, teacher=None),
    ),
    "spherical covariance": (
        wine,
        SDGMClassifier(2, covariance_type="spherical", random_state=0, teacher=None),
    ),
    "tied covariance": (
        wine,
        SDGMClassifier(2, covariance_type="tied", random_state=0, teacher=None),
    ),
    "inputs as they are": (
        iris,
        SDGMClassifier(2, standardize=False, random_state=0, teacher=None),
    ),
    "poly kernel of degree 3": (
        ripley,
        KernelSDGMClassifier(2, degree=3, gamma=0.5, coef0=2.0, random_state=0, teacher=None),
    ),
    "rbf kernel": (
        ripley,
        KernelSDGMClassifier(2, kernel="rbf", gamma=1.0, random_state=0, teacher=None),
    ),
    "rbf kernel, paper": (
        ripley,
        KernelSDGMClassifier(2, kernel="rbf", gamma=4.0, preset="paper", random_state=0),
    ),
    "linear kernel": (iris, KernelSDGMClassifier(2, kernel="linear", random_state=0, teacher=None)),
    "shared vectors": (
        iris,
        KernelSDGMClassifier(2, shared_vectors=True, random_state=0, teacher=None),
    ),
    "ridge": (iris, SDGMClassifier(2, prior="ridge", alpha=0.1, random_state=0)),
    "ridge, dual": (ripley, KernelSDGMClassifier(2, prior="ridge", alpha=2.0, random_state=0)),
    "ridge, paper": (iris, SDGMClassifier(2, prior="ridge", preset="paper", random_state=0)),
    "budget": (iris, SDGMClassifier(2, max_weights=6, random_state=0, teacher=None)),
    "budget, dual": (ripley, KernelSDGMClassifier(3, max_weights=4, random_state=0, teacher=None)),
    "budget, ridge": (iris, SDGMClassifier(1, prior="ridge", max_weights=8, random_state=0)),
    "several starts": (
        ripley,
        SDGMClassifier(3, n_init=3, init="random", random_state=0, teacher=None),
    ),
    "start from Gaussian mixtures": (
        ripley,
        KernelSDGMClassifier(2, init="gmm", random_state=0, teacher=None),
    ),
    "stopped by max_iter": (
        ripley,
        SDGMClassifier(3, max_iter=4, tol=1e-9, random_state=0, teacher=None),
    ),
    "averaged": (iris, SDGMClassifier(2, predictive="averaged", random_state=0, teacher=None)),
    "averaged, dual": (
        ripley,
        KernelSDGMClassifier(2, predictive="averaged", random_state=0, teacher=None),
    ),
    "automatic": (ripley, SDGMClassifier(random_state=0)),
    "automatic, dual": (ripley, KernelSDGMClassifier(random_state=0)),
    "automatic in part": (
        iris,
        KernelSDGMClassifier(2, kernel="auto", random_state=0, teacher=None),
    ),
    "automatic, budget": (iris, SDGMClassifier(max_weights=7, random_state=0)),
    "relevance vector machine": (iris, RVMClassifier(random_state=0)),
    "discriminative Gaussian mixture": (iris, DiscriminativeGMMClassifier(2, random_state=0)),
    "mixture of Gaussian processes": (
        lambda: ripley(60),
        MixtureOfGPsClassifier(2, max_evaluations=15, random_state=0),
    ),
}
for _name, (_table, _model) in SETTINGS.items():
    fit(_name)(lambda table=_table, model=_model: table().outcome(clone(model)))


@fit("kernel by a function")
def callable_kernel() -> Outcome:
    def cauchy(X: Any, Z: Any) -> Any:
        return 1.0 / (1.0 + ((X[:, None] - Z[None]) ** 2).sum(axis=2))

    return ripley().outcome(KernelSDGMClassifier(2, kernel=cauchy, random_state=0, teacher=None))


@fit("precomputed kernel")
def precomputed_kernel() -> Outcome:
    def rbf(X: Any, Z: Any) -> Any:
        return np.exp(-2.0 * ((X[:, None] - Z[None]) ** 2).sum(axis=2))

    table = ripley()
    X, X_test = rbf(table.X, table.X), rbf(table.X_test, table.X)
    model = KernelSDGMClassifier(2, kernel="precomputed", random_state=0)
    return Table(X, table.y, X_test, table.y_test).outcome(model)


@fit("start from an array")
def start_from_an_array() -> Outcome:
    table = ripley()
    left = table.X[:, 0] < 0.0
    own = 2 * table.y + left
    r = np.full((len(own), 4), 0.0)
    r[np.arange(len(own)), own] = 0.9
    r[np.arange(len(own)), own ^ 1] = 0.1
    return table.outcome(SDGMClassifier(2, init=r, teacher=None))


# --- weights of samples and of classes ---


def weights(n_rows: int) -> Any:
    """From 0 to 3, some of them zero."""
    return np.random.default_rng(3).integers(4, size=n_rows).astype(float)


@fit("sample weights")
def sample_weights() -> Outcome:
    table = iris()
    model = SDGMClassifier(2, class_weight="balanced", random_state=0, teacher=None)
    return table.outcome(model, sample_weight=weights(len(table.X)))


@fit("sample weights, dual, repeated rows")
def sample_weights_dual() -> Outcome:
    table = ripley(100)
    twice = Table(
        np.concatenate([table.X, table.X[:30]]),
        np.concatenate([table.y, table.y[:30]]),
        table.X_test,
        table.y_test,
    )
    model = KernelSDGMClassifier(2, class_weight={0: 1.0, 1: 2.5}, random_state=0, teacher=None)
    return twice.outcome(model, sample_weight=0.5 + weights(len(twice.X)))


@fit("sample weights, paper")
def sample_weights_paper() -> Outcome:
    table = ripley()
    model = SDGMClassifier(2, preset="paper", random_state=0)
    return table.outcome(model, sample_weight=weights(len(table.X)))


# --- fits that go on ---


@fit("warm start")
def warm_start() -> Outcome:
    table = iris()
    model = SDGMClassifier(2, warm_start=True, random_state=0, teacher=None).fit(
        table.X[:50], table.y[:50]
    )
    return table.outcome(model)


@fit("warm start, dual")
def warm_start_dual() -> Outcome:
    table = ripley()
    model = KernelSDGMClassifier(
        2, kernel="rbf", gamma=1.0, warm_start=True, random_state=0, teacher=None
    )
    model.fit(table.X[20:], table.y[20:])
    return table.outcome(model)


class InterruptedOutput(io.StringIO):
    """Takes lines of progress, and is interrupted by the user as one of them arrives."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.left = line

    def write(self, text: str) -> int:
        self.left -= text.count("\n")
        if self.left <= 0:
            raise KeyboardInterrupt
        return len(text)


def resumed(model: Any, table: Table, *, line: int) -> Outcome:
    """A fit that is interrupted after so many lines of progress, and taken up again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit.checkpoint"
        model.set_params(checkpoint=path, verbose=2)
        with redirect_stdout(InterruptedOutput(line)), suppress(KeyboardInterrupt):
            model.fit(table.X, table.y)
        assert path.exists()
        result = table.outcome(model.set_params(verbose=0))
        assert not path.exists()
    return result


@fit("resumed from a checkpoint")
def checkpoint() -> Outcome:
    return resumed(SDGMClassifier(2, n_init=2, random_state=0, teacher=None), ripley(), line=9)


@fit("resumed from a checkpoint, automatic")
def checkpoint_automatic() -> Outcome:
    return resumed(KernelSDGMClassifier(random_state=0), ripley(), line=20)


# --- many rows ---


class Reader:
    """A table that is read in parts."""

    def __init__(self, rows: Any) -> None:
        self.rows, self.shape = rows, rows.shape

    def read(self, start: int, stop: int) -> Any:
        return self.rows[start:stop]


@contextmanager
def memory_map(rows: Any) -> Iterator[Any]:
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "rows.npy", rows)
        yield np.load(Path(folder) / "rows.npy", mmap_mode="r")


@contextmanager
def small_scale(make: Callable[[pytest.MonkeyPatch], None] = make_small) -> Iterator[None]:
    """A thousand rows are many."""
    with pytest.MonkeyPatch.context() as patch:
        make(patch)
        yield


@fit("a sample, then all rows")
def by_sample() -> Outcome:
    with small_scale():
        return three_groups().outcome(SDGMClassifier(2, random_state=0, teacher=None))


@fit("a sample, then all rows, dual")
def by_sample_dual() -> Outcome:
    with small_scale():
        return three_groups().outcome(KernelSDGMClassifier(2, random_state=0, teacher=None))


@fit("a sample, then all rows, budget and weights")
def by_sample_budget() -> Outcome:
    with small_scale():
        table = three_groups()
        model = SDGMClassifier(2, max_weights=8, random_state=0, teacher=None)
        return table.outcome(model, sample_weight=weights(len(table.X)))


@fit("memory map of many rows")
def from_disk() -> Outcome:
    table = three_groups()
    with small_scale(), memory_map(table.X.astype(np.float32)) as X:
        model = SDGMClassifier(1, class_weight="balanced", random_state=0, teacher=None)
        return Table(X, table.y, table.X_test, table.y_test).outcome(model)


@fit("reader of many rows")
def from_reader() -> Outcome:
    table = three_groups()
    with small_scale():
        model = KernelSDGMClassifier(1, kernel="rbf", random_state=0, teacher=None)
        return Table(Reader(table.X), table.y, table.X_test, table.y_test).outcome(model)


@fit("reader of few rows")
def from_reader_of_few_rows() -> Outcome:
    table = ripley()
    model = SDGMClassifier(2, random_state=0, teacher=None)
    return Table(Reader(table.X), table.y, table.X_test, table.y_test).outcome(model)


@fit("33,000 rows")
def many_rows() -> Outcome:
    table = three_groups(33_000)
    model = SDGMClassifier(1, random_state=0, teacher=None)
    return Table(Reader(table.X), table.y, table.X_test, table.y_test).outcome(model)


def on_dask(form: str, **parameters: Any) -> Outcome:
    da = pytest.importorskip("dask.array")
    pytest.importorskip("distributed")
    import sdgm.dask

    table = three_groups()
    with small_scale(make_small_on_dask):
        model = getattr(sdgm.dask, form)(random_state=0, **parameters)
        model.fit(da.from_array(table.X, chunks=(400, 1)), da.from_array(table.y, chunks=700))
        return description(model.to_local(), table.X_test, table.y_test)


@fit("Dask")
def dask_primal() -> Outcome:
    return on_dask("SDGMClassifier", n_components=2)


@fit("Dask, dual")
def dask_dual() -> Outcome:
    return on_dask("KernelSDGMClassifier", n_components=1, kernel="rbf")


# --- what is built on fitted classifiers ---


@fit("path of weights")
def path_of_weights() -> Outcome:
    table = ripley()
    model = KernelSDGMClassifier(3, random_state=0, teacher=None).fit(table.X, table.y)
    path = sdgm.weights_path(model, table.X, table.y)
    return {
        "n_weights": path.n_weights.tolist(),
        "training_error": numbers(path.error),
        "training_log_loss": numbers(path.log_loss),
        "at_most_4": description(path.at_most(4), table.X_test, table.y_test),
    }


@fit("path of weights, automatic")
def path_of_weights_automatic() -> Outcome:
    table = iris()
    model = SDGMClassifier(random_state=0).fit(table.X, table.y)
    path = sdgm.weights_path(model, table.X, table.y, min_weights=3, step=2)
    return {
        "n_weights": path.n_weights.tolist(),
        "training_log_loss": numbers(path.log_loss),
        "last": description(path.models[-1], table.X_test, table.y_test),
    }


def partly_labelled(estimator: Any, n_labelled: int) -> Outcome:
    table = ripley()
    y = np.where(np.arange(len(table.y)) % (len(table.y) // n_labelled) == 0, table.y, -1)
    model = SemiSupervisedSDGMClassifier(estimator, random_state=0).fit(table.X, y)
    fields = fields_of(model, ["n_labelled_", "unlabelled_share_", "transduction_"])
    found = {name: numbers([share])[0] for name, share in model.shares_.items()}
    inside = description(model.estimator_, table.X_test, table.y_test)
    return {**fields, "shares": found, "estimator": inside}


@fit("semi-supervised")
def semi_supervised() -> Outcome:
    return partly_labelled(SDGMClassifier(2, teacher=None), 12)


@fit("semi-supervised, dual, automatic")
def semi_supervised_dual() -> Outcome:
    return partly_labelled(KernelSDGMClassifier(), 24)


@fit("familiarity")
def familiarity() -> Outcome:
    table = iris()
    model = FamiliarityDetector().fit(table.X, table.y)
    fields = fields_of(model, ["offset_", "shrinkage_", "n_components_", "held_out_scores_"])
    far = np.concatenate([table.X_test[:6], 3.0 * table.X_test[:3]])
    return {
        **fields,
        "scores": numbers(model.score_samples(far)),
        "predictions": model.predict(far).tolist(),
    }


@fit("bound")
def bound() -> Outcome:
    table = ripley(400)
    model = SDGMClassifier(2, random_state=0, teacher=None).fit(table.X, table.y)
    return vars(sdgm.pac_bayes_bound(model, table.X, table.y, n_draws=50_000))


@fit("bound, dual")
def bound_dual() -> Outcome:
    table = ripley(400)
    model = KernelSDGMClassifier(1, kernel="rbf", gamma=1.0, random_state=0, teacher=None).fit(
        table.X, table.y
    )
    return vars(
        sdgm.pac_bayes_bound(
            model, table.X, table.y, loss="probability", scaling="paid", n_draws=50_000
        )
    )


@fit("layer and back")
def layer_and_back() -> Outcome:
    torch = pytest.importorskip("torch")
    from sdgm.nn import from_classifier, laplace, to_classifier

    table = iris()
    model = SDGMClassifier(2, random_state=0, teacher=None).fit(table.X, table.y)
    layer = from_classifier(model, dtype=torch.float64).eval()
    rows = torch.as_tensor(table.X_test[:5])
    codes = torch.as_tensor(np.searchsorted(model.classes_, table.y))
    posterior = laplace(layer, torch.as_tensor(table.X), codes)
    back = to_classifier(layer, model.classes_, covariance=posterior.covariance)
    return {
        "scores": numbers(layer(rows).detach().numpy()),
        "mask": int(layer.mask.sum()),
        "classifier": description(back, table.X_test, table.y_test),
    }
