"""Models as C headers: bytes and nanoseconds.

Ripley's problem: the model of the demo, and what both forms learn by themselves. Each becomes a
header in each precision, is compiled with ``gcc -O2`` and asked about rows around the test rows,
one by one; Python is asked about the same rows, all at once and one by one.

Times are of the processor, medians over the repeats. Bytes are those of the constants as
``to_c`` counts them, and of the whole object file, code included, as ``size`` does.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np

from benchmarks import markdown
from benchmarks.environment import made_by
from benchmarks.markdown import table
from benchmarks.records import Cell, Record, results
from benchmarks.reproduced import demo_data, paper_model
from benchmarks.runner import Benchmark, Plan
from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.core.inference.recipe import Preset
from sdgm.export.c import to_c

MODELS = {
    "demo (dual, the paper's settings)": lambda: paper_model(Preset.PAPER, 0),
    "dual, automatic": lambda: KernelSDGMClassifier(random_state=0),
    "original form, automatic": lambda: SDGMClassifier(random_state=0),
}
PYTHON = "Python"
PROGRAM = Path(__file__).with_suffix(".c")
# of the numbers in C, in numpy and in the file of rows
PRECISIONS = {
    "double": ("double", np.float64, np.float64),
    "float": ("float", np.float32, np.float32),
    "fixed": ("int32_t", np.int32, np.float64),
}

# a probability of one in fixed point
ONE = 2**24

OBJECT = """
#include "model.h"
int predict(const REAL *x) { return model_predict(x); }
int predict_proba(const REAL *x, REAL *p) { return model_predict_proba(x, p); }
const char *class_name(int c) { return model_class_name(c); }
"""


def cells(plan: Plan) -> list[Cell]:
    """Every model in every precision, and in Python."""
    rows = plan.rows or (20_000 if plan.quick else 1_000_000)
    return [
        {"model": model, "precision": precision, "rows": rows, "rounds": plan.repeats}
        for model in MODELS
        for precision in (*PRECISIONS, PYTHON)
    ]


def measure(model: str, precision: str, rows: int, rounds: int) -> Record:
    """Fit, and ask about rows around the test rows."""
    data = demo_data(0)
    X, y, X_test, _ = data.split()
    rng = np.random.default_rng(0)
    asked = X_test[rng.integers(len(X_test), size=rows)]
    asked = asked + 0.3 * rng.normal(size=asked.shape)
    fitted = MODELS[model]().fit(X, y)
    about = {"weights": int(fitted.n_active_weights_), "generated": data.generated}
    if precision == PYTHON:
        return about | in_python(fitted, asked, rounds)
    return about | in_c(fitted, asked, precision, rounds)


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


def in_c(model: Any, rows: np.ndarray, precision: str, rounds: int) -> Record:
    """Compile and ask."""
    source = to_c(model, precision=precision, name="model")
    real, dtype, of_rows = PRECISIONS[precision]
    rounded = rows.astype(of_rows)
    with TemporaryDirectory() as name:
        folder = Path(name)
        source.write(folder / "model.h")
        n_bytes = object_bytes(folder, real)
        gcc(folder, real, "-O2", "-I.", str(PROGRAM), "-o", "program", "-lm")
        rounded.tofile(folder / "rows")
        command = [str(folder / "program"), str(len(rows)), str(rounds)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        P = np.fromfile(folder / "probabilities", dtype=dtype)
    if precision == "fixed":
        P = P / ONE
    expected = model.predict_proba(rounded.astype(np.float64))
    times = np.array([line.split() for line in done.stdout.splitlines()], dtype=float)
    version = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True)
    return {
        "constants": source.flash_bytes,
        "object": n_bytes,
        "stack": source.ram_bytes,
        "multiply_adds": source.multiply_adds,
        "exponentials": source.exponentials,
        "predict_ns": float(np.median(times[:, 0])),
        "predict_proba_ns": float(np.median(times[:, 1])),
        "difference": float(np.abs(P.reshape(expected.shape) - expected).max()),
        "bound": source.error_bound,
        "gcc": version.stdout.splitlines()[0],
    }


def in_python(model: Any, rows: np.ndarray, rounds: int) -> Record:
    """Nanoseconds per row of `predict_proba`: all rows at once, and one by one."""
    together, alone = [], []
    for number in range(rounds):
        start = process_time()
        model.predict_proba(rows)
        together.append((process_time() - start) / len(rows))
        start = process_time()
        for i in range(100):
            model.predict_proba(rows[number + i : number + i + 1])
        alone.append((process_time() - start) / 100)
    return {"together_ns": 1e9 * median(together), "alone_ns": 1e9 * median(alone)}


def write(output: Path) -> Path:
    """Headers, then the same in Python."""
    records = results(output, "c_model")
    compiled = [r for r in records if r["precision"] != PYTHON]
    python = [r for r in records if r["precision"] == PYTHON]
    counts = ("weights", "constants", "object", "stack", "multiply_adds", "exponentials")
    rows = []
    for r in compiled:
        times = f"{r['predict_ns']:.0f}", f"{r['predict_proba_ns']:.0f}", f"{r['difference']:.1e}"
        bound = "" if r["bound"] is None else f"{r['bound']:.1e}"
        rows.append([r["model"], r["precision"], *(r[field] for field in counts), *times, bound])
    head = ["model", "type", "weights", "constants, bytes", "object file, bytes", "stack, bytes"]
    head += ["multiply-adds", "exponentials", "`predict`, ns", "`predict_proba`, ns"]
    head += ["difference", "stated bound"]
    in_python = [[r["model"], f"{r['together_ns']:.0f}", f"{r['alone_ns']:.0f}"] for r in python]
    return markdown.write_filled(
        output,
        "c-model",
        made_by=made_by(records),
        gcc=compiled[-1]["gcc"],
        origin="generated" if records[-1]["generated"] else "published",
        n_rows=records[-1]["rows"],
        headers=table(head, rows),
        python=table(["model", "all rows at once", "one by one"], in_python),
    )


BENCHMARK = Benchmark("c_model", cells, measure, write, repeats=11, quick_repeats=3)
