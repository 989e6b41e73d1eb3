"""Claims about the figure of the prior."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import gamma, norm, t

pytest.importorskip("matplotlib")

from reproduction.figures.prior import draw_prior, marginal_density, prior_density

positive = st.floats(0.05, 20.0)


@given(w=st.floats(-5.0, 5.0), alpha=positive)
def test_the_prior_is_the_gaussian_of_that_precision(w: float, alpha: float) -> None:
    expected = norm.pdf(w, scale=alpha**-0.5)
    np.testing.assert_allclose(prior_density(np.array(w), alpha), expected, rtol=1e-10)


@given(w=st.floats(-5.0, 5.0), a=positive, b=positive)
def test_the_marginal_prior_is_student_t(w: float, a: float, b: float) -> None:
    expected = t.pdf(w, df=2 * a, scale=(b / a) ** 0.5)
    np.testing.assert_allclose(marginal_density(np.array(w), a, b), expected, rtol=1e-8)


@settings(deadline=None, max_examples=20)
@given(w=st.floats(0.1, 3.0), a=st.floats(0.5, 5.0), b=st.floats(0.5, 5.0))
def test_the_marginal_prior_is_the_integral_of_the_prior_over_its_precision(
    w: float, a: float, b: float
) -> None:
    def joint(alpha: float) -> float:
        return float(prior_density(np.array(w), alpha) * gamma.pdf(alpha, a, scale=1 / b))

    expected = quad(joint, 0.0, np.inf)[0]
    np.testing.assert_allclose(marginal_density(np.array(w), a, b), expected, rtol=1e-5)


def test_without_information_about_the_precision_the_prior_falls_as_one_over_w() -> None:
    w = np.array([0.5, 1.0, 2.0, 4.0])
    product = w * marginal_density(w, 1e-6, 1e-6)
    np.testing.assert_allclose(product / product[0], 1.0, rtol=1e-4)


def test_two_pictures_are_written(tmp_path: Path) -> None:
    paths = draw_prior(tmp_path / "new", quick=True)
    assert paths == [tmp_path / "new" / "prior.png", tmp_path / "new" / "prior.svg"]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert paths[1].read_bytes().startswith(b"<?xml")
