"""One file, nothing to fetch, every text shown and none run, no section without content."""

import json
import re
import stat
from copy import copy
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.export.javascript import script as script_of_model
from sdgm.report import report_html, write_report
from sdgm.report.page import SCRIPTS
from sdgm.report.templates import asset, digest, environment
from sdgm.tables import evaluate_classifier
from tests.fitted import set_history
from tests.report.models import (
    HOSTILE_CLASS,
    HOSTILE_COLUMN,
    HOSTILE_LEVEL,
    hostile_table,
    ripley_model,
    wine_model,
)
from tests.tables.other_parts import with_parts

VOID = {"meta", "input", "br", "col"}


class Page(HTMLParser):
    """Elements of a page, their texts, and whether all that was opened is closed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.texts, self.ids = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        assert len(attributes) == len(attrs), f"repeated attribute in {tag}"
        self.elements.append((tag, attributes))
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    @property
    def shown(self):
        return " ".join(text for tag, text in self.texts if tag not in {"style", "script"})

    @property
    def data(self):
        return json.loads(max((t for tag, t in self.texts if tag == "script"), key=is_json))


def is_json(text):
    return text.startswith("{")


@pytest.fixture(scope="module")
def ripley():
    model, rows = ripley_model()
    return report_html(model, title="Ripley's <problem>", **rows)


@pytest.fixture(scope="module")
def table():
    model, _ = hostile_table()
    return report_html(model)


@pytest.fixture(scope="module")
def wine():
    model, rows = wine_model()
    return report_html(model, **rows)


@pytest.fixture(params=["ripley", "table", "wine"])
def html(request):
    return request.getfixturevalue(request.param)


def test_a_page_is_well_formed_and_names_are_unique(html):
    page = Page(html)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))


def test_a_page_needs_nothing_from_elsewhere(html):
    for tag, attributes in Page(html).elements:
        assert tag not in {"link", "img", "iframe", "object", "base", "form"}
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")
        assert "style" not in attributes  # the policy forbids it
        assert not any(name.startswith("on") for name in attributes)
    without_svg = html.replace("http://www.w3.org/2000/svg", "")
    assert "http://" not in without_svg
    assert "https://" not in without_svg


def test_only_our_own_style_and_script_may_run(html):
    policy = next(a["content"] for t, a in Page(html).elements if "http-equiv" in a)
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    scripts = [text for tag, text in Page(html).texts if tag == "script" and not is_json(text)]
    styles = [text for tag, text in Page(html).texts if tag == "style"]
    assert len(scripts) == len(styles) == 1
    assert f"script-src '{digest(scripts[0])}'" in policy
    assert f"style-src '{digest(styles[0])}'" in policy


def test_data_never_becomes_markup_in_the_script():
    for script in (script_of_model("model.js"), *map(asset, SCRIPTS)):
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "eval(",
            "fetch(",
        ):
            assert word not in script


def test_sections_are_numbered_in_order_and_linked(ripley):
    page = Page(ripley)
    keys = [a["id"] for t, a in page.elements if t == "section"]
    assert keys == [
        "learned", "training", "sparsity", "held-out", "deciding", "rows", "try", "made",
    ]  # fmt: skip
    assert [a["href"] for t, a in page.elements if t == "a"] == [f"#{key}" for key in keys]


def test_sections_without_content_are_left_out():
    X, y = np.array([[0.0], [0.1], [1.0], [1.1]] * 5), np.array([0, 0, 1, 1] * 5)
    model = SDGMClassifier(1, teacher=None).fit(X, y)
    set_history(model, [])
    keys = {a["id"] for t, a in Page(report_html(model)).elements if t == "section"}
    assert keys == {"learned", "sparsity", "try", "made"}


def test_pictures_have_words_for_those_who_do_not_see_them(html):
    for tag, attributes in Page(html).elements:
        if tag in {"svg", "canvas"}:
            assert attributes.get("aria-hidden") == "true" or attributes.get("aria-label")
        if tag == "input":
            assert attributes.get("aria-label") or attributes["type"] == "checkbox"


def test_hostile_names_are_shown_and_not_run(table):
    page = Page(table)
    for name in (HOSTILE_CLASS, HOSTILE_COLUMN.strip(), HOSTILE_LEVEL, "<b>differ</b>"):
        assert name[:40] in page.shown
    assert "age\\nin years" in page.shown
    assert [t for t, _ in page.elements].count("script") == 2
    assert not {"b", "i", "img"} & {t for t, _ in page.elements}
    assert "x" * 200 not in table  # a name of 10,000 letters is cut
    assert page.data["classes"][0] == HOSTILE_CLASS
    assert page.data["model"]["inputs"][2]["levels"][0] == HOSTILE_LEVEL


def test_a_title_is_escaped(ripley):
    assert "<title>Ripley&#39;s &lt;problem&gt;</title>" in ripley


def test_the_paragraph_says_what_the_record_knows(table):
    shown = Page(table).shown
    assert "3 classes of out<come>" in shown
    said = "On 60 rows held out from the fit, its error is 25.0% (majority <class>: 60.0%)."
    assert said in shown


def test_numbers_of_the_model_are_all_there(wine):
    model, _ = wine_model()
    shown = Page(wine).shown
    for term in model.terms_:
        assert term in shown
    data = Page(wine).data["model"]
    assert np.array_equal(data["coef"], model.coef_)
    assert np.array_equal(data["center"], model.model_.scaler.center)


def test_relevance_vectors_are_listed(ripley):
    model, _ = ripley_model()
    shown = Page(ripley).shown
    for row in model.relevance_:
        assert f"(row {row})" in shown
    assert "training rows that the model stores, counted from 0" in shown


def test_relevance_vectors_of_a_table_have_its_rows():
    model, _ = hostile_table(dual=True)
    rows = list(range(1001, 1001 + len(model.classifier.relevance_)))
    known = with_parts(model, record=model.record | {"relevance_rows": rows})
    shown = Page(report_html(known)).shown
    assert "v1 (row 1,001)" in shown
    assert "rows of the table that the model stores, counted from 1" in shown


def test_weights_that_the_curves_do_not_show_are_told():
    model, rows = wine_model()
    first = model.history_[0].n_weights
    assert first < model.n_initial_weights_
    shown = Page(report_html(model, **rows)).shown
    assert f"which left {first} of the {model.n_initial_weights_:,} weights" in shown


def test_columns_without_a_note_have_none(table):
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", table)
    assert "&#39;&#39;" not in cells


def test_no_colour_is_called_dark_since_the_page_may_be(html):
    assert "darker" not in Page(html).shown


def test_a_film_without_curves_is_left_out():
    model, _ = hostile_table()
    classifier = copy(model.classifier)
    set_history(classifier, [])
    assert Page(report_html(with_parts(model, classifier=classifier))).data["film"] is None


def test_what_was_handed_over_replaces_the_record_and_its_baselines():
    model, _ = hostile_table()
    other = model.record["held_out"] | {"rows": 77, "error": 0.5}
    shown = Page(report_html(model, held_out=other)).shown
    assert "On 77 rows" in shown
    assert "majority" not in shown


def test_a_story_that_does_not_fit_is_left_out():
    model, _ = hostile_table()
    torn = with_parts(model, story=model.story | {"view": model.story["view"][:5]})
    assert Page(report_html(torn)).data["film"] is None


def test_arrays_of_a_story_can_be_wider_than_ours_or_unknown():
    model, _ = hostile_table()
    story = {
        name: a.astype(np.int64) if a.dtype.kind == "i" else a for name, a in model.story.items()
    }
    film = Page(report_html(with_parts(model, story=story | {"other": np.arange(3)}))).data["film"]
    assert film == Page(report_html(model)).data["film"]


@pytest.mark.parametrize("dual", [False, True], ids=["primal", "dual"])
def test_a_model_from_a_file_has_the_same_page(tmp_path, dual):
    pytest.importorskip("safetensors")
    from sdgm.persistence import load, save

    model, _ = hostile_table(dual=dual)
    save(model, tmp_path / "model.sdgm")
    assert report_html(load(tmp_path / "model.sdgm")) == report_html(model)


def test_columns_keep_their_names_where_probabilities_are_averaged():
    X, y = wine_model()[1].values()
    model = SDGMClassifier(
        1, record_states=True, predictive="averaged", random_state=0, teacher=None
    ).fit(X, y)
    shown = Page(report_html(model, X=X, y=y, X_test=X, y_test=y)).shown
    assert "proline by alcohol" in shown
    assert " x1 " not in shown


def test_a_kernel_of_the_users_own_has_no_panel_to_try_rows():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    X[y == 1] += 2.0
    model = KernelSDGMClassifier(
        1, kernel=lambda A, B: A @ B.T, record_states=True, teacher=None
    ).fit(X, y)
    page = Page(report_html(model, X=X, y=y))
    assert page.data["model"] is None
    assert "try" not in page.ids


def test_pages_are_small(ripley, table, wine):
    assert len(ripley.encode()) < 500_000
    assert len(wine.encode()) < 300_000
    assert len(table.encode()) < 300_000


def test_dozens_of_classes_and_inputs_fit_on_a_page():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 20)), np.arange(600) % 24
    X[np.arange(600), y % 20] += 4.0
    model = SDGMClassifier(1, covariance_type="tied", max_iter=4, record_states=True, teacher=None)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    html = report_html(model, X=X, y=y, X_test=X, y_test=y)
    assert Page(html).open == []
    assert len(html.encode()) < 1_000_000


def test_a_file_is_written_whole_with_the_permissions_of_others(tmp_path):
    model, _ = wine_model()
    (tmp_path / "plain").touch()
    path = write_report(model, tmp_path / "wine.html")
    assert path.read_text(encoding="utf-8").endswith("</html>\n")
    assert [each.name for each in sorted(tmp_path.iterdir())] == ["plain", "wine.html"]
    mode = stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_places_that_cannot_be_written_to_are_named(tmp_path):
    model, _ = wine_model()
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        write_report(model, tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_report(model, tmp_path / "nowhere" / "wine.html")


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match="cannot be described or exported"):
        report_html(object())
    with pytest.raises(TypeError, match="data needs a model fitted to a table"):
        report_html(wine_model()[0], data="wine.csv")


def test_the_summary_of_held_out_rows_counts_every_row():
    model, rows = ripley_model()
    summary = evaluate_classifier(model, rows["X_test"], rows["y_test"]).as_dict()
    assert np.sum(summary["confusion"]) == summary["rows"] == 1000
    assert sum(each["count"] for each in summary["reliability"]) == 1000
    wrong = 1.0 - np.trace(summary["confusion"]) / 1000
    assert summary["error"] == pytest.approx(wrong)
    assert all(row["label"] != row["predicted"] for row in summary["surprising"])
    sure = [row["probability"] for row in summary["uncertain"]]
    assert sure == sorted(sure)
    json.dumps(summary, allow_nan=False)


def test_labels_that_the_model_does_not_know_are_named():
    model, rows = ripley_model()
    with pytest.raises(ValueError, match="the label 7, which the model does not know"):
        evaluate_classifier(model, rows["X"][:2], [0, 7])


def test_a_page_with_a_policy_has_no_inline_styles():
    for name in environment().list_templates():
        assert not re.search(r"style=", environment().loader.get_source(environment(), name)[0])


def test_thousands_of_weights_do_not_make_a_large_page():
    X = np.random.default_rng(0).normal(size=(400, 2))
    y = (X[:, 0] > 0).astype(int) + 2 * (X[:, 1] > 0)
    model = KernelSDGMClassifier(1, kernel="rbf", gamma=5.0, prior="ridge", alpha=1.0).fit(X, y)
    assert model.n_active_weights_ > 1_000
    html = report_html(model, X=X, y=y)
    assert html.count("which <code>sdgm inspect --all</code> lists") == 4
    squares = re.search(r'<svg[^>]*class="squares.*?</svg>', html, re.DOTALL)
    assert squares and squares[0].count("M") < 2_500
