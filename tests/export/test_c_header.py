"""What headers promise beside their numbers: refused inputs, sizes, names, files."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.core.model.kernels import PolynomialKernel, RBFKernel
from sdgm.export.c import to_c
from sdgm.export.c_text import characters, checked_name, comment, identifiers, literal
from sdgm.export.model import exportable
from sdgm.tables.inputs import Number
from sdgm.tables.model import TableModel
from tests.export.test_c import (
    HOSTILE,
    MADE,
    SANITIZERS,
    WARNINGS,
    compiled,
    kernel,
    quadratic,
    rescaled,
)
from tests.tables.other_parts import with_parts

NAN, INF = float("nan"), float("inf")

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


@pytest.fixture(scope="module")
def refusals(tmp_path_factory):
    """Classes and probabilities of rows of the case "table", which has inputs of all kinds."""
    folder = tmp_path_factory.mktemp("refusals")
    to_c(MADE["table"](), name="table", path=folder / "table.h")
    (folder / "main.c").write_text(
        """
        #include <stdio.h>
        #include "table.h"
        int main(void)
        {
            double x[TABLE_N_INPUTS], p[TABLE_N_CLASSES];
            while (scanf("%lf %lf %lf %lf %lf", x, x + 1, x + 2, x + 3, x + 4) == 5) {
                const int c = table_predict(x), again = table_predict_proba(x, p);
                printf("%d %d %.17g %.17g %.17g\\n", c, again, p[0], p[1], p[2]);
            }
            return 0;
        }
        """
    )
    program = compiled(folder, "gcc", "-std=c99", *WARNINGS, *SANITIZERS)

    def ask(*row):
        done = subprocess.run(
            [program],
            input=" ".join(map(repr, row)),
            capture_output=True,
            text=True,
            check=True,
            env={"ASAN_OPTIONS": "detect_leaks=0"},
        )
        return [float(value) for value in done.stdout.split()]

    return ask


# age may be missing, colour has 3 levels, dose may be missing, weight may not, sex has 2 levels
@pytest.mark.parametrize(
    "row",
    [
        (30.0, 0.0, 1.0, NAN, 1.0),
        (30.0, 0.0, 1.0, INF, 1.0),
        (-INF, 0.0, 1.0, 2.0, 1.0),
        (30.0, 0.0, INF, 2.0, 1.0),
        (30.0, INF, 1.0, 2.0, 1.0),
        (30.0, 0.5, 1.0, 2.0, 1.0),
        (30.0, -0.5, 1.0, 2.0, 1.0),
        (30.0, 4.0, 1.0, 2.0, 1.0),
        (30.0, -2.0, 1.0, 2.0, 1.0),
        (30.0, 0.0, 1.0, 2.0, 3.0),
        (30.0, 1e300, 1.0, 2.0, 1.0),
    ],
)
def test_inputs_that_training_could_not_have_seen_are_refused(refusals, row):
    c, again, *P = refusals(*row)
    assert c == again == -1
    assert np.isnan(P).all()


@pytest.mark.parametrize(
    "row",
    [
        (NAN, 0.0, NAN, 2.0, 1.0),
        (30.0, -1.0, 1.0, 2.0, -1.0),
        (30.0, 3.0, 1.0, 2.0, 2.0),
        (30.0, NAN, 1.0, 2.0, NAN),
    ],
)
def test_missing_values_and_unknown_levels_are_encoded_as_in_python(refusals, row):
    model = MADE["table"]()
    codes = [row[0], 3 if np.isnan(row[1]) else row[1], row[2], row[3]]
    codes.append(2 if np.isnan(row[4]) else row[4])
    parts = [
        column.encoded(np.array([int(v) if hasattr(column, "levels") else v]))
        for column, v in zip(model.inputs, codes, strict=True)
    ]
    expected = np.exp(model.model.log_proba(np.hstack(parts)))[0]
    c, again, *P = refusals(*row)
    np.testing.assert_allclose(P, expected, rtol=0.0, atol=1e-12)
    assert c == again == expected.argmax()


# with NaN for what the model can be asked about: see the two tests above
@pytest.mark.parametrize(("precision", "missing"), [("double", "NaN"), ("fixed", "SDGM_MISSING")])
def test_the_header_says_what_becomes_of_a_missing_value(precision, missing):
    text = to_c(MADE["table"](), precision=precision).text
    words = " ".join(text.split("*/")[0].replace("\n *", " ").split())
    assert f"A missing value is {missing}." in words
    assert "For a category without missing values in training it is none of the levels." in words
    assert "Invalid are missing values of a number without missing values in training" in words
    said = dict(re.findall(r"/\* (\w+): (.*?) \*/", text))
    assert said["weight"].endswith("never missing")
    assert said["age"].endswith(f"or {missing} if missing")
    assert said["colour"] == f"index of a level, or {missing} if missing"
    assert said["sex"] == f"index of a level; {missing} is none of them"
    levels = re.findall(r"_MISSING = \d+ +/\* (.*?) \*/", text)
    assert levels == ["no value", "no value, none of them"]


def test_the_header_of_plain_numbers_does_not_speak_of_categories():
    text = to_c(MADE["full"]()).text
    assert "If an input is NaN or infinite, the class is -1" in text
    assert "category" not in text and "level" not in text


@pytest.mark.parametrize("precision", ["double", "fixed"])
@pytest.mark.parametrize("name", MADE)
def test_the_lines_of_a_header_that_speak_to_the_reader_are_short(name, precision):
    head = to_c(MADE[name](), precision=precision, name="a" * 31).text.split("*/")[0]
    said = [line for line in head.split("\n") if "(" not in line]
    assert max(map(len, said)) <= 100


def test_relevance_vectors_are_named_by_the_rows_of_the_table_where_there_is_one():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = KernelSDGMClassifier(1, kernel="rbf", random_state=0, teacher=None).fit(X, X[:, 0] > 0)
    rows = [int(row) for row in 3 * model.relevance_ + 1]
    inputs = (Number("a"), Number("b"))
    table = TableModel.of(inputs, "label", model, {"relevance_rows": rows}, {})
    assert named(to_c(table)) == [f"row {row} of the table" for row in rows]
    plain = [f"X[{row}] of training" for row in model.relevance_]
    assert named(to_c(model)) == plain
    assert named(to_c(with_parts(table, record={}))) == plain


def named(source):
    """What the comments of the relevance vectors say."""
    vectors = source.text.split("_vectors[")[1].split("};")[0]
    return re.findall(r"/\* (.*?) \*/", vectors)


def gcc_says(folder, text, *flags):
    (folder / "main.c").write_text(text)
    command = ["gcc", "-std=c99", "-fsyntax-only", *flags, str(folder / "main.c")]
    return subprocess.run(command, capture_output=True, text=True).stderr


@needs_gcc
def test_two_models_of_one_name_are_an_error_and_one_included_twice_is_not(tmp_path):
    to_c(MADE["full"](), path=tmp_path / "one.h")
    to_c(MADE["poly 2"](), path=tmp_path / "two.h")
    once = '#include "one.h"\n'
    assert gcc_says(tmp_path, once + once + "int unused;\n", *WARNINGS) == ""
    assert "two different models are called sdgm" in gcc_says(
        tmp_path, once + '#include "two.h"\nint unused;\n'
    )


@needs_gcc
@pytest.mark.parametrize("precision", ["double", "float", "fixed"])
def test_the_name_of_a_header_may_contain_any_word(tmp_path, precision):
    to_c(MADE["table"](), name="phone", precision=precision, path=tmp_path / "one.h")
    assert gcc_says(tmp_path, '#include "one.h"\nint unused;\n', *WARNINGS) == ""


@needs_gcc
def test_a_compiler_told_that_there_are_no_nans_is_refused(tmp_path):
    to_c(MADE["full"](), path=tmp_path / "one.h")
    assert "compile without -ffast-math" in gcc_says(tmp_path, '#include "one.h"\n', "-ffast-math")


@needs_gcc
@pytest.mark.parametrize("name", ["full, modes", "full, tables", "rbf", "nothing left", "table"])
@pytest.mark.parametrize("precision", ["double", "float", "fixed"])
def test_stated_bytes_are_those_of_the_arrays(tmp_path, name, precision):
    source = to_c(MADE[name](), precision=precision, path=tmp_path / "model.h")
    static = [line for line in source.text.splitlines() if line.startswith("static const ")]
    tables = [line.split("[")[0].split()[-1] for line in static if "*const" not in line]
    sizes = " + ".join([f"sizeof {table}" for table in tables] or ["0"])
    names = sum(len(str(label)) + 1 for label in MADE[name]().classes)
    n_bytes = {"double": 8, "float": 4, "fixed": 0}[precision]
    # weights that are part of the code, as numbers in formulas
    inline = 0
    if "_weight[" not in source.text:
        model = MADE[name]()
        inline = n_bytes * (np.count_nonzero(model.coef) + len(model.offset))
    check = f"char same[({sizes}) + {names} + {inline} == {source.flash_bytes} ? 1 : -1];"
    assert gcc_says(tmp_path, f'#include "model.h"\n{check}\n') == ""


def test_headers_are_plain_ascii_in_lines_that_no_name_can_break():
    for make in MADE.values():
        text = to_c(make()).text
        assert text.isascii()
        assert all(line.isprintable() for line in text.split("\n"))
        assert "??" not in text.replace("\\?", "")
        assert all(not line.endswith("\\") for line in text.split("\n"))


def test_inputs_and_terms_without_weight_leave_no_trace():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 30))
    y = X[:, 4] + X[:, 17] ** 2 + 0.2 * rng.normal(size=300) > 1.0
    model = SDGMClassifier(1, random_state=0, teacher=None).fit(X, y)
    used = set(re.findall(r"x\d+", " ".join(model.terms_)))
    text = to_c(model).text
    assert len(used) < 20
    assert f"double z[{len(used)}];" in text
    assert text.count("not used by the model") == 30 - len(used)


def test_predicting_the_class_needs_no_exponential_when_classes_have_one_component():
    text = to_c(MADE["full"]()).text
    predict = text.split("static inline int sdgm_predict(")[1].split("\n}")[0]
    assert "sums" not in predict and "exp" not in predict
    assert "exp(" in text


def test_numbers_of_a_column_far_from_zero_survive_in_single_precision():
    model = rescaled(quadratic(1, (1, 1), 8, density=1.0), center=np.array([123456789.123]))
    text = to_c(model, precision="float").text
    assert "sdgm_center_rest" in text
    assert "sdgm_center_rest" not in to_c(model).text


@pytest.mark.parametrize("precision", ["double", "float"])
def test_scores_cannot_overflow_within_the_reach(precision):
    model = kernel(PolynomialKernel(7, 1.0, 1.0), 3, 5, (1, 1), 3)
    text = to_c(model, precision=precision).text
    reach = float(text.split("reach = ")[1].split(";")[0].rstrip("f"))
    largest = float(np.finfo({"double": np.float64, "float": np.float32}[precision]).max)
    z = np.full(3, reach)
    signs = np.sign(model.basis.vectors)
    scores = (
        np.abs(model.coef) @ ((np.abs(signs * z) * np.abs(model.basis.vectors)).sum(1) + 1) ** 7
    )
    assert scores.max() < largest / 8
    assert reach >= 10.0


def test_a_model_whose_scores_do_not_fit_is_refused():
    model = kernel(PolynomialKernel(60, 1.0, 1.0), 3, 5, (1, 1), 3)
    with pytest.raises(ValueError, match=r"too large for float.*precision='double'"):
        to_c(model, precision="float")
    assert "reach = 1000" in to_c(model).text


@pytest.mark.parametrize("scale", [1e-45, 1e42])
def test_inputs_in_units_that_do_not_fit_are_refused_by_name(scale):
    model = quadratic(2, (1, 1), 1, density=1.0)
    model = rescaled(model, inverse_scale=np.array([1.0, scale]))
    with pytest.raises(ValueError, match=r"'x2' has mean .* use precision='double' or other units"):
        to_c(model, precision="float")
    to_c(model)


@pytest.mark.parametrize(
    "name", ["", "1a", "a b", "int", "class", "a-b", "_a", "a__b", "ä", "a" * 32, "a\n", None]
)
def test_names_that_are_no_identifier_are_refused(name):
    with pytest.raises(ValueError, match="name must"):
        to_c(MADE["full"](), name=name)


def test_unknown_precisions_are_refused():
    with pytest.raises(
        ValueError, match="precision must be one of 'double', 'float', 'fixed', got 'half'"
    ):
        to_c(MADE["full"](), precision="half")


def test_models_without_inputs_to_compute_with_are_refused():
    K = np.eye(6) + 0.1
    model = KernelSDGMClassifier(1, kernel="precomputed").fit(K, [0, 1, 0, 1, 0, 1])
    with pytest.raises(ValueError, match="precomputed"):
        to_c(model)
    with pytest.raises(TypeError, match="str cannot be described"):
        to_c("model.sdgm")


def test_the_header_of_a_fitted_model_is_that_of_its_plain_numbers():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = KernelSDGMClassifier(1, kernel="rbf", random_state=0, teacher=None).fit(X, X[:, 0] > 0)
    assert to_c(model) == to_c(exportable(model))
    assert '"False"' in to_c(model).text
    assert isinstance(exportable(model).basis.kernel, RBFKernel)


def test_a_file_is_written_completely_or_not_at_all(tmp_path, monkeypatch):
    source = to_c(MADE["full"]())
    path = tmp_path / "model.h"
    assert source.write(path) == path
    assert path.read_text() == source.text
    assert path.stat().st_mode & 0o777 == 0o666 & ~current_umask()

    def interrupted(*_):
        raise KeyboardInterrupt

    path.write_text("before")
    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        source.write(path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_folders_are_no_files_and_files_need_a_folder(tmp_path):
    source = to_c(MADE["full"]())
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        source.write(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        source.write(tmp_path / "none" / "model.h")


def test_identifiers_differ_within_the_length_that_compilers_compare():
    names = ["a" * 200 + str(i) for i in range(30)] + ["x!", "x?", "X", "大", "", *HOSTILE]
    made = identifiers("PREFIX_", names, {"PREFIX_X"})
    assert len(set(made)) == len(names)
    assert all(len(one) <= 63 and one.isascii() and one.isidentifier() for one in made)
    assert "PREFIX_X" not in made


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("größe (cm)", "GROSSE_CM"),
        ("gro\u0308ße", "GROSSE"),
        ("Ærø", "AERO"),
        ("łódź", "LODZ"),
        ("ﬁeld", "FIELD"),
        ("NO₂ in µg/m³", "NO2_IN_UG_M3"),
        ("大", "X"),
    ],
)
def test_identifiers_keep_letters_without_their_marks(name, word):
    assert identifiers("P_", [name], set()) == ["P_" + word]


def test_names_that_differ_in_marks_alone_are_told_apart():
    assert identifiers("P_", ["maß", "mass", "MASS"], set()) == ["P_MASS", "P_MASS_2", "P_MASS_3"]


def test_comments_spell_all_characters_in_one_way():
    assert comment("\x1b é \x7f \u202e \U0001f600") == (r"\u001b \u00e9 \u007f \u202e \U0001f600")


@pytest.mark.parametrize("text", HOSTILE)
def test_comments_hold_what_is_in_them(text):
    shown = comment(text)
    assert shown.isascii() and (shown.isprintable() or not shown)
    assert "*/" not in shown and "/*" not in shown and "??" not in shown
    assert not shown.endswith("\\") and len(shown) < 700


def test_literals_are_cut_between_characters_and_never_after_a_backslash():
    text = "ä7" * 300 + '"?\\' * 50
    lines = literal(text).split("\n    ")
    assert all(line[0] == line[-1] == '"' and len(line) < 100 for line in lines)
    unescaped = "".join(line[1:-1] for line in lines).replace("\\?", "?")
    assert eval(f'b"{unescaped}"') == text.encode()
    assert len(lines) > 10


def test_characters_of_a_long_string_are_all_there_and_end_with_zero():
    body = characters("aä")
    assert body.split() == ["{", r"'\141',", r"'\303',", r"'\244',", r"'\000'", "}"]


def test_a_name_is_checked_and_returned():
    assert checked_name("model_2") == "model_2"


# rules of MISRA C:2012 that headers break, with reasons in docs/embedded.md
BROKEN_RULES = {"2.4", "8.9", "12.1", "15.5"}
BROKEN_BY_FIXED = {"2.5", "10.1"}


def test_the_rules_of_misra_that_headers_break_are_explained():
    page = (Path(__file__).parents[2] / "docs" / "embedded.md").read_text()
    rows = re.findall(r"^\| ([\d.]+) \| .+ \| .+ \|$", page, re.M)
    assert set(rows) == BROKEN_RULES | BROKEN_BY_FIXED


@pytest.mark.skipif(shutil.which("cppcheck") is None, reason="cppcheck is not installed")
@pytest.mark.parametrize("precision", ["double", "float", "fixed"])
@pytest.mark.parametrize("name", ["full, modes", "spherical, tables", "poly 3", "table, rbf"])
def test_the_listed_rules_of_misra_are_broken_and_no_others(tmp_path, precision, name):
    real = "int32_t" if precision == "fixed" else precision
    to_c(MADE[name](), precision=precision, name="m", path=tmp_path / "m.h")
    head = f"int ask(const {real} x[M_N_INPUTS], {real} p[M_N_CLASSES])"
    program = f'#include "m.h"\n{head};\n{head} {{ return m_predict_proba(x, p); }}\n'
    (tmp_path / "main.c").write_text(program)
    done = subprocess.run(
        ["cppcheck", "--std=c99", "--addon=misra", "--enable=style", "-q", "main.c"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    found = set(re.findall(r"misra-c2012-([\d.]+)", done.stderr))
    assert found == BROKEN_RULES | (BROKEN_BY_FIXED if precision == "fixed" else set())
