"""Claims about PAC-Bayes bounds: inverses, divergences, costs that are log probabilities, cover."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import rel_entr, xlogy

from sdgm.bounds.pac_bayes import (
    PRIOR_VARIANCES,
    components_cost,
    gaussian_kl,
    integer_cost,
    kl_upper_inverse,
    log_binomial,
    monte_carlo_upper,
    pac_bayes_kl_bound,
    prior_choice_cost,
    rounded_scaling,
    signed_cost,
    subset_cost,
    vote_bound,
    weights_kl,
)

losses = st.floats(0.0, 1.0)


def bernoulli_kl(q: float, p: float) -> float:
    """Divergence kl(q || p) in nats between coins with chances q and p.

    Examples
    --------
    >>> round(bernoulli_kl(0.1, 0.2), 4)
    0.0367
    """
    with np.errstate(divide="ignore"):
        return float(xlogy(q, q) - xlogy(q, p) + xlogy(1.0 - q, 1.0 - q) - xlogy(1.0 - q, 1.0 - p))


@settings(deadline=None)
@given(losses, st.floats(0.0, 5.0))
def test_the_inverse_is_the_largest_chance_within_the_divergence(q: float, c: float) -> None:
    p = kl_upper_inverse(q, c)
    assert q <= p <= 1.0
    grid = np.linspace(q, 1.0, 101)
    divergence = rel_entr(q, grid) + rel_entr(1.0 - q, 1.0 - grid)
    assert p >= grid[divergence <= c].max(initial=q) - 1e-9
    assert (divergence[grid > p + 1e-6] > c).all()


@settings(deadline=None)
@given(st.floats(1e-6, 1.0 - 1e-6), st.floats(1e-6, 5.0))
def test_the_inverse_is_exact(q: float, c: float) -> None:
    p = kl_upper_inverse(q, c)
    if p < 1.0 - 1e-9:
        assert bernoulli_kl(q, p) == pytest.approx(c, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("c", [0.0, 1e-20, 0.3, 50.0, 1e4])
@pytest.mark.parametrize("q", [0.0, 1e-300, 1e-12, 0.5, 1.0 - 1e-15, 1.0])
def test_the_inverse_is_a_chance_at_the_extremes(q: float, c: float) -> None:
    assert q <= kl_upper_inverse(q, c) <= 1.0


@pytest.mark.parametrize(("q", "c"), [(-0.1, 1.0), (1.1, 1.0), (0.5, -1.0), (np.nan, 1.0)])
def test_the_inverse_refuses_what_is_no_loss(q: float, c: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        kl_upper_inverse(q, c)


def test_the_divergence_of_gaussians_is_the_mean_log_ratio_of_densities() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 3))
    mean, covariance = rng.normal(size=3), A @ A.T + 0.1 * np.eye(3)
    prior = np.array([0.5, 1.0, 4.0])
    q = stats.multivariate_normal(mean, covariance)
    p = stats.multivariate_normal(np.zeros(3), np.diag(prior))
    draws = q.rvs(200_000, random_state=1)
    ratio = q.logpdf(draws) - p.logpdf(draws)
    error = ratio.std() / math.sqrt(len(ratio))
    assert gaussian_kl(mean, covariance, prior) == pytest.approx(ratio.mean(), abs=5 * error)


def test_the_divergence_from_itself_is_zero() -> None:
    variance = np.array([0.1, 3.0])
    assert gaussian_kl(np.zeros(2), np.diag(variance), variance) == pytest.approx(0.0, abs=1e-12)


def test_each_group_has_the_prior_variance_that_suits_it() -> None:
    rng = np.random.default_rng(0)
    mean = np.concatenate([0.01 * rng.normal(size=4), 20.0 * rng.normal(size=3)])
    covariance = np.diag(0.1 * mean**2 + 1e-6)
    groups = [slice(0, 4), slice(4, 7)]
    found = weights_kl(mean, covariance, groups)
    every = [
        gaussian_kl(mean, covariance, np.repeat([a, b], [4, 3]))
        for a, b in itertools.product(PRIOR_VARIANCES, repeat=2)
    ]
    assert found == pytest.approx(min(every))
    assert prior_choice_cost(2) == pytest.approx(math.log(len(every)))


def test_whole_numbers_cost_what_a_probability_distribution_gives_them() -> None:
    n = 2000
    assert sum(math.exp(-integer_cost(i)) for i in range(n)) == pytest.approx(1 - 1 / (n + 1))
    assert sum(math.exp(-signed_cost(i)) for i in range(-n, n + 1)) <= 1.0


@settings(deadline=None)
@given(st.integers(0, 9))
def test_subsets_cost_what_a_probability_distribution_gives_them(n: int) -> None:
    total = sum(math.comb(n, k) * math.exp(-subset_cost(n, k)) for k in range(n + 1))
    assert 0.0 < total <= 1.0 + 1e-12


@settings(deadline=None)
@given(st.integers(0, 60), st.data())
def test_binomials_are_those_of_the_standard_library(n: int, draw: st.DataObject) -> None:
    k = draw.draw(st.integers(0, n))
    assert log_binomial(n, k) == pytest.approx(math.log(math.comb(n, k)), abs=1e-9)


@pytest.mark.parametrize("most", [[1, 1], [3, 3], [2, 5, 1], [3, 3, 3]])
def test_components_cost_what_a_probability_distribution_gives_them(most: list[int]) -> None:
    every = itertools.product(*(range(1, m + 1) for m in most))
    total = sum(math.exp(-components_cost(list(numbers), most)) for numbers in every)
    assert total <= 1.0 + 1e-12
    if max(most) == 1:
        assert total == pytest.approx(1.0)


@settings(deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=4),
    st.floats(-5.0, 5.0),
)
def test_a_rounded_scaling_is_close_to_the_scaling(center: list[float], log_scale: float) -> None:
    inverse = np.full(len(center), 10.0**log_scale)
    rounded_center, rounded, cost = rounded_scaling(np.array(center), inverse)
    np.testing.assert_array_less(np.abs(np.log2(rounded / inverse)), 1 / 8 + 1e-9)
    offset = np.abs((rounded_center - center) * rounded)
    np.testing.assert_array_less(offset, 1 / 16 + 1e-6)
    assert (cost > 0.0).all()


# --- the inequalities hold ---


@pytest.mark.parametrize("delta", [0.05, 0.3])
@pytest.mark.parametrize("n", [1, 5, 30, 200])
def test_a_classifier_fixed_beforehand_is_rarely_worse_than_its_bound(n: int, delta: float) -> None:
    wrong = np.arange(n + 1)
    bounds = np.array([pac_bayes_kl_bound(k / n, 0.0, n, delta) for k in wrong])
    for p in np.linspace(0.01, 0.99, 50):
        failure = stats.binom(n, p).pmf(wrong)[bounds < p].sum()
        assert failure <= delta


def test_the_best_of_a_list_is_rarely_worse_than_its_bound() -> None:
    rng = np.random.default_rng(0)
    n, n_classifiers, p, delta, n_repeats = 40, 2000, 0.3, 0.2, 400
    best = rng.binomial(n, p, size=(n_repeats, n_classifiers)).min(axis=1) / n

    def failures(kl: float) -> float:
        bound = {q: pac_bayes_kl_bound(q, kl, n, delta) for q in np.unique(best)}
        return float(np.mean([bound[q] < p for q in best]))

    assert failures(math.log(n_classifiers)) <= delta
    assert failures(0.0) > 0.5  # and that the choice is paid for matters


@pytest.mark.parametrize("n", [20, 500])
def test_the_bound_on_an_expectation_from_draws_rarely_fails(n: int) -> None:
    delta, wrong = 0.1, np.arange(n + 1)
    bounds = np.array([monte_carlo_upper(k / n, n, delta) for k in wrong])
    for p in np.linspace(0.02, 0.98, 30):
        assert stats.binom(n, p).pmf(wrong)[bounds < p].sum() <= delta


@settings(deadline=None)
@given(losses, st.floats(0.0, 100.0), st.integers(1, 10**6))
def test_a_bound_is_above_the_loss_and_falls_with_rows(loss: float, kl: float, n: int) -> None:
    few, many = (pac_bayes_kl_bound(loss, kl, rows, 0.05) for rows in (n, 4 * n))
    assert loss <= many <= few + 1e-9 <= 1.0 + 1e-9


@settings(deadline=None)
@given(losses, st.floats(0.0, 100.0), st.floats(0.0, 100.0))
def test_a_bound_rises_with_divergence_and_confidence(loss: float, kl: float, more: float) -> None:
    bound = pac_bayes_kl_bound(loss, kl, 500, 0.05)
    assert pac_bayes_kl_bound(loss, kl + more, 500, 0.05) >= bound - 1e-9
    assert pac_bayes_kl_bound(loss, kl, 500, 0.001) >= bound - 1e-9


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.01, 1.0)), min_size=1, max_size=6),
    st.floats(0.0, 0.2),
    st.floats(0.0, 0.2),
)
def test_the_vote_errs_no_more_than_its_bound(
    kinds: list[tuple[float, float]], slack: float, more_slack: float
) -> None:
    # rows of a few kinds: share of Q that errs there, how common the kind is
    error, weight = np.array(kinds).T
    weight = weight / weight.sum()
    gibbs, joint = float(weight @ error), float(weight @ error**2)
    vote = float(weight[error >= 0.5].sum())
    assert vote <= vote_bound(gibbs, joint) + 1e-9
    assert vote <= vote_bound(min(gibbs + slack, 1.0), min(joint + more_slack, 1.0)) + 1e-9


def test_disagreement_makes_the_bound_of_the_vote_smaller() -> None:
    assert vote_bound(0.2, 0.2) == pytest.approx(0.4)  # all agree: twice
    assert vote_bound(0.2, 0.04) == pytest.approx(0.16)
    assert vote_bound(0.1, 0.06) == pytest.approx(min(0.2, 1 - 0.8**2 / (1 - 0.4 + 0.24)))
