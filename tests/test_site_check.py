"""The check of the built documentation finds what it is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.check_site import main, problems_of


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Two pages and a picture, with links that all lead somewhere."""
    (tmp_path / "guide").mkdir()
    (tmp_path / "dot.png").touch()
    (tmp_path / "index.html").write_text(
        '<h1 id="top">Home</h1> <a href="guide/a.html#scaling">a</a> <img src="dot.png">'
        '<a href="#top">up</a> <a href="https://example.org">elsewhere</a>'
    )
    (tmp_path / "guide" / "a.html").write_text('<h2 id="scaling">A</h2><a href="../">home</a>')
    return tmp_path


@pytest.mark.parametrize(
    ("addition", "problem"),
    [
        ('<a href="guide/b.html">b</a>', "guide/b.html does not exist"),
        ('<img src="line.png">', "line.png does not exist"),
        ('<a href="guide/a.html#units">a</a>', "guide/a.html#units has no such heading"),
        ('<a href="#bottom">down</a>', "#bottom has no such heading"),
        (
            '<script src="https://example.org/x.js"></script>',
            "https://example.org/x.js is loaded from elsewhere",
        ),
    ],
)
def test_a_bad_link_is_found(site: Path, addition: str, problem: str) -> None:
    assert problems_of(site) == []
    page = site / "index.html"
    page.write_text(page.read_text() + addition)
    assert problems_of(site) == [f"index.html: {problem}"]
    assert main(str(site)) == 1


def test_a_site_without_bad_links_passes(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(str(site)) == 0
    assert "2 pages, 0 bad links" in capsys.readouterr().out


def test_a_folder_without_a_site_is_refused(tmp_path: Path) -> None:
    assert main(str(tmp_path)) == 1
