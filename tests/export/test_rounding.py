"""Models rounded to few bits: what stays, and what headers make of them."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_iris

from sdgm import SDGMClassifier
from sdgm.export import rounded, to_c
from sdgm.export.model import exportable
from sdgm.export.rounding import to_steps, with_scales_of_two
from tests.export.test_c import MADE, in_units, probabilities


@pytest.mark.parametrize("name", ["full, modes", "diag", "far from zero", "not standardised"])
def test_scales_of_two_change_no_probability(name):
    model = MADE[name]()
    X = in_units(model, np.random.default_rng(0), 100)
    other = with_scales_of_two(model.model)
    assert set(np.frexp(other.scaler.inverse_scale)[0]) == {0.5}
    np.testing.assert_allclose(other.log_proba(X), model.model.log_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["full, modes", "spherical", "table", "rbf", "poly 2", "linear"])
def test_the_more_bits_the_closer(name):
    model = MADE[name]()
    rows = in_units(model, np.random.default_rng(0), 200)
    expected = probabilities(model, rows)
    off = [np.abs(probabilities(rounded(model, bits), rows) - expected).max() for bits in (8, 20)]
    assert 0.0 < off[1] < off[0] / 100.0 and off[1] < 1e-3


def test_steps_are_a_power_of_two_and_numbers_have_their_bits():
    values = np.random.default_rng(0).normal(size=50)
    for bits in 2, 8, 16:
        steps = to_steps(values, bits)
        unit = np.abs(steps[steps != 0.0]).min()
        unit = 2.0 ** np.round(np.log2(np.gcd.reduce(np.rint(steps * 2**30).astype(int)) / 2**30))
        whole = steps / unit
        assert np.array_equal(whole, np.rint(whole)) and np.abs(whole).max() < 2 ** (bits - 1)
        assert np.abs(steps - values).max() <= unit / 2.0
    np.testing.assert_array_equal(to_steps(np.zeros(3), 8), 0.0)


@pytest.mark.parametrize(("bits", "ctype"), [(8, "int8_t"), (12, "int16_t"), (20, "int32_t")])
def test_headers_keep_weights_in_the_fewest_bytes(bits, ctype):
    model = rounded(MADE["full, modes"](), bits)
    text = to_c(model, precision="fixed").text
    assert re.search(rf"const {ctype} sdgm_weight\[", text)
    vectors = to_c(rounded(MADE["rbf"](), bits), precision="fixed").text
    assert re.search(rf"const {ctype} sdgm_vectors\[", vectors)


def test_a_rounded_model_has_a_bound_of_the_same_size():
    model = MADE["full, modes"]()
    bounds = [to_c(each, precision="fixed").error_bound for each in (model, rounded(model))]
    assert bounds[1] < 3.0 * bounds[0]


def test_a_fitted_model_says_the_same_in_eight_bits():
    X, y = load_iris(return_X_y=True)
    classifier = SDGMClassifier(1, random_state=0, teacher=None).fit(X, y)
    small = rounded(classifier)
    assert small.feature_names == exportable(classifier).feature_names
    P = np.exp(small.model.log_proba(X))
    assert np.abs(P - classifier.predict_proba(X)).max() < 0.1
    assert np.mean(P.argmax(axis=1) == classifier.predict(X)) > 0.98


@pytest.mark.parametrize("bits", [1, 25])
def test_bits_have_a_range(bits):
    with pytest.raises(ValueError, match=f"bits must be from 2 to 24, got {bits}"):
        rounded(MADE["full"](), bits)
