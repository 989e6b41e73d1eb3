"""Charts that can be drawn whatever the values."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdgm.report.charts import Chart, Scale, spanning

values = st.lists(st.floats(-1e30, 1e30, allow_subnormal=False), min_size=1, max_size=20)


@given(values)
def test_a_scale_over_values_holds_them_all_and_has_ticks(numbers):
    scale = spanning(numbers)
    places = scale(numbers)
    assert ((places >= 0.0) & (places <= 1.0)).all()
    ticks = scale.ticks(4)
    assert 1 <= len(ticks) <= 60
    slack = 1e-6 * (scale.high - scale.low)
    assert all(scale.low - slack <= tick <= scale.high + slack for tick in ticks)


@given(st.lists(st.floats(1e-30, 1e30), min_size=1, max_size=20))
def test_a_logarithmic_scale_holds_positive_values(numbers):
    scale = spanning(numbers, log=True)
    places = scale(numbers)
    assert ((places >= 0.0) & (places <= 1.0)).all()


def test_a_line_has_a_gap_where_a_value_is_missing():
    chart = Chart("title", "words", Scale(0.0, 3.0), Scale(0.0, 1.0))
    chart.line([0.0, 1.0, 2.0, 3.0], [0.0, math.nan, 0.5, 1.0], "main")
    assert chart.marks[0].attributes["d"].count("M") == 2


def test_a_chart_can_be_read_without_being_seen():
    chart = Chart("Weights & more", "from 9 to 2", Scale(1.0, 3.0), Scale(0.0, 10.0))
    chart.dots(np.array([1.0, 2.0]), np.array([9.0, 2.0]), "c0")
    svg = chart.svg()
    assert 'role="img"' in svg
    assert "<title>Weights &amp; more</title>" in svg
    assert svg.count("h0") == 2


@pytest.mark.parametrize("cursor", [True, False])
def test_only_charts_of_the_film_have_a_cursor(cursor):
    svg = Chart("title", "words", Scale(1.0, 3.0), Scale(0.0, 1.0)).svg(cursor=cursor)
    assert ('class="cursor"' in svg) is cursor
