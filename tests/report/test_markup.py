"""Whatever a text holds, the page shows it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdgm.report.markup import Html, fixed, number, percent, script_json, tag


def test_texts_and_attributes_are_escaped_and_markup_is_not():
    made = tag("p", "<b>", tag("i", "&"), title='"onmouseover="x')
    assert made == '<p title="&quot;onmouseover=&quot;x">&lt;b&gt;<i>&amp;</i></p>'


def test_elements_without_content_have_no_end():
    assert tag("input", type="checkbox", checked=True, disabled=False) == (
        '<input type="checkbox" checked>'
    )


@given(st.text())
def test_no_text_becomes_markup(text):
    inside = tag("p", text).removeprefix("<p>").removesuffix("</p>")
    assert not set(inside) & set("<>\"'")


@given(st.text(alphabet=st.characters(blacklist_categories=[])))
def test_json_in_a_script_cannot_end_it_and_is_the_same_json(text):
    written = script_json({"text": text})
    assert not set(written) & set("<>&\u2028\u2029")
    written.encode("utf-8")
    assert json.loads(written) == {"text": text}


def test_json_knows_no_nan():
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_json([float("nan")])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.5, "\u22120.5"),
        (12345.678, "12,346"),
        (0.00012345, "0.000123"),
        (1.5e-7, "1.50·10⁻⁷"),
        (2e12, "2.00·10¹²"),
        (float("nan"), "\u2013"),
        (None, "\u2013"),
    ],
)
def test_numbers_have_few_digits(value, text):
    assert number(value) == text


def test_what_is_not_known_is_a_dash():
    assert percent(None) == fixed(None, 2) == "\u2013"
    assert isinstance(tag("p"), Html)
