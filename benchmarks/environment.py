"""Where and with what a run was made, and what this process uses."""

from __future__ import annotations

import os
import platform
import re
import resource
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

PACKAGES = (
    "sdgm", "numpy", "scipy", "scikit-learn", "torch", "polars", "fastrvm", "sklearn-rvm",
    "imodels", "interpret-core", "emlearn", "m2cgen", "micromlgen",
)  # fmt: skip
NOT_INSTALLED = "not installed"


def surroundings(command: str) -> dict[str, Any]:
    """Date, command, commit, versions and machine."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": command,
        "commit": commit(),
        "python": platform.python_version(),
        "versions": {package: version_of(package) for package in PACKAGES},
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": cpu_model(),
        "cores": usable_cores(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def made_by(records: Sequence[dict[str, Any]]) -> str:
    """A line for the page: the runs behind some records, together where versions agree."""
    together: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        together.setdefault(environment_of(record["run"]), []).append(record["run"])
    return "; ".join(one_line(runs, words) for words, runs in together.items()) + "."


def environment_of(run: dict[str, Any]) -> str:
    """Versions and machine of a run."""
    versions = [f"{p} {v}" for p, v in run["versions"].items() if v != NOT_INSTALLED]
    cores = f"{run['cores']} cores" + (f" of {run['cpu']}" if run["cpu"] else "")
    return ", ".join([f"Python {run['python']}", *versions, run["system"], cores])


def one_line(runs: Sequence[dict[str, Any]], environment: str) -> str:
    """Runs of one environment in short."""
    commands, commits, dates = (
        list(dict.fromkeys(runs_of)) for runs_of in (
            [f"`{shortened(run['command'])}`" for run in runs],
            [str(run["commit"]) for run in runs],
            [run["date"].split()[0] for run in runs],
        )
    )  # fmt: skip
    loads = sorted({run["load"] for run in runs if run["load"] is not None})
    words = [" and ".join(commands)]
    words.append(f"commit{'s' if len(commits) > 1 else ''} {' and '.join(commits)}")
    words += [" and ".join(dates), environment]
    if loads:
        spread = f"{loads[0]} to {loads[-1]}" if len(loads) > 1 else f"{loads[0]}"
        words.append(f"load average {spread} at the start")
    return ", ".join(words)


def shortened(command: str) -> str:
    """A command with the first of long lists of values; records hold the whole."""
    return re.sub(r"((?:[^\s,]+,){3})(?:[^\s,]+,){5,}[^\s,]+", r"\1...", command)


def commit() -> str | None:
    """Of the checkout, with a mark when files differ from it."""
    command = ["git", "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout.strip() or None


def version_of(package: str) -> str:
    """Of what is installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return NOT_INSTALLED


def cpu_model() -> str:
    """The processor's name for itself."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class CoresOfOthers:
    """How many cores are at work for others than the child processes of this one."""

    def __init__(self) -> None:
        self.begin, self.busy, self.own = perf_counter(), busy_seconds(), child_seconds()

    def until_now(self) -> float:
        """On average, since this was made; processes count as own once they have ended."""
        busy, own = busy_seconds() - self.busy, child_seconds() - self.own
        return round(max(busy - own, 0.0) / (perf_counter() - self.begin), 2)


def child_seconds() -> float:
    """Processor time of child processes that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def busy_seconds() -> float:
    """Time that all cores together have been at work since the system began.

    What the cores did for other virtual machines counts too. Zero where the system does not tell.
    """
    stat = Path("/proc/stat")
    if not stat.is_file():
        return 0.0
    user, nice, system, _idle, _iowait, irq, softirq, stolen = map(
        int, stat.read_text().split(maxsplit=9)[1:9]
    )
    ticks = user + nice + system + irq + softirq + stolen
    return ticks / os.sysconf("SC_CLK_TCK")


def peak_memory() -> int:
    """The most memory this process has had resident, in bytes.

    On Linux from VmHWM: there ``ru_maxrss`` starts from the parent's size, which exec hands on.
    """
    unit = 1 if sys.platform == "darwin" else 1024
    return status_bytes("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def status_bytes(name: str) -> int:
    """A line of what Linux says of this process; zero elsewhere."""
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.is_file() else []:
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return 0
