"""Errors about a user's table, and how names and values are quoted in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from sdgm import text

MAX_SHOWN = 60  # characters of a name or value in a message
MAX_LISTED = 8  # names in a list


class TableError(ValueError):
    """A table cannot be read, or does not fit a model.

    Examples
    --------
    >>> from sdgm.tables import fit_table
    >>> fit_table("rows.xyz", "kind")
    Traceback (most recent call last):
        ...
    sdgm.tables.errors.TableError: 'rows.xyz' ends in none of .csv, ...
    """


class SettingError(TableError):
    """An invalid argument: its name and the rest of the sentence; commands name the option."""

    def __init__(self, setting: str, problem: str) -> None:
        super().__init__(f"{setting} {problem}")
        self.setting, self.problem = setting, problem


def quoted(value: object) -> str:
    """A name or value in quotes, on one line and not too long."""
    text = repr(str(value))
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 4]}...{text[0]}"


def listed(values: Iterable[object]) -> str:
    """The first few names in quotes, with commas between them."""
    return text.listed(map(quoted, values), most=MAX_LISTED)


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """A question with the most similar name, or a list of all names.

    Numbers and comments are values of a first line that is no header.
    """
    folded = {each.strip().casefold(): each for each in reversed(names)}
    close = get_close_matches(name.strip().casefold(), list(folded), n=1, cutoff=0.6)
    if close:
        return f"did you mean {quoted(folded[close[0]])}?"
    there = "there is only" if len(names) == 1 else "there are"
    odd = any(re.match(r"[-+]?[\d.]+$|[#<]", each.strip()) for each in names)
    hint = " Does the first line have the names of the columns?" if odd else ""
    return f"{there} {listed(names)}.{hint}"


def short_rows_sentence(n: int) -> str:
    """The remark about rows with fewer fields than the header."""
    ends = "ends" if n == 1 else "end"
    return f"{text.counted(n, 'row')} {ends} before the last column; the other fields are missing."


def reading_remarks(name: str, encoding: str, short_rows: int) -> list[str]:
    """Remarks about the encoding and the rows of a text file."""
    remarks = [f"{name} is not UTF-8; it was read as {encoding}."] if encoding != "UTF-8" else []
    return [*remarks, short_rows_sentence(short_rows)] if short_rows else remarks


def package(name: str) -> Any:
    """A package of the extra ``io``, or one sentence on how to install it."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise ImportError(
            f'Reading tables needs {name}, which is not installed: pip install "sdgm[io]"'
        ) from None


def polars() -> Any:
    """The package polars."""
    return package("polars")
