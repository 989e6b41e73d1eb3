"""Claims about the PAC-Bayes bound of a fitted model: it holds, and every choice is paid for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from reproduction.gaussian_processes.estimator import MixtureOfGPsClassifier
from sdgm import (
    DiscriminativeGMMClassifier,
    KernelSDGMClassifier,
    PACBayesBound,
    RVMClassifier,
    SDGMClassifier,
    pac_bayes_bound,
)
from sdgm._typing import FloatArray, IntArray
from sdgm.bounds.bound import CHOICES, Scaling, basis_values, structure_cost
from sdgm.bounds.gibbs import Answers, Loss, mean_losses, weight_posterior
from sdgm.bounds.pac_bayes import PRIOR_VARIANCES, subset_cost
from sdgm.datasets import make_ripley
from tests.fitted import set_covariance

FEW_DRAWS = {"n_draws": 20_000}


def ripley(n: int, seed: int = 0) -> tuple[FloatArray, IntArray]:
    X, y, _, _ = make_ripley(n, 4, random_state=seed).split()
    return X, y


MODELS = [
    SDGMClassifier(2, random_state=0, teacher=None),
    KernelSDGMClassifier(1, kernel="rbf", gamma=1.0, random_state=0, teacher=None),
    KernelSDGMClassifier(1, preset="paper", random_state=0),
    RVMClassifier(),
    DiscriminativeGMMClassifier(1),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)


@every_model
@pytest.mark.parametrize("loss", ["error", "probability"])
def test_the_parts_of_a_bound_are_in_order(model: Any, loss: str) -> None:
    X, y = ripley(200)
    bound = pac_bayes_bound(model.fit(X, y), X, y, loss=loss, **FEW_DRAWS)
    assert 0.0 <= bound.joint_error <= bound.gibbs_error < bound.gibbs_bound < 1.0
    assert bound.joint_error < bound.joint_bound <= bound.gibbs_bound
    assert bound.gibbs_error / 2 <= bound.vote_bound <= min(2 * bound.gibbs_bound, 1.0)
    assert min(bound.kl_weights, bound.kl_structure, bound.kl_settings) > 0.0
    assert bound.kl == bound.kl_weights + bound.kl_structure + bound.kl_settings


@pytest.mark.parametrize("model", MODELS[:2], ids=["primal", "dual"])
def test_more_rows_make_it_tighter(model: Any) -> None:
    bounds = []
    for n in (100, 300, 900):
        X, y = ripley(n)
        bounds.append(pac_bayes_bound(model.fit(X, y), X, y, **FEW_DRAWS).gibbs_bound)
    assert bounds[0] > bounds[1] > bounds[2]
    assert bounds[2] < 0.4


def test_more_confidence_makes_it_looser() -> None:
    X, y = ripley(300)
    model = SDGMClassifier(2, random_state=0, teacher=None).fit(X, y)
    sure, unsure = (pac_bayes_bound(model, X, y, delta=delta, **FEW_DRAWS) for delta in (1e-6, 0.2))
    assert sure.gibbs_bound > unsure.gibbs_bound


def test_a_seed_gives_the_same_bound_again() -> None:
    X, y = ripley(200)
    model = SDGMClassifier(2, random_state=0, teacher=None).fit(X, y)
    first = pac_bayes_bound(model, X, y, random_state=3, **FEW_DRAWS)
    assert pac_bayes_bound(model, X, y, random_state=3, **FEW_DRAWS) == first
    other = pac_bayes_bound(model, X, y, random_state=4, **FEW_DRAWS)
    assert other.gibbs_error == pytest.approx(first.gibbs_error, abs=0.05)
    assert isinstance(first, PACBayesBound)


def test_fewer_draws_are_paid_for() -> None:
    X, y = ripley(200)
    model = SDGMClassifier(2, random_state=0, teacher=None).fit(X, y)
    few, many = (
        np.mean([
            pac_bayes_bound(model, X, y, n_draws=n, random_state=seed).gibbs_bound
            for seed in range(3)
        ])
        for n in (200, 50_000)
    )  # fmt: skip
    assert few > many


# --- what is paid for ---


def test_relevance_vectors_are_paid_for_and_left_out() -> None:
    X, y = ripley(300)
    model = KernelSDGMClassifier(1, kernel="rbf", gamma=1.0, random_state=0, teacher=None).fit(X, y)
    bound = pac_bayes_bound(model, X, y, **FEW_DRAWS)
    R = len(model.relevance_)
    assert bound.n_rows == 300 - R
    n_weights = model.model_.active[:, 1:].sum(axis=1).tolist()
    expected = math.log(2) + subset_cost(300, R) + sum(subset_cost(R, n) for n in n_weights)
    assert bound.kl_structure == pytest.approx(expected)


def test_terms_and_components_are_paid_for() -> None:
    X, y = ripley(300)
    model = SDGMClassifier(2, random_state=0, teacher=None).fit(X, y)
    bound = pac_bayes_bound(model, X, y, **FEW_DRAWS)
    K = len(model.mixture_weights_)
    n_weights = model.model_.active[:, 1:].sum(axis=1).tolist()
    expected = math.log(K) + sum(subset_cost(5, n) for n in n_weights)
    # none, one or two components beyond one per class; one of them may be in either class
    expected += math.log(3) + math.log({2: 1, 3: 2, 4: 3}[K])
    assert bound.kl_structure == pytest.approx(expected)
    assert bound.n_rows == 300


def test_settings_are_paid_for_where_they_were_chosen() -> None:
    X, y = ripley(150)
    priors = 2 * math.log(len(PRIOR_VARIANCES))
    given = KernelSDGMClassifier(1, kernel="rbf", gamma=1.0, random_state=0, teacher=None).fit(X, y)
    assert pac_bayes_bound(given, X, y, **FEW_DRAWS).kl_settings == pytest.approx(priors)
    automatic = KernelSDGMClassifier(random_state=0).fit(X, y)
    expected = priors + math.log(CHOICES["kernel"] * CHOICES["gamma"])
    assert pac_bayes_bound(automatic, X, y, **FEW_DRAWS).kl_settings == pytest.approx(expected)
    primal = SDGMClassifier(random_state=0).fit(X, y)
    expected = priors + math.log(CHOICES["covariance_type"])
    assert pac_bayes_bound(primal, X, y, **FEW_DRAWS).kl_settings == pytest.approx(expected)


def test_models_that_were_not_taken_are_paid_for() -> None:
    X, y = ripley(150)
    model = SDGMClassifier(1, random_state=0, teacher=None).fit(X, y)
    one, many = (pac_bayes_bound(model, X, y, n_alternatives=n, **FEW_DRAWS) for n in (1, 1000))
    assert many.kl_settings == pytest.approx(one.kl_settings + math.log(1000))
    assert many.gibbs_bound > one.gibbs_bound


@pytest.mark.parametrize(
    "model", [SDGMClassifier(1, teacher=None), RVMClassifier()], ids=["primal", "dual"]
)
def test_the_scaling_is_an_assumption_or_paid_for(model: Any) -> None:
    X, y = ripley(300)
    X = 30.0 + 5.0 * X
    model.fit(X, y)
    given = pac_bayes_bound(model, X, y, **FEW_DRAWS)
    paid = pac_bayes_bound(model, X, y, scaling="paid", **FEW_DRAWS)
    assert given.scaling_is_given and not paid.scaling_is_given
    assert given.kl_settings + 10.0 < paid.kl_settings < given.kl_settings + 60.0
    # rounding changes the classifier only a little
    assert paid.gibbs_error == pytest.approx(given.gibbs_error, abs=0.05)


@pytest.mark.parametrize(
    "model",
    [
        SDGMClassifier(1, standardize=False, teacher=None),
        KernelSDGMClassifier(1, kernel="rbf", gamma=2.0, standardize=False, teacher=None),
    ],
    ids=["primal", "dual"],
)
def test_without_scaling_nothing_is_assumed_and_nothing_paid(model: Any) -> None:
    X, y = ripley(300)
    model.fit(X, y)
    given = pac_bayes_bound(model, X, y, **FEW_DRAWS)
    assert not given.scaling_is_given
    assert pac_bayes_bound(model, X, y, scaling="paid", **FEW_DRAWS) == given


def test_only_inputs_that_are_looked_at_are_paid_for() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 1.0, size=(400, 6))
    y = (X[:, 0] + 0.3 * rng.normal(size=400) > 3.0).astype(int)
    model = SDGMClassifier(1, covariance_type="tied", random_state=0, teacher=None).fit(X, y)
    assert len(model.terms_) < 6
    given, paid = (
        pac_bayes_bound(model, X, y, scaling=scaling, **FEW_DRAWS) for scaling in ("given", "paid")
    )
    per_input = (paid.kl_settings - given.kl_settings) / len(model.terms_)
    assert 4.0 < per_input < 15.0


# --- it holds ---


def error_of_drawn(model: Any, bound: PACBayesBound, X: Any, new: Any, code: Any) -> float:
    """Error on new rows of the classifiers that a bound is about."""
    scaling = Scaling.GIVEN if bound.scaling_is_given else Scaling.PAID
    kept, _ = structure_cost(model, X)
    posterior = weight_posterior(model.model_, basis_values(model, X[kept], scaling)[0])
    mean, root = posterior.scores(basis_values(model, new, scaling)[0])
    answers = Answers(model.component_class_, len(model.classes_), code, Loss.ERROR)
    root = math.sqrt(bound.covariance_scale) * root
    return mean_losses(mean, root, answers, 20, np.random.default_rng(0))[0]


@pytest.mark.slow
@pytest.mark.parametrize("scaling", ["given", "paid"])
@pytest.mark.parametrize(
    "model",
    [
        SDGMClassifier(2, random_state=0, teacher=None),
        SDGMClassifier(1, random_state=0, teacher=None),
        KernelSDGMClassifier(1, kernel="rbf", gamma=3.0, random_state=0, teacher=None),
    ],
    ids=["primal", "one component", "dual"],
)
def test_new_rows_are_no_worse_than_the_bound(model: Any, scaling: str) -> None:
    new, code = ripley(4000, seed=10_000)
    for seed in range(60):
        X, y = ripley(60, seed=seed)
        model.fit(X, y)
        bound = pac_bayes_bound(model, X, y, delta=0.2, scaling=scaling, **FEW_DRAWS)
        assert error_of_drawn(model, bound, X, new, code) <= bound.gibbs_bound
        if len(model.mixture_weights_) == 2 and scaling == "given":  # the vote is the model
            assert np.mean(model.predict(new) != code) <= bound.vote_bound


def test_labels_that_mean_nothing_are_not_bounded_below_a_guess() -> None:
    rng = np.random.default_rng(0)
    for seed in range(5):
        X, y = rng.normal(size=(80, 2)), rng.integers(2, size=80)
        model = KernelSDGMClassifier(
            1, kernel="rbf", gamma=20.0, random_state=seed, teacher=None
        ).fit(X, y)
        assert pac_bayes_bound(model, X, y, **FEW_DRAWS).gibbs_bound > 0.5


# --- shapes of models ---


def test_three_classes_named_by_words() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = rng.normal(size=(300, 2)) + 4.0 * np.eye(3)[y][:, :2]
    names = np.array(["one", "two", "three"])[y]
    bound = pac_bayes_bound(SDGMClassifier(1, teacher=None).fit(X, names), X, names, **FEW_DRAWS)
    assert bound.gibbs_error < bound.gibbs_bound < 0.5


def test_a_precomputed_kernel_leaves_its_relevance_vectors_out() -> None:
    X, y = ripley(200)
    gram = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    model = KernelSDGMClassifier(1, kernel="precomputed", random_state=0).fit(gram, y)
    bound = pac_bayes_bound(model, gram, y, **FEW_DRAWS)
    assert bound.n_rows == 200 - len(model.relevance_)
    assert not bound.scaling_is_given
    with pytest.raises(ValueError, match="order of the fit"):
        pac_bayes_bound(model, gram[:50], y[:50])


def test_a_model_without_weights_still_has_a_bound() -> None:
    X, y = np.zeros((400, 2)), (np.arange(400) % 4 == 0).astype(int)
    model = SDGMClassifier(1, random_state=0, teacher=None).fit(X, y)
    assert not len(model.terms_)
    bound = pac_bayes_bound(model, X, y, **FEW_DRAWS)
    assert 0.2 < bound.gibbs_error < bound.gibbs_bound < 0.45


# --- what is refused ---


@pytest.fixture(scope="module")
def small() -> tuple[Any, FloatArray, IntArray]:
    X, y = ripley(80)
    return KernelSDGMClassifier(1, kernel="rbf", random_state=0, teacher=None).fit(X, y), X, y


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 2, np.nan, "0.05", None, True])
def test_a_chance_that_is_none_is_refused(small: Any, delta: Any) -> None:
    with pytest.raises(ValueError, match="delta"):
        pac_bayes_bound(*small, delta=delta)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("loss", "squared"),
        ("scaling", "free"),
        ("n_alternatives", 0),
        ("n_alternatives", 1.5),
        ("n_draws", 0),
        ("n_draws", "many"),
    ],
)
def test_options_that_mean_nothing_are_refused(small: Any, option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=option):
        pac_bayes_bound(*small, **{option: value})


def test_other_rows_than_those_of_the_fit_are_refused(small: Any) -> None:
    model, X, y = small
    for rows in (np.arange(80)[::-1], np.arange(3)):
        with pytest.raises(ValueError, match="order of the fit"):
            pac_bayes_bound(model, X[rows], y[rows])


def test_labels_that_the_model_has_not_seen_are_refused(small: Any) -> None:
    model, X, y = small
    with pytest.raises(ValueError, match="label 7"):
        pac_bayes_bound(model, X, np.where(y == 1, 7, y))
    with pytest.raises(ValueError, match="label '0'"):
        pac_bayes_bound(model, X, np.array(["0", "1"])[y])


def test_tables_that_are_no_rows_of_the_model_are_refused(small: Any) -> None:
    model, X, y = small
    with pytest.raises(ValueError, match="NaN"):
        pac_bayes_bound(model, np.where(X > 0.5, np.nan, X), y)
    with pytest.raises(ValueError, match="features"):
        pac_bayes_bound(model, X[:, :1], y)
    with pytest.raises(ValueError, match="inconsistent"):
        pac_bayes_bound(model, X, y[:-1])


def test_models_without_such_a_posterior_are_refused() -> None:
    X, y = ripley(80)
    for other in (LogisticRegression(), MixtureOfGPsClassifier()):
        with pytest.raises(TypeError, match=type(other).__name__):
            pac_bayes_bound(other, X, y)
    with pytest.raises(NotFittedError):
        pac_bayes_bound(SDGMClassifier(), X, y)
    model = SDGMClassifier(1, teacher=None).fit(X, y)
    set_covariance(model, None)
    with pytest.raises(ValueError, match="no covariance"):
        pac_bayes_bound(model, X, y)


def test_rows_that_are_all_relevance_vectors_are_refused() -> None:
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 1, 0, 1]
    model = KernelSDGMClassifier(1, kernel="rbf", gamma=3.0, prior="ridge").fit(X, y)
    assert len(model.relevance_) == 4
    with pytest.raises(ValueError, match="all of the 4 rows"):
        pac_bayes_bound(model, X, y)
