"""Everything of the paper that needs no neural network, into one folder with one report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path

from reproduction.appendix_b import run_appendix_b
from reproduction.cells import Progress
from reproduction.environment import environment
from reproduction.figures.boundaries import draw_boundaries
from reproduction.figures.position import draw_position
from reproduction.figures.prior import draw_prior
from reproduction.figures.training import draw_training
from reproduction.table1 import OWN_SPLITS, Protocol, run_table1


class FigureName(StrEnum):
    """The figures that can be drawn."""

    BOUNDARIES = "boundaries"
    TRAINING = "training"
    POSITION = "position"
    PRIOR = "prior"


Draw = Callable[..., list[Path]]
FIGURES: dict[FigureName, tuple[str, Draw]] = {
    FigureName.BOUNDARIES: ("Decision boundaries of five classifiers on Ripley", draw_boundaries),
    FigureName.TRAINING: ("The boundary while components die", draw_training),
    FigureName.POSITION: ("The map of models", draw_position),
    FigureName.PRIOR: ("The prior of a weight as alpha grows", draw_prior),
}
REPORT = "REPORT.md"


def draw_figure(
    name: FigureName | str, folder: Path, *, seed: int = 0, quick: bool = False
) -> list[Path]:
    """Draw one figure of the paper.

    Parameters
    ----------
    name : {"boundaries", "training", "position", "prior"}
    folder : Path
        Where to write; made if need be.
    seed : int, default=0
    quick : bool, default=False
        Coarser and sooner.

    Returns
    -------
    paths : list of Path

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in draw_figure("prior", Path(folder), quick=True)]
    ['prior.png', 'prior.svg']
    """
    folder.mkdir(parents=True, exist_ok=True)
    return FIGURES[FigureName(name)][1](folder, seed=seed, quick=quick)


def run_all(
    folder: Path,
    *,
    protocols: Sequence[Protocol] = (Protocol.TEN,),
    own_splits: int = OWN_SPLITS,
    seed: int = 0,
    quick: bool = False,
    jobs: int = 1,
    progress: Callable[[str], Progress | None] | None = None,
) -> Path:
    """Table 1, Appendix B and all figures, and a report that holds them together.

    Parameters
    ----------
    folder : Path
        Where to write; cells of tables that are finished there are not run again.
    protocols, own_splits, seed, quick, jobs :
        As in `run_table1`.
    progress : callable, optional
        Given the name of a part, returns what `run_cells` tells about its finished cells.

    Returns
    -------
    report : Path
    """

    def told(part: str) -> Progress | None:
        return None if progress is None else progress(part)

    table1 = run_table1(
        folder,
        protocols=protocols,
        own_splits=own_splits,
        seed=seed,
        quick=quick,
        jobs=jobs,
        progress=told("Table 1"),
    )
    appendix_b = run_appendix_b(
        folder, seed=seed, quick=quick, jobs=jobs, progress=told("Appendix B")
    )
    pictures = {}
    for name, (title, _) in FIGURES.items():
        tell = told(title)
        if tell is not None:
            tell(0, 1, None)
        pictures[title] = draw_figure(name, folder, seed=seed, quick=quick)
        if tell is not None:
            tell(1, 1, None)
    report = folder / REPORT
    report.write_text(
        "\n".join(report_lines(table1[0], appendix_b, pictures)) + "\n", encoding="utf-8"
    )
    return report


def report_lines(
    table1: Path, appendix_b: Sequence[Path], pictures: dict[str, list[Path]]
) -> Iterator[str]:
    """The report: figures first, then the pages of the tables, one heading level lower."""
    yield "# The paper's stand-alone experiments\n"
    yield (
        "H. Hayashi and S. Uchida, *A Discriminative Gaussian Mixture Model with Sparsity*, ICLR "
        f"2021, run with this library. {environment()}.\n"
    )
    for title, paths in pictures.items():
        yield f"## {title}\n"
        shown = next((path for path in paths if path.suffix == ".gif"), paths[0])
        yield f"![{title}]({shown.name})\n"
    yield lowered(table1)
    yield lowered(appendix_b[0])


def lowered(page: Path) -> str:
    """The text of a page with its headings one level lower."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return "\n".join(f"#{line}" if line.startswith("#") else line for line in lines) + "\n"
