"""What is said to a user whose table cannot be used, and how names are shown in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

# of a name or value of the user's that is shown in a sentence
MAX_SHOWN = 60
# of names in a list
MAX_LISTED = 8


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


def quoted(value: object) -> str:
    """A name or value in quotes, on one line and not too long."""
    text = repr(str(value))
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 4]}...{text[0]}"


def listed(values: Iterable[object]) -> str:
    """Names in quotes with commas between them, the first few."""
    values = list(values)
    text = ", ".join(map(quoted, values[:MAX_LISTED]))
    return text if len(values) <= MAX_LISTED else f"{text} and {len(values) - MAX_LISTED} more"


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """A question with the most similar of the names, or a list of them."""
    folded = {each.strip().casefold(): each for each in reversed(names)}
    close = get_close_matches(name.strip().casefold(), list(folded), n=1, cutoff=0.6)
    return f"did you mean {quoted(folded[close[0]])}?" if close else f"there are {listed(names)}."


def counted(n: int, what: str) -> str:
    """A number and what it counts, in the plural where it is not one."""
    many = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{n:,} {what if n == 1 else many}"


def polars() -> Any:
    """The package polars, or one sentence on how to get it."""
    try:
        import polars as pl
    except ModuleNotFoundError:
        raise ImportError(
            'Reading tables needs polars, which is not installed: pip install "sdgm[io]"'
        ) from None
    return pl
