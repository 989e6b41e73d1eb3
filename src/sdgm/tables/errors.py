"""What is said to a user whose table cannot be used, and how names are shown in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from sdgm import text
from sdgm.text import counted

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


class SettingError(TableError):
    """An argument has no meaning; commands name the option instead.

    Attributes
    ----------
    setting : str
        Name of the argument.
    problem : str
        The rest of the sentence.
    """

    def __init__(self, setting: str, problem: str) -> None:
        super().__init__(f"{setting} {problem}")
        self.setting, self.problem = setting, problem


def quoted(value: object) -> str:
    """A name or value in quotes, on one line and not too long."""
    text = repr(str(value))
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 4]}...{text[0]}"


def listed(values: Iterable[object]) -> str:
    """Names in quotes with commas between them, the first few."""
    return text.listed(map(quoted, values), most=MAX_LISTED)


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """A question with the most similar of the names, or a list of them."""
    folded = {each.strip().casefold(): each for each in reversed(names)}
    close = get_close_matches(name.strip().casefold(), list(folded), n=1, cutoff=0.6)
    return f"did you mean {quoted(folded[close[0]])}?" if close else f"there are {listed(names)}."


def short_rows_sentence(n: int) -> str:
    """What is said of rows with fewer fields than the header."""
    end = "ends" if n == 1 else "end"
    it = "it lacks" if n == 1 else "they lack"
    return f"{counted(n, 'row')} {end} before the last column; what {it} counts as missing."


def polars() -> Any:
    """The package polars, or one sentence on how to get it."""
    try:
        import polars as pl
    except ModuleNotFoundError:
        raise ImportError(
            'Reading tables needs polars, which is not installed: pip install "sdgm[io]"'
        ) from None
    return pl
