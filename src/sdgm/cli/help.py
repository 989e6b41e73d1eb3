"""Commands whose help shows no value for flags, and whose command line is remembered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from sdgm.cli import bugs


class FlagsWithoutValues:
    """Mixed into commands and groups of typer, which show <bool>."""

    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False) and parameter.metavar is None:
                parameter.metavar = ""
        return parameters


class Command(FlagsWithoutValues, TyperCommand):
    """A command."""


class Group(FlagsWithoutValues, TyperGroup):
    """A group of commands."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        if parent is None:
            bugs.begin(list(args))
        return super().make_context(info_name, args, parent, **extra)


class Commands(typer.Typer):
    """Commands of this kind."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cls=Group, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[..., Any]:
        return super().command(name, cls=Command, **options)
