"""A model at a glance, in a fragment that stands alone."""

from sklearn.base import BaseEstimator

from sdgm.report import summary, summary_html
from tests.report.models import HOSTILE_CLASS, hostile_table, ripley_model
from tests.report.test_page import Page


def test_a_summary_is_a_closed_fragment_with_classes_modes_and_terms():
    model, _ = ripley_model()
    html = summary(model)._repr_html_()
    page = Page(html)
    assert page.open == []
    assert html.startswith('<div class="sdgm-summary">')
    assert "KernelSDGMClassifier" in page.shown
    assert f"kept {model.n_active_weights_}" in page.shown
    assert "1 of 2" in page.shown
    assert len(html) < 10_000


def test_hostile_names_stay_text():
    page = Page(summary_html(hostile_table()[0]))
    assert HOSTILE_CLASS in page.shown
    assert "script" not in {tag for tag, _ in page.elements}


def test_as_text_it_is_the_model_in_words():
    model, _ = ripley_model()
    assert "class" in repr(summary(model))


def test_the_estimators_keep_scikit_learns_diagram():
    model, _ = ripley_model()
    assert type(model)._repr_mimebundle_ is BaseEstimator._repr_mimebundle_
