"""Claims about the tests: each can fail, and those of the core need no extra."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# packages of the extras, and those with which only some tests work
EXTRAS = (
    *("typer", "rich", "matplotlib", "torch", "onnx", "skl2onnx", "onnxruntime", "polars"),
    *("safetensors", "msgspec", "jinja2", "dask", "distributed", "pandas", "pyarrow"),
)
# functions of other packages that fail for themselves
FAIL = ("assert_", "raises", "warns", "fail", "gradcheck", "gradgradcheck")


def functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def called(function: ast.FunctionDef) -> set[str]:
    """Names of what a function calls, without the objects they are of."""
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    return {ast.unparse(each).rpartition(".")[2] for each in calls}


def asserts(function: ast.FunctionDef, helpers: set[str]) -> bool:
    """Whether a function asserts, raises, or calls what does."""
    if any(isinstance(node, ast.Assert | ast.Raise) for node in ast.walk(function)):
        return True
    names = called(function)
    return bool(names & helpers) or any(name.startswith(FAIL) for name in names)


def without_assertion(tree: ast.Module, shared: set[str]) -> list[str]:
    """Tests of a file that cannot fail but by an error."""
    helpers = shared | {each.name for each in functions(tree) if asserts(each, set())}
    arguments = {"check", "run"}  # checks that are handed in, and commands that check their end
    tests = [each for each in functions(tree) if each.name.startswith("test_")]
    return [each.name for each in tests if not asserts(each, helpers | arguments)]


def test_every_test_asserts_something() -> None:
    trees = {path: ast.parse(path.read_text()) for path in sorted(TESTS.rglob("*.py"))}
    shared = {
        each.name
        for path, tree in trees.items()
        if not path.name.startswith("test_")
        for each in functions(tree)
        if asserts(each, set())
    }
    found = [
        f"{path.relative_to(TESTS)}: {name}"
        for path, tree in trees.items()
        for name in without_assertion(tree, shared)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("body", "found"),
    [("fit()", ["test_it"]), ("assert fit()", []), ("np.testing.assert_equal(1, 2)", [])],
)
def test_a_test_without_assertion_is_found(body: str, found: list[str]) -> None:
    tree = ast.parse(f"def fit():\n    return 1\n\ndef test_it():\n    {body}\n")
    assert without_assertion(tree, set()) == found


@pytest.mark.slow
def test_without_extras_the_suite_can_be_collected() -> None:
    code = (
        "import sys, pytest\n"
        f"sys.modules.update(dict.fromkeys({EXTRAS!r}))\n"
        "sys.exit(pytest.main(['--collect-only', '-q', '-p', 'no:cacheprovider']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=TESTS.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "estimators/test_invariance.py" in done.stdout
    assert "nn/test_layer.py" not in done.stdout
