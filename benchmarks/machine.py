"""Where and with what a run was made."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.settings import Settings

PACKAGES = ("sdgm", "numpy", "scipy", "scikit-learn", "fastrvm", "sklearn-rvm")


def header(settings: Settings, command: str) -> dict[str, Any]:
    """The first record of a run: date, command, versions and machine."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": command,
        "repeats": settings.repeats,
        "quick": settings.quick,
        "timeout": settings.timeout,
        "commit": commit(),
        "python": platform.python_version(),
        "versions": {package: version_of(package) for package in PACKAGES},
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "cpu": cpu_model(),
        "cores": usable_cores(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def commit() -> str | None:
    """Of the checkout, with a mark when files differ from it."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
        )
    except FileNotFoundError:
        return None
    return done.stdout.strip() or None


def version_of(package: str) -> str:
    """Of what is installed; of sdgm also from a checkout on the path."""
    try:
        return version(package)
    except PackageNotFoundError:
        if package == "sdgm":
            import sdgm

            return f"{sdgm.__version__} (checkout)"
        return "not installed"


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
    status = Path("/proc/self/status")
    if status.is_file():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
