"""Every code block of the README and of the pages runs, top to bottom, page by page.

Blocks of a page share one namespace and one empty folder. ``python`` is executed; ``sh`` and
``console`` are run command by command; a block with a title is first written to the file of that
name; all other languages are shown only. What a page needs but does not show stands in a comment,
``<!-- python`` or ``<!-- sh``, and runs just the same.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

PYTHON, SHELL = {"python"}, {"sh", "console"}
SHOWN = {"html", "text", "c", "csv", "json"}

# commands that are not run here, and why
NOT_RUN = {
    "make demo": "sets up an environment",
    "make test": "runs these very tests",
    "pip install .": "sets up an environment",
    "pip install '.[cli,plot]'": "sets up an environment",
    "pip install '.[all]'": "sets up an environment",
    "python -m reproduction table1 --jobs 2": "takes ten minutes; parts: tests/reproduction",
    "python -m reproduction figure training": "takes half a minute; is in tests/reproduction",
    "python -m reproduction all --quick": "takes minutes; parts: tests/reproduction",
}

# commands of ours, and where they are
OURS = {"sdgm ": "sdgm.cli.app", "python -m reproduction ": "reproduction.app"}

# modules and programs without which a page cannot run
NEEDS: dict[str, tuple[str, ...]] = {
    "layer.md": ("torch", "onnxscript"),
    "embedded.md": ("typer", "polars", "safetensors", "gcc"),
    "commands.md": ("typer", "polars", "safetensors", "onnx"),
    "files.md": ("polars", "safetensors"),
    "start.md": ("typer", "polars", "safetensors", "matplotlib"),
    "guide/scale.md": ("polars", "dask", "distributed"),
    "guide/tables.md": ("typer", "polars", "safetensors", "pandas", "pyarrow"),
    "guide/reading.md": ("matplotlib", "pandas"),
    "guide/budget.md": ("pandas",),
    "path.md": ("matplotlib",),
    "reproduction.md": ("typer",),
    "README.md": ("typer", "polars", "safetensors"),
}
PROGRAMS = {"gcc"}

# what other packages say of themselves
QUIET = {"layer.md": ("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")}

FENCE = re.compile(
    r"^```(?P<language>\w*)(?: +title=\"(?P<title>[^\"\n]+)\")?\n(?P<shown>.*?)^```$"
    r"|^<!-- (?P<hidden_language>python|sh)\n(?P<hidden>.*?)^-->$",
    flags=re.DOTALL | re.MULTILINE,
)
# a block that is a file of the repository, put in when the site is built
INCLUDED = re.compile(r'^--8<-- "(.+)"$', flags=re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A piece of a page: its language, its text, the line it starts in, the file it belongs in."""

    language: str
    text: str
    line: int
    title: str | None = None
    hidden: bool = False


def name_of(page: Path) -> str:
    """Name of a page, as a reader would say it."""
    return page.name if page.parent == ROOT else str(page.relative_to(ROOT / "docs"))


def blocks_of(page: Path) -> list[Block]:
    """All blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    blocks = []
    for found in FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        if found["hidden_language"]:
            block = Block(found["hidden_language"], found["hidden"], line, hidden=True)
        else:
            block = Block(found["language"], found["shown"], line, found["title"])
        blocks.append(block)
    return blocks


def commands_of(block: Block) -> list[str]:
    """Commands of a shell block: without prompts and comments, continued lines joined."""
    text = re.sub(r"\\\n\s*", "", block.text)
    lines = (line.strip().removeprefix("$ ") for line in text.splitlines())
    return [command for line in lines if (command := re.sub(r"\s+# .*|^#.*", "", line))]


def runs(block: Block) -> bool:
    """Whether a block is more than shown."""
    if INCLUDED.search(block.text):
        return False
    return bool(block.title) or block.language in PYTHON | SHELL


def run_python(block: Block, page: Path, namespace: dict[str, Any]) -> None:
    """Execute a block so that errors name the line of the page."""
    exec(compile("\n" * block.line + block.text, str(page), "exec"), namespace)


def run_command(command: str) -> None:
    """Run one command: ours within this process, others in a shell."""
    found = re.match("|".join(OURS), command)
    if found and not set(command) & set("|<>;&$`*"):
        from typer.testing import CliRunner

        app = import_module(OURS[found[0]]).app
        result = CliRunner().invoke(app, shlex.split(command[found.end() :]))
        assert result.exit_code == 0, f"{command}\n{result.output}\n{result.exception!r}"
        return
    shell = re.sub(r"(^|[|;&] *)sdgm ", rf"\1{shlex.quote(sys.executable)} -m sdgm ", command)
    done = subprocess.run(
        ["sh", "-c", shell], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def parametrized() -> list[Any]:
    """Pages with something to run, each with its marks."""
    pages = []
    for page in PAGES:
        if any(runs(block) for block in blocks_of(page)):
            quiet = [pytest.mark.filterwarnings(kind) for kind in QUIET.get(name_of(page), ())]
            pages.append(pytest.param(page, id=name_of(page), marks=quiet))
    return pages


@pytest.mark.parametrize("page", parametrized())
def test_the_blocks_of_a_page_run_in_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in NEEDS.get(name_of(page), ()):
        found = shutil.which(name) if name in PROGRAMS else find_spec(name)
        if not found:
            pytest.skip(f"{name} is not installed")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks_of(page):
        if not runs(block):
            continue
        if block.title:
            Path(block.title).write_text(block.text, encoding="utf-8")
        elif block.language in PYTHON:
            run_python(block, page, namespace)
        else:
            for command in commands_of(block):
                if command not in NOT_RUN:
                    run_command(command)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_of_a_page_is_understood(page: Path) -> None:
    blocks = blocks_of(page)
    assert {block.language for block in blocks} <= PYTHON | SHELL | SHOWN
    fences = re.findall(r"^ *(?:```|~~~)", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(fences) == 2 * sum(not block.hidden for block in blocks)


def test_every_command_that_is_not_run_is_on_some_page() -> None:
    commands = {
        command
        for page in PAGES
        for block in blocks_of(page)
        if block.language in SHELL
        for command in commands_of(block)
    }
    assert not set(NOT_RUN) - commands


def test_every_page_that_needs_something_exists() -> None:
    names = {name_of(page) for page in PAGES}
    assert not (set(NEEDS) | set(QUIET)) - names


def test_every_included_file_exists() -> None:
    included = [
        name for page in PAGES for b in blocks_of(page) for name in INCLUDED.findall(b.text)
    ]
    assert included
    assert not [name for name in included if not (ROOT / name).is_file()]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)\s#]+)", text)
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing


@pytest.mark.parametrize("page", ["design.md", "img/path-of-a-fit.svg"])
def test_every_file_and_function_of_the_map_exists(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    spans = re.findall(r"`([^`]+)`" if page.endswith("md") else r">([^<]+)<", text)
    words = {word for span in spans for word in re.findall(r"[\w/.]+", span)}
    files = [
        path.as_posix() for part in ("src", "docs", "tests") for path in (ROOT / part).rglob("*")
    ]
    named = {word for word in words if re.search(r"\w\.(py|js|md)$", word)}
    assert (
        named and [name for name in named if not any(f.endswith(f"/{name}") for f in files)] == []
    )
    source = " ".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    functions = {word for word in words if re.fullmatch(r"[a-z]+_[a-z_]+", word)}
    assert functions <= set(re.findall(r"\w+", source))


def test_every_page_can_be_found_from_the_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [name_of(page) for page in PAGES[1:]]
    assert not [name for name in pages if not re.search(rf"[ :]{re.escape(name)}$", menu, re.M)]


def sections_of_commands() -> dict[str, str]:
    """What the page of commands says of each."""
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", page, flags=re.DOTALL | re.MULTILINE))


def test_every_option_is_on_the_page_of_commands() -> None:
    typer = pytest.importorskip("typer")
    from sdgm.cli.app import app

    said, commands = sections_of_commands(), typer.main.get_command(app).commands
    assert set(said) == set(commands)
    unsaid = [
        f"{name} {parameter.opts[0]}"
        for name, command in commands.items()
        if not hasattr(command, "commands")
        for parameter in command.params
        if parameter.param_type_name == "option" and parameter.name != "help"
        if not any(option in said[name] for option in parameter.opts)
    ]
    assert not unsaid


def test_every_precision_of_an_export_is_on_the_page_of_commands() -> None:
    pytest.importorskip("typer")
    from sdgm.cli.export import Language, Precision

    said = sections_of_commands()["export"]
    assert not [value for value in (*Language, *Precision) if f"`{value}`" not in said]


def test_every_page_of_numbers_is_in_their_overview() -> None:
    results = ROOT / "docs" / "results"
    overview = (results / "index.md").read_text(encoding="utf-8")
    pages = {page.name for page in results.glob("*.md")} - {"index.md"}
    assert not [name for name in sorted(pages) if f"]({name})" not in overview]
