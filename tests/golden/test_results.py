"""Outcomes of small fits are the stored ones: which weights survive exactly, numbers to 1e-9.

``python -m tests.golden.regenerate`` renews them.
"""

from __future__ import annotations

import pytest

from tests.golden.fits import FITS, RIPLEY
from tests.golden.outcomes import Outcome, differences
from tests.golden.regenerate import outcome_of, stored_results, surroundings

STORED = stored_results()


@pytest.mark.parametrize("name", FITS)
def test_the_outcome_is_as_stored(name: str) -> None:
    found, stored = outcome_of(name), STORED["fits"][name]
    if surroundings() == STORED["surroundings"]:
        assert differences(found, stored) == []
    elif "published" in name:
        assert_near(found, stored, error=0.3, loss=0.005)
    elif "error" in stored and "automatic" in name:
        assert_as_good(found, stored, error=5.0, loss=0.05)
    elif "error" in stored:
        assert_near(found, stored, error=5.0, loss=0.05)


def assert_as_good(found: Outcome, stored: Outcome, *, error: float, loss: float) -> None:
    """Of candidates that are about as good, another BLAS may choose another."""
    assert found["error"] == pytest.approx(stored["error"], abs=error)
    assert found["log_loss"] == pytest.approx(stored["log_loss"], abs=loss)
    assert found["n_active_weights"] <= 2 * stored["n_active_weights"]
    assert found.get("stop_reason") == stored.get("stop_reason")


def assert_near(found: Outcome, stored: Outcome, *, error: float, loss: float) -> None:
    """With another BLAS a few test rows may cross the boundary, and a weight more may stay."""
    assert found["error"] == pytest.approx(stored["error"], abs=error)
    assert found["log_loss"] == pytest.approx(stored["log_loss"], abs=loss)
    assert found["n_active_weights"] == pytest.approx(stored["n_active_weights"], abs=1)
    assert found["n_components"] == stored["n_components"]
    assert found["log_evidence"] == pytest.approx(stored["log_evidence"], abs=0.5)
    assert found.get("stop_reason") == stored.get("stop_reason")


def test_every_stored_outcome_has_its_fit() -> None:
    assert list(STORED["fits"]) == list(FITS)


@pytest.mark.parametrize("name", RIPLEY)
def test_stored_results_are_near_those_of_the_paper(name: str) -> None:
    # the paper's dual form has an error of 9.1 % with 6 weights; DESIGN section 4 has 9.16 and 7.1
    stored = STORED["fits"][f"published Ripley, {name}"]
    assert stored["error"] <= 10.5
    assert stored["n_active_weights"] <= 12
    assert stored["stop_reason"] == "converged"


def test_a_difference_in_any_field_is_seen() -> None:
    stored = {
        "numbers": [1.0, 100.0],
        "surviving": [["constant", "x1"]],
        "stop_reason": "converged",
    }
    assert differences({**stored, "numbers": [1.0 + 1e-10, 100.0]}, stored) == []
    assert differences({**stored, "numbers": [1.0, 100.0 + 1e-6]}, stored)
    assert differences({**stored, "numbers": [1.0, float("nan")]}, stored)
    assert differences({**stored, "surviving": [["constant", "x2"]]}, stored)
    assert differences({**stored, "stop_reason": "max_iter"}, stored)
