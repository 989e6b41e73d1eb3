"""Claims about values of JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdgm.json_values import json_value

NUMBERS = st.floats() | st.integers() | st.floats(width=32).map(np.float32) | st.just(np.int64(3))
LEAVES = st.none() | st.booleans() | st.text() | NUMBERS | st.builds(object) | st.just(np.arange(3))
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text(), inner)
)


@given(VALUES)
def test_any_value_becomes_json_and_stays_it(value: Any) -> None:
    plain = json_value(value)
    again = json.loads(json.dumps(plain, allow_nan=False))
    assert again == plain == json_value(plain)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.float64("inf"), None),
        (np.array([1.5, np.nan]), [1.5, None]),
        (np.array(2), 2),
        (np.ones((2, 3)), "array of shape (2, 3)"),
        (np.str_("a"), "a"),
        ({1: np.True_}, {"1": True}),
        (np.random.RandomState(0), "RandomState"),
        (len, "len"),
    ],
)
def test_numbers_arrays_and_others_have_one_form_each(value: Any, plain: Any) -> None:
    assert json_value(value) == plain
    assert type(json_value(value)) is type(plain)
