"""Claims about what a command imports before its work begins, in place of a stopwatch."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

from sdgm.cli import imports

# what takes long to import: scikit-learn brings scipy, and pandas where it is installed
HEAVY = {"numpy", "scipy", "sklearn", "pandas", "polars", "pyarrow", "torch", "matplotlib", "onnx"}
# scikit-learn 1.6 looks at the version of pandas at once
AT_ONCE = (
    {"pandas"} if version("scikit-learn").startswith("1.6.") and find_spec("pandas") else set()
)
LATER = {"scipy.stats", "pandas"} - AT_ONCE
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

LIBRARY = """
import rich
import sys
from sdgm import SDGMClassifier
code = int(any(type(each).__module__ == "sdgm.cli.imports" for each in sys.meta_path))
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
    assert not {"sdgm.ensemble", *LATER} & packages


AFTERWARDS = """
import sys
from sdgm.cli import imports
imports.shorten()
{before}
import sklearn.utils.fixes as fixes
import sklearn.utils.validation
early = {{"scipy.stats", "pandas"}} & set(sys.modules)
import scipy.stats
from scipy.stats import mstats, norm
from scipy import stats
assert stats is scipy.stats is fixes.scipy.stats and stats.norm is norm
assert "norm" in vars(stats) and mstats.__name__ == "scipy.stats.mstats"
{after}
print(*sorted(early))
"""
REAL_PANDAS = """
import pandas
assert fixes.pd.DataFrame is pandas.DataFrame
from sklearn.linear_model import LogisticRegression
table = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, 0.0, 1.0]})
model = LogisticRegression().fit(table, ["x", "y", "y"])
assert [*model.feature_names_in_] == ["a", "b"]
"""


def early(*, before: str = "", after: str = "") -> set[str]:
    """Which of the two scikit-learn has imported with a short start, after their use."""
    program = AFTERWARDS.format(before=before, after=after)
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_what_scikit_learn_gets_later_is_the_module_itself() -> None:
    assert early() == AT_ONCE


def test_what_was_imported_before_stays() -> None:
    before = "import scipy.stats; was = scipy.stats"
    assert early(before=before, after="assert was is scipy.stats") == {"scipy.stats", *AT_ONCE}


def test_a_short_start_needs_no_pandas() -> None:
    before = "sys.modules['pandas'] = None"  # as if it were not installed
    assert early(before=before, after="assert fixes.pd is None") == {"pandas"}


def test_pandas_works_after_a_short_start() -> None:
    pytest.importorskip("pandas")
    assert early(after=REAL_PANDAS) == AT_ONCE


def test_pandas_that_was_imported_before_stays() -> None:
    pytest.importorskip("pandas")
    before = "import pandas; was = pandas"
    after = "assert fixes.pd is was is sys.modules['pandas']"
    assert early(before=before, after=after) == {"pandas"}


@pytest.fixture
def later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a package, and another whose import fails."""
    (tmp_path / "sdgm_sound").mkdir()
    (tmp_path / "sdgm_sound" / "__init__.py").write_text("value = 1\n")
    (tmp_path / "sdgm_sound" / "part.py").write_text("value = 2\n")
    (tmp_path / "sdgm_broken.py").write_text("raise ValueError('a mistake of its own')\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("sdgm_sound", "sdgm_sound.part", "sdgm_broken"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


@pytest.mark.usefixtures("later")
def test_a_module_that_is_used_at_once_is_imported_at_once() -> None:
    with imports.imported_later(["sdgm_sound"]):
        from sdgm_sound import value
        from sdgm_sound.part import value as other

        module = sys.modules["sdgm_sound"]
    assert (value, other) == (1, 2)
    assert sys.modules["sdgm_sound"] is module
    assert type(module) is ModuleType


@pytest.mark.usefixtures("later")
def test_mistakes_of_a_module_are_shown_when_it_is_used() -> None:
    with imports.imported_later(["sdgm_broken"]):
        import sdgm_broken
    for _ in range(2):
        with pytest.raises(ValueError, match="a mistake of its own"):
            sdgm_broken.value  # noqa: B018
    with pytest.raises(ValueError, match="a mistake of its own"):
        importlib.import_module("sdgm_broken")


@pytest.mark.usefixtures("later")
def test_what_a_module_lacks_is_said_by_itself() -> None:
    with imports.imported_later(["sdgm_sound"]):
        import sdgm_sound
    assert "sdgm_sound" not in sys.modules
    with pytest.raises(AttributeError, match="module 'sdgm_sound' has no attribute 'other'"):
        sdgm_sound.other  # noqa: B018


def test_a_module_that_is_not_installed_is_missing() -> None:
    with imports.imported_later(["sdgm_absent"]), pytest.raises(ModuleNotFoundError):
        import sdgm_absent  # noqa: F401


def test_only_the_command_shortens_the_imports(tmp_path: Path) -> None:
    assert "scipy.stats" in imported_by(folder=tmp_path, code=0, program=LIBRARY)


def test_trees_are_imported_only_for_teachers_that_are_trees(tmp_path: Path) -> None:
    pytest.importorskip("polars")
    (tmp_path / "t.csv").write_text(TABLE)
    command = ("fit", "t.csv", "-t", "kind", "--components", "1", "-o", "m.sdgm", "--force")
    default = imported_by(*command, folder=tmp_path, code=0)
    assert not {"sklearn.ensemble", "sklearn.tree"} & default
    trees = imported_by(*command, "--teacher", "boosting", folder=tmp_path, code=0)
    assert "sklearn.ensemble" in trees
