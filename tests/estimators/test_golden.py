"""Results on Ripley's data are the stored ones.

``python -m tests.golden.regenerate`` renews them.
"""

from __future__ import annotations

import json

import pytest

from tests.estimators.problems import data_folder
from tests.golden.regenerate import CASES, RIPLEY, ripley_results


@pytest.mark.parametrize("name", CASES)
def test_ripley_is_as_stored(name: str) -> None:
    expected = json.loads(RIPLEY.read_text())[name]
    found = ripley_results(name, data_folder())
    # another BLAS may move a test row or two of the 1000 across the boundary
    assert found["error"] == pytest.approx(expected["error"], abs=0.3)
    assert found["log_loss"] == pytest.approx(expected["log_loss"], abs=0.005)
    assert found["weights"] == pytest.approx(expected["weights"], abs=1)
    assert found["components"] == expected["components"]
    assert found["log_evidence"] == pytest.approx(expected["log_evidence"], abs=0.5)
    assert found["stop"] == expected["stop"]


@pytest.mark.parametrize("name", CASES)
def test_stored_results_are_near_those_of_the_paper(name: str) -> None:
    # the paper's dual form has an error of 9.1 % with 6 weights; DESIGN section 4 has 9.16 and 7.1
    stored = json.loads(RIPLEY.read_text())[name]
    assert stored["error"] <= 10.5
    assert stored["weights"] <= 12
    assert stored["stop"] == "converged"
