"""Claims about parts of sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdgm.text import counted, listed, shown


def test_only_one_is_singular() -> None:
    assert [counted(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
    assert counted(3, "category") == "3 categories"
    assert counted(1, "class", "classes") == "1 class"
    assert counted(1234567, "class", "classes") == "1,234,567 classes"


@pytest.mark.parametrize(
    ("words", "most", "text"),
    [
        ([], None, ""),
        (["a"], None, "a"),
        (["a", "b"], None, "a and b"),
        (["a", "b", "c"], 3, "a, b and c"),
        (["a", "b", "c"], 2, "a, b and 1 more"),
        (["a", "b", "c"], 1, "a and 2 more"),
    ],
)
def test_lists_end_in_and(words: list[str], most: int | None, text: str) -> None:
    assert listed(iter(words), most) == text


@given(st.text(st.characters(exclude_categories=[])), st.integers(10, 60), st.booleans())
def test_any_name_is_one_short_printable_line(name: str, longest: int, ascii: bool) -> None:
    text = shown(name, longest, ascii=ascii)
    assert text.isprintable() and 0 < len(text) <= longest
    assert text.isascii() or not ascii
    assert text.strip(" ") and len(text.splitlines()) == 1


def test_names_that_are_short_and_printable_are_shown_as_they_are() -> None:
    assert shown("größe (cm)") == "größe (cm)"
    assert shown("  ") == "'  '"
    assert shown("x" * 49) == "x" * 45 + "..."
    assert shown(True) == "True"
