"""Claims about P(c, m | x), P(c | x) and r."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import log_softmax, logsumexp, softmax

from sdgm._typing import FloatArray, IntArray
from sdgm.core.model.posterior import (
    class_log_posterior,
    component_log_posterior,
    log_sum_exp,
    row_posterior,
    scores,
)

COMPONENT_CLASS = np.array([0, 0, 1, 2, 2, 2])
N_CLASSES = 3

# from the harmless to the hopeless: exp(-1e4) is zero, exp(-720) has lost digits
LOGITS = arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.just(len(COMPONENT_CLASS))),
    elements=st.one_of(st.floats(-5, 5), st.floats(-800, 800), st.floats(-1e4, 1e4)),
)


def labels(logits: FloatArray) -> IntArray:
    """Classes 0, 1, 2 in turn."""
    return np.arange(len(logits)) % N_CLASSES


def test_scores_add_log_pi_to_the_products_with_the_rows() -> None:
    rng = np.random.default_rng(0)
    Z, V, log_pi = rng.normal(size=(5, 3)), rng.normal(size=(3, 4)), rng.normal(size=4)
    result = scores(Z, V, log_pi)
    np.testing.assert_allclose(result, Z @ V + log_pi, atol=1e-14)
    assert result.flags.f_contiguous


@settings(deadline=None)
@given(LOGITS)
def test_log_sum_exp_equals_that_of_scipy(logits: FloatArray) -> None:
    np.testing.assert_allclose(
        log_sum_exp(logits), logsumexp(logits, axis=1), rtol=1e-13, atol=1e-13
    )


@settings(deadline=None)
@given(LOGITS)
def test_posteriors_of_components_and_of_classes_sum_to_one(logits: FloatArray) -> None:
    log_P_cm = component_log_posterior(logits)
    log_P_c = class_log_posterior(log_P_cm, COMPONENT_CLASS, N_CLASSES)
    np.testing.assert_allclose(log_P_cm, log_softmax(logits, axis=1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.exp(log_P_cm).sum(axis=1), 1.0, rtol=1e-10)
    np.testing.assert_allclose(np.exp(log_P_c).sum(axis=1), 1.0, rtol=1e-10)
    for c in range(N_CLASSES):
        own = log_P_cm[:, c == COMPONENT_CLASS]
        np.testing.assert_allclose(log_P_c[:, c], logsumexp(own, axis=1), rtol=1e-12, atol=1e-12)


@settings(deadline=None)
@given(LOGITS)
def test_posterior_of_rows_agrees_with_the_posterior_of_classes(logits: FloatArray) -> None:
    y = labels(logits)
    rows = row_posterior(np.asfortranarray(logits), y, COMPONENT_CLASS)
    log_P_cm = component_log_posterior(logits)
    log_P_c = class_log_posterior(log_P_cm, COMPONENT_CLASS, N_CLASSES)
    np.testing.assert_allclose(rows.P_cm, np.exp(log_P_cm), atol=1e-12)
    np.testing.assert_allclose(rows.log_P_own, log_P_c[np.arange(len(y)), y], atol=1e-10)
    np.testing.assert_allclose(rows.log_total, logsumexp(logits, axis=1), rtol=1e-13, atol=1e-13)


@settings(deadline=None)
@given(LOGITS)
def test_responsibilities_are_a_distribution_over_the_components_of_the_own_class(
    logits: FloatArray,
) -> None:
    y = labels(logits)
    r = row_posterior(logits, y, COMPONENT_CLASS).r
    for n in range(len(y)):
        own = y[n] == COMPONENT_CLASS
        # P(c, m | x) / P(c | x), even where both underflow
        np.testing.assert_allclose(r[n, own], softmax(logits[n, own]), atol=1e-12)
        assert not r[n, ~own].any()


@pytest.mark.parametrize("depth", [300.0, 700.0, 740.0, 1e4, 1e300])
def test_row_far_from_its_class_keeps_finite_posteriors(depth: float) -> None:
    # the own class scores `depth` below another; one row of three is in trouble
    logits = np.zeros((3, 6))
    logits[1, :2] = -depth, -depth - 1.0
    rows = row_posterior(logits, np.array([1, 0, 2]), COMPONENT_CLASS)
    for part in (rows.P_cm, rows.r, rows.log_P_own, rows.log_total):
        assert np.isfinite(part).all()
    np.testing.assert_allclose(rows.r.sum(axis=1), 1.0, rtol=1e-12)
    assert rows.log_P_own[1] == pytest.approx(
        logsumexp([-depth, -depth - 1.0]) - logsumexp(logits[1]), rel=1e-12
    )
    if depth < 1e16:  # beyond, the two scores are the same number
        np.testing.assert_allclose(rows.r[1, :2], softmax([0.0, -1.0]), rtol=1e-10)


@settings(deadline=None)
@given(LOGITS, st.floats(-1e3, 1e3))
def test_common_shift_of_the_scores_changes_no_posterior(logits: FloatArray, shift: float) -> None:
    y = labels(logits)
    rows, shifted = (row_posterior(a, y, COMPONENT_CLASS) for a in (logits, logits + shift))
    np.testing.assert_allclose(shifted.P_cm, rows.P_cm, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(shifted.r, rows.r, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(shifted.log_P_own, rows.log_P_own, atol=1e-9)


def test_posteriors_are_column_major_for_scores_that_are() -> None:
    logits = scores(np.ones((4, 2)), np.ones((2, 6)), np.zeros(6))
    rows = row_posterior(logits, np.array([0, 1, 2, 0]), COMPONENT_CLASS)
    assert rows.P_cm.flags.f_contiguous and rows.r.flags.f_contiguous


def test_no_probability_of_a_class_is_above_one() -> None:
    # rounding of the sum over its components would put some above, and log_loss refuses those
    logits = np.random.default_rng(0).uniform(-3.0, 3.0, size=(2000, 6))
    logits[:, 3:] += 40.0
    log_P_c = class_log_posterior(component_log_posterior(logits), COMPONENT_CLASS, N_CLASSES)
    assert log_P_c.max() == 0.0
