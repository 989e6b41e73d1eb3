"""Headers of many models, compiled into one program and compared with Python."""

import shutil
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons

from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.core.model.features import monomials
from sdgm.core.model.fitted_model import FittedModel, Scaler
from sdgm.core.model.kernels import KernelBasis, LinearKernel, PolynomialKernel, RBFKernel
from sdgm.core.model.state import State
from sdgm.export.c import CSource, to_c
from sdgm.export.model import ExportModel, exportable
from sdgm.export.rounding import rounded
from sdgm.tables.inputs import Category, Number

N_ROWS = 2000
WARNINGS = [
    *("-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wdouble-promotion"),
    *("-Wshadow", "-Wundef"),
]
SANITIZERS = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

HOSTILE = (
    '*/ int x; /* "\\',
    "??/\n\\\n#define int",
    "%s\\\0001\0",
    "größe \u202e \U0001f600 \ud800",
    "1\x01" + "ab" * 5000,
    "",
    " ",
    "int",
    "level = for (j = for (k = ???/ /*/",
)


@dataclass
class Case:
    """A model, and rows as its C functions take them."""

    model: ExportModel
    rows: np.ndarray
    extreme: np.ndarray = field(default_factory=lambda: np.empty((0, 1)))


def numbers(D):
    return tuple(Number(f"x{i + 1}") for i in range(D))


def flagged(column):
    """Which features of an input are zero or one."""
    return [isinstance(column, Category) or i > 0 for i in range(len(column.features))]


def made(basis, n_components, D, seed, *, inputs=None, classes=None, density=0.6, standardize=True):
    """A model with weights at random, as learning leaves them: some of them, of all sizes."""
    rng = np.random.default_rng(seed)
    K, C = sum(n_components), len(n_components)
    coef = rng.normal(size=(K, len(basis))) * rng.uniform(0.1, 2.0, size=(K, 1))
    coef *= rng.uniform(size=coef.shape) < density
    coef *= 2.0 / np.sqrt(1 + np.count_nonzero(coef, axis=1, keepdims=True))
    inputs = numbers(D) if inputs is None else inputs
    center, inverse_scale = np.zeros(D), np.ones(D)
    if standardize:
        center, inverse_scale = rng.normal(size=D), rng.uniform(0.1, 5.0, size=D)
        share = rng.uniform(0.1, 0.9, size=D)  # of features that are zero or one
        flags = np.concatenate([flagged(column) for column in inputs])
        center = np.where(flags, share, 3.0 * center)
        inverse_scale = np.where(flags, (share * (1.0 - share)) ** -0.5, inverse_scale)
    # all pairs of component and column are there, some with a weight of zero
    weights = np.column_stack([rng.normal(size=K), coef])
    component, column = np.ones(weights.shape).nonzero()
    state = State(
        w=weights.ravel(),
        alpha=np.ones(weights.size),
        component=component,
        column=column,
        pi=np.ones(K),
        component_class=np.repeat(np.arange(C), n_components),
    )
    labels = np.arange(C) if classes is None else np.array(classes, dtype=object)
    fitted_model = FittedModel(labels, Scaler(center, inverse_scale, 3.5e30), basis, state)
    return ExportModel(inputs, fitted_model)


def rescaled(model, **changes):
    """The model with other numbers in its scaler."""
    scaler = replace(model.model.scaler, **changes)
    return ExportModel(model.inputs, replace(model.model, scaler=scaler))


def quadratic(D, n_components, seed, covariance_type="full", **settings):
    terms = monomials(D, covariance_type).without_constant()
    return made(terms, n_components, D, seed, **settings)


def kernel(which, D, n_vectors, n_components, seed, **settings):
    vectors = np.random.default_rng(seed + 100).normal(size=(n_vectors, D))
    basis = KernelBasis(which, vectors, np.arange(n_vectors) * 3, vectors, 1.0)
    return made(basis, n_components, D, seed, **settings)


def nothing_left():
    model = quadratic(3, (1, 1, 1), 9)
    state = model.model.state
    state = replace(state, w=np.where(state.column == 0, state.w, 0.0))
    return ExportModel(model.inputs, replace(model.model, state=state))


TABLE = (
    Number("age", fill=1.25, indicator=True),
    Category("colour", ("blue", "red", "red "), missing=True),
    Number("dose", fill=1.5),
    Number("weight"),
    Category("sex", ("f", "m")),
)

MADE = {
    "full": lambda: quadratic(3, (1, 1), 1),
    "full, modes": lambda: quadratic(4, (2, 1, 3), 2),
    "diag": lambda: quadratic(5, (1, 2), 3, "diag"),
    "spherical": lambda: quadratic(4, (2, 2), 4, "spherical"),
    "spherical, tables": lambda: quadratic(40, (3, 4), 5, "spherical"),
    "tied": lambda: quadratic(6, (1, 1, 1, 1, 1), 6, "tied", density=0.4),
    "full, tables": lambda: quadratic(9, (2, 2, 2), 7),
    "one input": lambda: quadratic(1, (1, 1), 8, density=1.0),
    "nothing left": nothing_left,
    "far from zero": lambda: rescaled(
        quadratic(3, (1, 2), 12), center=np.array([0.1, -900.0, 20.0])
    ),
    "full, rounded": lambda: rounded(quadratic(4, (2, 1, 3), 2)),
    "rbf, rounded": lambda: rounded(kernel(RBFKernel(0.7), 3, 30, (1, 1, 2), 24)),
    "poly, rounded": lambda: rounded(kernel(PolynomialKernel(), 2, 5, (3, 3), 21), 12),
    "table, rounded": lambda: rounded(MADE["table"]()),
    "many modes": lambda: quadratic(2, (40, 30), 13, density=0.05),
    "few of many inputs": lambda: quadratic(40, (1, 1), 10, density=0.004),
    "not standardised": lambda: quadratic(2, (2, 2), 11, standardize=False),
    "poly 1": lambda: kernel(PolynomialKernel(1, 0.3, 0.5), 3, 6, (1, 2), 20),
    "poly 2": lambda: kernel(PolynomialKernel(), 2, 5, (3, 3), 21, density=0.3),
    "poly 3": lambda: kernel(PolynomialKernel(3, 0.2, 1.0), 4, 7, (1, 1, 1), 22, density=0.4),
    "poly 6": lambda: kernel(PolynomialKernel(6, 0.1, 0.0), 3, 4, (1, 1), 23),
    "rbf": lambda: kernel(RBFKernel(0.7), 3, 30, (1, 1, 2), 24),
    "rbf, one input": lambda: kernel(RBFKernel(0.1), 1, 4, (1, 1), 25),
    "linear": lambda: kernel(LinearKernel(), 5, 3, (2, 1, 1, 1), 26),
    "constant kernel": lambda: kernel(PolynomialKernel(), 1, 1, (1, 1), 27, density=1.0),
    "table": lambda: quadratic(10, (2, 1, 2), 30, inputs=TABLE, classes=("a", "b", "c")),
    "table, rbf": lambda: kernel(RBFKernel(0.05), 10, 12, (2, 2), 31, inputs=TABLE),
    "names": lambda: quadratic(
        9, (1,) * 9, 32, inputs=tuple(map(Number, HOSTILE)), classes=HOSTILE, density=0.2
    ),
    "levels": lambda: quadratic(
        10, (1, 2), 33, inputs=(Category(HOSTILE[0], HOSTILE), Number(HOSTILE[4])), density=0.2
    ),
}


def fitted():
    """Models as users have them."""
    iris, (X, y) = load_iris(), make_moons(150, noise=0.2, random_state=0)
    species = iris.target_names[iris.target]
    return {
        "iris": SDGMClassifier(2, random_state=0, teacher=None).fit(iris.data, species),
        "moons": KernelSDGMClassifier(2, kernel="poly", degree=3, random_state=0, teacher=None).fit(
            X, y
        ),
        "moons, rbf": KernelSDGMClassifier(1, kernel="rbf", random_state=0, teacher=None).fit(
            X, y == 1
        ),
    }


def in_units(model, rng, n_rows, spread=2.0):
    """Rows around the training rows of numeric inputs, categories by their codes."""
    columns, feature = [], 0
    for column in model.inputs:
        if isinstance(column, Category):
            columns.append(rng.integers(-1, len(column.levels) + 1, n_rows).astype(float))
        else:
            center, scale = model.center[feature], 1.0 / model.inverse_scale[feature]
            values = center + spread * scale * rng.normal(size=n_rows)
            if column.fill is not None:
                values[rng.uniform(size=n_rows) < 0.2] = np.nan
            columns.append(values)
        feature += len(column.features)
    return np.stack(columns, axis=1)


def encoded(model, rows):
    parts = [
        column.encoded(values.astype(int) if isinstance(column, Category) else values)
        for column, values in zip(model.inputs, rows.T, strict=True)
    ]
    return np.hstack(parts)


def extreme_rows(model, rng):
    """Every value huge, tiny or ordinary, where it is a number."""
    rows = in_units(model, rng, 200)
    sizes = np.array([1e30, -1e30, 1e300, -1e300, 1.7e308, 5e-324, -1e-310, 0.0, 1e8])
    for i, column in enumerate(model.inputs):
        if isinstance(column, Number):
            drawn = rng.choice(sizes, len(rows))
            rows[:, i] = np.where(rng.uniform(size=len(rows)) < 0.7, drawn, rows[:, i])
    return rows


def probabilities(model, rows):
    return np.exp(model.model.log_proba(encoded(model, rows)))


def make_cases():
    rng = np.random.default_rng(0)
    models = {name: make() for name, make in MADE.items()}
    vectors = models["constant kernel"].basis
    vectors.vectors[:] = 0.0
    models |= {name: exportable(model) for name, model in fitted().items()}
    return {
        name: Case(model, in_units(model, rng, N_ROWS), extreme_rows(model, rng))
        for name, model in models.items()
    }


CASES = [*MADE, "iris", "moons", "moons, rbf"]

PROGRAM = """
#include <stdio.h>
#include <string.h>
{includes}

#define MODEL(name, NAME, real) \\
static int run_##name(FILE *in, FILE *out) \\
{{ \\
    double row[NAME##_N_INPUTS], result[2 + NAME##_N_CLASSES]; \\
    real x[NAME##_N_INPUTS], p[NAME##_N_CLASSES]; \\
    int i; \\
    while (fread(row, sizeof row, 1, in) == 1) {{ \\
        for (i = 0; i < NAME##_N_INPUTS; ++i) {{ x[i] = (real)row[i]; }} \\
        result[0] = name##_predict(x); \\
        result[1] = name##_predict_proba(x, p); \\
        for (i = 0; i < NAME##_N_CLASSES; ++i) {{ result[2 + i] = (double)p[i]; }} \\
        if (fwrite(result, sizeof result, 1, out) != 1) {{ return 1; }} \\
    }} \\
    for (i = -1; i <= NAME##_N_CLASSES; ++i) {{ \\
        (void)fwrite(name##_class_name(i), strlen(name##_class_name(i)) + 1, 1, out); \\
    }} \\
    return 0; \\
}}

{models}

int main(void)
{{
    int failed = 0;
    FILE *in, *out;
{calls}
    return failed;
}}
"""


def program(sources: dict[str, CSource]) -> str:
    calls = []
    for name in sources:
        calls += [
            f'    in = fopen("{name}.in", "rb"); out = fopen("{name}.out", "wb");',
            f"    if (!in || !out || run_{name}(in, out)) {{ failed = 1; }}",
            "    if (in) { fclose(in); } if (out) { fclose(out); }",
        ]
    return PROGRAM.format(
        includes="\n".join(f'#include "{name}.h"' for name in [*sources, *sources]),
        models="\n".join(
            f"MODEL({name}, {name.upper()}, {'float' if name[0] == 'f' else 'double'})"
            for name in sources
        ),
        calls="\n".join(calls),
    )


def compiled(folder: Path, *command: str) -> Path:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    target = folder / "program"
    done = subprocess.run(
        [*command, str(folder / "main.c"), "-o", str(target), "-lm"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[:5000]
    return target


@pytest.fixture(scope="module")
def cases():
    return make_cases()


@pytest.fixture(scope="module")
def folder(cases, tmp_path_factory):
    """All headers in both precisions, and a program that includes them twice."""
    folder = tmp_path_factory.mktemp("c")
    sources = {}
    for i, case in enumerate(cases.values()):
        for precision in "double", "float":
            name = f"{precision[0]}{i}"
            sources[name] = to_c(
                case.model, precision=precision, name=name, path=folder / f"{name}.h"
            )
    (folder / "main.c").write_text(program(sources))
    return folder


@pytest.fixture(scope="module")
def results(cases, folder):
    """What the program says about the rows of every case: class, class again, probabilities."""
    program = compiled(folder, "gcc", "-std=c99", *WARNINGS, *SANITIZERS)
    for i, case in enumerate(cases.values()):
        rows = np.concatenate([case.rows, case.extreme])
        rows.tofile(folder / f"d{i}.in")
        single_precision(rows).tofile(folder / f"f{i}.in")
    done = subprocess.run(
        [program],
        cwd=folder,
        capture_output=True,
        text=True,
        env={"ASAN_OPTIONS": "detect_leaks=0"},
    )
    assert done.returncode == 0 and not done.stderr, done.stderr[:5000]
    outcome = {}
    for i, (name, case) in enumerate(cases.items()):
        for precision in "double", "float":
            data = (folder / f"{precision[0]}{i}.out").read_bytes()
            shape = len(case.rows) + len(case.extreme), 2 + len(case.model.classes)
            size = 8 * shape[0] * shape[1]
            outcome[name, precision] = (
                np.frombuffer(data[:size]).reshape(shape),
                data[size:].split(b"\0"),
            )
    return outcome


def single_precision(rows):
    largest = float(np.finfo(np.float32).max)
    return np.clip(rows, -largest, largest).astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("precision", "tolerance"), [("double", 1e-12), ("float", 1e-5)])
def test_probabilities_equal_those_of_python(cases, results, name, precision, tolerance):
    case, (result, _) = cases[name], results[name, precision]
    rows = case.rows if precision == "double" else single_precision(case.rows)
    expected = probabilities(case.model, rows)
    P = result[: len(rows), 2:]
    np.testing.assert_allclose(P, expected, rtol=0.0, atol=tolerance)
    # the class is that of Python wherever two are not equally probable but for rounding
    top = np.sort(expected, axis=1)
    clear = top[:, -1] - top[:, -2] > 2.0 * tolerance
    np.testing.assert_array_equal(result[: len(rows), 0][clear], expected.argmax(axis=1)[clear])


@pytest.mark.parametrize("name", CASES)
def test_both_functions_give_the_same_class_in_both_precisions(results, name):
    for precision in "double", "float":
        result, _ = results[name, precision]
        np.testing.assert_array_equal(result[:, 0], result[:, 1])


@pytest.mark.parametrize("name", CASES)
def test_extreme_rows_have_the_probabilities_of_python_in_double(cases, results, name):
    case, (result, _) = cases[name], results[name, "double"]
    expected = probabilities(case.model, case.extreme)
    P = result[len(case.rows) :, 2:]
    np.testing.assert_allclose(P, expected, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("precision", ["double", "float"])
def test_extreme_rows_have_probabilities_that_sum_to_one(cases, results, name, precision):
    result, _ = results[name, precision]
    P = result[len(cases[name].rows) :, 2:]
    assert np.isfinite(P).all() and (P >= 0.0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_class_names_are_there_byte_by_byte_and_empty_outside(cases, results, name):
    _, names = results[name, "double"]
    labels = [str(label) for label in cases[name].model.classes.tolist()]
    assert names[:-1] == [
        b"",
        # a null character ends a name in C
        *(label.split("\0")[0].encode("utf-8", "backslashreplace") for label in labels),
        b"",
    ]


def test_the_same_headers_compile_as_cpp(folder):
    compiled(folder, "g++", "-x", "c++", "-std=c++11", "-fsyntax-only", *WARNINGS)


@pytest.mark.parametrize("compiler", ["gcc", *filter(shutil.which, ["clang"])])
def test_no_compiler_has_anything_to_say(folder, compiler):
    compiled(folder, compiler, "-std=c99", *WARNINGS)


@pytest.mark.slow
@pytest.mark.parametrize("flags", ["-std=c99 -O2", "-std=c11 -O3", "-std=gnu17 -Os"])
def test_optimised_programs_say_the_same(cases, folder, results, flags):
    program = compiled(folder, "gcc", *flags.split(), *WARNINGS)
    subprocess.run([program], cwd=folder, check=True)
    for i, (name, case) in enumerate(cases.items()):
        result, _ = results[name, "double"]
        again = np.fromfile(folder / f"d{i}.out", count=result.size).reshape(result.shape)
        ordinary = slice(len(case.rows))
        np.testing.assert_allclose(again[ordinary], result[ordinary], rtol=0.0, atol=1e-12)
