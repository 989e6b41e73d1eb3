"""Models as C headers: ``python -m benchmarks.c_model [--rows N] [--repeats N] [--quick]``.

Ripley's problem: the model of the demo, and what both forms learn by themselves. Each becomes a
header in each precision, is compiled with ``gcc -O2`` and asked about rows around the test rows,
one by one; Python is asked about the same rows, all at once and one by one.

Times are of the processor, medians over the repeats. Bytes are those of the constants as
``to_c`` counts them, and of the whole object file, code included, as ``size`` does.
"""

from __future__ import annotations

import argparse
import subprocess
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np

from benchmarks.child import ROOT
from benchmarks.machine import cpu_model
from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.core.inference.preset import Preset
from sdgm.demo import paper_model, ripley
from sdgm.export.c import CSource, to_c

PAGE = ROOT / "docs" / "results" / "c-model.md"
# of the numbers in C, in numpy and in the file of rows
PRECISIONS = {
    "double": ("double", np.float64, np.float64),
    "float": ("float", np.float32, np.float32),
    "fixed": ("int32_t", np.int32, np.float64),
}

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "model.h"

static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

/* Rows from a file; nanoseconds per call on the output, probabilities in a file. */
int main(int argc, char **argv)
{
    const long n = argc > 2 ? atol(argv[1]) : 0, repeats = argc > 2 ? atol(argv[2]) : 0;
    REAL *x = malloc((size_t)n * MODEL_N_INPUTS * sizeof(REAL));
    REAL *p = malloc((size_t)n * MODEL_N_CLASSES * sizeof(REAL));
    FILE *in = fopen("rows", "rb"), *out = fopen("probabilities", "wb");
    long i, r, sum = 0;
    if (!x || !p || !in || !out) { return 1; }
#ifdef MODEL_ONE
    for (i = 0; i < n * MODEL_N_INPUTS; ++i) {
        double value;
        if (fread(&value, sizeof value, 1, in) != 1) { return 1; }
        x[i] = model_input((int)(i % MODEL_N_INPUTS), value);
    }
#else
    if (fread(x, sizeof(REAL) * MODEL_N_INPUTS, (size_t)n, in) != (size_t)n) { return 1; }
#endif
    for (r = 0; r < repeats; ++r) {
        double start = seconds(), middle;
        for (i = 0; i < n; ++i) { sum += model_predict(x + i * MODEL_N_INPUTS); }
        middle = seconds();
        for (i = 0; i < n; ++i) {
            sum += model_predict_proba(x + i * MODEL_N_INPUTS, p + i * MODEL_N_CLASSES);
        }
        printf("%.3f ", 1e9 * (middle - start) / (double)n);
        printf("%.3f\\n", 1e9 * (seconds() - middle) / (double)n);
    }
    fprintf(stderr, "%ld\\n", sum);
    return fwrite(p, sizeof(REAL) * MODEL_N_CLASSES, (size_t)n, out) != (size_t)n || fclose(out);
}
"""

# a probability of one in fixed point
ONE = 2**24

OBJECT = """
#include "model.h"
int predict(const REAL *x) { return model_predict(x); }
int predict_proba(const REAL *x, REAL *p) { return model_predict_proba(x, p); }
const char *class_name(int c) { return model_class_name(c); }
"""


@dataclass(frozen=True)
class Measured:
    """One model in one precision."""

    source: CSource
    object_bytes: int
    predict_ns: float
    predict_proba_ns: float
    difference: float


def gcc(folder: Path, real: str, *arguments: str) -> None:
    """Compile in the folder."""
    subprocess.run(["gcc", "-std=c99", f"-DREAL={real}", *arguments], cwd=folder, check=True)


def object_bytes(folder: Path, real: str) -> int:
    """Code and constants of the three functions, optimised for size."""
    (folder / "object.c").write_text(OBJECT)
    gcc(folder, real, "-Os", "-c", "object.c", "-o", "object.o")
    done = subprocess.run(["size", "object.o"], cwd=folder, capture_output=True, text=True)
    text, data, bss = done.stdout.splitlines()[1].split()[:3]
    return int(text) + int(data) + int(bss)


def measured(model: Any, rows: np.ndarray, precision: str, repeats: int) -> Measured:
    """Compile and ask."""
    source = to_c(model, precision=precision, name="model")
    real, dtype, of_rows = PRECISIONS[precision]
    rounded = rows.astype(of_rows)
    with TemporaryDirectory() as name:
        folder = Path(name)
        source.write(folder / "model.h")
        n_bytes = object_bytes(folder, real)
        (folder / "program.c").write_text(PROGRAM)
        gcc(folder, real, "-O2", "program.c", "-o", "program", "-lm")
        rounded.tofile(folder / "rows")
        command = [str(folder / "program"), str(len(rows)), str(repeats)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        P = np.fromfile(folder / "probabilities", dtype=dtype)
    if precision == "fixed":
        P = P / ONE
    expected = model.predict_proba(rounded.astype(np.float64))
    times = np.array([line.split() for line in done.stdout.splitlines()], dtype=float)
    return Measured(
        source=source,
        object_bytes=n_bytes,
        predict_ns=float(np.median(times[:, 0])),
        predict_proba_ns=float(np.median(times[:, 1])),
        difference=float(np.abs(P.reshape(expected.shape) - expected).max()),
    )


def python_ns(model: Any, rows: np.ndarray, repeats: int) -> tuple[float, float]:
    """Nanoseconds per row of `predict_proba`: all rows at once, and one by one."""
    together, alone = [], []
    for number in range(repeats):
        start = process_time()
        model.predict_proba(rows)
        together.append((process_time() - start) / len(rows))
        start = process_time()
        for i in range(100):
            model.predict_proba(rows[number + i : number + i + 1])
        alone.append((process_time() - start) / 100)
    return 1e9 * median(together), 1e9 * median(alone)


def models() -> tuple[dict[str, Any], np.ndarray, bool]:
    """Fitted models, test rows, and whether these had to be generated."""
    data = ripley(0)
    X, y, X_test, _ = data.split()
    unfitted = {
        "demo (dual, the paper's settings)": paper_model(Preset.PAPER, 0),
        "dual, automatic": KernelSDGMClassifier(random_state=0),
        "original form, automatic": SDGMClassifier(random_state=0),
    }
    fitted = {name: model.fit(X, y) for name, model in unfitted.items()}
    return fitted, X_test, data.generated


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.c_model", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="(default: 1000000)")
    parser.add_argument("--repeats", type=int, default=11, help="of timing (default: 11)")
    parser.add_argument("--quick", action="store_true", help="few rows, no page")
    parser.add_argument("--output", type=Path, default=PAGE, help="the page to write")
    options = parser.parse_args()
    n_rows, repeats = (20_000, 3) if options.quick else (options.rows, options.repeats)
    fitted, X_test, generated = models()
    rng = np.random.default_rng(0)
    rows = X_test[rng.integers(len(X_test), size=n_rows)]
    rows = rows + 0.3 * rng.normal(size=rows.shape)
    lines, python = [], []
    for name, model in fitted.items():
        for precision in PRECISIONS:
            one = measured(model, rows, precision, repeats)
            source = one.source
            bound = "" if source.error_bound is None else f"{source.error_bound:.1e}"
            lines.append(
                f"| {name} | {precision} | {model.n_active_weights_} | {source.flash_bytes} | "
                f"{one.object_bytes} | {source.ram_bytes} | {source.multiply_adds} | "
                f"{source.exponentials} | {one.predict_ns:.0f} | {one.predict_proba_ns:.0f} | "
                f"{one.difference:.1e} | {bound} |"
            )
            print(lines[-1], flush=True)
        together, alone = python_ns(model, rows, repeats)
        python.append(f"| {name} | {together:.0f} | {alone:.0f} |")
    version = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True)
    page = "\n".join(
        [
            "# Models as C headers: bytes and nanoseconds",
            "",
            f"`python -m benchmarks.c_model --rows {n_rows} --repeats {repeats}`, "
            f"{version.stdout.splitlines()[0]}, one thread of {cpu_model()}. Medians of processor "
            "time.",
            "",
            f"Ripley's problem, {'generated' if generated else 'published'} rows. Each header is "
            f"asked about {n_rows:,} rows around the test rows, one by one. The difference is the "
            "largest between a probability in C and in Python at the same row; for float, the row "
            "as float holds it. In fixed point, inputs are whole numbers already.",
            "",
            "Constants and stack are what `to_c` states; the object file is that of the three "
            "functions with `-Os`, code and constants, without the C library. Time is with `-O2`.",
            "",
            "| model | type | weights | constants, bytes | object file, bytes | stack, bytes | "
            "multiply-adds | exponentials | `predict`, ns | `predict_proba`, ns | difference | "
            "stated bound |",
            "|---|---|---|---|---|---|---|---|---|---|---|---|",
            *lines,
            "",
            "The same in Python, `predict_proba` in nanoseconds per row:",
            "",
            "| model | all rows at once | one by one |",
            "|---|---|---|",
            *python,
            "",
        ]
    )
    print(page)
    if not options.quick:
        options.output.write_text(page)


if __name__ == "__main__":
    main()
