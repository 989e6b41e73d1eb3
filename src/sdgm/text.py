"""Counts, lists and the user's own names as parts of sentences."""

from __future__ import annotations

from collections.abc import Iterable

# characters of a name before it is shortened
LONGEST_NAME = 48


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """A number with what it counts; a plural that does not end in s, or ies for y, is given.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row"), counted(2, "category")
    ('1 row', '1,200 rows', '2 categories')
    >>> counted(2, "class", "classes")
    '2 classes'
    """
    if plural is None:
        plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"


def listed(words: Iterable[str], most: int | None = None) -> str:
    """Words with commas and an 'and'; of more words than ``most``, the others are counted only.

    Examples
    --------
    >>> listed(["a", "b", "c"])
    'a, b and c'
    >>> listed(["a", "b", "c", "d"], most=2)
    'a, b and 2 more'
    """
    parts = list(words)
    if most is not None and len(parts) > most:
        parts[most:] = [f"{len(parts) - most:,} more"]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def shown(name: object, longest: int = LONGEST_NAME, *, ascii: bool = False) -> str:
    r"""A name on one line: control characters as escapes, shortened if very long, a blank quoted.

    With ``ascii``, all that is not ASCII is escaped too.

    Examples
    --------
    >>> print(shown("two\nlines"))
    two\nlines
    """
    text = str(name)
    if not text.strip(" "):
        text = f"'{text}'"
    # escapes can only make it longer, and the end of a long one is not needed
    escaped = "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
        for each in text[: longest + 1]
    )
    if ascii:
        escaped = escaped.encode("ascii", "backslashreplace").decode("ascii")
    if len(escaped) <= longest:
        return escaped
    return escaped[: longest - 3] + "..."
