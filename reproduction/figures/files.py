"""Pictures as files: PNG to look at, SVG to print; the same picture is the same file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_picture(
    figure: Figure, stem: Path, *, dpi: float = 150.0, tight: bool = False
) -> list[Path]:
    """Write ``stem.png`` and ``stem.svg``, in a folder that is made if need be.

    Parameters
    ----------
    figure : matplotlib Figure
    stem : Path
        Without a suffix.
    dpi : float, default=150
    tight : bool, default=False
        Whether to cut empty borders.

    Returns
    -------
    paths : [Path, Path]
    """
    from matplotlib import rc_context

    stem.parent.mkdir(parents=True, exist_ok=True)
    png, svg = (stem.with_name(stem.name + suffix) for suffix in (".png", ".svg"))
    box = "tight" if tight else None
    with rc_context({"svg.hashsalt": stem.name}):  # else names inside the file are random
        figure.savefig(png, dpi=dpi, bbox_inches=box)
        figure.savefig(svg, dpi=dpi, bbox_inches=box, metadata={"Date": None})
    return [png, svg]
