"""The same model everywhere: largest differences of C, JavaScript, Python and ONNX.

Automatic fits of both forms on the development sets; every export is asked about 10,000 rows
around the test rows. Differences are of probabilities, from ``predict_proba`` at the same row; for
single precision, the row as it holds it.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks import markdown
from benchmarks.chip.header import TYPES, as_numbers
from benchmarks.data import BUNDLED, IDA, split_of
from benchmarks.environment import made_by
from benchmarks.markdown import number, table
from benchmarks.records import Cell, Record, results, select, values_of
from benchmarks.runner import Benchmark, Plan
from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.export import to_c, to_javascript, to_onnx, to_python
from sdgm.export.c_fixed import SCORE_BITS

FORMS = {"original": SDGMClassifier, "dual": KernelSDGMClassifier}
N_ROWS = 10_000
# deviations of the noise around test rows
NOISE = 0.3

IN_C = """
#include <stdio.h>
#include "model.h"
int main(void)
{
    NUMBER x[MODEL_N_INPUTS], p[MODEL_N_CLASSES];
    while (fread(x, sizeof x, 1, stdin) == 1) {
        (void)model_predict_proba(x, p);
        if (fwrite(p, sizeof p, 1, stdout) != 1) { return 1; }
    }
    return 0;
}
"""
IN_NODE = """
import { readFileSync, writeSync } from "node:fs";
import { inputs, predictProba } from "./model.mjs";
const bytes = readFileSync("rows");
const values = new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8);
const P = [];
for (let i = 0; i < values.length; i += inputs.length) {
  P.push(...predictProba(Array.from(values.subarray(i, i + inputs.length))));
}
const out = new Uint8Array(new Float64Array(P).buffer);
for (let done = 0; done < out.length;) done += writeSync(1, out, done);
"""


def in_c(precision: str, model: Any, X: np.ndarray[Any, Any], folder: Path) -> np.ndarray[Any, Any]:
    """The header, compiled for this machine."""
    ctype, dtype = TYPES[precision]
    to_c(model, precision=precision, name="model", path=folder / "model.h")
    (folder / "main.c").write_text(IN_C)
    command = ["gcc", "-std=c99", "-O2", f"-DNUMBER={ctype}", "main.c", "-o", "main", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    P = np.frombuffer(told(["./main"], folder, as_numbers(model, precision, X).tobytes()), dtype)
    return P.reshape(len(X), -1) / (2**SCORE_BITS if precision == "fixed" else 1)


def in_node(model: Any, X: np.ndarray[Any, Any], folder: Path) -> np.ndarray[Any, Any]:
    """The module in Node."""
    to_javascript(model, folder / "model.mjs")
    (folder / "ask.mjs").write_text(IN_NODE)
    X.tofile(folder / "rows")
    return np.frombuffer(told(["node", "ask.mjs"], folder)).reshape(len(X), -1)


def in_python(model: Any, X: np.ndarray[Any, Any], folder: Path) -> np.ndarray[Any, Any]:
    """The plain function."""
    namespace: dict[str, Any] = {}
    exec(to_python(model), namespace)
    return np.array([namespace["predict_proba"](row) for row in X.tolist()])


def in_onnx(precision: str, model: Any, X: np.ndarray[Any, Any], folder: Path) -> Any:
    """The graph in onnxruntime."""
    from onnxruntime import InferenceSession

    graph = to_onnx(model, precision=precision).SerializeToString()
    session = InferenceSession(graph, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: X.astype(TYPES[precision][1])}
    return session.run(None, feed)[1]


def told(command: list[str], folder: Path, given: bytes | None = None) -> bytes:
    """What a program writes."""
    return subprocess.run(command, cwd=folder, input=given, stdout=-1, check=True).stdout


TARGETS: dict[str, Callable[[Any, Any, Path], Any]] = {
    "C, double": lambda *given: in_c("double", *given),
    "C, float": lambda *given: in_c("float", *given),
    "C, fixed": lambda *given: in_c("fixed", *given),
    "JavaScript": in_node,
    "plain Python": in_python,
    "ONNX, double": lambda *given: in_onnx("double", *given),
    "ONNX, float": lambda *given: in_onnx("float", *given),
}


def cells(plan: Plan) -> list[Cell]:
    """Both forms on every set."""
    names = ("iris",) if plan.quick else (*IDA, *BUNDLED)
    rows = plan.rows or N_ROWS
    return [{"data": name, "form": form, "rows": rows} for name in names for form in FORMS]


def measure(data: str, form: str, rows: int) -> Record:
    """The largest difference of every target, and the stated bound of fixed point."""
    X, y, X_test, _ = split_of(data, 0)
    model = FORMS[form](random_state=0).fit(X, y)
    rng = np.random.default_rng(0)
    asked = X_test[rng.integers(len(X_test), size=rows)].astype(np.float64)
    asked += NOISE * X.std(axis=0) * rng.normal(size=asked.shape)
    found: Record = {"differences": {}, "refused": {}}
    for target, ask in TARGETS.items():
        single = target.endswith("float")
        held = asked.astype(np.float32).astype(np.float64) if single else asked
        try:
            with TemporaryDirectory() as name:
                P = ask(model, held, Path(name))
        except ValueError as error:  # a model that fixed point does not hold
            found["refused"][target] = str(error)
            continue
        off = np.abs(np.asarray(P, dtype=np.float64) - model.predict_proba(held)).max()
        found["differences"][target] = float(off)
    if "C, fixed" in found["differences"]:
        found["bound"] = to_c(model, precision="fixed").error_bound
    return found


def write(output: Path) -> Path:
    """The largest of all sets, then every set."""
    records = results(output, "equality")
    rows, largest = [], dict.fromkeys(TARGETS, 0.0)
    for name in values_of(records, "data"):
        for r in select(records, data=name):
            off = r["differences"]
            largest = {t: max(value, off.get(t, 0.0)) for t, value in largest.items()}
            shown = [number(off[t], ".0e") if t in off else "refused" for t in TARGETS]
            rows.append([name, r["form"], *shown, number(r.get("bound"), ".0e")])
    totals = [[target, number(value, ".0e")] for target, value in largest.items()]
    refused = [json.dumps(r["refused"]) for r in records if r["refused"]]
    return markdown.write_filled(
        output,
        "equality",
        made_by=made_by(records),
        n_rows=records[0]["rows"],
        n_models=len(records),
        n_refused=len(refused),
        largest=table(["target", "largest difference"], totals),
        sets=table(["set", "form", *TARGETS, "stated bound, fixed"], rows),
    )


BENCHMARK = Benchmark("equality", cells, measure, write)
