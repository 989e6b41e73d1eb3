"""Changes to formulas are what they should be, one at a time, and nothing else changes."""

from __future__ import annotations

import ast

import pytest

from tools.mutants import mutants_of


def bodies(expression: str) -> list[str]:
    """What the mutants of a function make of the expression that it returns."""
    found = mutants_of(f"def f(a: 'x < 1', b) -> 'y - 1':\n    return {expression}\n")
    assert all(mutant.line == 2 for mutant in found)
    return [mutant.after.strip().removeprefix("return ") for mutant in found]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a + b", ["a - b"]),
        ("(a) * (b)", ["(a) / (b)"]),
        ("a < b", ["a >= b", "a <= b"]),
        ("a == b", ["a != b"]),
        ("-a", ["a"]),
        ("not a", ["a"]),
        ("a and b", ["a or b"]),
        ("a[0]", ["a[1]"]),
        ("0.5", ["1.0"]),
        ("0.0", ["1.0"]),
        ("a.T @ b", ["a @ b"]),
        ("np.log(a)", ["np.log1p(a)"]),
        ("a ** 2", ["a * 2", "a ** 3"]),
        ("True", []),
        ("f'{a + b}'", []),
    ],
)
def test_each_place_of_an_expression_is_changed(expression: str, expected: list[str]) -> None:
    assert bodies(expression) == expected


def test_messages_types_and_constants_of_a_module_stay() -> None:
    source = "LIMIT = 3\n\nclass A:\n    def f(self) -> None:\n        raise ValueError(2 + 2)\n"
    assert mutants_of(source) == []


def test_letters_of_more_than_one_byte_do_not_shift_the_change() -> None:
    (mutant,) = mutants_of("def f(é, b):\n    return 'ünï', é + b\n")
    assert mutant.source == "def f(é, b):\n    return 'ünï', é - b\n"


def test_every_mutant_of_a_file_is_python() -> None:
    with open(mutants_of.__code__.co_filename, encoding="utf-8") as file:
        found = mutants_of(file.read())
    assert len(found) > 10
    for mutant in found:
        ast.parse(mutant.source)
