"""Modules of JavaScript in Node and in a browser, against Python."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from sklearn.datasets import load_iris

from sdgm import SDGMClassifier
from sdgm.export.javascript import script, to_javascript
from sdgm.report import report_html
from sdgm.tables.inputs import Category, Number
from tests.export.test_c import (
    CASES,
    HOSTILE,
    N_ROWS,
    make_cases,
    probabilities,
    quadratic,
)

NODE = shutil.which("node")
if NODE is None:
    pytest.skip("node is not installed", allow_module_level=True)

NAMES = (
    *HOSTILE,
    "</script><script>window.harmed = 1</script>",
    "<!--<script>",
    "'; window.harmed = 1; '",
    '"}]}; window.harmed = 1; //',
    "`${window.harmed = 1}`",
    "a\u2028window.harmed = 1\u2029",
    "null \0 character",
    "two\nlines\r*/",
    "__proto__",
    "constructor",
)

# every module is asked about its rows: probabilities, labels, and what it knows of itself
ASK = """
import { readFileSync, writeFileSync } from "node:fs";
const answers = {};
for (const name of JSON.parse(process.argv[2])) {
  const m = await import(`./${name}.mjs`);
  const rows = JSON.parse(readFileSync(`${name}.json`, "utf8"));
  const P = [];
  for (const row of rows) P.push(...m.predictProba(row));
  writeFileSync(`${name}.out`, new Uint8Array(new Float64Array(P).buffer));
  answers[name] = { classes: m.classes, inputs: m.inputs, labels: rows.map(m.predict) };
}
console.log(JSON.stringify(answers));
"""


def as_values(model, rows):
    """Rows as JSON: levels by their names, missing values as null."""

    def value(column, each):
        if isinstance(column, Category):
            codes = [*column.levels, None]
            return codes[int(each)] if each >= 0 else "none of the levels"
        return None if np.isnan(each) else float(each)

    return [[value(c, v) for c, v in zip(model.inputs, row, strict=True)] for row in rows.tolist()]


def asked(folder, models):
    """What node says of models with rows."""
    (folder / "ask.mjs").write_text(ASK)
    for name, (model, rows) in models.items():
        to_javascript(model, folder / f"{name}.mjs")
        (folder / f"{name}.json").write_text(json.dumps(as_values(model, rows)))
    done = subprocess.run(
        [NODE, "ask.mjs", json.dumps(list(models))], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0 and not done.stderr, done.stderr[:5000]
    answers = json.loads(done.stdout)
    for name, (model, _) in models.items():
        answers[name]["P"] = np.fromfile(folder / f"{name}.out").reshape(-1, len(model.classes))
    return answers


@pytest.fixture(scope="module")
def cases():
    return make_cases()


@pytest.fixture(scope="module")
def answers(cases, tmp_path_factory):
    models = {
        f"m{i}": (case.model, np.concatenate([case.rows, case.extreme]))
        for i, case in enumerate(cases.values())
    }
    return dict(zip(cases, asked(tmp_path_factory.mktemp("js"), models).values(), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_probabilities_equal_those_of_python(cases, answers, name):
    case, answer = cases[name], answers[name]
    expected = probabilities(case.model, np.concatenate([case.rows, case.extreme]))
    assert len(expected) == N_ROWS + 200
    np.testing.assert_allclose(answer["P"], expected, rtol=0.0, atol=1e-12)
    classes = case.model.classes.tolist()
    assert answer["classes"] == classes
    assert answer["labels"] == [classes[c] for c in answer["P"].argmax(axis=1)]
    assert [each["name"] for each in answer["inputs"]] == [each.name for each in case.model.inputs]


def hostile_model():
    """Every name of classes, inputs and levels is one that would break out if it could."""
    D = len(NAMES)
    inputs = (*map(Number, NAMES), Category("kind </script>", NAMES))
    return quadratic(2 * D, (1,) * D, 3, inputs=inputs, classes=NAMES, density=0.05)


def test_the_module_is_ascii_on_one_line_for_its_data_and_closes_no_tag():
    text = to_javascript(hostile_model())
    data = text.removesuffix(script("model.js") + script("module.js"))
    assert data.isascii() and not re.search("[<>&\0\r]", data)
    assert data.count("\n") == 3  # the comment, the data, an empty line


def test_hostile_names_are_only_names(tmp_path):
    model = hostile_model()
    rows = np.random.default_rng(0).normal(size=(20, len(model.inputs)))
    rows[:, -1] = np.arange(20) % (len(NAMES) + 1)
    answer = asked(tmp_path, {"hostile": (model, rows)})["hostile"]
    np.testing.assert_allclose(answer["P"], probabilities(model, rows), rtol=0.0, atol=1e-12)
    assert answer["classes"] == list(NAMES)
    assert answer["inputs"][-1]["levels"] == list(NAMES)


def said(folder, model, code):
    """What a piece of code prints that knows the module as m."""
    to_javascript(model, folder / "model.mjs")
    program = f'const m = await import("./model.mjs");\nconsole.log({code});'
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", program], cwd=folder, capture_output=True, text=True
    )
    return done.stdout.strip() if done.returncode == 0 else done.stderr


IRIS = load_iris()


def test_rows_may_be_objects_by_the_names_of_inputs(tmp_path):
    model = hostile_model()
    rows = np.random.default_rng(0).normal(size=(1, len(model.inputs)))
    rows[0, -1] = 4
    values = json.dumps(as_values(model, rows)[0])
    by_name = f"Object.fromEntries(m.inputs.map((each, i) => [each.name, {values}[i]]))"
    assert said(tmp_path, model, f"m.predict({by_name})") == said(
        tmp_path, model, f"m.predict({values})"
    )
    # what an object has by birth is no value
    assert 'TypeError: "__proto__" must be a finite number' in said(
        tmp_path, quadratic(1, (1, 1), 1, inputs=(Number("__proto__"),)), "m.predict({})"
    )


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ("[1, 2, 3]", "RangeError: a row must have 4 values; got 3."),
        ("null", "TypeError: a row must be an array or an object; got null."),
        ("undefined", "TypeError: a row must be an array or an object; got undefined."),
        ("7", "TypeError: a row must be an array or an object; got 7."),
        ("new Float32Array(3)", "RangeError: a row must have 4 values; got 3."),
        ('[1, 2, 3, "4"]', 'TypeError: "x4" must be a finite number; got string.'),
        ("[1, 2, 3, Infinity]", 'TypeError: "x4" must be a finite number; got Infinity.'),
        ("[1, 2, NaN, 4]", 'TypeError: "x3" must be a finite number; got a missing value.'),
        ("{x1: 1, x2: 2, x3: 3}", 'TypeError: "x4" must be a finite number; got a missing value.'),
    ],
)
def test_what_an_input_does_not_take_is_an_error(tmp_path, row, error):
    model = SDGMClassifier(1, teacher=None).fit(IRIS.data, IRIS.target)
    assert error in said(tmp_path, model, f"m.predictProba({row})")


def test_rows_may_be_arrays_of_numbers_of_one_type(tmp_path):
    model = SDGMClassifier(1, teacher=None).fit(IRIS.data, IRIS.target)
    row = "[5.5, 3.25, 1.5, 0.25]"
    plain = said(tmp_path, model, f"m.predictProba({row})")
    for kind in "Float32Array", "Float64Array":
        assert said(tmp_path, model, f"m.predictProba(new {kind}({row}))") == plain


def test_types_are_written_beside_the_module(tmp_path):
    model = SDGMClassifier(1, teacher=None).fit(IRIS.data, IRIS.target)
    for name, types in ("a.js", "a.d.ts"), ("b.mjs", "b.d.mts"):
        text = to_javascript(model, tmp_path / name)
        assert (tmp_path / name).read_text() == text
        assert (tmp_path / types).read_text() == script("module.d.ts")
    for name in re.findall(r"export (?:const|function) (\w+)", text):
        assert re.search(rf"export declare (const|function) {name}\b", script("module.d.ts"))
    with pytest.raises(ValueError, match=r"does not end in \.js or \.mjs"):
        to_javascript(model, tmp_path / "model.txt")


def test_labels_that_javascript_does_not_hold_are_words():
    X, y = IRIS.data[:100], np.array([2**60, 1])[IRIS.target[:100]]
    model = SDGMClassifier(1, teacher=None).fit(X, y)
    assert f'"classes":[1,"{2**60}"]' in to_javascript(model)


def test_the_report_computes_with_the_same_script():
    pytest.importorskip("jinja2")
    assert script("model.js") in report_html(
        SDGMClassifier(1, teacher=None).fit(IRIS.data, IRIS.target)
    )


@pytest.fixture(scope="module")
def page():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser.new_page()
        browser.close()


def test_a_module_inside_of_a_page_computes_and_runs_nothing_else(page):
    model, troubles = hostile_model(), []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text))
    ending = "\nwindow.model = { predictProba, classes };\n"
    text = to_javascript(model) + ending
    page.set_content(f'<!doctype html><script type="module">{text}</script><p>after</p>')
    page.wait_for_function("window.model")
    rows = np.random.default_rng(1).normal(size=(20, len(model.inputs)))
    rows[:, -1] = np.arange(20) % (len(NAMES) + 1)
    P = page.evaluate("rows => rows.map(window.model.predictProba)", as_values(model, rows))
    np.testing.assert_allclose(P, probabilities(model, rows), rtol=0.0, atol=1e-12)
    assert page.evaluate("window.harmed") is None
    assert page.evaluate("[...document.body.children].map(each => each.tagName)") == ["P"]
    assert page.evaluate("document.scripts.length") == 1
    # a lone half of a surrogate pair does not come through the protocol
    shown = page.evaluate("window.model.classes.map(each => JSON.stringify(each))")
    assert [json.loads(each) for each in shown] == list(NAMES)
    assert troubles == []
