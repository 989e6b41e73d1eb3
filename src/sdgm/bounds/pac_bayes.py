"""PAC-Bayes bounds: what the error on the rows says about new rows, for randomised classifiers.

A classifier is drawn from Q, whatever way Q was found; P is fixed before the rows are seen. With
probability 1 - delta over n independent rows, for all Q at once (Langford, Seeger, Maurer),

    kl(mean loss on the rows || mean loss) <= (KL(Q || P) + ln(2 sqrt(n) / delta)) / n.

Choices from lists are part of P: one among many costs the log of how many, in nats.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, xlogy

from sdgm._typing import FloatArray

# prior variances of the weights that P is a mixture of, in equal shares: 2^-20 to 2^20, for
# which every group of weights pays ln 21, three nats
PRIOR_VARIANCES = 4.0 ** np.arange(-10, 11)
# steps per octave of a rounded scale: it is off by 9% at most. The nats for a number grow with its
# logarithm, so that finer steps would be cheap, and would change next to nothing
SCALE_STEPS = 4
# steps per deviation of a rounded center: it is off by a sixteenth of the deviation at most
CENTER_STEPS = 8


def kl_upper_inverse(q: float, c: float) -> float:
    """The largest p with kl(q || p) <= c.

    Examples
    --------
    >>> round(kl_upper_inverse(0.1, 0.0367), 3)
    0.2
    """
    if not (0.0 <= q <= 1.0 and c >= 0.0):
        raise ValueError(
            f"kl_upper_inverse needs a loss between 0 and 1 and c of at least 0, got {q!r}, {c!r}."
        )
    if q == 0.0:
        return -math.expm1(-c)
    if q == 1.0 or c == 0.0:
        return q
    # in the log of 1 - p nothing is lost where p is close to one
    entropy = float(xlogy(q, q) + xlogy(1.0 - q, 1.0 - q))

    def excess(log_rest: float) -> float:
        log_p = math.log(-math.expm1(log_rest))
        return entropy - q * log_p - (1.0 - q) * log_rest - c

    highest = math.log1p(-q)
    # (1 - q) log_rest = entropy - c makes it positive: -q log_p is
    lowest = (entropy - c) / (1.0 - q) - 1.0
    if not excess(highest) < 0.0 < excess(lowest):  # c is below rounding
        return q
    return max(q, -math.expm1(float(brentq(excess, lowest, highest, xtol=1e-13))))


def pac_bayes_kl_bound(loss: float, kl: float, n_rows: int, delta: float) -> float:
    """Upper bound on the mean loss of classifiers drawn from Q, from their loss on the rows.

    Parameters
    ----------
    loss : float
        Mean over rows and draws, between zero and one.
    kl : float
        KL(Q || P) in nats, choices from lists included.
    n_rows : int
    delta : float
        Chance that the bound does not hold.

    Examples
    --------
    >>> round(pac_bayes_kl_bound(0.1, kl=20.0, n_rows=1000, delta=0.05), 3)
    0.184
    """
    return kl_upper_inverse(loss, (kl + math.log(2.0 * math.sqrt(n_rows) / delta)) / n_rows)


def monte_carlo_upper(mean: float, n_draws: int, delta: float) -> float:
    """Upper bound on an expectation from the mean of independent draws between zero and one.

    Chernoff's inequality; the draws need not be of one distribution, the bound is on the mean of
    their expectations.

    Examples
    --------
    >>> round(monte_carlo_upper(0.1, 10_000, 0.001), 3)
    0.112
    """
    return kl_upper_inverse(mean, math.log(1.0 / delta) / n_draws)


def gaussian_kl(mean: FloatArray, covariance: FloatArray, prior_variance: FloatArray) -> float:
    """``KL(N(mean, covariance) || N(0, diag(prior_variance)))`` in nats.

    Examples
    --------
    >>> round(gaussian_kl(np.array([1.0]), np.array([[0.25]]), np.array([1.0])), 4)
    0.8181
    """
    L = np.linalg.cholesky(covariance)
    spread = (np.diag(covariance) + mean**2) / prior_variance
    log_det = 2.0 * np.log(np.diag(L)).sum()
    return 0.5 * float((spread - 1.0 + np.log(prior_variance)).sum() - log_det)


def weights_kl(mean: FloatArray, covariance: FloatArray, groups: list[slice]) -> float:
    """KL from a Gaussian to the best of `PRIOR_VARIANCES` for each group of weights, in nats.

    `prior_choice_cost` is not included.
    """
    variance = np.empty(len(mean))
    for group in groups:
        square = float((np.diag(covariance)[group] + mean[group] ** 2).sum())
        size = len(mean[group])
        cost = square / PRIOR_VARIANCES + size * np.log(PRIOR_VARIANCES)
        variance[group] = PRIOR_VARIANCES[cost.argmin()]
    return gaussian_kl(mean, covariance, variance)


def prior_choice_cost(n_groups: int) -> float:
    """Nats for one prior variance per group."""
    return n_groups * math.log(len(PRIOR_VARIANCES))


def integer_cost(n: int) -> float:
    """Nats for a whole number of no known limit: P(n) = 1 / ((n + 1) (n + 2)) sums to one.

    Examples
    --------
    >>> round(integer_cost(0), 3), round(integer_cost(9), 3)
    (0.693, 4.7)
    """
    return math.log((n + 1.0) * (n + 2.0))


def signed_cost(n: int) -> float:
    """Nats for a whole number of either sign: its size, and a coin for the sign."""
    return integer_cost(abs(n)) + math.log(2.0)


def log_binomial(n: int, k: int) -> float:
    """Log of the number of ways to choose k of n.

    Examples
    --------
    >>> round(math.exp(log_binomial(5, 2)), 6)
    10.0
    """
    return max(float(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)), 0.0)


def subset_cost(n: int, k: int) -> float:
    """Nats for k of n things: how many, and which."""
    return integer_cost(k) + log_binomial(n, k)


def components_cost(n_components: list[int], most: list[int]) -> float:
    """Nats for the components left in each class, given the most: their sum, then by class.

    Examples
    --------
    >>> round(components_cost([1, 1], [3, 3]), 3)  # nothing extra, of 0 to 4
    1.609
    """
    extra = sum(n_components) - len(n_components)
    most_extra = sum(most) - len(most)
    return math.log(most_extra + 1.0) + log_binomial(len(most) + extra - 1, extra)


def rounded_scaling(
    center: FloatArray, inverse_scale: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Centers and inverse scales on a grid that was there before the rows, and nats per input.

    Scales are powers of 2^(1/4), centers multiples of an eighth of the scale, both counted from
    one and zero in the user's units. The bound is for the classifier with the rounded values. An
    inverse scale of zero, of an input that is left out, stays zero.
    """
    is_read = inverse_scale > 0.0
    octave = np.rint(SCALE_STEPS * np.log2(np.where(is_read, inverse_scale, 1.0)))
    rounded = 2.0 ** (octave / SCALE_STEPS)
    steps = np.rint(CENTER_STEPS * center * rounded)
    cost = [
        signed_cost(int(scale)) + signed_cost(int(step))
        for scale, step in zip(octave, steps, strict=True)
    ]
    return steps / (CENTER_STEPS * rounded), np.where(is_read, rounded, 0.0), np.array(cost)


def vote_bound(gibbs: float, joint: float) -> float:
    """Bound on the error of the vote of all classifiers under Q, for any number of classes.

    The vote errs only where at least half of Q errs, that is where M = 1 - 2 Q(error) is at most
    zero. Markov's inequality gives 2 gibbs, Cantelli's 1 - E[M]^2 / E[M^2] (the C-bound), with its
    worst case over all mean errors up to ``gibbs``. The second moment alone gives 4 joint.

    Parameters
    ----------
    gibbs : float
        Upper bound on the mean error of a classifier drawn from Q.
    joint : float
        Upper bound on the chance that two of them, drawn independently, both err on a row.

    References
    ----------
    A. Lacasse et al., "PAC-Bayes Bounds for the Risk of the Majority Vote and the Variance of the
    Gibbs Classifier", NIPS 2006. A. R. Masegosa et al., "Second Order PAC-Bayesian Bounds for the
    Weighted Majority Vote", NeurIPS 2020.

    Examples
    --------
    >>> round(vote_bound(0.2, 0.05), 3)
    0.1
    """
    if gibbs >= 2.0 * joint:
        second = 4.0 * joint  # the worst mean error is 2 joint
    elif gibbs < 0.5:
        second = 1.0 - (1.0 - 2.0 * gibbs) ** 2 / (1.0 - 4.0 * gibbs + 4.0 * joint)
    else:
        second = 1.0
    return min(2.0 * gibbs, second, 1.0)
