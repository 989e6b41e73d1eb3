"""Exported headers on emulated microcontrollers: flash, RAM and instructions, beside emlearn.

Automatic fits of both forms in every precision, and emlearn's classifiers along their own sizes, on
the development sets with at most 20 inputs, Ripley's problem and a table of 7 inputs and 3 classes
(the seeds of UCI). Everything is compiled with ``-Os`` and asked about at most 1,000 test rows on a
Cortex-M0; Ripley and the seeds on a Cortex-M3 and M4F too, and beside classifiers of m2cgen
and micromlgen.

Flash is what the model adds to a program: code, constants, and what it takes from the C library.
Of a peer's sizes the page takes the one with the least flash whose error on the test rows is no
higher than that of ours, which favours the peer.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.chip.board import BOARDS, Board, Run, run, versions
from benchmarks.chip.header import TYPES, ask_header
from benchmarks.chip.page import FORMS, IN_SHORT, write
from benchmarks.chip.peers import PEERS, include_folder
from benchmarks.data import BUNDLED, IDA, Split, ripley, split_of
from benchmarks.records import Cell, Record
from benchmarks.runner import Benchmark, Plan
from benchmarks.uci121 import fold_of
from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.export.rounding import rounded

ON_ALL_BOARDS = ("ripley", "seeds")
# development sets with more than 20 inputs
WIDE = ("waveform", "wdbc", "digits")
SETS = (*ON_ALL_BOARDS, *(name for name in (*BUNDLED, *IDA) if name not in WIDE))
MAX_ROWS = 1000
ESTIMATORS: dict[str, Any] = dict(zip(FORMS, (SDGMClassifier, KernelSDGMClassifier), strict=True))


def rows_of(data: str) -> Split:
    """Training rows and up to so many test rows."""
    if data == "ripley":
        X, y, X_test, y_test = ripley()
    elif data == "seeds":  # three kinds of wheat, seven measures of each
        X, y, X_test, y_test = fold_of("seeds", 0)
    else:
        X, y, X_test, y_test = split_of(data, 0)
    chosen = np.random.default_rng(0).permutation(len(X_test))[:MAX_ROWS]
    return X, y, X_test[chosen], y_test[chosen]


def cells(plan: Plan) -> list[Cell]:
    """Every method on every set."""
    methods = (FORMS[0], "emlearn, decision tree") if plan.quick else (*FORMS, *PEERS)
    sets = ("ripley",) if plan.quick else SETS
    return [
        {"data": data, "method": method}
        for data in sets
        for method in methods
        if data in ON_ALL_BOARDS or not method.startswith(("m2cgen", "micromlgen"))
    ]


def measure(data: str, method: str) -> Iterator[Record]:
    """A record per setting, precision and board."""
    X, y, X_test, y_test = rows_of(data)
    about = {"inputs": X.shape[1], "classes": len(np.unique(y)), "rows": len(X_test)}
    about |= {"tools": versions()}
    boards = list(BOARDS.values()) if data in ON_ALL_BOARDS else [BOARDS["Cortex-M0"]]
    found = of_headers if method in FORMS else of_peers
    for record in found(method, boards, X, y, X_test, y_test):
        yield about | record


def of_headers(
    method: str, boards: list[Board], X: Any, y: Any, X_test: Any, y_test: Any
) -> Iterator[Record]:
    model = ESTIMATORS[method](random_state=0).fit(X, y)
    expected = model.predict_proba(X_test)
    kinds = [(precision, precision, model) for precision in TYPES]
    kinds.append((IN_SHORT, "fixed", rounded(model)))
    for (words, precision, own), label, board in product(kinds, (True, False), boards):
        try:
            with TemporaryDirectory() as name:
                done, P = ask_header(board, Path(name), own, precision, X_test, label=label)
        except ValueError:  # a model that fixed point refuses
            continue
        error = np.mean(model.classes_[done.answers["c"]] != y_test)
        off = None if label else float(np.abs(P - expected).max())
        setting = f"{words}, {'label' if label else 'probabilities'}"
        yield costs(board, done, setting, float(error)) | {
            "weights": int(model.n_active_weights_), "difference": off
        }  # fmt: skip


def of_peers(
    method: str, boards: list[Board], X: Any, y: Any, X_test: Any, y_test: Any
) -> Iterator[Record]:
    classes, flags = np.unique(y), (f"-I{include_folder()}", "-w")
    for source in PEERS[method](X, y):
        rows = source.rows(X_test)
        for board in boards:
            with TemporaryDirectory() as name:
                folder = Path(name)
                try:
                    done = run(board, folder, [source.write(folder)], rows, np.dtype("i4"), *flags)
                except RuntimeError as error:
                    if "overflowed" not in str(error):
                        raise
                    continue  # it does not fit into the board
            labels = classes[done.answers]
            # of the classifier that it was made from, which shows that it was asked the right way
            agreement = float(np.mean(labels == source.labels(rows.astype(np.float64))))
            error = float(np.mean(labels != y_test))
            yield costs(board, done, source.setting, error) | {"agreement": agreement}


def costs(board: Board, done: Run, setting: str, error: float) -> Record:
    return {
        "board": board.name,
        "setting": setting,
        "error": error,
        "flash": done.flash,
        "ram": done.ram,
        "stack": done.stack,
        "instructions": done.typical,
    }


BENCHMARK = Benchmark("chip", cells, measure, write, timeout=7200.0)
