"""The shape of the code: ``python tools/shape.py [--static]``.

How much a reader must follow to understand a fit, and how much the modules know of each other's
insides. Three fits run with one thread, each in a fresh process, under `sys.setprofile`:

functions
    Distinct pairs of module and function name among the calls of code in ``src/sdgm``. Methods and
    nested functions count as functions; the unnamed ones of a module count once for each kind
    (lambda, list comprehension, generator expression, ...).
modules
    Distinct files of ``src/sdgm`` whose functions were called.
depth
    The most frames of ``src/sdgm`` on the stack at once, those of other packages not counted.
learn
    Calls of the function named ``learn`` at the top of a module: runs of Algorithm 1.

The rest is read from the source, without running it.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "sdgm"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
MANY_ROWS = 40_000
# underscore names that are documented: those of named tuples
PUBLIC = {"_replace", "_asdict", "_fields", "_make"}
OWN = {"self", "cls", "mcs"}

Row = tuple[str, ...]


def automatic() -> Callable[[], Any]:
    """The fit that chooses its settings."""
    from sklearn.datasets import load_iris

    from sdgm import SDGMClassifier

    X, y = load_iris(return_X_y=True)
    return lambda: SDGMClassifier().fit(X, y)


def dual() -> Callable[[], Any]:
    """The dual form with named settings."""
    from sklearn.datasets import load_iris

    from sdgm import KernelSDGMClassifier

    X, y = load_iris(return_X_y=True)
    return lambda: KernelSDGMClassifier(n_components=3, teacher=None).fit(X, y)


def many_rows() -> Callable[[], Any]:
    """The fit that begins with a sample."""
    from sklearn.datasets import make_classification

    from sdgm import SDGMClassifier

    X, y = make_classification(MANY_ROWS, 5, n_informative=5, n_redundant=0, random_state=0)
    return lambda: SDGMClassifier(n_components=3, teacher=None).fit(X, y)


FITS = {
    "SDGMClassifier()": automatic,
    "KernelSDGMClassifier(n_components=3)": dual,
    f"SDGMClassifier(n_components=3), {MANY_ROWS:,} rows": many_rows,
}


def path_of_fit(name: str) -> Row:
    """Functions, modules, depth and calls of `learn` of one fit, in this process."""
    warnings.simplefilter("ignore")
    fit = FITS[name]()
    own = str(SOURCE) + os.sep
    calls: Counter[Any] = Counter()
    deepest = 0

    def watch(frame: FrameType, event: str, _: Any) -> None:
        nonlocal deepest
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(own) or code.co_name == "<module>":
            return
        calls[code] += 1
        deepest = max(deepest, depth(frame, own))

    for package in (
        "core",
        "ensemble",
        "estimators",
        "scale",
    ):  # which `fit` imports when it needs them
        for path in (SOURCE / package).rglob("*.py"):
            import_module(".".join(path.relative_to(SOURCE.parent).with_suffix("").parts))
    sys.setprofile(watch)
    try:
        fit()
    finally:
        sys.setprofile(None)
    functions = {(code.co_filename, code.co_name) for code in calls}
    modules = {code.co_filename for code in calls}
    learned = sum(n for code, n in calls.items() if code.co_qualname == "learn")
    return name, *map(str, (len(functions), len(modules), deepest, learned))


def depth(frame: FrameType | None, own: str) -> int:
    """Frames of the package on the stack."""
    n = 0
    while frame is not None:
        n += frame.f_code.co_filename.startswith(own)
        frame = frame.f_back
    return n


def paths() -> Iterator[Row]:
    """All fits, each in a process of its own, so that nothing is cached."""
    os.environ.update(ONE_THREAD)
    for name in FITS:
        with get_context("spawn").Pool(1) as pool:
            yield pool.apply(path_of_fit, (name,))


def modules(folder: Path) -> dict[Path, ast.Module]:
    """The parsed files of a folder."""
    return {path: ast.parse(path.read_text()) for path in sorted(folder.rglob("*.py"))}


def is_private(name: str) -> bool:
    """Whether a name has one leading underscore."""
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def private_reads(tree: ast.Module) -> list[str]:
    """Underscore attributes of others than self, cls and super()."""
    return [
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and is_private(node.attr) and not is_own(node.value)
    ]


def is_own(value: ast.expr) -> bool:
    """Whether an expression is self, cls or super()."""
    if isinstance(value, ast.Name):
        return value.id in OWN
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id == "super"
    )


def private_imports(tree: ast.Module) -> list[str]:
    """Underscore names taken from another module of the package."""
    return [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sdgm")
        for alias in node.names
        if is_private(alias.name) and not (SOURCE / f"{alias.name}.py").exists()
    ]


def defined(tree: ast.Module) -> set[str]:
    """Names that a module itself gives to functions, classes, fields and attributes of self."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.update([node.attr] if is_own(node.value) else [])
    return names


def is_transplant(node: ast.AST) -> bool:
    """``vars(x).update(...)`` or ``x.__dict__.update(...)``."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    of = node.func.value
    is_vars = isinstance(of, ast.Call) and isinstance(of.func, ast.Name) and of.func.id == "vars"
    is_dict = isinstance(of, ast.Attribute) and of.attr == "__dict__"
    return node.func.attr == "update" and (is_vars or is_dict)


def is_context_variable(node: ast.AST) -> bool:
    """``ContextVar(...)``."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute)
    return is_call and "ContextVar" in (
        getattr(node.func, "id", ""),
        getattr(node.func, "attr", ""),
    )


def mixins(tree: ast.Module) -> list[str]:
    """Classes named so, except those that stand in for one of another package."""
    taken = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    names = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return [name for name in names if name.endswith("Mixin") and name not in taken]


def shape_of_learn(path: Path, tree: ast.Module) -> list[Row]:
    """Lines of the body without docstring, blanks and comments; its decisions and loops."""
    rows: list[Row] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "learn":
            text = path.read_text().splitlines()
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = [line.strip() for line in text[body[0].lineno - 1 : node.end_lineno]]
            n_lines = sum(bool(line) and not line.startswith("#") for line in lines)
            kinds: Counter[type] = Counter(type(part) for part in ast.walk(node))
            branches = kinds[ast.If] + kinds[ast.IfExp] + kinds[ast.Try]
            loops = kinds[ast.For] + kinds[ast.While]
            where = path.relative_to(SOURCE).as_posix()
            rows += [
                (f"`learn`, lines of body ({where})", str(n_lines)),
                ("`learn`, branches (if, conditional expression, try)", str(branches)),
                ("`learn`, loops", str(loops)),
                (f"lines of {where}", str(len(text))),
            ]
    return rows


def is_number(node: ast.expr) -> bool:
    """A number, or what is made of nothing but numbers."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    made = ast.UnaryOp | ast.BinOp | ast.Tuple
    return isinstance(node, made) and bool(parts) and all(map(is_number, parts))


def constants(path: Path, tree: ast.Module) -> Iterator[bool]:
    """Of each numeric constant of a module: whether a comment is beside it or right above."""
    text = ["", *path.read_text().splitlines()]
    for node in tree.body:
        if isinstance(node, ast.Assign) and is_number(node.value):
            names = [part.id for part in ast.walk(node.targets[0]) if isinstance(part, ast.Name)]
            is_said = text[node.lineno - 1].startswith("#") or "#" in text[node.lineno]
            yield from [is_said for name in names if name.isupper()]


def lines_of(*folders: str) -> str:
    """Lines of all Python files in folders."""
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return f"{sum(len(path.read_text().splitlines()) for path in files):,}"


def static() -> Iterator[Row]:
    """What the source shows."""
    trees = modules(SOURCE)
    read = {path: private_reads(tree) for path, tree in trees.items()}
    across = sum(name not in defined(tree) for path, tree in trees.items() for name in read[path])
    imported = sum(len(private_imports(tree)) for tree in trees.values())
    yield "private reads `x._name`, x not self, cls, super()", str(sum(map(len, read.values())))
    yield "of these, names that the module itself does not define", str(across)
    yield "private names imported from other modules", str(imported)
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    yield "attribute transplants (`vars(x).update`)", str(sum(map(is_transplant, nodes)))
    yield "context variables", str(sum(map(is_context_variable, nodes)))
    own = [name for tree in trees.values() for name in mixins(tree)]
    yield f"own mixins ({', '.join(own)})", str(len(own))
    for path, tree in trees.items():
        yield from shape_of_learn(path, tree)
    said = [each for path, tree in trees.items() for each in constants(path, tree)]
    yield "numeric constants of modules; without a comment", f"{len(said)}; {said.count(False)}"
    yield "files in src/sdgm", str(len(trees))
    yield "lines of Python in src/sdgm", lines_of("src/sdgm")
    yield "lines of Python in benchmarks", lines_of("benchmarks")


def show(head: Row, rows: Iterator[Row]) -> None:
    """Print a table in Markdown, row by row."""
    print(f"| {' | '.join(head)} |", "|---" * len(head) + "|", sep="\n")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)
    print()


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        prog="python tools/shape.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--static", action="store_true", help="only what the source shows")
    if not parser.parse_args().static:
        show(("fit", "functions", "modules", "depth", "`learn` calls"), paths())
    show(("in the source", "number"), static())


if __name__ == "__main__":
    main()
