"""The page in a real browser: it draws, it plays, it computes what Python computes."""

import shutil

import numpy as np
import pytest

from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.export.model import exportable
from sdgm.report import report_html
from tests.report.models import hostile_table, ripley_model, wine_model
from tests.tables.other_parts import with_parts

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("chromium is not installed", allow_module_level=True)


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Opens reports; afterwards nothing may have been said, asked or fetched."""
    troubles, contexts = [], []

    def opened(html, *, color_scheme="light", width=1200):
        path = tmp_path / f"{len(contexts)}.html"
        path.write_text(html, encoding="utf-8")
        context = browser.new_context(
            color_scheme=color_scheme, viewport={"width": width, "height": 900}
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (troubles.append("dialog"), dialog.dismiss()))

        def guarded(route):
            if route.request.url != path.as_uri():
                troubles.append(f"request: {route.request.url}")
                route.abort()
            else:
                route.continue_()

        context.route("**/*", guarded)
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture(scope="module")
def ripley():
    """The model, its rows and its report, with a film."""
    model, rows = ripley_model()
    return model, rows, report_html(model, X=rows["X"], y=rows["y"])


def picture(page):
    return page.evaluate("document.getElementById('film-canvas').toDataURL()")


def answers(page):
    cells = page.locator(".answers td.number").all()
    return np.array([float(cell.get_attribute("data-value")) for cell in cells])


def set_fields(page, values):
    """Numbers into their fields, as text that is read back to the same number."""
    for i, value in enumerate(values):
        page.fill(f"#try-{i}", repr(float(value)))


def test_the_slider_moves_the_film(opened, ripley):
    model, _, html = ripley
    page = opened(html)
    last, caption = picture(page), page.text_content("#film-caption")
    assert caption.startswith(f"Iteration {model.n_iter_} of {model.n_iter_}: ")
    cursor = page.get_attribute(".chart .cursor >> nth=0", "x1")
    page.focus("#film-slider")
    page.keyboard.press("Home")
    assert page.text_content("#film-caption").startswith("Iteration 1 of")
    assert picture(page) != last
    assert page.get_attribute(".chart .cursor >> nth=0", "x1") != cursor
    page.keyboard.press("End")
    assert picture(page) == last
    page.uncheck("[data-layer=rows]")
    assert picture(page) != last


def test_the_film_plays_and_pauses(opened, ripley):
    _, _, html = ripley
    page = opened(html)
    # read at once: on a busy machine the film is further on when a second call comes
    started = page.evaluate("""() => {
        const button = document.getElementById("film-play");
        button.click();
        return [button.textContent, document.getElementById("film-slider").value];
    }""")
    assert started == ["Pause", "0"]
    page.wait_for_function("() => document.getElementById('film-slider').value >= 3")
    page.click("#film-play")
    assert page.text_content("#film-play") == "Play"
    stopped = page.input_value("#film-slider")
    page.wait_for_timeout(400)
    assert page.input_value("#film-slider") == stopped


MODELS = {
    "dual, quadratic": KernelSDGMClassifier(3, random_state=0, teacher=None),
    "dual, cubic": KernelSDGMClassifier(1, degree=3, random_state=0, teacher=None),
    "dual, rbf": KernelSDGMClassifier(2, kernel="rbf", random_state=0, teacher=None),
    "dual, linear": KernelSDGMClassifier(1, kernel="linear", random_state=0, teacher=None),
    "primal, full": SDGMClassifier(2, random_state=0, teacher=None),
    "primal, spherical": SDGMClassifier(
        2, covariance_type="spherical", random_state=0, teacher=None
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_row_that_is_tried_has_the_probabilities_of_python(opened, ripley, name):
    rows = ripley[1]
    model = MODELS[name].fit(rows["X"], rows["y"])
    page = opened(report_html(model))
    for row in np.vstack([rows["X_test"][:4], [[1e300, -1e300], [0.1, 1e-320]]]):
        set_fields(page, row)
        P = np.exp(exportable(model).model.log_proba(row[None]))[0]
        np.testing.assert_allclose(answers(page), P, rtol=0, atol=1e-12)


def test_many_inputs_and_classes_have_the_probabilities_of_python(opened):
    model, rows = wine_model()
    page = opened(report_html(model, **rows))
    page.click("#try details summary")
    for row in rows["X"].to_numpy()[::60]:
        set_fields(page, row)
        P = np.exp(exportable(model).model.log_proba(row[None]))[0]
        np.testing.assert_allclose(answers(page), P, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dual", [False, True], ids=["primal", "dual"])
def test_hostile_tables_are_shown_and_categories_and_missing_values_are_computed(opened, dual):
    model, _ = hostile_table(dual=dual)
    page = opened(report_html(model))
    plain = exportable(model)

    def expected(age, dose, code):
        parts = [
            each.encoded(np.array([value]))
            for each, value in zip(model.inputs, (age, dose, code), strict=True)
        ]
        return np.exp(plain.model.log_proba(np.hstack(parts)))[0]

    page.fill("#try-0", "31.5")
    page.fill("#try-1", "-1.25")
    for code in (0, 1, 2, -1):
        page.select_option("#try-2", str(code))
        np.testing.assert_allclose(answers(page), expected(31.5, -1.25, code), rtol=0, atol=1e-12)
    page.check("#try-0-missing")
    np.testing.assert_allclose(answers(page), expected(np.nan, -1.25, -1), rtol=0, atol=1e-12)
    for each in page.locator("label, th, select").all():  # nothing may wake up when pointed at
        if each.is_visible():
            each.dispatch_event("mouseover")
    page.fill("#try-1", "")  # training saw no missing value there
    assert "a number is needed" in page.text_content(".wrongly")
    assert page.locator(".answers td.number").first.text_content() == "\u2013"


def test_a_click_into_the_plane_tries_the_row_there(opened, ripley):
    model, rows, html = ripley
    page = opened(html)
    page.locator("#film-canvas").click(position={"x": 200, "y": 150})
    row = np.array([[float(page.input_value(f"#try-{i}")) for i in range(2)]])
    low, high = rows["X"].min(axis=0), rows["X"].max(axis=0)
    assert ((row > low - 0.2) & (row < high + 0.2)).all()
    np.testing.assert_allclose(answers(page), model.predict_proba(row)[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("dual", [False, True], ids=["primal", "dual"])
def test_on_a_narrow_page_captions_and_scores_are_in_view(opened, dual):
    model, _ = hostile_table(dual=dual)
    named = {"name": "logistic regression", "error": 0.6, "log_loss": 1.0, "brier": 0.6}
    record = model.record | {"baselines": [named]}
    page = opened(report_html(with_parts(model, record=record)), width=400)
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    ends = """name => [...document.querySelectorAll(name)].map(
        each => each.getBoundingClientRect().right)"""
    captions = page.evaluate(ends, ".caption")
    assert len(captions) == 3 if dual else 2
    assert max(captions) <= 400
    assert max(page.evaluate(ends, ".scores th, .scores td")) <= 400


def test_dark_print_and_narrow_pages_are_drawn(opened, ripley):
    _, _, html = ripley
    page = opened(html, color_scheme="dark", width=400)
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(23, 24, 26)"
    dark = picture(page)
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    page.emulate_media(color_scheme="light")
    assert page.evaluate(ground) == "rgb(253, 252, 249)"
    page.wait_for_function(
        "was => document.getElementById('film-canvas').toDataURL() !== was", arg=dark
    )
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    assert not page.is_visible("#try")
    assert page.is_visible("#film-canvas")


CONFUSION = '[aria-label="confusion matrix"]'


@pytest.mark.parametrize("n_classes", [3, 8, 26])
@pytest.mark.parametrize("name", ["{}", "a class with a long name, number {}"])
def test_the_confusion_table_needs_no_scroll_bar(opened, n_classes, name):
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(n_classes), 12)
    X = rng.normal(size=(len(codes), 2)) * 0.3 + np.stack([codes % 6, codes // 6], axis=1)
    y = np.array([name.format(chr(ord("A") + c)) for c in codes])
    model = SDGMClassifier(1, covariance_type="spherical", random_state=0).fit(X, y)
    counts = rng.integers(20_000, size=(n_classes, n_classes))
    held_out = {
        "rows": int(counts.sum()),
        "error": 0.5,
        "log_loss": 1.0,
        "brier": 0.5,
        "confusion": counts.tolist(),
        "reliability": [{"confidence": 0.6, "accuracy": 0.5, "count": 20}],
    }
    page = opened(report_html(model, held_out=held_out), width=1100)
    box = page.locator(CONFUSION)
    assert box.count() == 1
    assert box.evaluate("each => each.scrollWidth <= each.clientWidth")
    # and no count is wider than its cell
    assert page.locator(f"{CONFUSION} td").evaluate_all(
        "cells => cells.every(each => each.scrollWidth <= each.clientWidth)"
    )
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
