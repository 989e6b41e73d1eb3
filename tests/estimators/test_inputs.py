"""What users hand in and wrap around: frames, labels, kernels, searches, callbacks, Ctrl-C."""

from __future__ import annotations

import io
import pickle
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from sdgm import (
    DiscriminativeGMMClassifier,
    KernelSDGMClassifier,
    NumericalTroubleWarning,
    RVMClassifier,
    SDGMClassifier,
)
from sdgm._typing import FloatArray
from sdgm.core.inference.mode import EMGradient
from sdgm.core.model.features import monomials
from sdgm.core.model.state import State
from sdgm.core.solvers.precision import FactorizationError
from sdgm.estimators import choosing
from sdgm.estimators import run as run_module
from tests.estimators.problems import (
    PLAIN,
    assert_proper,
    blobs,
    every_estimator,
    own_warnings_allowed,
    two_modes,
)


def product_problem() -> tuple[FloatArray, Any]:
    """The product x1 x3 decides; x2 is noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    return X, (rng.uniform(size=400) < 1 / (1 + np.exp(-4 * X[:, 0] * X[:, 2]))).astype(int)


# --- frames and names ---


def test_terms_are_named_after_their_variables() -> None:
    X, y = product_problem()
    model = SDGMClassifier(1, teacher=None).fit(X, y)
    assert "x1*x3" in model.terms_
    assert set(model.terms_) <= set(monomials(3).names(["x1", "x2", "x3"]))
    assert model.coef_.shape == (2, len(model.terms_))
    strongest = model.terms_[np.abs(model.coef_).max(axis=0).argmax()]
    assert strongest == "x1*x3"
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("library", ["pandas", "polars"])
@every_estimator
def test_frames_are_their_arrays(estimator: Any, library: str) -> None:
    frames = pytest.importorskip(library)
    X, y = two_modes()
    X_frame = frames.DataFrame({"width": X[:, 0], "height": X[:, 1]})
    y_series = frames.Series("label", y) if library == "polars" else frames.Series(y)
    s = frames.Series(np.ones(len(y)))
    model = estimator(random_state=0).fit(X_frame, y_series, s)
    plain = estimator(random_state=0).fit(X, y)
    assert (model.predict_proba(X_frame) == plain.predict_proba(X)).all()
    assert model.feature_names_in_.tolist() == ["width", "height"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_terms_are_named_after_the_columns_of_a_frame(library: str) -> None:
    frames = pytest.importorskip(library)
    X, y = product_problem()
    names = ["age", "weight", "height"]
    frame = frames.DataFrame(dict(zip(names, X.T, strict=True)))
    model = SDGMClassifier(1, teacher=None).fit(frame, y)
    assert "age*height" in model.terms_
    assert not any("x1" in term for term in model.terms_)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["height", "weight", "age"]])


def test_a_frame_of_labels_by_name() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = blobs()
    labels = pandas.Series(np.array(["no", "yes"])[y], dtype="category")
    model = SDGMClassifier(2, random_state=0, teacher=None).fit(X, labels)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.score(X, labels) > 0.6


# --- labels ---


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([False, True]),
        np.array([-1, 1]),
        np.array([3, 10**12]),
        np.array([0, 255], dtype=np.uint8),
        np.array([1.0, 2.0]),
    ],
    ids=["str", "object", "bool", "signed", "large", "uint8", "float"],
)
@every_estimator
def test_labels_of_every_type_come_back(estimator: Any, labels: Any) -> None:
    X, y = two_modes()
    model = estimator(random_state=0).fit(X, labels[y])
    assert model.classes_.tolist() == labels.tolist()
    assert model.classes_.dtype == labels.dtype
    predicted = model.predict(X)
    assert predicted.dtype == labels.dtype
    assert set(predicted.tolist()) <= set(labels.tolist())
    assert model.score(X, labels[y]) > 0.8


def test_labels_may_be_a_list() -> None:
    X, y = blobs()
    names = np.array(["no", "yes"])[y].tolist()
    model = SDGMClassifier(2, random_state=0, teacher=None).fit(X.tolist(), names)
    assert model.score(X.tolist(), names) > 0.6


# --- sparse inputs ---


@every_estimator
@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, sparse.coo_array])
def test_sparse_inputs_are_refused_clearly(estimator: Any, container: Any) -> None:
    X, y = blobs()
    with pytest.raises(TypeError, match=r"dense data is required.*toarray"):
        estimator().fit(container(X), y)
    with pytest.raises(TypeError, match=r"dense data is required.*toarray"):
        estimator().fit(X, y).predict(container(X))


# --- kernels ---


def responsibilities(y: Any, n_components: int) -> FloatArray:
    """A start that does not depend on the coordinates of the rows."""
    K = n_components * (int(y.max()) + 1)
    return np.random.default_rng(0).dirichlet(np.ones(K), size=len(y))


KERNELS = {
    "poly": (
        {"kernel": "poly", "gamma": 0.5, "coef0": 1.0, "degree": 2},
        lambda X, Z: polynomial_kernel(X, Z, degree=2, gamma=0.5, coef0=1.0),
    ),
    "cubic": (
        {"kernel": "poly", "gamma": 0.5, "coef0": 1.0, "degree": 3},
        lambda X, Z: polynomial_kernel(X, Z, degree=3, gamma=0.5, coef0=1.0),
    ),
    "rbf": ({"kernel": "rbf", "gamma": 0.5}, lambda X, Z: rbf_kernel(X, Z, gamma=0.5)),
    "linear": ({"kernel": "linear"}, lambda X, Z: X @ Z.T),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


@every_kernel
@pytest.mark.parametrize("preset", ["fast", "paper"])
@pytest.mark.parametrize("n_components", [1, 2])
def test_callable_and_precomputed_kernels_are_the_named_kernel(
    kernel: str, preset: str, n_components: int
) -> None:
    named, function = KERNELS[kernel]
    X, y = two_modes(60)
    X_new, _ = two_modes(30, seed=1)
    common = {
        "init": responsibilities(y, n_components),
        "standardize": False,
        "preset": preset,
        "max_iter": 300,
    }
    with own_warnings_allowed():
        a = KernelSDGMClassifier(n_components, **named, **common, teacher=None).fit(X, y)
        b = KernelSDGMClassifier(n_components, kernel=function, **common, teacher=None).fit(X, y)
        c = KernelSDGMClassifier(n_components, kernel="precomputed", **common)
        c.fit(function(X, X), y)
    P = a.predict_proba(X_new)
    np.testing.assert_allclose(b.predict_proba(X_new), P, rtol=0, atol=0.02)
    np.testing.assert_allclose(c.predict_proba(function(X_new, X)), P, rtol=0, atol=0.02)
    assert b.log_evidence_ == pytest.approx(a.log_evidence_, abs=0.05)
    assert c.log_evidence_ == pytest.approx(a.log_evidence_, abs=0.05)
    assert c.relevance_vectors_ is None
    np.testing.assert_array_equal(b.relevance_vectors_, X[b.relevance_])


def test_a_callable_kernel_gets_standardised_rows() -> None:
    X, y = two_modes(60)
    named = KernelSDGMClassifier(1, kernel="rbf", gamma=0.5, teacher=None).fit(100 * X, y)
    own = KernelSDGMClassifier(1, kernel=KERNELS["rbf"][1], teacher=None).fit(100 * X, y)
    np.testing.assert_allclose(
        own.predict_proba(100 * X), named.predict_proba(100 * X), rtol=0, atol=1e-3
    )


def test_relevance_vectors_are_training_rows_in_the_users_units() -> None:
    X, y = two_modes(60)
    model = KernelSDGMClassifier(2, random_state=0, teacher=None).fit(1000 * X + 5, y)
    np.testing.assert_array_equal(model.relevance_vectors_, 1000 * X[model.relevance_] + 5)
    assert model.coef_.shape == (len(model.mixture_weights_), len(model.relevance_))


def test_an_indefinite_kernel_is_accepted() -> None:
    X, y = two_modes(60)
    model = KernelSDGMClassifier(1, kernel=lambda X, Z: np.tanh(2 * X @ Z.T - 1), teacher=None).fit(
        X, y
    )
    assert_proper(model, X)
    assert model.score(X, y) > 0.8


def test_an_asymmetric_precomputed_kernel_is_accepted() -> None:
    X, y = two_modes(60)
    K = np.exp(-np.abs(X[:, None] - 1.1 * X[None]).sum(axis=2))
    model = KernelSDGMClassifier(1, kernel="precomputed").fit(K, y)
    assert_proper(model, K)
    assert model.score(K, y) > 0.8


def test_a_precomputed_kernel_ignores_rows_of_weight_zero() -> None:
    X, y = two_modes(60)
    K = rbf_kernel(X, gamma=1.0)
    used = np.arange(60) % 3 > 0
    a = KernelSDGMClassifier(1, kernel="precomputed").fit(K, y, used.astype(float))
    b = KernelSDGMClassifier(1, kernel="precomputed").fit(K[np.ix_(used, used)], y[used])
    np.testing.assert_allclose(a.predict_proba(K), b.predict_proba(K[:, used]), rtol=0, atol=1e-6)
    assert used[a.relevance_].all()


def test_only_precomputed_kernels_are_pairwise() -> None:
    assert get_tags(KernelSDGMClassifier(kernel="precomputed")).input_tags.pairwise
    assert get_tags(RVMClassifier(kernel="precomputed")).input_tags.pairwise
    for model in (KernelSDGMClassifier(), RVMClassifier(), SDGMClassifier()):
        assert not get_tags(model).input_tags.pairwise


@pytest.mark.parametrize("estimator", [KernelSDGMClassifier, RVMClassifier])
def test_a_search_cuts_precomputed_kernels_in_both_directions(estimator: Any) -> None:
    X, y = two_modes(80)
    K = rbf_kernel(X, gamma=1.0)
    search = GridSearchCV(
        estimator(kernel="precomputed", random_state=0), {"tol": [0.01, 0.1]}, cv=3
    )
    with own_warnings_allowed():
        search.fit(K, y)
    assert search.best_score_ > 0.7
    assert search.predict(K).shape == (80,)


# --- components and starts ---


@pytest.mark.parametrize(
    "n_components",
    [{"no": 1, "yes": 3}, [1, 3], (1, 3), np.array([1, 3]), {"no": 1, "yes": 3, "maybe": 2}],
    ids=["mapping", "list", "tuple", "array", "spare label"],
)
@pytest.mark.parametrize("estimator", [SDGMClassifier, KernelSDGMClassifier])
def test_components_per_class(estimator: Any, n_components: Any) -> None:
    X, y = two_modes(100)
    model = estimator(n_components, prior="ridge", record_states=True, random_state=0)
    model.fit(X, np.array(["no", "yes"])[y])
    assert np.bincount(model.history_[0].state.component_class).tolist() == [1, 3]
    assert (model.n_components_ <= [1, 3]).all()


def test_components_by_boolean_and_integer_label() -> None:
    X, y = two_modes(100)
    for labels in (np.array([False, True]), np.array([5, 7])):
        n_components = dict(zip(labels.tolist(), (2, 1), strict=True))
        model = SDGMClassifier(n_components, record_states=True, random_state=0, teacher=None)
        model.fit(X, labels[y])
        assert (model.n_components_ <= [2, 1]).all()


@pytest.mark.parametrize("init", ["kmeans", "gmm", "random"])
@pytest.mark.parametrize("estimator", [SDGMClassifier, KernelSDGMClassifier])
def test_every_start_solves_exclusive_or(estimator: Any, init: str) -> None:
    X, y = two_modes(200)
    model = estimator(2, init=init, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.85


def test_given_responsibilities_are_the_start() -> None:
    X, y = two_modes(200)
    mode = X[:, 0].round().clip(0, 1).astype(int)  # which of its class's corners
    r = np.zeros((200, 4))
    r[np.arange(200), 2 * y + mode] = 1.0
    model = SDGMClassifier(2, init=r, teacher=None).fit(X, y)
    assert model.score(X, y) > 0.85
    # columns of other classes do not count, nor does the scale
    noise = np.random.default_rng(0).uniform(size=r.shape)
    own = np.repeat([0, 1], 2) == y[:, None]
    other = SDGMClassifier(2, init=np.where(own, 7.0 * r, noise), teacher=None).fit(X, y)
    np.testing.assert_allclose(other.predict_proba(X), model.predict_proba(X), atol=1e-9)
    as_list = SDGMClassifier(2, init=r.tolist(), teacher=None).fit(X, y)
    assert (as_list.predict_proba(X) == model.predict_proba(X)).all()


@pytest.mark.parametrize("estimator", [SDGMClassifier, KernelSDGMClassifier])
def test_several_starts_keep_the_best_and_record_all(estimator: Any) -> None:
    X, y = two_modes(100)
    model = estimator(3, init="random", n_init=4, random_state=5, teacher=None).fit(X, y)
    assert model.start_log_evidences_.shape == (4,)
    assert model.log_evidence_ == model.start_log_evidences_.max()
    assert model.log_evidence_ == model.history_[-1].log_evidence
    singles = [
        estimator(3, init="random", random_state=5 + start, teacher=None).fit(X, y).log_evidence_
        for start in range(4)
    ]
    np.testing.assert_array_equal(model.start_log_evidences_, singles)


def test_background_components_count_as_one() -> None:
    X, y = two_modes(100)
    model = SDGMClassifier(3, random_state=0, teacher=None).fit(X, y)
    assert model.n_components_.sum() == len(model.mixture_weights_) == len(model.coef_)
    weights = np.column_stack([model.intercept_, model.coef_]) != 0
    assert model.n_active_weights_ == weights.sum()
    for c in range(2):
        own = model.component_class_ == c
        assert (~weights[own].any(axis=1)).sum() <= 1


def test_mixture_weights_sum_to_the_shares_of_the_classes_or_to_one() -> None:
    X, y = blobs(90, 3)
    X, y = X[y + np.arange(90) >= 30], y[y + np.arange(90) >= 30]
    share = np.bincount(y) / len(y)
    for preset, expected in (("fast", share), ("paper", np.ones(3))):
        model = SDGMClassifier(2, preset=preset, random_state=0, teacher=None).fit(X, y)
        sums = np.bincount(model.component_class_, model.mixture_weights_)
        np.testing.assert_allclose(sums, expected, rtol=1e-9)


# --- class weights ---


def test_balanced_classes_have_equal_shares() -> None:
    rng = np.random.default_rng(0)
    y = (np.arange(400) < 40).astype(int)
    X = rng.normal(size=(400, 2)) + 2 * y[:, None]
    plain = SDGMClassifier(1, teacher=None).fit(X, y)
    balanced = SDGMClassifier(1, class_weight="balanced", teacher=None).fit(X, y)
    by_hand = SDGMClassifier(1, teacher=None).fit(X, y, np.where(y == 1, 5.0, 400 / 720))
    np.testing.assert_allclose(balanced.predict_proba(X), by_hand.predict_proba(X), atol=1e-6)
    assert balanced.predict(X).mean() > 1.3 * plain.predict(X).mean()


def test_class_weights_multiply_sample_weights() -> None:
    X, y = blobs(80)
    s = np.random.default_rng(0).uniform(0.5, 2.0, size=80)
    a = SDGMClassifier(1, class_weight={0: 2.0, 1: 0.5}, teacher=None).fit(X, y, s)
    b = SDGMClassifier(1, teacher=None).fit(X, y, s * np.where(y == 0, 2.0, 0.5))
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-12)


# --- scikit-learn's tools ---


@every_estimator
def test_pipelines_and_cross_validation(estimator: Any) -> None:
    X, y = two_modes(90)
    pipeline = make_pipeline(StandardScaler(), estimator(random_state=0))
    with own_warnings_allowed():
        P = cross_val_predict(pipeline, X, y, cv=3, method="predict_proba")
        scores = cross_val_score(pipeline, X, y, cv=3, scoring="neg_log_loss")
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert (P.argmax(axis=1) == y).mean() > 0.8
    assert np.isfinite(scores).all()


def test_a_search_over_components_finds_the_two_modes() -> None:
    X, y = two_modes(150)
    search = GridSearchCV(
        SDGMClassifier(covariance_type="tied", random_state=0, teacher=None),
        {"n_components": [1, 2], "prior": ["ard", "ridge"]},
        scoring="neg_log_loss",
        cv=3,
    )
    with own_warnings_allowed():
        search.fit(X, y)
    assert search.best_params_["n_components"] == 2
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.fixture
def metadata_routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("metadata_routing")
@every_estimator
def test_sample_weights_are_routed(estimator: Any) -> None:
    X, y = two_modes(60)
    s = np.where(np.arange(60) < 40, 1.0, 0.0)
    model = estimator(random_state=0).set_fit_request(sample_weight=True)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), model)
    pipeline.fit(X, y, sample_weight=s)
    alone = make_pipeline(StandardScaler(), estimator(random_state=0)).fit(X[:40], y[:40])
    np.testing.assert_allclose(pipeline.predict_proba(X), alone.predict_proba(X), atol=1e-6)


@pytest.mark.usefixtures("metadata_routing")
def test_sample_weights_reach_the_folds_of_a_search() -> None:
    X, y = two_modes(90)
    model = SDGMClassifier(random_state=0).set_fit_request(sample_weight=True)
    model.set_score_request(sample_weight=True)
    search = GridSearchCV(model, {"n_components": [1, 2]}, cv=3, error_score="raise")
    with own_warnings_allowed():
        search.fit(X, y, sample_weight=np.random.default_rng(0).uniform(0.5, 2, size=90))
    assert search.best_score_ > 0.8


@every_estimator
def test_pickles_predict_the_same(estimator: Any) -> None:
    X, y = two_modes()
    model = estimator(random_state=0, record_states=True).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert (again.predict_proba_averaged(X) == model.predict_proba_averaged(X)).all()
    assert again.history_[-1].log_evidence == model.history_[-1].log_evidence
    assert again.get_params() == model.get_params()


def module_kernel(X: FloatArray, Z: FloatArray) -> FloatArray:
    return rbf_kernel(X, Z, gamma=0.7)


def test_models_with_a_kernel_of_the_users_own_can_be_pickled() -> None:
    X, y = two_modes()
    model = KernelSDGMClassifier(1, kernel=module_kernel, teacher=None).fit(X, y)
    # the module of a test is not importable by name; the pickle refers to the function by it
    kernel = model.model_.basis.kernel
    assert kernel.function is module_kernel
    assert clone(model).kernel is module_kernel


@every_estimator
def test_clones_are_unfitted_and_equal(estimator: Any) -> None:
    X, y = two_modes()
    model = estimator(random_state=0, preset="paper", tol=0.1, class_weight={0: 1, 1: 2})
    with own_warnings_allowed():
        model.fit(X, y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "coef_")
    with own_warnings_allowed():
        copy.fit(X, y)
    assert (copy.predict_proba(X) == model.predict_proba(X)).all()


def test_the_representation_names_changed_parameters_only() -> None:
    assert repr(SDGMClassifier(2)) == "SDGMClassifier(n_components=2)"
    assert "SDGMClassifier" in SDGMClassifier()._repr_html_()


# --- going on from the last fit ---


@every_estimator
def test_a_warm_start_goes_on_from_the_last_fit(estimator: Any) -> None:
    X, y = two_modes(100)
    parameters = {} if estimator is RVMClassifier else {"n_components": 2}
    cold = estimator(**parameters, random_state=0).fit(X, y)
    warm = estimator(**parameters, random_state=0, warm_start=True).fit(X, y)
    first = warm.n_iter_
    assert (warm.predict_proba(X) == cold.predict_proba(X)).all()
    warm.fit(X, y)
    assert warm.n_iter_ <= first
    assert warm.n_active_weights_ <= cold.n_active_weights_
    np.testing.assert_allclose(warm.predict_proba(X), cold.predict_proba(X), rtol=0, atol=0.05)


@pytest.mark.parametrize("estimator", [SDGMClassifier, KernelSDGMClassifier])
def test_a_long_fit_can_be_done_in_pieces(estimator: Any) -> None:
    X, y = two_modes(100)
    model = estimator(2, random_state=0, warm_start=True, max_iter=5, teacher=None)
    with own_warnings_allowed():
        for _ in range(30):
            model.fit(X, y)
    assert model.converged_
    assert model.score(X, y) > 0.85


def test_a_warm_start_on_more_rows_keeps_the_scaling() -> None:
    X, y = two_modes(200)
    model = KernelSDGMClassifier(2, random_state=0, warm_start=True, teacher=None).fit(
        X[:150], y[:150]
    )
    center = model.model_.scaler.center.copy()
    with own_warnings_allowed():
        model.fit(X, y)
    assert (model.model_.scaler.center == center).all()
    assert model.score(X, y) > 0.85


@pytest.mark.parametrize("estimator", [SDGMClassifier, KernelSDGMClassifier, RVMClassifier])
def test_a_warm_start_on_other_rows_still_learns(estimator: Any) -> None:
    X, y = two_modes(200)
    model = estimator(random_state=0, warm_start=True).fit(X[:100], y[:100])
    with own_warnings_allowed():
        model.fit(X[100:], y[100:])  # none of the relevance vectors is among them
    assert model.score(X, y) > 0.8


@every_estimator
def test_a_warm_start_with_other_classes_is_refused(estimator: Any) -> None:
    X, y = blobs(60, 3)
    model = estimator(random_state=0, warm_start=True)
    with own_warnings_allowed():
        model.fit(X, y)
    with pytest.raises(ValueError, match=r"\[0, 1, 2\] to \[0, 1\]; set warm_start=False"):
        model.fit(X[y < 2], y[y < 2])


@every_estimator
def test_a_warm_start_with_other_features_is_refused(estimator: Any) -> None:
    X, y = blobs(60, 2, 3)
    model = estimator(random_state=0, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=r"warm_start.*(3|2).*features|features.*warm_start"):
        model.fit(X[:, :2], y)


@pytest.mark.parametrize("covariance_type", ["diag", "tied"])
def test_a_warm_start_with_another_feature_map_is_refused(covariance_type: str) -> None:
    X, y = product_problem()
    model = SDGMClassifier(1, warm_start=True, teacher=None).fit(X, y)
    model.set_params(covariance_type=covariance_type)  # has no column x1*x3
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X, y)


def test_a_warm_start_with_another_ridge_takes_it() -> None:
    X, y = two_modes(100)
    path = DiscriminativeGMMClassifier(1, warm_start=True)
    for alpha in (10.0, 1.0, 0.1):
        warm = path.set_params(alpha=alpha).fit(X, y)
        cold = DiscriminativeGMMClassifier(1, alpha=alpha).fit(X, y)
        np.testing.assert_allclose(warm.predict_proba(X), cold.predict_proba(X), atol=1e-3)


def test_a_warm_start_after_everything_was_pruned_stays_usable() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    model = SDGMClassifier(2, random_state=0, warm_start=True, teacher=None)
    with own_warnings_allowed():
        model.fit(X, y)
        assert model.n_active_weights_ == 0
        model.fit(X, y)
    assert_proper(model, X)
    assert np.isfinite(model.log_evidence_)


# --- progress ---


@every_estimator
def test_silence_by_default(estimator: Any, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = two_modes()
    estimator(random_state=0).fit(X, y)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


@every_estimator
def test_progress_lines_are_tidy(estimator: Any, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = two_modes()
    model = estimator(**PLAIN[estimator], random_state=0, verbose=2).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_ + 1
    assert all(line.startswith("[sdgm] ") and len(line) <= 120 for line in lines)
    assert len({len(line) for line in lines[:-1]}) == 1  # columns stand below each other
    assert lines[-1].startswith(f"[sdgm] {model.stop_reason_} after {model.n_iter_} iterations")
    assert f"{model.n_active_weights_} weights" in lines[-1]

    estimator(**PLAIN[estimator], random_state=0, verbose=1).fit(X, y)
    fewer = capsys.readouterr().out.splitlines()
    assert len(fewer) == (model.n_iter_ + 9) // 10 + 1


@every_estimator
def test_the_history_has_one_record_per_iteration(estimator: Any) -> None:
    X, y = two_modes()
    model = estimator(**PLAIN[estimator], random_state=0).fit(X, y)
    assert [record.iteration for record in model.history_] == list(range(1, model.n_iter_ + 1))
    last = model.history_[-1]
    assert last.n_weights == model.n_active_weights_
    assert last.n_components == model.n_components_.sum()
    seconds = [record.seconds for record in model.history_]
    assert seconds == sorted(seconds)
    for record in model.history_:
        numbers = [record.log_posterior, record.log_likelihood, record.log_evidence]
        assert np.isfinite(numbers).all() and record.log_likelihood <= 0
        assert record.alpha_change >= 0
        assert record.state is None


@every_estimator
def test_states_are_recorded_on_request(estimator: Any) -> None:
    X, y = two_modes()
    model = estimator(random_state=0, record_states=True).fit(X, y)
    for record in model.history_:
        assert isinstance(record.state, State)
        assert record.state.n_weights == record.n_weights
    np.testing.assert_array_equal(model.history_[-1].state.pi, model.mixture_weights_)


# --- scikit-learn's callbacks ---


class Recorder:
    """A callback that counts tasks, scores the model and can ask to stop or interrupt."""

    def __init__(self, stop_at: int | None = None, interrupt_at: int | None = None) -> None:
        self.stop_at, self.interrupt_at = stop_at, interrupt_at
        self.scores: list[float] = []
        self.events: list[str] = []
        self.ended: list[str] = []

    def setup(self, estimator: Any, context: Any) -> None:
        self.events.append("setup")

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(
        self,
        estimator: Any,
        context: Any,
        *,
        X: Any = None,
        y: Any = None,
        fitted_estimator: Any = None,
    ) -> bool:
        if context.task_name != "iteration":
            self.ended.append(context.task_name)
            return False
        assert fitted_estimator is not None
        self.scores.append(fitted_estimator.score(X, y))
        if len(self.scores) == self.interrupt_at:
            raise KeyboardInterrupt
        return len(self.scores) == self.stop_at

    def teardown(self, estimator: Any, context: Any) -> None:
        self.events.append("teardown")


@pytest.fixture
def callbacks() -> Any:
    return pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")


@pytest.mark.usefixtures("callbacks")
@every_estimator
def test_a_callback_sees_every_iteration_and_a_model_that_predicts(estimator: Any) -> None:
    X, y = two_modes()
    recorder = Recorder()
    model = estimator(**PLAIN[estimator], random_state=0).set_callbacks(recorder).fit(X, y)
    assert len(recorder.scores) == model.n_iter_
    assert recorder.scores[-1] == model.score(X, y)
    assert recorder.events == ["setup", "teardown"]
    plain = estimator(**PLAIN[estimator], random_state=0).fit(X, y)
    assert (plain.predict_proba(X) == model.predict_proba(X)).all()
    assert plain.n_iter_ == model.n_iter_


both_forms = pytest.mark.parametrize("estimator", [SDGMClassifier, KernelSDGMClassifier])


def try_all_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no candidate came close to the teacher."""
    monkeypatch.setattr("sdgm.estimators.choosing.tolerance_of", lambda targets: 0.0)


@pytest.mark.usefixtures("callbacks")
@both_forms
def test_callbacks_see_every_iteration_of_all_candidates_and_change_nothing(
    estimator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = two_modes()
    try_all_candidates(monkeypatch)
    recorder = Recorder()
    model = estimator(random_state=0).set_callbacks(recorder).fit(X, y)
    assert len(model.candidates_) > 1
    assert len(recorder.scores) > model.n_iter_
    assert recorder.events.count("setup") == recorder.events.count("teardown")
    plain = estimator(random_state=0).fit(X, y)
    assert (plain.predict_proba(X) == model.predict_proba(X)).all()


@pytest.mark.usefixtures("callbacks")
def test_callbacks_do_not_make_the_history_keep_states() -> None:
    X, y = two_modes()
    model = SDGMClassifier(3, random_state=0, teacher=None).set_callbacks(Recorder()).fit(X, y)
    assert all(record.state is None for record in model.history_)  # nobody asked for them


@pytest.mark.usefixtures("callbacks")
@every_estimator
def test_a_callback_can_end_learning(estimator: Any) -> None:
    X, y = two_modes()
    model = estimator(**PLAIN[estimator], random_state=0)
    model.set_callbacks(Recorder(stop_at=2)).fit(X, y)
    assert model.n_iter_ == 2
    assert model.stop_reason_ == "stopped by a callback"
    assert not model.converged_
    assert_proper(model, X)


@pytest.mark.usefixtures("callbacks")
def test_callbacks_see_all_starts() -> None:
    X, y = two_modes()
    recorder = Recorder()
    model = SDGMClassifier(2, n_init=3, init="random", random_state=0, n_jobs=2, teacher=None)
    model.set_callbacks(recorder).fit(X, y)
    assert len(recorder.scores) >= model.n_iter_ + 2


def test_the_progress_bar_ends(callbacks: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich", reason="scikit-learn's progress bar needs rich")
    X, y = two_modes()
    model = SDGMClassifier(2, random_state=0, teacher=None).set_callbacks(callbacks.ProgressBar())
    model.fit(X, y)
    assert_proper(model, X)
    assert "SDGMClassifier" in capsys.readouterr().out


@pytest.mark.parametrize("weighted", [False, True])
@every_estimator
def test_the_scoring_monitor_logs_every_iteration(
    callbacks: Any, estimator: Any, weighted: bool
) -> None:
    X, y = two_modes()
    monitor = callbacks.ScoringMonitor(scoring="neg_log_loss")
    model = estimator(**PLAIN[estimator], random_state=0).set_callbacks(monitor)
    model.fit(X, y, np.ones(len(X)) if weighted else None)
    data = monitor.get_logs().data
    scores = [row["neg_log_loss"] for row in data if row["task_name"] == "iteration"]
    assert len(scores) == model.n_iter_
    assert np.isfinite(scores).all()


def test_a_search_hands_its_callbacks_on(callbacks: Any) -> None:
    X, y = two_modes(60)
    monitor = callbacks.ScoringMonitor(scoring="accuracy")
    model = SDGMClassifier(1, random_state=0, teacher=None).set_callbacks(monitor)
    GridSearchCV(model, {"tol": [0.01, 0.1]}, cv=2).fit(X, y)
    assert len(monitor.get_logs(select="all")) >= 1


# --- Ctrl-C ---


def interrupt_printing(monkeypatch: pytest.MonkeyPatch, at_line: int) -> list[int]:
    """As if the user pressed Ctrl-C while a line is printed; returns the lines printed so far."""
    lines: list[int] = []

    def print_line(record: Any) -> None:
        lines.append(record.iteration)
        if len(lines) == at_line:
            raise KeyboardInterrupt

    monkeypatch.setattr(run_module, "print_line", print_line)
    return lines


@every_estimator
@pytest.mark.parametrize("at_line", [1, 2])
def test_an_interrupt_leaves_a_model_that_predicts(
    estimator: Any, at_line: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = two_modes()
    interrupt_printing(monkeypatch, at_line)
    model = estimator(**PLAIN[estimator], random_state=0, verbose=2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert_proper(model, X)
    assert model.stop_reason_ == "interrupted"
    assert not model.converged_
    assert model.n_iter_ == at_line
    mean, std = model.predict_proba_averaged(X, return_std=True)
    assert np.isfinite(mean).all() and np.isfinite(std).all()
    assert pickle.loads(pickle.dumps(model)).score(X, y) == model.score(X, y)


@every_estimator
def test_an_interrupt_before_the_first_pass_leaves_no_model(
    estimator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find(*args: Any) -> None:
        raise KeyboardInterrupt

    X, y = two_modes()
    monkeypatch.setattr(EMGradient, "__call__", find)
    for parameters in (PLAIN[estimator], {}):
        model = estimator(**parameters, random_state=0)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        assert not hasattr(model, "coef_")
        with pytest.raises(NotFittedError):
            model.predict(X)


def test_an_interrupt_before_the_first_pass_of_a_later_start_keeps_the_starts_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    find, X, y = EMGradient.__call__, *two_modes()

    def interrupted(self: EMGradient, rows: Any, *others: Any) -> Any:
        n_starts.append(rows.has_initial_r)
        if sum(n_starts) == 2:
            raise KeyboardInterrupt
        return find(self, rows, *others)

    n_starts: list[bool] = []
    alone = SDGMClassifier(2, init="random", random_state=0, teacher=None).fit(X, y)
    monkeypatch.setattr(EMGradient, "__call__", interrupted)
    model = SDGMClassifier(2, n_init=3, init="random", random_state=0, teacher=None)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    np.testing.assert_array_equal(model.coef_, alone.coef_)


@pytest.mark.parametrize(
    ("estimator", "name", "value", "message"),
    [
        (SDGMClassifier, "random_state", "seven", "cannot be used to seed"),
        (SDGMClassifier, "n_jobs", 0, "n_jobs must be None or a whole number other than 0, got 0"),
        (SDGMClassifier, "n_jobs", "all", "n_jobs must be None or a whole number .*, got 'all'"),
        (SDGMClassifier, "covariance_type", "round", "covariance_type must be one of 'full'"),
        (KernelSDGMClassifier, "random_state", -1, "cannot be used to seed|must be between"),
        (
            KernelSDGMClassifier,
            "kernel",
            "matern",
            "kernel must be one of 'auto', 'poly', 'rbf', 'linear'",
        ),
        (KernelSDGMClassifier, "gamma", -1.0, "gamma must be a positive number"),
        (KernelSDGMClassifier, "degree", 0, "degree must be a positive integer"),
    ],
)
def test_parameters_are_refused_before_the_table_is_looked_at(
    estimator: Any, name: str, value: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        estimator(2, **{name: value}).fit("no table", None)


@both_forms
@pytest.mark.parametrize("at_line", [1, 2, 15, 30])
def test_an_interrupt_ends_the_choice_of_settings_with_a_model_that_predicts(
    estimator: Any, at_line: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = two_modes()
    try_all_candidates(monkeypatch)
    lines = interrupt_printing(monkeypatch, at_line)
    model = estimator(random_state=0, verbose=2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert len(lines) == at_line  # nothing was learned after the interrupt
    assert "interrupted" in {each.stop_reason for each in model.candidates_}
    assert model.chosen_ == model.candidates_[0].parameters
    assert_proper(model, X)
    mean, std = model.predict_proba_averaged(X, return_std=True)
    assert np.isfinite(mean).all() and np.isfinite(std).all()
    assert pickle.loads(pickle.dumps(model)).score(X, y) == model.score(X, y)


@pytest.mark.usefixtures("callbacks")
def test_an_interrupt_in_a_callback_leaves_a_model_that_predicts() -> None:
    X, y = two_modes()
    recorder = Recorder(interrupt_at=2)
    model = SDGMClassifier(3, random_state=0, teacher=None).set_callbacks(recorder)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert_proper(model, X)
    assert recorder.events == ["setup", "teardown"]
    assert recorder.ended == ["fit"]


@pytest.mark.parametrize("at_line", [2, 25])
def test_an_interrupt_ends_all_starts(at_line: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = two_modes()
    lines = interrupt_printing(monkeypatch, at_line)
    model = SDGMClassifier(2, n_init=3, init="random", random_state=0, verbose=2, teacher=None)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert len(lines) == at_line  # nothing was learned after the interrupt
    assert_proper(model, X)


def test_an_interrupt_ends_the_search_around_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = two_modes(60)
    lines = interrupt_printing(monkeypatch, 3)
    search = GridSearchCV(
        SDGMClassifier(1, random_state=0, verbose=2, teacher=None), {"tol": [0.01, 0.1]}, cv=3
    )
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert len(lines) == 3


def test_an_interrupted_model_can_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = two_modes()
    model = SDGMClassifier(2, random_state=0, verbose=2, warm_start=True, teacher=None)
    with monkeypatch.context() as patch:
        interrupt_printing(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    model.set_params(verbose=0).fit(X, y)
    assert model.converged_
    assert model.score(X, y) > 0.8


# --- trouble ---


def test_numerical_trouble_is_a_named_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    find = EMGradient.__call__

    def find_three_times(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise FactorizationError("made up")
        return find(*args)

    monkeypatch.setattr(EMGradient, "__call__", find_three_times)
    X, y = two_modes()
    with pytest.warns(NumericalTroubleWarning, match="Standardise the features"):
        model = SDGMClassifier(3, random_state=0, teacher=None).fit(X, y)
    assert model.n_iter_ == 3
    assert_proper(model, X)


def test_settings_that_meet_numerical_trouble_are_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fit = choosing.candidate_fit

    X, y = two_modes()
    try_all_candidates(monkeypatch)
    expected = SDGMClassifier(random_state=0).fit(X, y)
    chosen = expected.chosen_["n_components"]
    assert {each.parameters["n_components"] for each in expected.candidates_} == {1, 2, 3}
    assert chosen in (2, 3)  # which of them is a matter of the processor
    other = 5 - chosen

    def fails(plan: Any, *args: Any) -> Any:
        if plan.settings["n_components"] == other:
            raise FactorizationError("made up")
        return fit(plan, *args)

    monkeypatch.setattr(choosing, "candidate_fit", fails)
    model = SDGMClassifier(random_state=0).fit(X, y)
    assert (model.predict_proba(X) == expected.predict_proba(X)).all()
    assert {each.parameters["n_components"] for each in model.candidates_} == {1, chosen}


def test_when_all_settings_meet_numerical_trouble_the_first_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*args: Any) -> Any:
        raise FactorizationError("made up")

    monkeypatch.setattr(EMGradient, "__call__", fail)
    X, y = two_modes()
    with pytest.raises(FactorizationError, match="made up"):
        SDGMClassifier(random_state=0).fit(X, y)


def test_numerical_trouble_of_the_chosen_model_is_a_named_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = 0
    find = EMGradient.__call__

    def find_three_times(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise FactorizationError("made up")
        return find(*args)

    monkeypatch.setattr(EMGradient, "__call__", find_three_times)
    X, y = two_modes()
    with pytest.warns(NumericalTroubleWarning, match="chosen model stopped after 3") as caught:
        model = SDGMClassifier(random_state=0).fit(X, y)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert_proper(model, X)


@every_estimator
def test_too_few_iterations_are_a_convergence_warning(estimator: Any) -> None:
    X, y = two_modes()
    # a ridge mixture has nothing to learn in the outer loop but the mixture weights
    with pytest.warns(sklearn.exceptions.ConvergenceWarning, match="max_iter=1 "):
        model = estimator(random_state=0, max_iter=1).fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == 1
    assert_proper(model, X)


def test_warnings_point_at_the_line_that_called_fit() -> None:
    X, y = two_modes()
    for parameters in ({"n_components": 3}, {}):
        with pytest.warns(sklearn.exceptions.ConvergenceWarning) as caught:
            SDGMClassifier(**parameters, random_state=0, max_iter=1).fit(X, y)
        assert len(caught) == 1 and caught[0].filename == __file__


def test_printed_lines_go_to_standard_output_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stdout", stream)
    X, y = two_modes()
    DiscriminativeGMMClassifier(2, random_state=0, verbose=2).fit(X, y)
    assert re.search(r"iteration +1 .*log evidence", stream.getvalue())


@pytest.mark.parametrize("estimator", [SDGMClassifier, KernelSDGMClassifier])
def test_a_refit_that_fails_leaves_no_half_of_a_model(estimator: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    model = estimator(n_components=1).fit(X, y)
    with pytest.raises(ValueError, match="only one class"):
        model.fit(rng.normal(size=(40, 3)), np.zeros(40))
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(X, y).set_params(warm_start=True)
    with pytest.raises(ValueError, match="cannot continue from 2 features to 3"):
        model.fit(rng.normal(size=(40, 3)), y)
    assert model.predict(X).shape == (40,)


# --- kernels that are functions, one after the other ---


def test_a_warm_start_tells_functions_of_one_name_apart() -> None:
    X, y = two_modes(60)
    model = KernelSDGMClassifier(
        1, kernel=lambda A, B: (A @ B.T + 1.0) ** 2, warm_start=True, teacher=None
    )
    n_weights = model.fit(X, y).n_active_weights_
    model.set_params(kernel=lambda A, B: (A @ B.T + 1.0) ** 2).fit(X, y)
    assert model.n_initial_weights_ == n_weights  # the same once more: it goes on
    model.set_params(kernel=lambda A, B: (A @ B.T + 1.0) ** 3)
    with pytest.raises(ValueError, match="warm_start cannot continue from kernel='<lambda> "):
        model.fit(X, y)
