"""Tables of the pages that experiments write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(
    heading: Sequence[str], rows: Iterable[Sequence[object]], *, rule: str = "---"
) -> list[str]:
    """Lines of a Markdown table, and an empty one after it.

    Parameters
    ----------
    heading : sequence of str
    rows : iterable of sequences
        Cells may be empty strings; a row that is shorter than the heading is filled up with these.
    rule : {"---", "---:"}, default="---"
        What stands below each heading: with a colon, the columns are flush right.

    Examples
    --------
    >>> rows = [["softmax", 0.89], ["SDGM", 0.83, "less"]]
    >>> for line in markdown_table(["head", "error %", ""], rows):
    ...     print(line)
    | head | error % | |
    |---|---|---|
    | softmax | 0.89 | |
    | SDGM | 0.83 | less |
    <BLANKLINE>
    """
    n = len(heading)
    filled = ([*row, *[""] * (n - len(row))] for row in rows)
    return [_line(heading), f"|{rule}" * n + "|", *map(_line, filled), ""]


def _line(cells: Iterable[object]) -> str:
    return "|" + "".join(f" {cell} |" if str(cell) else " |" for cell in cells)
