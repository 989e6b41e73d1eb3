"""``sdgm export``: a model as C, JavaScript, plain Python, ONNX or JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from sdgm.cli import bugs
from sdgm.cli.console import (
    Force,
    ModelFile,
    Quiet,
    console,
    friendly_errors,
    load_model,
    print_text,
    print_written,
    valid,
)
from sdgm.tables.paths import check_output, refuse_existing


class Language(StrEnum):
    """Language or format of the file."""

    C = "c"
    JAVASCRIPT = "js"
    PYTHON = "py"
    ONNX = "onnx"
    JSON = "json"


class Precision(StrEnum):
    """Numbers to compute with."""

    DOUBLE = "double"
    FLOAT = "float"
    FIXED = "fixed"
    FLOAT_ONLY = "float_only"


# what files end in, the usual first
SUFFIXES = {
    Language.C: (".h",),
    Language.JAVASCRIPT: (".js", ".mjs"),
    Language.PYTHON: (".py",),
    Language.ONNX: (".onnx",),
    Language.JSON: (".json",),
}


def export(
    model: ModelFile,
    to: Annotated[
        Language,
        typer.Option(
            "--to",
            help="C99 header, JavaScript module, plain Python, ONNX model or JSON.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write, by default MODEL.h or similar; - for stdout.",
        ),
    ] = None,
    precision: Annotated[
        Precision | None,
        typer.Option(
            help="Number format, by default double. fixed is for C, float_only for ONNX, where "
            "float applies to inputs and outputs only."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="PREFIX",
            callback=valid(check_name),
            help="Prefix of the C functions, by default sdgm.",
        ),
    ] = None,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Export a model to C, JavaScript, plain Python, ONNX or JSON."""
    check_options(to, precision, name)
    path = output or model.with_suffix(SUFFIXES[to][0])
    is_text = str(path) == "-"
    with friendly_errors(writes=path), options_named():
        if is_text and to is Language.ONNX:
            raise ValueError("--to onnx cannot write to stdout; give a file name instead of -.")
        if not is_text:
            check_output(path, SUFFIXES[to], model)
        if not force and not is_text:
            refuse_existing(path)
            if to is Language.JAVASCRIPT:
                from sdgm.export.javascript import path_of_types

                refuse_existing(path_of_types(path))
        text, remark = exported(
            load_model(model),
            to,
            precision=str(precision or Precision.DOUBLE),
            name=name or "sdgm",
            path=None if is_text else path,
        )
        if is_text:
            print_text(text)
            return
        print_written(path)
        if remark:
            console.print(remark + ".", style="dim", soft_wrap=True)


def exported(
    model: Any, to: Language, *, precision: str, name: str, path: Path | None
) -> tuple[str, str]:
    """The text of the file, which is written if it has a path, and what else there is to say."""
    if to is Language.C:
        from sdgm.export.c import to_c

        source = to_c(model, precision=precision, name=name, path=path)
        remark = (
            f"{source.flash_bytes:,} bytes of flash, {source.ram_bytes:,} of stack, "
            f"{source.multiply_adds:,} multiply-adds per row"
        )
        if source.error_bound is not None:
            remark += f"; probabilities are off by at most {source.error_bound:.1e}"
        return source.text, remark
    if to is Language.ONNX:
        from sdgm.export.onnx_model import to_onnx

        to_onnx(model, precision=precision, path=path)
        return "", ""
    if to is Language.JAVASCRIPT:
        from sdgm.export.javascript import to_javascript

        return to_javascript(model, path=path), ""
    if to is Language.PYTHON:
        from sdgm.export.python import to_python

        return to_python(model, precision=precision, path=path), ""
    from sdgm.export.card import to_json

    return to_json(model, path=path), ""


@contextmanager
def options_named() -> Iterator[None]:
    """Errors with the names of options instead of arguments."""
    try:
        yield
    except ValueError as error:
        if not bugs.is_users(error):
            raise
        said = re.sub(r"^precision must", "--precision must", str(error))
        raise ValueError(re.sub(r"\bprecision='(\w+)'", r"--precision \1", said)) from None


def check_name(name: str | None) -> None:
    """Refuse what identifiers in C cannot begin with."""
    if name is not None:
        from sdgm.export.c_text import checked_name

        checked_name(name)


def check_options(to: Language, precision: Precision | None, name: str | None) -> None:
    """Refuse options that do not apply to the language."""
    if name is not None and to is not Language.C:
        raise typer.BadParameter(f"--name applies to --to c only; leave it out for --to {to}.")
    if precision is not None and to in (Language.JSON, Language.JAVASCRIPT):
        raise typer.BadParameter(
            f"--precision applies to --to c, py and onnx only; leave it out for --to {to}."
        )
    if precision is Precision.FIXED and to is not Language.C:
        raise typer.BadParameter("--precision fixed is available for --to c only; try float.")
    if precision is Precision.FLOAT_ONLY and to is not Language.ONNX:
        raise typer.BadParameter(
            "--precision float_only is available for --to onnx only; try float."
        )
