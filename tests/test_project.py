"""What the project's files say of versions, dependencies and sessions agrees."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import sdgm

ROOT = Path(__file__).parents[1]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = {name for name in PROJECT["optional-dependencies"] if name != "all"}
PYTHONS = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))


def text_of(name: str) -> str:
    """A file of the project; what only a checkout has is not in the sdist."""
    path = ROOT / name
    if name.startswith(".") and not path.exists():
        pytest.skip(f"{name} is in a checkout only")
    return path.read_text(encoding="utf-8")


def sessions_of(workflow: str) -> set[str]:
    """Names of the nox sessions that a workflow runs."""
    text = text_of(f".github/workflows/{workflow}.yml")
    listed = re.findall(r"^ {10}- ([\w.()-]+)$", text, flags=re.MULTILINE)
    inline = re.findall(r"session: \[(.*)\]", text)
    return {*listed, *(name for names in inline for name in names.split(", "))}


def padded(version: str) -> tuple[int, ...]:
    """A version as three numbers."""
    return tuple([*map(int, version.split(".")), 0, 0][:3])


def test_the_version_stands_in_one_place() -> None:
    assert "version" not in PROJECT
    place = ROOT / PYPROJECT["tool"]["hatch"]["version"]["path"]
    if place.exists():  # not where the tests run against an installed wheel
        assert f'__version__ = "{sdgm.__version__}"' in place.read_text(encoding="utf-8")


def test_the_installed_version_is_that_of_the_code() -> None:
    try:
        installed = importlib.metadata.version("sdgm")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("sdgm is on the path but not installed")
    assert installed == sdgm.__version__


def test_citation_and_changelog_are_of_this_release() -> None:
    version = sdgm.__version__
    if ".dev" in version:
        pytest.skip("between releases both are of the last one")
    citation = text_of("CITATION.cff")
    assert f"\nversion: {version}\n" in citation
    (date,) = re.findall(r"^date-released: (.+)$", citation, flags=re.MULTILINE)
    assert f"\n## [{version}] - {date}\n" in text_of("CHANGELOG.md")


def test_all_is_every_extra() -> None:
    (everything,) = PROJECT["optional-dependencies"]["all"]
    assert set(re.findall(r"\w+", everything)) - {"sdgm"} == EXTRAS


def test_the_oldest_versions_are_those_declared() -> None:
    declared = [*PROJECT["dependencies"]]
    for name in EXTRAS:
        declared += [r for r in PROJECT["optional-dependencies"][name] if "sdgm[" not in r]
    # whose frames are read, and which dask brings along
    declared += [r for r in PYPROJECT["dependency-groups"]["neighbours"] if r[:2] in {"pa", "py"}]
    minima = {}
    for requirement in declared:
        name, version = re.fullmatch(r"([\w-]+)(?:\[.*\])?>=([\d.]+)", requirement).groups()
        minima[name] = version
    oldest = dict(re.findall(r"^([\w-]+)==([\d.]+)$", text_of("constraints-oldest.txt"), re.M))
    assert set(oldest) == set(minima)
    # the first patch release there is can be later than .0
    series = {
        name: padded(version)[: minima[name].count(".") + 1] for name, version in oldest.items()
    }
    assert series == {name: tuple(map(int, v.split("."))) for name, v in minima.items()}


def test_the_page_on_stability_has_the_declared_minima() -> None:
    page = text_of("docs/stability.md")
    for requirement in PROJECT["dependencies"]:
        name, version = requirement.split(">=")
        assert f"| {name} | {version} and newer |" in page
    assert f"| Python | {', '.join(PYTHONS[:-1])} and {PYTHONS[-1]} |" in page


def test_workflows_run_every_version_of_python_and_every_extra() -> None:
    sessions = sessions_of("tests")
    assert {f"tests-{version}" for version in PYTHONS} <= sessions
    assert {f"extras({name})" for name in EXTRAS | {"none"}} <= sessions


def test_workflows_run_every_session_and_no_other() -> None:
    run = {re.split(r"-3|\(", name)[0] for name in sessions_of("tests") | sessions_of("nightly")}
    functions = re.findall(r"^@nox.*\ndef (\w+)\(", text_of("noxfile.py"), flags=re.MULTILINE)
    assert run == set(functions) - {"pins"}


def test_development_versions_are_pinned() -> None:
    pinned = set(re.findall(r"^([\w.-]+)==", text_of("constraints.txt"), flags=re.MULTILINE))
    groups = [r for group in PYPROJECT["dependency-groups"].values() for r in group]
    names = {re.split(r"[\[>=]", r)[0].lower() for r in groups if isinstance(r, str)}
    assert not names - pinned
