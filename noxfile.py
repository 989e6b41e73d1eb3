"""What continuous integration runs, session by session; `nox -l` lists them.

Words after `--` go to pytest: `nox -s tests-3.12 -- tests/core -x`.
"""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import nox

nox.needs_version = ">=2025.2"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["lint", "tests-3.11", "docs", "package"]

PROJECT = nox.project.load_toml("pyproject.toml")
PYTHONS = nox.project.python_versions(PROJECT)  # those of the classifiers
OLDEST, NEWEST = PYTHONS[0], PYTHONS[-1]
EXTRAS = [name for name in PROJECT["project"]["optional-dependencies"] if name != "all"]
PINS, OLDEST_VERSIONS = ("-c", "constraints.txt"), ("-c", "constraints-oldest.txt")

LIMIT_MB = 1  # of the wheel
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg", "SCIPY_ARRAY_API": "1"}


def install(session: nox.Session, extras: str, *groups: str, versions: tuple[str, ...]) -> None:
    """Install the checkout with extras, and development groups, in versions that are asked for."""
    packages = nox.project.dependency_groups(PROJECT, *groups)
    session.install(*versions, "-e", f".[{extras}]" if extras else ".", *packages)


def run_tests(session: nox.Session, *options: str) -> None:
    """All tests but the slow ones, or those that the command line names."""
    options = (*options, *(session.posargs or ("-n", "2", "-m", "not slow")))
    session.run("python", "-m", "pytest", "-q", *options, env=ENVIRONMENT)


@nox.session(python=OLDEST)
def lint(session: nox.Session) -> None:
    """Linter, formatting, type checker."""
    install(session, "all", "lint", versions=PINS)
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("mypy")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """All extras, in the pinned versions."""
    install(session, "all", "test", "neighbours", versions=PINS)
    run_tests(session)


@nox.session(python=OLDEST)
def oldest(session: nox.Session) -> None:
    """All extras, in the oldest declared versions; what these say of newer ones is no error."""
    install(session, "all", "test", versions=OLDEST_VERSIONS)
    run_tests(session, "-W", "default")


@nox.session(python=NEWEST)
def newest(session: nox.Session) -> None:
    """All extras, in the newest versions there are."""
    install(session, "all", "test", "neighbours", versions=("--upgrade",))
    run_tests(session)


@nox.session(python=OLDEST)
@nox.parametrize("extra", ["none", *EXTRAS], ids=["none", *EXTRAS])
def extras(session: nox.Session, extra: str) -> None:
    """One extra alone, or none."""
    install(session, "" if extra == "none" else extra, "test", versions=PINS)
    run_tests(session)


@nox.session(python=OLDEST)
def slow(session: nox.Session) -> None:
    """The slow tests."""
    install(session, "all", "test", "neighbours", versions=PINS)
    run_tests(session, "-m", "slow")


@nox.session(python=OLDEST)
def coverage(session: nox.Session) -> None:
    """Which lines and branches the tests reach."""
    install(session, "all", "test", "neighbours", "coverage", versions=PINS)
    run_tests(session, "--cov", "--cov-report=term:skip-covered", "--cov-report=xml")


@nox.session(python=OLDEST)
def mutation(session: nox.Session) -> None:
    """How many changed formulas of `core` the tests notice."""
    install(session, "", "test", versions=PINS)
    session.run("python", "tools/mutation.py", *session.posargs, env=ENVIRONMENT)


@nox.session(python=OLDEST)
def docs(session: nox.Session) -> None:
    """The documentation, with every link followed."""
    session.install(*PINS, *nox.project.dependency_groups(PROJECT, "docs"))
    session.run("zensical", "build", "--clean", "--strict")
    session.run("python", "tools/check_site.py", "site")


@nox.session(python=OLDEST)
def package(session: nox.Session) -> None:
    """Build sdist and wheel; install the wheel and run the sdist's tests, outside the checkout."""
    session.install(*PINS, *nox.project.dependency_groups(PROJECT, "package", "test", "neighbours"))
    dist = Path(session.create_tmp()).resolve() / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", str(dist))  # the wheel from the sdist
    (sdist,), (wheel,) = dist.glob("*.tar.gz"), dist.glob("*.whl")
    session.run("twine", "check", "--strict", str(sdist), str(wheel))
    size = wheel.stat().st_size / 1e6
    session.log(f"{wheel.name}: {size:.2f} MB")
    if size > LIMIT_MB:
        session.error(f"the wheel has {size:.2f} MB, more than {LIMIT_MB} MB")
    session.install(*PINS, f"{wheel}[all]")
    with tarfile.open(sdist) as archive:
        archive.extractall(dist, filter="data")
    outside = dist / sdist.name.removesuffix(".tar.gz")
    shutil.rmtree(outside / "src")
    session.chdir(outside)
    session.run("sdgm", "demo", "--output", str(dist / "demo.png"))
    run_tests(session, "--pyargs", "sdgm", "tests")


@nox.session(python=False)
def pins(session: nox.Session) -> None:
    """Write constraints.txt anew; `-- --upgrade` for newer versions."""
    groups = [f"--group={name}" for name in PROJECT["dependency-groups"]]
    session.run(
        *("uv", "pip", "compile", "-q", "--universal", f"--python-version={OLDEST}"),
        *("pyproject.toml", "--all-extras", *groups, "--no-emit-package=sdgm"),
        *("--no-annotate", "--custom-compile-command=nox -s pins", "-o", "constraints.txt"),
        *session.posargs,
        external=True,
    )
