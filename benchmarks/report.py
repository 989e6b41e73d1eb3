"""The page: tables and words around what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from benchmarks import growth, peers, plots, prediction
from benchmarks.records import MEGABYTE, Record, Run, median_seconds, path_of, read
from benchmarks.targets import (
    Target,
    fit_targets,
    growth_targets,
    prediction_targets,
    ratio,
)

PAGE = "benchmarks.md"
NONE = "-"
# growth below this size is mostly fixed cost
TAIL_N = 1_000

INTRODUCTION = """\
# Benchmarks

Written by `python -m benchmarks` (`make bench`); do not edit by hand. The raw times are in
[results/](results/), one JSON record per line; `python -m benchmarks report` writes this page
from them again.
"""

PEERS_TEXT = """\
## Fit time against peers

All models are fitted in one process per thread count, in turn, round after round; each cell is the
median over the rounds with the minimum in brackets. Round i uses seed i where a model has a random
start: the path of sdgm depends on it, so its median is one over seeds (and its minimum the luckiest
seed), and its error, log loss and sizes are means over seeds. Only `fit` is timed. Before, every
model has once been fitted to a few rows.

**These are different models**, and one split each of two problems with two inputs: the errors say
that all of them learned the problem, not which is best.

- `KernelSDGMClassifier()`: mixture of three components per class on the quadratic kernel, whose
  surviving components and weights are learned. By default inputs are standardised and gamma is
  "scale"; with `gamma=1, standardize=False` it is the paper's model, learned by the preset `fast`,
  and with `preset='paper'` the same model by the authors' own order and thresholds.
- `SDGMClassifier()`: the same mixture with weights on the monomials up to degree two instead of
  training rows, so there are no vectors to count.
- `RVMClassifier()`: one component per class, rbf kernel; of sdgm's models the nearest to the peers.
- fastrvm `RVC(kernel='rbf')`: relevance vector machine by greedy sparse Bayesian learning, in C++;
  two classes, one logistic output, no bias, gamma "scale".
- scikit-learn `GaussianProcessClassifier(RBF())`: Laplace approximation. Its time holds the search
  for the kernel's width by marginal likelihood, which no other model here does (they take theirs as
  given); it keeps all rows.
- scikit-learn `SVC(probability=True)`: one support vector machine (rbf, C = 1, gamma "scale"), and
  five more on parts of the rows, from which Platt's scaling of the scores is fitted: this is what
  `probability=True` means. The error is that of `predict`, which does not use the probabilities;
  the log loss is theirs. scikit-learn 1.9 deprecates the option (its warning is silenced here).
- sklearn-rvm `EMRVC(kernel='rbf')`: relevance vector machine with all rows as candidates, in
  Python, gamma 1/D; slow, hence fewer rounds.

No model was tuned; times of a search over kernels or components would be multiples of these.
"Weights" counts component-column pairs for sdgm, constants included, and coefficients including a
bias for the others; "vectors" counts the training rows needed to predict.
"""

PREDICTION_TEXT = """\
## Prediction

Models fitted to Ripley's 250 training rows (seed 0) predict {rows:,} rows of the same distribution.
The yardstick is the least that a mixture of six components has to do: `{yardstick}`, with `A` a
2 x 6 matrix. All calls are timed in turn in one process per thread count; the median over the
rounds, minimum in brackets.
"""

GROWTH_TEXT = """\
## Growth

Two classes of equal size, each a mixture of three Gaussians of unit covariance whose means have
deviation 1.5 in the first five inputs and are zero in all others, which are noise
(`benchmarks/data.py`); 5,000 further rows give the test error. Estimators are `SDGMClassifier`
(primal) and `KernelSDGMClassifier` (dual) with their defaults except for M, the number of
components per class. Every point is a process of its own and ends after {timeout:g} s. Times are
medians of up to {seeds} seeds (one, where a fit takes long), weights and iterations too. Memory is
the peak of the process after the first seed, data included, less that of a process which has only
imported sdgm: {bare}.
"""

EXPONENT_TEXT = """\
Exponent b of growth as N^b, by least squares on logarithms: it holds the growth of an iteration's
time and of their number. In the tables below, a star marks fits that warned.
"""

MACHINE_TEXT = """\
Thread counts are set in the environment of fresh processes, for all BLAS and OpenMP libraries
alike, and checked at the end of each. Times with several threads need as many free cores: on a
machine busy with other work, fits of sdgm and of scikit-learn's GPC with two threads were seen to
take up to 200 times as long as with one. So look at the load average before you read them.
"""


def write_page(output: Path) -> Path:
    """Draw the pictures and write the page, from the runs that are there."""
    runs = {name: read(path_of(output, name)) for name in ("peers", "predict", "growth")}
    sections = [INTRODUCTION, *warning_of_quick_runs(runs), *targets_section(runs)]
    if run := runs["peers"]:
        plots.draw_peers(run, output / "img" / "benchmark-peers.png")
        sections += peers_section(run)
    if run := runs["predict"]:
        sections += prediction_section(run)
    if run := runs["growth"]:
        if run.select(status="done"):
            plots.draw_growth(run, output / "img" / "benchmark-growth.png")
        sections += growth_section(run)
    sections += machine_section(runs)
    page = output / PAGE
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n".join(sections))
    return page


def warning_of_quick_runs(runs: dict[str, Run | None]) -> list[str]:
    quick = [name for name, run in runs.items() if run and run.header["quick"]]
    if not quick:
        return []
    return [f"**Quick run ({', '.join(quick)}): too few and too small to be quoted.**\n"]


def targets_section(runs: dict[str, Run | None]) -> list[str]:
    """Every limit set in advance, met or missed."""
    makers = {"peers": fit_targets, "predict": prediction_targets, "growth": growth_targets}
    targets = [t for name, make in makers.items() if (run := runs[name]) for t in make(run)]
    if not targets:
        return []
    threads = sorted({n for target in targets for n in target.measured})
    rows = [
        [
            target.name,
            f"{target.limit:.3g} {target.unit}".rstrip(),
            *(judged(target, n) for n in threads),
        ]
        for target in targets
    ]
    head = ["Quantity", "Limit", *(thread_label(n) for n in threads)]
    return ["## Targets\n", "Limits that the project set itself.\n", table(head, rows)]


def judged(target: Target, threads: int) -> str:
    """The value, marked when it is over the limit."""
    value = target.measured.get(threads)
    if value is None:
        return "not reached" if threads in target.measured else NONE
    missed = "" if value <= target.limit else ", **missed**"
    return f"{value:.3g} {target.unit}".rstrip() + missed


def peers_section(run: Run) -> list[str]:
    sections = [PEERS_TEXT, "![Fit times of sdgm and its peers](img/benchmark-peers.png)\n"]
    for problem in dict.fromkeys(record["problem"] for record in run.records):
        sections += [f"### {problem}\n", peers_table(run, problem), *warnings_of(run, problem)]
    return sections


def peers_table(run: Run, problem: str) -> str:
    threads = run.threads()
    head = ["Model", "Library"]
    for n in threads:
        head += [f"Fit, {thread_label(n)}", "x fastrvm"]
    head += ["Rounds", "Error, %", "Log loss", "Weights", "Vectors"]
    rows = []
    for first in run.select(problem=problem, threads=threads[0]):
        row = [f"`{first['model']}`", first["library"]]
        for n in threads:
            record = run.find(problem=problem, model=first["model"], threads=n)
            fastrvm = run.find(problem=problem, model=peers.FASTRVM, threads=n)
            row += [spread(record), number(ratio(record, fastrvm), ".3g")]
        row += [
            str(len(first["seconds"])),
            number(first["error"] * 100, ".2f"),
            number(first["log_loss"], ".3f"),
            number(first["n_weights"], ".4g"),
            number(first["n_vectors"], ".4g"),
        ]
        rows.append(row)
    return table(head, rows)


def warnings_of(run: Run, problem: str) -> list[str]:
    """A line on fits that warned, deprecations apart."""
    lines = [
        f"`{record['model']}` gave a {category} in {count} of {len(record['seconds'])} fits "
        f"({thread_label(record['threads'])})."
        for record in run.select(problem=problem)
        for category, count in record["warned"].items()
        if category != "FutureWarning"
    ]
    return ["\n".join(lines) + "\n"] if lines else []


def prediction_section(run: Run) -> list[str]:
    threads = run.threads()
    head = ["Call", "Weights"]
    for n in threads:
        head += [f"Time, {thread_label(n)}", "ratio"]
    rows = []
    for first in run.select(threads=threads[0]):
        call = first["call"]
        row = [call if call == prediction.IN_PLACE else f"`{call}`"]
        row.append(number(first["n_weights"], "d"))
        for n in threads:
            record = run.find(call=call, threads=n)
            yardstick = run.find(call=prediction.YARDSTICK, threads=n)
            row += [spread(record), number(ratio(record, yardstick), ".3g")]
        rows.append(row)
    text = PREDICTION_TEXT.format(rows=run.records[0]["rows"], yardstick=prediction.YARDSTICK)
    return [text, table(head, rows)]


def growth_section(run: Run) -> list[str]:
    bare = ", ".join(
        f"{record['peak_bytes'] / MEGABYTE:.0f} MB with {thread_label(record['threads'])}"
        for record in run.select(series="import")
    )
    sections = [
        GROWTH_TEXT.format(timeout=run.header["timeout"], seeds=growth.SEEDS, bare=bare),
        "![Fit time and memory against N, D and M](img/benchmark-growth.png)\n",
        *exponents(run),
    ]
    for series in ("N", "D", "M"):
        for form in ("dual", "primal"):
            if run.select(series=series, form=form):
                fixed = fixed_sizes(run, series)
                sections += [f"### {series}, {form} ({fixed})\n", growth_table(run, series, form)]
    return sections


def fixed_sizes(run: Run, series: str) -> str:
    record = run.find(series=series)
    assert record is not None
    return ", ".join(f"{name} = {record[name]:,}" for name in ("N", "D", "M") if name != series)


def growth_table(run: Run, series: str, form: str) -> str:
    threads = run.threads()
    head = [
        series,
        *(f"Fit, {thread_label(n)}" for n in threads),
        *(f"Memory, {thread_label(n)}" for n in threads),
        "Seeds",
        "Iterations",
        "Weights",
        "Error, %",
    ]
    rows = []
    for size in dict.fromkeys(r[series] for r in run.select(series=series, form=form)):
        records = [run.find(series=series, form=form, threads=n, **{series: size}) for n in threads]
        done = [r for r in records if r and r["status"] == "done"]
        first = done[0] if done else None
        rows.append(
            [
                f"{size:,}",
                *(fit_cell(run, record) for record in records),
                *(memory_cell(run, record) for record in records),
                str(len(first["seconds"])) if first else NONE,
                number(first and first["n_iter"], ".4g"),
                number(first and first["n_weights"], ".4g"),
                number(first and first["error"] * 100, ".1f"),
            ]
        )
    return table(head, rows)


def fit_cell(run: Run, record: Record | None) -> str:
    if record is None:
        return NONE
    if record["status"] == "timeout":
        return f"over {run.header['timeout']:g} s"
    if record["status"] == "failed":
        return "failed"
    star = "*" if record["warned"] else ""
    return duration(median_seconds(record)) + star


def memory_cell(run: Run, record: Record | None) -> str:
    if record is None or record["status"] != "done":
        return NONE
    return f"{run.megabytes(record):.3g} MB"


def exponents(run: Run) -> list[str]:
    """Slopes of the growth with N, by least squares on logarithms."""
    rows = []
    for form in ("dual", "primal"):
        for threads in run.threads():
            done = run.select(series="N", form=form, threads=threads, status="done")
            tail = [record for record in done if record["N"] >= TAIL_N]
            rows.append(
                [
                    form,
                    str(threads),
                    number(fitted_exponent(done, median_seconds), ".2f"),
                    number(fitted_exponent(tail, median_seconds), ".2f"),
                    number(fitted_exponent(tail, run.megabytes), ".2f"),
                ]
            )
    head = ["Form", "Threads", "Time, all N", f"Time, N >= {TAIL_N:,}", f"Memory, N >= {TAIL_N:,}"]
    return [EXPONENT_TEXT, table(head, rows)]


def fitted_exponent(records: Sequence[Record], value: Callable[[Record], float]) -> float | None:
    values = np.array([value(record) for record in records])
    if len(values) < 2 or (values <= 0).any():
        return None
    return float(np.polyfit(np.log([record["N"] for record in records]), np.log(values), 1)[0])


def machine_section(runs: dict[str, Run | None]) -> list[str]:
    """One column per run, since they may be of different days."""
    headers = {name: run.header for name, run in runs.items() if run}
    if not headers:
        return []
    rows = [
        ["Date", *(h["date"] for h in headers.values())],
        ["Command", *(f"`{h['command']}`" for h in headers.values())],
        ["Rounds", *(str(h["repeats"]) for h in headers.values())],
        ["Processor", *(f"{h['cpu']}, {h['cores']} cores" for h in headers.values())],
        ["Load average at the start", *(str(h["load"]) for h in headers.values())],
        ["System", *(h["system"] for h in headers.values())],
        ["Commit", *(h["commit"] or NONE for h in headers.values())],
        ["Python", *(h["python"] for h in headers.values())],
    ]
    for package in next(iter(headers.values()))["versions"]:
        rows.append([package, *(h["versions"].get(package, NONE) for h in headers.values())])
    return ["## How it was run\n", MACHINE_TEXT, table(["", *headers], rows)]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column to the left, the others to the right."""
    rule = ["---", *("---:" for _ in head[1:])]
    lines = [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]
    return "\n".join(lines) + "\n"


def spread(record: Record | None) -> str:
    """Median and, in brackets, minimum of the times."""
    if record is None:
        return NONE
    return f"{duration(median_seconds(record))} ({duration(min(record['seconds']))})"


def duration(seconds: float) -> str:
    """Three digits in the unit that suits."""
    return f"{seconds:.3g} s" if seconds >= 0.9995 else f"{1000 * seconds:.3g} ms"


def thread_label(n: int) -> str:
    return f"{n} thread" if n == 1 else f"{n} threads"


def number(value: float | None, form: str) -> str:
    return NONE if value is None else format(value, form)
