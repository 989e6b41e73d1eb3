"""Whatever a text holds, the page shows it."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdgm.report.formats import fixed, number, percent, plus_minus
from sdgm.report.templates import environment


def made(template, **values):
    return environment().from_string(template).render(**values)


def test_texts_and_attributes_are_escaped_and_markup_is_not():
    parts = "{% from 'parts.html.j2' import class_label %}"
    html = made(parts + '<p title="{{ a }}">{{ b }}</p>', a='"onmouseover="x', b="<b>")
    assert html == '<p title="&#34;onmouseover=&#34;x">&lt;b&gt;</p>'
    html = made(parts + "{{ class_label(0, name) }}", name="</script>&")
    assert html.startswith('<span class="class-label"><svg ')
    assert html.endswith("</svg>&lt;/script&gt;&amp;</span>")


@given(st.text())
def test_no_text_becomes_markup(text):
    for template in ("{{ text }}", "{{ text|shown }}", "{{ [text]|listed }}"):
        assert not set(made(template, text=text)) & set("<>\"'")


def test_what_a_template_misses_is_an_error():
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError, match="'nothing' is undefined"):
        made("{{ nothing }}")


@given(st.text(alphabet=st.characters(blacklist_categories=[])))
def test_json_in_a_script_cannot_end_it_and_is_the_same_json(text):
    written = made("{{ data|tojson }}", data={"text": text})
    assert not set(written) & set("<>&\u2028\u2029")
    written.encode("utf-8")
    assert json.loads(written) == {"text": text}


def test_json_knows_no_nan():
    with pytest.raises(ValueError, match="not JSON compliant"):
        made("{{ data|tojson }}", data=[float("nan")])


def test_without_jinja_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    environment.cache_clear()
    with pytest.raises(ImportError, match=r'pip install "sdgm\[report\]"'):
        environment()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.5, "\u22120.5"),
        (12345.678, "12,346"),
        (0.00012345, "0.000123"),
        (1.5e-7, "1.50·10⁻⁷"),
        (-1.5e-7, "\u22121.50·10⁻⁷"),
        (2e12, "2.00·10¹²"),
        (9.9999e9, "1.00·10¹⁰"),
        (9.9999e-5, "0.0001"),
        (999.7, "1,000"),
        (float("nan"), "\u2013"),
        (None, "\u2013"),
    ],
)
def test_numbers_have_few_digits(value, text):
    assert number(value) == text


def test_what_is_not_known_is_a_dash():
    assert percent(None) == fixed(None, 2) == "\u2013"


@pytest.mark.parametrize(
    ("weight", "std", "text"),
    [
        (-1.234567, 0.2, "\u22121.23 ± 0.20"),
        (12.3, None, "12.3"),
        (12.3, 0.0, "12.3"),
        (3e7, 2e6, "30,000,000 ± 2,000,000"),
        (1e-9, 1e-10, "1.00·10⁻⁹ ± 1.0·10⁻¹⁰"),
    ],
)
def test_deviations_have_two_digits_and_weights_as_many(weight, std, text):
    assert plus_minus(weight, std) == text
