"""The examples for other libraries run, learn, and lose nothing by pruning."""

from __future__ import annotations

from importlib import import_module

import pytest


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # these libraries' own
@pytest.mark.parametrize("library", ["skorch", "lightning"])
def test_the_example_learns_the_digits_and_pruning_costs_nothing(library: str) -> None:
    pytest.importorskip(library)
    module = import_module(f"examples.{library}_head")  # not skipped if it is broken
    before, after = module.main(epochs=15)
    assert before > 0.93
    assert after > before - 0.02
