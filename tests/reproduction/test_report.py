"""Claims about the report that holds all experiments together."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("matplotlib")

from hypothesis import given
from hypothesis import strategies as st

from reproduction import report
from reproduction.cells import Progress
from reproduction.report import FIGURES, FigureName, draw_figure, lowered, run_all
from reproduction.table1 import Protocol

TABLE1_PAGE = "# Table 1: benchmark data\n\nText, not a #heading.\n\n## Ten splits\n\n### Ripley\n"
# as the page of the experiment itself, with its pictures
APPENDIX_B_PAGE = (
    "# Appendix B\n\n![Errors](appendix-b.png)\n\n![Boundaries](appendix-b-bounds.png)\n"
)


class Parts:
    """Stand-ins for the experiments, which write small files and remember what they were told."""

    def __init__(self) -> None:
        self.options: dict[str, dict[str, Any]] = {}

    def written(self, folder: Path, names: dict[str, str], **options: Any) -> list[Path]:
        folder.mkdir(parents=True, exist_ok=True)
        progress = options.pop("progress", None)
        if progress is not None:
            progress(1, 1, None)
        paths = [folder / name for name in names]
        for path, text in zip(paths, names.values(), strict=True):
            path.write_text(text, encoding="utf-8")
        self.options[paths[0].name] = options
        return paths

    def table1(self, folder: Path, **options: Any) -> list[Path]:
        return self.written(folder, {"table1.md": TABLE1_PAGE, "table1.csv": ""}, **options)

    def appendix_b(self, folder: Path, **options: Any) -> list[Path]:
        names = ("csv", "png", "svg"), ("png", "svg")
        pictures = [f"appendix-b.{end}" for end in names[0]]
        pictures += [f"appendix-b-bounds.{end}" for end in names[1]]
        return self.written(
            folder, {"appendix-b.md": APPENDIX_B_PAGE, **dict.fromkeys(pictures, "")}, **options
        )

    def drawing(self, name: str) -> Callable[..., list[Path]]:
        ends = ("png", "svg", "gif") if name == "training" else ("png", "svg")

        def draw(folder: Path, **options: Any) -> list[Path]:
            return self.written(folder, {f"{name}.{end}": "" for end in ends}, **options)

        return draw


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Parts:
    parts = Parts()
    monkeypatch.setattr(report, "run_table1", parts.table1)
    monkeypatch.setattr(report, "run_appendix_b", parts.appendix_b)
    for name, (title, _) in FIGURES.items():
        monkeypatch.setitem(FIGURES, name, (title, parts.drawing(str(name))))
    return parts


def pictures_in(text: str) -> list[str]:
    return re.findall(r"!\[[^]]*\]\(([^)]*)\)", text)


def headings_in(text: str) -> list[str]:
    return re.findall(r"^#+ .*", text, flags=re.MULTILINE)


def test_the_report_refers_to_files_that_are_there(parts: Parts, tmp_path: Path) -> None:
    report = run_all(tmp_path / "new" / "folder")
    assert report == tmp_path / "new" / "folder" / "REPORT.md"
    shown = pictures_in(report.read_text(encoding="utf-8"))
    assert {f"{name}.{'gif' if name == 'training' else 'png'}" for name in FigureName} < set(shown)
    assert {"appendix-b.png", "appendix-b-bounds.png"} < set(shown)
    assert all((report.parent / name).is_file() for name in shown)


def test_every_picture_is_shown_once(parts: Parts, tmp_path: Path) -> None:
    shown = pictures_in(run_all(tmp_path).read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(set(shown))


def test_headings_of_the_pages_are_one_level_lower(parts: Parts, tmp_path: Path) -> None:
    text = run_all(tmp_path).read_text(encoding="utf-8")
    assert headings_in(text) == [
        "# The paper's stand-alone experiments",
        *(f"## {title}" for title, _ in FIGURES.values()),
        "## Table 1: benchmark data",
        "### Ten splits",
        "#### Ripley",
        "## Appendix B",
    ]
    assert "\nText, not a #heading.\n" in text
    assert re.search(r"Python 3\.\S+, sdgm \d\S*, numpy \d", text)


def test_options_reach_every_part(parts: Parts, tmp_path: Path) -> None:
    run_all(tmp_path, protocols=[Protocol.DISTINCT], own_splits=5, seed=7, quick=True, jobs=3)
    common = {"seed": 7, "quick": True}
    assert parts.options == {
        "table1.md": {"protocols": [Protocol.DISTINCT], "own_splits": 5, "jobs": 3, **common},
        "appendix-b.md": {"jobs": 3, **common},
        **{f"{name}.png": common for name in FigureName},
    }


def test_progress_is_told_of_every_part_from_none_to_all(parts: Parts, tmp_path: Path) -> None:
    told: dict[str, list[tuple[int, int]]] = {}

    def progress(part: str) -> Progress:
        told[part] = []
        return lambda done, total, _: told[part].append((done, total))

    run_all(tmp_path, progress=progress)
    titles = [title for title, _ in FIGURES.values()]
    assert list(told) == ["Table 1", "Appendix B", *titles]
    assert all(told[title] == [(0, 1), (1, 1)] for title in titles)
    assert told["Table 1"] == told["Appendix B"] == [(1, 1)]


@given(lines=st.lists(st.text("# ab|", max_size=6)))
def test_nothing_but_headings_is_changed(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    page = tmp_path_factory.mktemp("pages") / "page.md"
    page.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for before, after in zip(lines, lowered(page).splitlines(), strict=False):
        assert after == ("#" + before if before[:1] == "#" else before)
    assert lowered(page).count("\n") == max(len(lines), 1)


def test_there_is_a_function_for_every_figure_and_it_is_told_seed_and_haste(
    parts: Parts, tmp_path: Path
) -> None:
    assert list(FIGURES) == list(FigureName)
    for name in FigureName:
        paths = draw_figure(str(name), tmp_path / "new" / name, seed=5, quick=True)
        assert [path.suffix for path in paths][:2] == [".png", ".svg"]
        assert all(path.is_file() for path in paths)
        assert parts.options[f"{name}.png"] == {"seed": 5, "quick": True}


def test_an_unknown_figure_is_named() -> None:
    with pytest.raises(ValueError, match="nonsense"):
        draw_figure("nonsense", Path())


def test_a_real_figure_is_drawn_as_pixels_and_as_lines(tmp_path: Path) -> None:
    paths = draw_figure(FigureName.PRIOR, tmp_path, quick=True)
    assert [path.name for path in paths] == ["prior.png", "prior.svg"]
    assert paths[0].read_bytes().startswith(b"\x89PNG") and "<svg" in paths[1].read_text()
