"""Headers in fixed point: what they are off by, against what they say."""

import re
import subprocess

import numpy as np
import pytest

from sdgm.core.model.kernels import PolynomialKernel
from sdgm.export.c import to_c
from sdgm.export.c_fixed import EXP_ERROR, fixed_point
from sdgm.export.c_fixed_code import POWERS_OF_TWO
from sdgm.export.c_plan import Precision, make_plan
from tests.export.test_c import (
    CASES,
    MADE,
    SANITIZERS,
    WARNINGS,
    compiled,
    encoded,
    kernel,
    make_cases,
    probabilities,
    quadratic,
    rescaled,
)

ONE = 2**24

PROGRAM = """
#include <stdio.h>
{includes}

#define MODEL(name, NAME) \\
static int run_##name(FILE *in, FILE *out) \\
{{ \\
    double row[NAME##_N_INPUTS], result[2 + NAME##_N_CLASSES]; \\
    int32_t x[NAME##_N_INPUTS], p[NAME##_N_CLASSES]; \\
    int i; \\
    while (fread(row, sizeof row, 1, in) == 1) {{ \\
        for (i = 0; i < NAME##_N_INPUTS; ++i) {{ x[i] = name##_input(i, row[i]); }} \\
        result[0] = name##_predict(x); \\
        result[1] = name##_predict_proba(x, p); \\
        for (i = 0; i < NAME##_N_CLASSES; ++i) {{ result[2 + i] = p[i]; }} \\
        if (fwrite(result, sizeof result, 1, out) != 1) {{ return 1; }} \\
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


def written(folder, sources):
    calls = []
    for name, source in sources.items():
        source.write(folder / f"{name}.h")
        calls += [
            f'    in = fopen("{name}.in", "rb"); out = fopen("{name}.out", "wb");',
            f"    if (!in || !out || run_{name}(in, out)) {{ failed = 1; }}",
            "    if (in) { fclose(in); } if (out) { fclose(out); }",
        ]
    text = PROGRAM.format(
        includes="\n".join(f'#include "{name}.h"' for name in sources),
        models="\n".join(f"MODEL({name}, {name.upper()})" for name in sources),
        calls="\n".join(calls),
    )
    (folder / "main.c").write_text(text)


def within_range(case):
    """Rows whose standardised inputs are within the range of fixed point."""
    plan = make_plan(case.model, Precision.FIXED)
    z = case.model.model.scaler.standardized(encoded(case.model, case.rows))[:, plan.used]
    return case.rows[(np.abs(z) <= fixed_point(plan).range).all(axis=1)]


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """For every case: the source, ordinary rows, results of these and of extreme rows."""
    folder, cases = tmp_path_factory.mktemp("fixed"), make_cases()
    sources = {
        f"m{i}": to_c(case.model, precision="fixed", name=f"m{i}")
        for i, case in enumerate(cases.values())
    }
    written(folder, sources)
    program = compiled(folder, "gcc", "-std=c99", *WARNINGS, *SANITIZERS)
    rows = [within_range(case) for case in cases.values()]
    for i, case in enumerate(cases.values()):
        np.concatenate([rows[i], case.extreme]).tofile(folder / f"m{i}.in")
    done = subprocess.run(
        [program],
        cwd=folder,
        capture_output=True,
        text=True,
        env={"ASAN_OPTIONS": "detect_leaks=0"},
    )
    assert done.returncode == 0 and not done.stderr, done.stderr[:5000]
    compiled(folder, "g++", "-x", "c++", "-std=c++11", "-fsyntax-only", *WARNINGS)
    outcome = {}
    for i, (name, case) in enumerate(cases.items()):
        shape = -1, 2 + len(case.model.classes)
        result = np.fromfile(folder / f"m{i}.out").reshape(shape)
        n = len(rows[i])
        outcome[name] = case.model, sources[f"m{i}"], rows[i], result[:n], result[n:]
    return outcome


@pytest.mark.parametrize("name", CASES)
def test_probabilities_are_off_by_no_more_than_is_stated(measured, name):
    model, source, rows, result, _ = measured[name]
    assert len(rows) > 100
    expected = probabilities(model, rows)
    off = np.abs(result[:, 2:] / ONE - expected).max()
    print(name, off, source.error_bound)
    assert off <= source.error_bound < 0.05
    top = np.sort(expected, axis=1)
    clear = top[:, -1] - top[:, -2] > 2.0 * source.error_bound
    np.testing.assert_array_equal(result[clear, 0], expected.argmax(axis=1)[clear])


@pytest.mark.parametrize("name", CASES)
def test_extreme_rows_still_have_probabilities(measured, name):
    *_, result = measured[name]
    P = result[:, 2:] / ONE
    assert (P >= 0.0).all() and (result[:, 0] >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("name", ["iris", "moons", "moons, rbf"])
def test_the_bound_of_a_fitted_model_is_small_and_in_the_header(measured, name):
    _, source, *_ = measured[name]
    assert source.error_bound < 2e-4
    assert f"off by at most {source.error_bound:.2g}" in source.text


def test_the_polynomial_of_the_exponential_keeps_its_bound():
    f = np.arange(0, 2**24, 7, dtype=np.int64)
    p = np.full(len(f), POWERS_OF_TWO[-1], dtype=np.int64)
    for c in POWERS_OF_TWO[-2::-1]:
        p = c + ((p * f + 2**23) >> 24)
    assert np.abs(p / 2**30 - 2.0 ** -(f / 2**24)).max() < EXP_ERROR / 1.9


def test_missing_values_and_codes_are_those_of_the_other_precisions(tmp_path):
    model = MADE["table"]()
    written(tmp_path, {"table": to_c(model, precision="fixed", name="table")})
    program = compiled(tmp_path, "gcc", "-std=c99", *WARNINGS, *SANITIZERS)
    nan = np.nan
    rows = np.array(
        [
            [nan, 0.0, nan, 2.0, 1.0],  # these are fine
            [1.0, nan, 1.0, 2.0, nan],
            [1.0, -1.0, 1.0, 2.0, -1.0],
            [1.0, 0.0, 1.0, nan, 1.0],  # and these are not
            [1.0, 4.0, 1.0, 2.0, 1.0],
            [1.0, -2.0, 1.0, 2.0, 1.0],
            [1.0, 0.0, 1.0, 2.0, 3.0],
        ]
    )
    rows.tofile(tmp_path / "table.in")
    subprocess.run([program], cwd=tmp_path, check=True, env={"ASAN_OPTIONS": "detect_leaks=0"})
    result = np.fromfile(tmp_path / "table.out").reshape(len(rows), -1)
    assert (result[3:] == -1).all()
    codes = rows[:3].copy()
    codes[1, [1, 4]] = 3, 2
    expected = probabilities(model, codes)
    np.testing.assert_allclose(result[:3, 2:] / ONE, expected, rtol=0.0, atol=1e-3)


def test_wider_training_rows_have_a_wider_range_and_a_larger_bound():
    model = quadratic(3, (1, 1), 1)
    wide = rescaled(model, reach=1e32)
    narrow, wide = to_c(model, precision="fixed"), to_c(wide, precision="fixed")
    assert "beyond 8." in narrow.text and "beyond 128." in wide.text
    assert wide.error_bound > 4.0 * narrow.error_bound


def test_models_that_would_be_off_too_far_are_refused():
    model = kernel(PolynomialKernel(9, 1.0, 1.0), 3, 5, (1, 1), 3)
    with pytest.raises(ValueError, match=r"does not fit into fixed point: .*precision='float'"):
        to_c(model, precision="fixed")
    far = rescaled(quadratic(1, (1, 1), 8, density=1.0), center=np.array([1e15]))
    with pytest.raises(ValueError, match="far from zero"):
        to_c(far, precision="fixed")


def test_no_floating_point_is_left_in_what_predicts():
    text = to_c(MADE["table, rbf"](), precision="fixed").text
    after = text.split("_accepts(", 1)[1]
    assert not re.search(r"double|float|[0-9]\.[0-9]|exp\(", after)


def test_stated_bits_turn_values_into_whole_numbers():
    model = quadratic(3, (1, 1), 1, density=1.0)
    plan = make_plan(model, Precision.FIXED)
    fixed = fixed_point(plan)
    largest = np.abs(model.center) + 8.0 / model.inverse_scale
    units = largest * 2.0**fixed.input_bits
    assert (units <= 2**30).all() and (units > 2**29).all()


def test_inputs_far_from_zero_are_shifted_one_by_one_and_others_together():
    plain, far = (MADE[name]() for name in ("full", "far from zero"))
    fixed = fixed_point(make_plan(plain, Precision.FIXED))
    assert isinstance(fixed.shift, int) and "_shift[" not in to_c(plain, precision="fixed").text
    fixed = fixed_point(make_plan(far, Precision.FIXED))
    assert fixed.shift.argmax() == 1 and "sdgm_shift[i]" in to_c(far, precision="fixed").text
    furthest = np.ldexp(8.0 / far.inverse_scale, fixed.feature_bits + fixed.shift)
    assert (furthest <= 2**31).all() and (furthest > 2**30).all()


def test_weights_of_few_inputs_need_one_byte_for_both_factors():
    few, many = (
        to_c(MADE[name](), precision="fixed").text for name in ("full", "spherical, tables")
    )
    assert "sdgm_factors" in few and "sdgm_first" not in few
    assert "sdgm_first" in many and "sdgm_factors" not in many
