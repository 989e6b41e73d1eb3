"""The map of models: the SDGM among its relatives (Figure 2 of the paper).

Four kinds of arrows lead from the Gaussian to every other model: mixture, sparse, discriminative
and Bayesian kernelisation. Under each discriminative or kernel model stands the corner of this
package that is that model; `tests/test_special_cases.py` checks these claims. Two boxes are not in
the list of models that the paper's text names: sparse logistic regression, which completes the map,
and a second one for the SDGM, whose original and dual form are in different columns. Takes a
second.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import hypot
from pathlib import Path
from typing import Any

from reproduction.figures.files import save_picture
from sdgm.plotting import CLASS_COLORS

# after sdgm.plotting, which says which extra is missing
from matplotlib.figure import Figure  # isort: skip
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch  # isort: skip

DPI = 200
# all lengths are inches
BOX_WIDTH, BOX_HEIGHT = 2.62, 0.76
COLUMN_STEP = 4.12
MIXTURE_STEP = 2.62
SPARSE_STEP = (0.98, 1.22)
MARGIN = 0.22
HEADING_ROOM, LEGEND_ROOM = 0.62, 0.5
# distance of a mixture arrow from the outer edge of its boxes
INDENT = 0.36
HEAD_LENGTH = 0.12

COLUMNS = ("generative", "discriminative", "kernel Bayesian")
FORMULAS = (
    r"$P(\mathbf{x} \mid c)$",
    r"$P(c \mid \mathbf{x})$ from features $\mathbf{\phi}$",
    r"$P(c \mid \mathbf{x})$ from kernels $k(\cdot, \cdot)$",
)
# name, colour and line of each kind of arrow
KINDS = {
    "mixture": (CLASS_COLORS[0], "-"),
    "sparse": (CLASS_COLORS[1], (0, (4, 1.5))),
    "discriminative": (CLASS_COLORS[2], (0, (1.2, 1.2))),
    "Bayesian kernelisation": (CLASS_COLORS[3], (0, (5, 1.5, 1.2, 1.5))),
}


@dataclass(frozen=True)
class Box:
    """A model on the map.

    Attributes
    ----------
    name : str
    column : int
        0 generative, 1 discriminative, 2 kernel Bayesian.
    mixture, sparse : bool
    text : str
        The estimator that is this model, or a formula.
    """

    name: str
    column: int
    mixture: bool
    sparse: bool
    text: str

    @property
    def is_code(self) -> bool:
        return self.column > 0

    @property
    def is_new(self) -> bool:
        """Whether the paper adds it."""
        return self.name.startswith("SDGM")

    @property
    def corner(self) -> tuple[float, float]:
        """Lower left corner on the page."""
        x = MARGIN + self.column * COLUMN_STEP + self.sparse * SPARSE_STEP[0]
        y = MARGIN + LEGEND_ROOM + self.mixture * MIXTURE_STEP + self.sparse * SPARSE_STEP[1]
        return x, y


BOXES = (
    Box("Gaussian", 0, False, False, r"$\mathcal{N}(\mathbf{x} \mid \mu_c, \Sigma_c)$"),
    Box(
        "GMM",
        0,
        True,
        False,
        r"$\sum_m \pi_{cm}\, \mathcal{N}(\mathbf{x} \mid \mu_{cm}, \Sigma_{cm})$",
    ),
    Box("Sparse Gaussian", 0, False, True, r"zeros in $\Sigma_c^{-1}$"),
    Box("Sparse GMM", 0, True, True, r"zeros in $\Sigma_{cm}^{-1}$"),
    Box(
        "Logistic regression",
        1,
        False,
        False,
        'SDGMClassifier(n_components=1,\ncovariance_type="tied", prior="ridge")',
    ),
    Box("Discriminative GMM", 1, True, False, "DiscriminativeGMMClassifier()"),
    Box(
        "Sparse logistic regression",
        1,
        False,
        True,
        'SDGMClassifier(n_components=1,\ncovariance_type="tied")',
    ),
    Box("SDGM, original form", 1, True, True, "SDGMClassifier()"),
    Box("Gaussian process (GP)", 2, False, False, "MixtureOfGPsClassifier(n_components=1)"),
    Box("Mixture of GPs (MGP)", 2, True, False, "MixtureOfGPsClassifier()"),
    Box("RVM", 2, False, True, "RVMClassifier()"),
    Box("SDGM, dual form", 2, True, True, "KernelSDGMClassifier()"),
)


def draw_position(folder: Path, *, seed: int = 0, quick: bool = False) -> list[Path]:
    """Draw the map of models.

    Parameters
    ----------
    folder : Path
        Where to write ``position.png`` and ``position.svg``; made if need be.
    seed : int, default=0
        Not used: nothing is drawn at random.
    quick : bool, default=False
        A smaller picture.

    Returns
    -------
    paths : list of Path

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in draw_position(Path(folder), quick=True)]
    ['position.png', 'position.svg']
    """
    width = 2 * MARGIN + 2 * COLUMN_STEP + SPARSE_STEP[0] + BOX_WIDTH
    height = 2 * MARGIN + LEGEND_ROOM + HEADING_ROOM + MIXTURE_STEP + SPARSE_STEP[1] + BOX_HEIGHT
    figure = Figure(figsize=(width, height))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, width), ylim=(0, height))
    ax.set_axis_off()
    draw_columns(ax, height)
    for start, end, kind in arrows():
        # arrows of sparse models lie behind, as in a drawing of a cube
        draw_arrow(ax, *arrow_ends(start, end, kind), kind, zorder=2.0 - 0.5 * start.sparse)
    for box in BOXES:
        draw_box(ax, box)
    draw_legend(ax, width)
    return save_picture(figure, folder / "position", dpi=DPI / 2 if quick else DPI)


def arrows() -> list[tuple[Box, Box, str]]:
    """Start, end and kind of every arrow: between boxes that differ in one property by one step.

    Examples
    --------
    >>> [end.name for start, end, kind in arrows() if start.name == "Gaussian"]
    ['GMM', 'Sparse Gaussian', 'Logistic regression']
    """
    kinds = list(KINDS)
    found = []
    for start, end in combinations(BOXES, 2):
        steps = (
            end.mixture - start.mixture,
            end.sparse - start.sparse,
            (end.column - start.column) * (end.column == 1),
            (end.column - start.column) * (end.column == 2),
        )
        if sorted(steps) == [0, 0, 0, 1]:
            found.append((start, end, kinds[steps.index(1)]))
    return found


def arrow_ends(start: Box, end: Box, kind: str) -> tuple[tuple[float, float], tuple[float, float]]:
    """Points on the edges of two boxes that an arrow joins."""
    (x, y), (x_end, y_end) = start.corner, end.corner
    if kind == "mixture":
        # beside the boxes in between: on the left of dense models, on the right of sparse ones
        place = x + (BOX_WIDTH - INDENT if start.sparse else INDENT)
        return (place, y + BOX_HEIGHT), (place, y_end)
    if kind == "sparse":
        gap = y_end - y - BOX_HEIGHT
        place = x + 0.62 * BOX_WIDTH
        return (place, y + BOX_HEIGHT), (place + gap * SPARSE_STEP[0] / SPARSE_STEP[1], y_end)
    return (x + BOX_WIDTH, y + BOX_HEIGHT / 2), (x_end, y_end + BOX_HEIGHT / 2)


def draw_arrow(
    ax: Any, tail: tuple[float, float], head: tuple[float, float], kind: str, zorder: float = 2.0
) -> None:
    """An arrow with a white rim, so that one that crosses another is seen to pass over it."""
    color, style = KINDS[kind]
    length = hypot(head[0] - tail[0], head[1] - tail[1])
    # the line ends inside the head, whose tip it would make blunt
    share = HEAD_LENGTH / length
    end = head[0] + share * (tail[0] - head[0]), head[1] + share * (tail[1] - head[1])
    across = [tail[0], end[0]], [tail[1], end[1]]
    ax.plot(*across, color="white", lw=5.0, solid_capstyle="butt", zorder=zorder)
    ax.plot(*across, color=color, ls=style, lw=2.0, zorder=zorder + 0.01)
    tip = FancyArrowPatch(
        end,
        head,
        arrowstyle="-|>,head_length=0.55,head_width=0.28",
        mutation_scale=14,
        color=color,
        lw=0.5,
        shrinkA=0,
        shrinkB=0,
        zorder=zorder + 0.02,
    )
    ax.add_patch(tip)


def draw_box(ax: Any, box: Box) -> None:
    """A rounded box with the name of the model and what implements it."""
    (x, y), color = box.corner, "0.45"
    face = "#FFF1E6" if box.is_new else "white"
    if box.is_new:
        color = CLASS_COLORS[1]
    patch = FancyBboxPatch(
        box.corner,
        BOX_WIDTH,
        BOX_HEIGHT,
        boxstyle="round,pad=0,rounding_size=0.09",
        facecolor=face,
        edgecolor=color,
        linewidth=2.2 if box.is_new else 1.0,
        zorder=4,
    )
    ax.add_patch(patch)
    middle = x + BOX_WIDTH / 2
    style: dict[str, Any] = {"ha": "center", "va": "center", "zorder": 5}
    ax.text(middle, y + 0.73 * BOX_HEIGHT, box.name, fontsize=10.5, fontweight="bold", **style)
    font: dict[str, Any] = {"fontsize": 9.5}
    if box.is_code:
        font = {"family": "monospace", "fontsize": 7.6, "linespacing": 1.3}
    ax.text(middle, y + 0.31 * BOX_HEIGHT, box.text, color="0.2", **font, **style)


def draw_columns(ax: Any, height: float) -> None:
    """A pale band with a heading behind every column."""
    width = BOX_WIDTH + SPARSE_STEP[0] + MARGIN
    for column, (name, formula) in enumerate(zip(COLUMNS, FORMULAS, strict=True)):
        x = MARGIN / 2 + column * COLUMN_STEP
        band = FancyBboxPatch(
            (x, MARGIN / 2 + LEGEND_ROOM),
            width,
            height - MARGIN - LEGEND_ROOM,
            boxstyle="round,pad=0,rounding_size=0.12",
            facecolor="0.955",
            edgecolor="none",
            zorder=0,
        )
        ax.add_patch(band)
        top = height - MARGIN / 2
        ax.text(x + width / 2, top - 0.2, name, ha="center", va="center", fontsize=12)
        ax.text(x + width / 2, top - 0.44, formula, ha="center", va="center", fontsize=9.5)


def draw_legend(ax: Any, width: float) -> None:
    """The kinds of arrows in a row at the bottom."""
    y = MARGIN / 2 + LEGEND_ROOM / 2 - 0.05
    for kind, place in zip(KINDS, (0.13, 0.32, 0.50, 0.73), strict=True):
        x = place * width
        draw_arrow(ax, (x, y), (x + 0.6, y), kind)
        ax.text(x + 0.75, y, kind, va="center", fontsize=10)
