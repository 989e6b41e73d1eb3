"""What does not fit into memory is refused beforehand, with a remedy; what does fit is not."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reproduction.gaussian_processes.estimator import MixtureOfGPsClassifier
from sdgm import (
    DiscriminativeGMMClassifier,
    KernelSDGMClassifier,
    RVMClassifier,
    SDGMClassifier,
    SemiSupervisedSDGMClassifier,
)
from sdgm._typing import FloatArray, IntArray
from tests.estimators.problems import (
    PLAIN,
    assert_proper,
    blobs,
    own_warnings_allowed,
    pretend_memory,
)


def noise(N: int, D: int, C: int = 2, *, unlabelled: int = 0) -> tuple[FloatArray, IntArray]:
    """Rows that little can be said of, so that most weights stay for some passes."""
    X, y = np.random.default_rng(0).normal(size=(N, D)), np.arange(N) % C
    X[:, 0] += y
    return X, np.where(np.arange(N) < N - unlabelled, y, -1)


def similarities(N: int) -> tuple[FloatArray, IntArray]:
    X, y = noise(N, 5)
    return np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=-1)), y


def traced_peak(action: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        with own_warnings_allowed():
            action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def exponential(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.exp(0.1 * (a @ b.T))


KERNEL, SEMI = KernelSDGMClassifier, SemiSupervisedSDGMClassifier
few = {"max_iter": 2}
PROBLEMS: dict[str, tuple[Any, tuple[FloatArray, IntArray]]] = {
    "full": (SDGMClassifier(2, **few, teacher=None), noise(1500, 12, 4)),
    "full, fewer rows than features": (SDGMClassifier(2, **few, teacher=None), noise(150, 45)),
    "diag": (SDGMClassifier(2, covariance_type="diag", **few, teacher=None), noise(150, 750)),
    "blocks": (SDGMClassifier(2, solver="block", **few, teacher=None), noise(1500, 15, 4)),
    "discriminative": (DiscriminativeGMMClassifier(2, **few), noise(150, 28)),
    "poly": (KERNEL(2, **few, teacher=None), noise(800, 14)),
    "rbf": (KERNEL(2, kernel="rbf", gamma=1.0, **few, teacher=None), noise(350, 5)),
    "rbf of lower rank": (KERNEL(2, kernel="rbf", gamma=0.05, **few, teacher=None), noise(1000, 3)),
    "callable": (KERNEL(2, kernel=exponential, **few, teacher=None), noise(350, 5)),
    "precomputed": (KERNEL(2, kernel="precomputed", **few), similarities(350)),
    "relevance vector machine": (RVMClassifier(gamma=1.0, **few), noise(500, 5)),
    "Gaussian processes": (MixtureOfGPsClassifier(1, optimizer=False), noise(400, 3)),
    "chosen": (SDGMClassifier(**few), noise(180, 3, 3)),
    "partly labelled": (
        SEMI(SDGMClassifier(1, covariance_type="diag", **few, teacher=None)),
        noise(800, 5, 3, unlabelled=200),
    ),
    "partly labelled, many inputs": (
        SEMI(SDGMClassifier(2, covariance_type="full", **few, teacher=None)),
        noise(60, 120, unlabelled=30),
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_half_of_what_a_fit_takes_is_refused_and_four_times_as_much_is_not(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimator, (X, y) = PROBLEMS[name]
    # the covariance of the weights that more passes would prune is not what a fit takes
    monkeypatch.setattr("sdgm.scale.memory.MAX_COVARIANCE", 0)
    peak = traced_peak(lambda: estimator.fit(X, y))
    assert peak > 5e6  # the interpreter's own are small beside it
    pretend_memory(monkeypatch, 4 * peak)
    with own_warnings_allowed():
        estimator.fit(X, y)

    pretend_memory(monkeypatch, peak / 2)

    def refused() -> None:
        size = r"\d+(\.\d+)? [GM]B"
        with pytest.raises(
            MemoryError, match=rf"would need {size}, but {size} are available; "
        ) as e:
            estimator.fit(X, y)
        text = str(e.value)
        assert text.endswith(".") and len(text) < 300
        # the remedy is one that this estimator has
        settings = estimator.get_params() | getattr(estimator, "estimator", estimator).get_params()
        remedy = text.split(";")[1]
        assert set(re.findall(r"(\w+)=", remedy)) <= set(settings)
        assert "fewer components" not in remedy or "n_components" in settings
        assert "degree" not in remedy or estimator.kernel in ("auto", "poly")

    assert traced_peak(refused) < 0.85 * peak / 2


def test_the_covariance_of_weights_that_all_stay_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = noise(40, 40)
    model = DiscriminativeGMMClassifier(1, max_iter=2)
    peak = traced_peak(lambda: model.fit(X, y))
    assert model.covariance_ is not None
    pretend_memory(monkeypatch, peak / 2)
    assert model.fit(X, y).covariance_ is None
    # to choose among them it is needed
    budget = SDGMClassifier(1, covariance_type="full", prior="ridge", max_iter=2, max_weights=5)
    with pytest.raises(MemoryError, match="covariance of 1722 weights would need"):
        budget.fit(X, y)


def test_a_covariance_that_does_not_fit_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noise(1000, 2)
    model = KernelSDGMClassifier(2, max_iter=1, teacher=None)
    with own_warnings_allowed():
        model.fit(X, y)
        assert model.covariance_ is not None
        pretend_memory(monkeypatch, 20e6)
        model.fit(X, y)
    assert model.covariance_ is None
    assert_proper(model, X)


@pytest.mark.parametrize("estimator", [SDGMClassifier, DiscriminativeGMMClassifier])
def test_too_many_features_are_refused_before_they_are_made(
    estimator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_memory(monkeypatch, 2e9)
    X, y = blobs(20, 2, 20_000)
    with pytest.raises(
        MemoryError, match=r"200030001 features.*2\.0 GB are available; use covariance_type"
    ):
        estimator(**PLAIN[estimator]).fit(X, y)


def test_features_of_partly_labelled_rows_are_refused_before_anything_is_learned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pretend_memory(monkeypatch, 2e9)
    monkeypatch.setattr("sdgm.semi_supervised.estimator.fit_partly_labelled", None)
    X, y = noise(300, 1500, unlabelled=200)
    model = SemiSupervisedSDGMClassifier(SDGMClassifier(1, covariance_type="full", teacher=None))
    with pytest.raises(MemoryError, match="1127251 features"):
        model.fit(X, y)


def test_settings_beyond_the_memory_are_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    # noise, which no simple model says, so that all are tried
    X, y = np.random.default_rng(0).normal(size=(60, 60)), np.arange(60) % 2
    monkeypatch.setattr("sdgm.estimators.choosing.FAITHFUL", 0.0)
    with own_warnings_allowed():
        model = SDGMClassifier(random_state=0).fit(X, y)
        assert "full" in {each.parameters["covariance_type"] for each in model.candidates_}
        pretend_memory(monkeypatch, 2.5e6)
        model = SDGMClassifier(random_state=0).fit(X, y)
    assert {each.parameters["covariance_type"] for each in model.candidates_} == {"diag"}
    assert_proper(model, X)


def test_a_kernel_of_low_rank_is_not_refused_because_it_has_many_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = noise(3000, 2)
    pretend_memory(monkeypatch, 8 * 3000**2)  # the kernel matrix alone, once
    with own_warnings_allowed():
        model = KernelSDGMClassifier(1, kernel="rbf", gamma=0.01, max_iter=20, teacher=None).fit(
            X, y
        )
    assert_proper(model, X)
