"""Plain Python against the library: the same probabilities, from a file that needs `math` alone."""

import ast

import numpy as np
import pytest
from sklearn.datasets import load_iris

from sdgm import SDGMClassifier
from sdgm.export.python import to_python
from sdgm.tables.inputs import Category, Number
from tests.export.test_c import CASES, make_cases, probabilities, quadratic, single_precision
from tests.export.test_javascript import NAMES, as_values, hostile_model


@pytest.fixture(scope="module")
def cases():
    return make_cases()


def loaded(text):
    namespace = {}
    exec(text, namespace)
    return namespace


@pytest.mark.parametrize("name", CASES)
def test_probabilities_equal_those_of_the_library(cases, name):
    case = cases[name]
    rows = np.concatenate([case.rows[:200], case.extreme])
    text = to_python(case.model)
    assert text.isascii()
    P = np.array([loaded(text)["predict_proba"](row) for row in as_values(case.model, rows)])
    np.testing.assert_allclose(P, probabilities(case.model, rows), rtol=0.0, atol=1e-12)


def test_only_math_is_imported_and_names_are_only_names():
    text = to_python(hostile_model())
    imports = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Import)]
    froms = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.ImportFrom)]
    assert not imports and [each.module for each in froms] == ["math"]
    made = loaded(text)
    assert made["CLASSES"] == NAMES
    assert [each[0] for each in made["INPUTS"]][:-1] == list(NAMES)


NO_NUMBERS = (None, np.nan, np.float32(np.nan), np.inf, -np.inf, "0.2", b"0.2", [0.2], 1j, 10**400)


@pytest.mark.parametrize("bad", NO_NUMBERS, ids=repr)
def test_what_a_number_does_not_take_is_refused(bad):
    pytest.importorskip("pandas")
    iris = load_iris(as_frame=True)
    made = loaded(to_python(SDGMClassifier(1, teacher=None).fit(iris.data, iris.target)))
    with pytest.raises(ValueError, match=r"petal width \(cm\) must be a finite number"):
        made["predict_proba"]([5.1, 3.5, 1.4, bad])


@pytest.mark.parametrize("bad", [1, 1.0, True, ["a"]])
def test_what_a_category_does_not_take_is_refused(bad):
    inputs = (Number("size"), Category("colour", ("a", "b")))
    made = loaded(to_python(quadratic(3, (1, 1), 1, inputs=inputs)))
    assert sum(made["predict_proba"]([0.5, "neither"])) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="colour must be a string"):
        made["predict_proba"]([0.5, bad])


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([3, 2**60], (3, 2**60)),
        ([False, True], (False, True)),
        ([0.5, 1.5], (0.5, 1.5)),
        (["1", "it's"], ("1", "it's")),
        (np.array(["2026-01-01", "2026-01-02"], "M8[D]"), ("2026-01-01", "2026-01-02")),
    ],
)
def test_classes_are_the_labels_themselves(labels, expected):
    model = quadratic(2, (1, 1), 1, classes=labels)
    classes = loaded(to_python(model))["CLASSES"]
    assert classes == expected
    assert [type(each) for each in classes] == [type(each) for each in expected]


@pytest.mark.parametrize("row", [[], [5.1, 3.5, 1.4], [5.1, 3.5, 1.4, 0.2, 0.0]])
def test_rows_with_too_few_or_too_many_values_are_refused(row):
    iris = load_iris()
    made = loaded(to_python(SDGMClassifier(1, teacher=None).fit(iris.data, iris.target)))
    with pytest.raises(ValueError, match=f"a row must have 4 values, got {len(row)}"):
        made["predict_proba"](row)


def test_in_float_extreme_rows_stay_within_its_numbers(cases):
    """Every number up to the scores fits into single precision, as MicroPython has it."""
    case = cases["full, modes"]
    text = to_python(case.model, precision="float")
    rows = single_precision(case.extreme)
    P = np.array([loaded(text)["predict_proba"](row) for row in as_values(case.model, rows)])
    assert np.isfinite(P).all()
    reach = float(text.split("max(-", 1)[1].split(",", 1)[0])
    assert reach**2 < 3e38
    with pytest.raises(ValueError, match="must be 'double' or 'float' in Python"):
        to_python(case.model, precision="fixed")
