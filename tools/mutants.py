"""Small changes to formulas: other operators, signs, comparisons, constants, indices, functions.

Only what is computed is changed: not types, messages, names or the constants of a module, which
tests of a formula leave open on purpose.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

OPERATORS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.Pow: ("**", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
# the other side, and the border
COMPARISONS: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", (">=", "<=")),
    ast.LtE: ("<=", (">", "<")),
    ast.Gt: (">", ("<=", ">=")),
    ast.GtE: (">=", ("<", ">")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
}
FUNCTIONS = {
    "maximum": "minimum",
    "minimum": "maximum",
    "max": "min",
    "min": "max",
    "exp": "expm1",
    "expm1": "exp",
    "log": "log1p",
    "log1p": "log",
    "sqrt": "square",
    "square": "sqrt",
    "sum": "mean",
    "mean": "sum",
    "any": "all",
    "all": "any",
    "argmax": "argmin",
    "argmin": "argmax",
    "zeros": "ones",
    "ones": "zeros",
    "tril": "triu",
    "triu": "tril",
    "ceil": "floor",
    "floor": "ceil",
}
# what is said rather than computed
SAID = (ast.Raise, ast.JoinedStr, ast.ImportFrom, ast.Import, ast.Assert)


@dataclass(frozen=True)
class Mutant:
    """One change: the line it is in, before and after, and the source with it."""

    line: int
    before: str
    after: str
    source: str

    @property
    def key(self) -> str:
        """The change as text, wherever its line moves."""
        return f"{self.before.strip()}  ->  {self.after.strip()}"


@dataclass(frozen=True)
class Text:
    """A source, to be changed at places that the syntax tree names."""

    source: bytes
    starts: tuple[int, ...]  # of lines

    def place(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def first(self, node: ast.expr) -> int:
        return self.place(node.lineno, node.col_offset)

    def last(self, node: ast.expr) -> int:
        return self.place(node.end_lineno or 0, node.end_col_offset or 0)

    def changed(self, first: int, last: int, old: str, new: str) -> Mutant:
        """The first `old` between two places replaced."""
        at = self.source.index(old.encode(), first, last)
        source = self.source[:at] + new.encode() + self.source[at + len(old.encode()) :]
        line = self.source.count(b"\n", 0, at)
        lines, others = self.source.split(b"\n"), source.split(b"\n")
        return Mutant(line + 1, lines[line].decode(), others[line].decode(), source.decode())


def mutants_of(source: str) -> list[Mutant]:
    """All changes to the function bodies of a module, in order."""
    raw = source.encode()
    starts = [0]
    for line in raw.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    text = Text(raw, tuple(starts))
    return [
        mutant
        for function in outermost_functions(ast.parse(source))
        for statement in function.body
        for node in computed(statement)
        for mutant in changes(text, node)
    ]


def outermost_functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """Functions and methods that are in no other."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from outermost_functions(node)


def computed(node: ast.AST) -> Iterator[ast.AST]:
    """A node and those within it, types, messages and decorators left out."""
    if isinstance(node, SAID):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_params"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from computed(child)


def changes(text: Text, node: ast.AST) -> Iterator[Mutant]:
    """What can be changed at a node itself."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            old, new = OPERATORS[type(op)]
            yield text.changed(text.last(left), text.first(right), old, new)
        case ast.AugAssign(target=target, op=op, value=value) if type(op) in OPERATORS:
            old, new = OPERATORS[type(op)]
            yield text.changed(text.last(target), text.first(value), old, new)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
            old, others = COMPARISONS[type(op)]
            for new in others:
                yield text.changed(text.last(left), text.first(right), old, new)
        case ast.BoolOp(op=op, values=[left, right, *_]):
            old, new = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
            yield text.changed(text.last(left), text.first(right), old, new)
        case ast.UnaryOp(op=ast.USub()):
            yield text.changed(text.first(node), text.last(node), "-", "")
        case ast.UnaryOp(op=ast.Not()):
            yield text.changed(text.first(node), text.last(node), "not ", "")
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int(value)):
            old = text.source[text.first(node) : text.last(node)].decode()
            yield text.changed(text.first(node), text.last(node), old, str(value + 1))
        case ast.Constant(value=float(value)):
            old = text.source[text.first(node) : text.last(node)].decode()
            yield text.changed(text.first(node), text.last(node), old, repr(2 * value or 1.0))
        case ast.Attribute(value=value, attr="T"):
            yield text.changed(text.last(value), text.last(node), ".T", "")
        case ast.Attribute(value=value, attr=name) if name in FUNCTIONS:
            yield text.changed(text.last(value), text.last(node), name, FUNCTIONS[name])
