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
SHOW = """
packages = {".".join(name.split(".")[:depth]) for name in sys.modules for depth in (1, 2)}
print(code, *packages, sep=",", file=sys.stderr)
"""
RUN = """
import sys
sys.argv = ["sdgm", *sys.argv[1:]]
from sdgm.cli import main
try:
    main()
except SystemExit as end:
    code = end.code or 0
"""
# what every estimator needs: most of the time until a command begins its work
BASE = """
import rich
import sys
import sklearn.base
import sklearn.utils.validation
code = 0
"""


def imported_by(*arguments: str, folder: Path, code: int, program: str = RUN) -> set[str]:
    """Packages that a command has imported when it ends with an exit code."""
    command = [sys.executable, "-c", program + SHOW, *arguments]
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
    if "demo" in arguments:
        pytest.importorskip("matplotlib")  # without it no picture is written
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
def test_what_uses_a_model_imports_little_more_than_the_base_of_scikit_learn(
    arguments: tuple[str, ...], here: Path, model: str
) -> None:
    words = [word.format(model=model) for word in arguments]
    packages = imported_by(*words, folder=here, code=0)
    more = packages - imported_by(folder=here, code=0, program=BASE)
    heavy = {name for name in more if name.split(".")[0] in HEAVY - {"polars"} and "._" not in name}
    assert heavy <= {"sklearn.callback"}
    assert "sdgm.ensemble" not in packages


def test_trees_are_imported_only_for_teachers_that_are_trees(tmp_path: Path) -> None:
    pytest.importorskip("polars")
    (tmp_path / "t.csv").write_text(TABLE)
    command = ("fit", "t.csv", "-t", "kind", "--components", "1", "-o", "m.sdgm", "--force")
    default = imported_by(*command, folder=tmp_path, code=0)
    assert not {"sklearn.ensemble", "sklearn.tree"} & default
    trees = imported_by(*command, "--teacher", "boosting", folder=tmp_path, code=0)
    assert "sklearn.ensemble" in trees
