"""What must not change a fit: order, repetition in place of weights, names, units, the clock."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from sdgm import (
    DiscriminativeGMMClassifier,
    KernelSDGMClassifier,
    RVMClassifier,
    SDGMClassifier,
)
from sdgm._typing import FloatArray, IntArray
from tests.estimators.problems import (
    blobs,
    both_presets,
    every_estimator,
    own_warnings_allowed,
    two_modes,
)

# fewer components than the default, so that small problems are not all warnings
MODELS = {
    "primal": SDGMClassifier(2, random_state=0, teacher=None),
    "diag": SDGMClassifier(2, covariance_type="diag", random_state=0, teacher=None),
    "dual": KernelSDGMClassifier(2, random_state=0, teacher=None),
    "rbf": KernelSDGMClassifier(2, kernel="rbf", random_state=0, teacher=None),
    "linear": KernelSDGMClassifier(2, kernel="linear", random_state=0, teacher=None),
    "gmm start": SDGMClassifier(2, init="gmm", random_state=0, teacher=None),
    "random start": SDGMClassifier(2, init="random", random_state=0, teacher=None),
    "two starts": SDGMClassifier(2, n_init=2, random_state=0, teacher=None),
    "rvm": RVMClassifier(random_state=0),
    "ridge": DiscriminativeGMMClassifier(2, random_state=0),
    "automatic primal": SDGMClassifier(random_state=0),
    "automatic dual": KernelSDGMClassifier(random_state=0),
    "as given": KernelSDGMClassifier(2, standardize=False, random_state=0, teacher=None),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
SOME = ("primal", "dual", "rvm", "automatic primal", "automatic dual")
some_models = pytest.mark.parametrize("model", [MODELS[name] for name in SOME], ids=SOME)
few_examples = settings(max_examples=8, deadline=None, derandomize=True)


@st.composite
def problems(draw: st.DrawFn) -> tuple[FloatArray, IntArray]:
    """Few rows of two or three classes, some of them equal, sometimes with conflicting labels."""
    n_samples = draw(st.integers(8, 40))
    n_features = draw(st.integers(1, 3))
    n_classes = draw(st.integers(2, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n_samples - n_classes)])
    X = rng.normal(size=(n_samples, n_features)) + rng.normal(size=(n_classes, n_features))[y]
    if draw(st.booleans()):
        X = X.round(draw(st.integers(0, 1)))  # ties
    return X, y


def fitted(model: Any, X: FloatArray, y: Any, s: FloatArray | None = None, **changes: Any) -> Any:
    with own_warnings_allowed():
        return clone(model).set_params(**changes).fit(X, y, s)


def assert_equal_models(a: Any, b: Any, X: FloatArray) -> None:
    """The same numbers, to the last bit."""
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    assert a.n_active_weights_ == b.n_active_weights_
    assert a.n_iter_ == b.n_iter_


# --- repetition and weights ---


@every_model
@few_examples
@given(problem=problems(), seed=st.integers(0, 1000))
def test_a_row_of_weight_two_is_the_row_twice(
    model: Any, problem: tuple[FloatArray, IntArray], seed: int
) -> None:
    X, y = problem
    s = np.random.default_rng(seed).integers(1, 4, size=len(X))
    weighted = fitted(model, X, y, s.astype(float))
    repeated = fitted(model, X.repeat(s, axis=0), y.repeat(s))
    assert_equal_models(weighted, repeated, X)


@every_model
@few_examples
@given(problem=problems(), seed=st.integers(0, 1000))
def test_a_row_of_weight_zero_is_not_there(
    model: Any, problem: tuple[FloatArray, IntArray], seed: int
) -> None:
    X, y = problem
    s = np.random.default_rng(seed).integers(0, 3, size=len(X)).astype(float)
    s[: y.max() + 1] = 1.0  # one row of every class stays
    used = s > 0
    assert_equal_models(fitted(model, X, y, s), fitted(model, X[used], y[used], s[used]), X)


def test_a_class_of_weight_zero_is_not_there() -> None:
    X, y = blobs(60, 3)
    model = SDGMClassifier(1, teacher=None).fit(X, y, (y != 1).astype(float))
    assert model.classes_.tolist() == [0, 2]


@every_estimator
def test_unit_weights_are_no_weights(estimator: Any) -> None:
    X, y = two_modes()
    model = estimator(random_state=0)
    assert_equal_models(fitted(model, X, y, np.ones(len(X))), fitted(model, X, y), X)


@pytest.mark.parametrize("estimator", [SDGMClassifier, DiscriminativeGMMClassifier])
def test_weights_are_repetition_in_the_paper_preset_too(estimator: Any) -> None:
    # in the original form; in the dual form the paper gives each repeated row its own weight
    X, y = two_modes(60)
    s = np.random.default_rng(0).integers(1, 4, size=len(X))
    model = estimator(2, preset="paper", random_state=0)
    weighted = fitted(model, X, y, s.astype(float))
    repeated = fitted(model, X.repeat(s, axis=0), y.repeat(s))
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 1: 0.5}])
def test_weights_are_repetition_under_class_weights(class_weight: Any) -> None:
    X, y = blobs(60, 2)
    s = np.where(y == 0, 3, 1)
    model = SDGMClassifier(1, class_weight=class_weight, teacher=None)
    weighted = fitted(model, X, y, s.astype(float))
    repeated = fitted(model, X.repeat(s, axis=0), y.repeat(s))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-9)


def test_weights_are_repetition_for_given_responsibilities() -> None:
    X, y = two_modes(40)
    X = np.concatenate([X, X[:10]])  # the same rows again, with other responsibilities
    y = np.concatenate([y, y[:10]])
    rng = np.random.default_rng(0)
    r = rng.dirichlet(np.ones(4), size=len(X))
    s = rng.integers(1, 4, size=len(X))
    weighted = fitted(SDGMClassifier(2, init=r, teacher=None), X, y, s.astype(float))
    repeated = fitted(
        SDGMClassifier(2, init=r.repeat(s, axis=0), teacher=None), X.repeat(s, axis=0), y.repeat(s)
    )
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-7)


def test_weights_are_repetition_for_a_precomputed_kernel() -> None:
    X, y = two_modes(40)
    s = np.random.default_rng(0).integers(1, 4, size=len(X))
    index = np.arange(len(X)).repeat(s)
    K = (X @ X.T + 1.0) ** 2
    model = KernelSDGMClassifier(1, kernel="precomputed")
    weighted = fitted(model, K, y, s.astype(float))
    repeated = fitted(model, K[np.ix_(index, index)], y[index])
    np.testing.assert_allclose(
        weighted.predict_proba(K), repeated.predict_proba(K[:, index]), rtol=0, atol=1e-3
    )


@every_estimator
def test_all_weights_doubled_are_all_rows_twice(estimator: Any) -> None:
    X, y = two_modes()
    model = estimator(random_state=0)
    doubled = fitted(model, X, y, np.full(len(X), 2.0))
    twice = fitted(model, np.concatenate([X, X]), np.concatenate([y, y]))
    assert_equal_models(doubled, twice, X)


# --- order ---


@every_model
@few_examples
@given(problem=problems(), seed=st.integers(0, 1000))
def test_the_order_of_the_rows_does_not_matter(
    model: Any, problem: tuple[FloatArray, IntArray], seed: int
) -> None:
    X, y = problem
    order = np.random.default_rng(seed).permutation(len(X))
    assert_equal_models(fitted(model, X, y), fitted(model, X[order], y[order]), X)


@pytest.mark.parametrize("estimator", [SDGMClassifier, KernelSDGMClassifier])
def test_the_order_of_the_rows_does_not_matter_in_the_paper_preset(estimator: Any) -> None:
    X, y = two_modes(60)
    order = np.random.default_rng(1).permutation(len(X))
    model = estimator(2, preset="paper", random_state=0)
    a, b = fitted(model, X, y), fitted(model, X[order], y[order])
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=0, atol=1e-4)
    assert a.n_active_weights_ == b.n_active_weights_


def test_relevance_indices_follow_the_order_of_the_rows() -> None:
    X, y = two_modes(60)
    order = np.random.default_rng(0).permutation(len(X))
    a = KernelSDGMClassifier(2, random_state=0, teacher=None).fit(X, y)
    b = KernelSDGMClassifier(2, random_state=0, teacher=None).fit(X[order], y[order])
    assert sorted(order[b.relevance_].tolist()) == sorted(a.relevance_.tolist())


def test_the_order_of_the_features_does_not_matter_to_a_single_component() -> None:
    X, y = blobs(90, 3, 4)
    order = np.array([2, 0, 3, 1])
    a, b = (
        fitted(SDGMClassifier(1, teacher=None), X, y),
        fitted(SDGMClassifier(1, teacher=None), X[:, order], y),
    )
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X[:, order]), atol=1e-6)


@some_models
@few_examples
@given(problem=problems(), seed=st.integers(0, 1000))
def test_the_order_of_the_components_does_not_matter(
    model: Any, problem: tuple[FloatArray, IntArray], seed: int
) -> None:
    X, y = problem
    if model.n_components != 2:
        return  # one component per class, or as many as are chosen
    _, n_samples = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    if min(np.bincount(y)) < 2 or n_samples.max() > 1:
        return  # fewer components than asked for, or averages of responsibilities
    C = y.max() + 1
    r = np.random.default_rng(seed).dirichlet(np.ones(2 * C), size=len(X))
    swap = np.arange(2 * C).reshape(C, 2)[:, ::-1].ravel()
    a, b = fitted(model, X, y, init=r), fitted(model, X, y, init=r[:, swap])
    # the sums over components are added in another order
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=0, atol=1e-5)


# --- names ---


@every_model
@few_examples
@given(problem=problems())
def test_the_names_of_the_classes_do_not_matter(
    model: Any, problem: tuple[FloatArray, IntArray]
) -> None:
    X, y = problem
    names = np.array(["a", "b", "c"])
    a, b = fitted(model, X, y), fitted(model, X, names[y])
    assert_equal_models(a, b, X)
    assert (names[a.predict(X)] == b.predict(X)).all()


@some_models
@few_examples
@given(problem=problems())
def test_the_order_of_the_classes_does_not_matter(
    model: Any, problem: tuple[FloatArray, IntArray]
) -> None:
    X, y = problem
    C = y.max() + 1
    a, b = fitted(model, X, y), fitted(model, X, C - 1 - y)
    # the sums over classes are added in another order, and learning ends within its tolerance
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X)[:, ::-1], rtol=0, atol=1e-4)
    assert a.n_active_weights_ == b.n_active_weights_


# --- units ---


@every_model
@few_examples
@given(problem=problems(), exponents=st.lists(st.integers(-60, 60), min_size=3, max_size=3))
def test_the_units_of_the_inputs_do_not_matter_when_standardised(
    model: Any, problem: tuple[FloatArray, IntArray], exponents: list[int]
) -> None:
    X, y = problem
    unit = 2.0 ** np.array(exponents[: X.shape[1]])  # exact in floating point
    a = fitted(model, X, y, standardize=True)
    b = fitted(model, X * unit, y, standardize=True)
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X * unit))


@both_presets
@every_estimator
def test_origin_and_units_do_not_matter_when_standardised(estimator: Any, preset: str) -> None:
    X, y = two_modes()
    model = estimator(preset=preset, standardize=True, random_state=0, max_iter=200)
    a, b = fitted(model, X, y), fitted(model, 1e3 * X - 1e4, y)
    np.testing.assert_allclose(
        a.predict_proba(X), b.predict_proba(1e3 * X - 1e4), rtol=0, atol=1e-3
    )


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
def test_the_units_of_a_kernel_do_not_matter(unit: float) -> None:
    X, y = two_modes()
    K = (X @ X.T + 1.0) ** 2
    model = KernelSDGMClassifier(1, kernel="precomputed")
    a, b = fitted(model, K, y), fitted(model, unit * K, y)
    np.testing.assert_allclose(a.predict_proba(K), b.predict_proba(unit * K), rtol=0, atol=1e-3)
    own = KernelSDGMClassifier(1, kernel=lambda X, Z: unit * (X @ Z.T + 1.0) ** 2, teacher=None)
    named = KernelSDGMClassifier(1, gamma=1.0, teacher=None)
    np.testing.assert_allclose(
        fitted(own, X, y).predict_proba(X), fitted(named, X, y).predict_proba(X), atol=1e-3
    )


# --- seeds and types ---


@both_presets
@every_estimator
def test_equal_seeds_give_equal_models(estimator: Any, preset: str) -> None:
    X, y = two_modes()
    for seed in (0, 7):
        model = estimator(preset=preset, random_state=seed, max_iter=100)
        assert_equal_models(fitted(model, X, y), fitted(model, X, y), X)


def test_a_random_state_object_is_advanced_like_any_other() -> None:
    X, y = two_modes()
    a = SDGMClassifier(3, init="random", random_state=np.random.RandomState(3), teacher=None).fit(
        X, y
    )
    b = SDGMClassifier(3, init="random", random_state=np.random.RandomState(3), teacher=None).fit(
        X, y
    )
    assert_equal_models(a, b, X)
    rng = np.random.RandomState(3)
    evidences = {
        SDGMClassifier(3, init="random", random_state=rng, teacher=None).fit(X, y).log_evidence_
        for _ in range(3)
    }
    assert len(evidences) == 3


def test_the_global_random_state_decides_when_no_seed_is_given() -> None:
    X, y = two_modes()
    models = []
    for _ in range(2):
        np.random.seed(5)  # noqa: NPY002
        models.append(SDGMClassifier(3, init="random", teacher=None).fit(X, y))
    assert_equal_models(*models, X)


@pytest.mark.parametrize("n_init", [1, 2])
def test_the_largest_seed_is_a_seed(n_init: int) -> None:
    X, y = two_modes()
    model = SDGMClassifier(2, n_init=n_init, random_state=2**32 - 1, teacher=None).fit(X, y)
    seeds = (2**32 - 1, 0)[:n_init]  # the next one is the smallest
    alone = [
        SDGMClassifier(2, random_state=seed, teacher=None).fit(X, y).log_evidence_ for seed in seeds
    ]
    np.testing.assert_array_equal(model.start_log_evidences_, alone)


@every_estimator
def test_single_precision_inputs_give_nearly_the_same_model(estimator: Any) -> None:
    X, y = two_modes()
    a = fitted(estimator(random_state=0), X, y)
    b = fitted(estimator(random_state=0), X.astype(np.float32), y)
    P = b.predict_proba(X.astype(np.float32))
    assert P.dtype == np.float64
    np.testing.assert_allclose(a.predict_proba(X), P, rtol=0, atol=0.01)


@every_estimator
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, bool, object])
def test_inputs_of_every_type_are_their_numbers(estimator: Any, dtype: type) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(60, 4)).astype(dtype)
    y = X[:, 0].astype(int) ^ X[:, 1].astype(int)
    as_float = X.astype(float)
    model = estimator(random_state=0)
    assert_equal_models(fitted(model, X, y), fitted(model, as_float, y), as_float)


@every_estimator
def test_the_layout_in_memory_does_not_matter(estimator: Any) -> None:
    X, y = two_modes()
    model = estimator(random_state=0)
    wide = np.empty((len(X), 4))
    wide[:, ::2] = X
    a = fitted(model, X, y)
    assert_equal_models(a, fitted(model, np.asfortranarray(X), y), X)
    assert_equal_models(a, fitted(model, wide[:, ::2], y), X)


@every_estimator
def test_fitting_leaves_its_arguments_as_they_were(estimator: Any) -> None:
    X, y = two_modes()
    s = np.random.default_rng(0).uniform(size=len(X))
    copies = X.copy(), y.copy(), s.copy()
    model = fitted(estimator(random_state=0, class_weight="balanced"), X, y, s)
    model.predict_proba(X)
    for now, before in zip((X, y, s), copies, strict=True):
        np.testing.assert_array_equal(now, before)


def test_processes_do_not_matter() -> None:
    X, y = two_modes()
    model = SDGMClassifier(2, n_init=3, random_state=0, teacher=None)
    a, b = fitted(model, X, y), fitted(model, X, y, n_jobs=2)
    assert_equal_models(a, b, X)
    np.testing.assert_array_equal(a.start_log_evidences_, b.start_log_evidences_)
