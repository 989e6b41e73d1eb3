"""Headers on emulated microcontrollers: the answers of Python, and the ruler that measures them."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

pytest.importorskip("matplotlib")

from benchmarks.chip.board import BOARDS, missing_tools, run
from benchmarks.chip.header import ask_header
from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.export.c import to_c

if missing_tools():
    pytest.skip(f"{', '.join(missing_tools())} not installed", allow_module_level=True)

WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wdouble-promotion")
ANSWER = np.dtype(np.int32)
ROWS = np.zeros((3, 1), dtype=np.int32)


@pytest.fixture(params=BOARDS.values(), ids=BOARDS)
def board(request):
    return request.param


def asked(board, folder, body, before=""):
    source = folder / "ask.c"
    source.write_text(
        f"#include <stdint.h>\n{before}\nvoid ask(const void *r, void *a) {{ {body} }}"
    )
    return run(board, folder, [source], ROWS, ANSWER)


def counting(n):
    """Three instructions n times."""
    return (
        f'uint32_t n = {n}; __asm__ volatile("1: sub %0, %0, #1\\n cmp %0, #0\\n bne 1b"'
        ' : "+l"(n) : : "cc"); *(int32_t *)a = 7; (void)r;'
    )


def test_every_instruction_is_counted(board, tmp_path):
    few, many = (asked(board, tmp_path, counting(n)) for n in (1003, 21_003))
    assert (few.answers == 7).all()
    np.testing.assert_array_equal(many.instructions - few.instructions, 3 * 20_000)


def test_stack_ram_and_flash_are_found(board, tmp_path):
    nothing = asked(board, tmp_path, "(void)r; (void)a;")
    assert nothing.stack == 0 and nothing.ram == 0 and abs(nothing.flash) < 8
    body = "volatile char b[400]; b[0] = 1; b[399] = 2; (void)r; *(int32_t *)a = b[0];"
    assert 400 <= asked(board, tmp_path, body).stack <= 440
    body = "kept[1] = *(const int32_t *)r; *(int32_t *)a = kept[1] + fixed[kept[0] & 63];"
    tables = "static volatile int32_t kept[100]; static const int32_t fixed[64] = {1};"
    done = asked(board, tmp_path, body, tables)
    assert done.ram == 400 and 256 <= done.flash <= 256 + 60


def test_a_question_beyond_the_timer_is_an_error_and_not_a_small_number(board, tmp_path):
    assert asked(board, tmp_path, counting(1_500_003)).typical > 4_500_000
    with pytest.raises(RuntimeError, match="qemu-system-arm failed"):
        asked(board, tmp_path, counting(3_000_003))


def test_a_fault_is_an_error_and_not_an_answer(board, tmp_path):
    with pytest.raises(RuntimeError, match="qemu-system-arm failed"):
        asked(board, tmp_path, '__asm__ volatile("udf #0"); (void)r; (void)a;')


IRIS = load_iris()
MODELS = {
    "modes": SDGMClassifier(2, random_state=0, teacher=None),
    "rbf": KernelSDGMClassifier(1, kernel="rbf", random_state=0, teacher=None),
}
# in double precision as everywhere; in float about its rounding error times the size of scores
STATED = {"double": 1e-12, "float": 1e-5}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    return MODELS[request.param].fit(IRIS.data, IRIS.target)


@pytest.mark.parametrize("precision", ["double", "float", "fixed"])
def test_the_board_has_the_probabilities_of_python(board, fitted, precision, tmp_path):
    done, P = ask_header(board, tmp_path, fitted, precision, IRIS.data, *WARNINGS)
    rows = IRIS.data.astype(np.float32) if precision == "float" else IRIS.data
    expected = fitted.predict_proba(rows.astype(np.float64))
    stated = STATED.get(precision) or to_c(fitted, precision=precision).error_bound
    assert np.abs(P - expected).max() <= stated
    top = np.sort(expected, axis=1)
    clear = top[:, -1] - top[:, -2] > 2.0 * stated
    np.testing.assert_array_equal(done.answers["c"][clear], expected.argmax(axis=1)[clear])
    label, _ = ask_header(board, tmp_path, fitted, precision, IRIS.data, *WARNINGS, label=True)
    np.testing.assert_array_equal(label.answers["c"], done.answers["c"])
    assert label.flash <= done.flash < 12_000 and done.stack < 300
    assert done.ram == (0 if precision == "fixed" else done.ram)


def test_fixed_point_is_twice_as_fast_as_soft_float(fitted, tmp_path):
    board = BOARDS["Cortex-M0"]
    real, _ = ask_header(board, tmp_path, fitted, "float", IRIS.data)
    fixed, _ = ask_header(board, tmp_path, fitted, "fixed", IRIS.data)
    assert 2 * fixed.typical < real.typical
    assert 2 * fixed.flash < real.flash
