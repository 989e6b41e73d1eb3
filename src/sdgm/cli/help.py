"""How the help of commands looks: options that take no value show none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


def without_values(parameters: list[Any]) -> list[Any]:
    """The parameters, where flags have nothing to show for a value."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False) and parameter.metavar is None:
            parameter.metavar = ""
    return parameters


class Command(TyperCommand):
    """A command whose flags show no type."""

    def get_params(self, ctx: Any) -> list[Any]:
        return without_values(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands whose flags show no type."""

    def get_params(self, ctx: Any) -> list[Any]:
        return without_values(super().get_params(ctx))


class Commands(typer.Typer):
    """Commands of this kind."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cls=Group, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[..., Any]:
        return super().command(name, cls=Command, **options)
