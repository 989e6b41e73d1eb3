"""Claims about what a command imports before its work begins, in place of a stopwatch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

# what takes long to import: scikit-learn brings scipy, and pandas where it is installed
HEAVY = {"numpy", "scipy", "sklearn", "pandas", "polars", "pyarrow", "torch", "matplotlib", "onnx"}
COMMANDS = ("fit", "predict", "evaluate", "inspect", "report", "export", "demo")
# what `import sklearn` brings itself
BASIC = {f"sklearn.{name}" for name in ("base", "callback", "exceptions", "externals", "utils")}
RUN = """
import sys
sys.argv = ["sdgm", *sys.argv[1:]]
from sdgm.cli import main
try:
    main()
except SystemExit as end:
    packages = {".".join(name.split(".")[:depth]) for name in sys.modules for depth in (1, 2)}
    print(end.code or 0, *packages, sep=",", file=sys.stderr)
"""


def imported_by(*arguments: str, folder: Path, code: int) -> set[str]:
    """Packages that a command has imported when it ends with an exit code."""
    command = [sys.executable, "-c", RUN, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=True)
    found, *packages = done.stderr.splitlines()[-1].split(",")
    assert int(found) == code, done.stderr
    assert "rich" in packages
    return set(packages)


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), *((c, "-h") for c in COMMANDS)])
def test_help_imports_nothing_that_takes_long(arguments: tuple[str, ...], tmp_path: Path) -> None:
    assert not HEAVY & imported_by(*arguments, folder=tmp_path, code=0)


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "absent.csv", "-t", "kind"),
        ("fit", "there.csv", "-t", "kind", "-o", "there.sdgm"),
        ("fit", "there.csv", "-t", "kind", "-o", "no/folder.sdgm"),
        ("predict", "absent.sdgm", "there.csv"),
        ("predict", "there.sdgm", "absent.csv"),
        ("predict", "there.sdgm", "there.csv", "-o", "there.csv"),
        ("evaluate", "absent.sdgm", "there.csv"),
        ("evaluate", "there.sdgm", "absent.csv"),
        ("inspect", "absent.sdgm"),
        ("report", "absent.sdgm"),
        ("report", "there.sdgm", "-o", "there.html"),
        ("report", "there.sdgm", "--data", "absent.csv"),
        ("export", "absent.sdgm", "--to", "c"),
        ("export", "there.sdgm", "--to", "c"),
        ("demo", "-o", "there.png"),
    ],
    ids=" ".join,
)
def test_what_paths_show_is_said_before_anything_long_is_imported(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    for name in ("there.csv", "there.sdgm", "there.html", "there.h", "there.png"):
        (tmp_path / name).write_text("old")
    assert not HEAVY & imported_by(*arguments, folder=tmp_path, code=1)


TABLE = "size,kind,when\n" + "\n".join(f"{i % 7},{'ab'[i % 2]},soon" for i in range(40))


@pytest.mark.parametrize(
    "arguments",
    [
        ("-t", "sort"),
        ("-t", "kind", "--id", "name"),
        ("-t", "kind", "--exclude", "name"),
        ("-t", "kind", "--weights", "when"),
        ("-t", "kind", "--components", "99"),
        ("-t", "kind", "--class-weight", "c=2"),
        ("-t", "when"),
        ("-t", "kind", "--exclude", "size"),  # nothing is left to learn from
    ],
    ids=" ".join,
)
def test_what_a_table_shows_is_said_before_scikit_learn_is_imported(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    pytest.importorskip("polars")
    (tmp_path / "t.csv").write_text(TABLE)
    packages = imported_by("fit", "t.csv", *arguments, folder=tmp_path, code=1)
    assert {"polars", "numpy"} <= packages
    assert not packages & (HEAVY - {"polars", "numpy"})


@pytest.mark.parametrize(
    "arguments",
    [
        ("predict", "{model}", "new.csv", "--proba", "--std"),
        ("evaluate", "{model}", "ugly.csv"),
        ("inspect", "{model}"),
        ("export", "{model}", "--to", "c", "-o", "-"),
        ("export", "{model}", "--to", "json", "-o", "-"),
    ],
    ids=" ".join,
)
def test_what_uses_a_model_imports_no_other_learner(
    arguments: tuple[str, ...], here: Path, model: str
) -> None:
    words = [word.format(model=model) for word in arguments]
    packages = imported_by(*words, folder=here, code=0)
    public = {name for name in packages if name.startswith("sklearn.") and "._" not in name}
    assert public <= BASIC
    assert not packages & (HEAVY - {"numpy", "scipy", "sklearn", "pandas", "polars", "pyarrow"})
    assert "sdgm.ensemble" not in packages
