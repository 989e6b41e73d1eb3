"""How much memory there is, and the refusal of what does not fit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path, PurePosixPath

try:
    import resource
except ImportError:  # not a POSIX system
    resource = None  # type: ignore[assignment]

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")


def available_memory() -> float:
    """Bytes that this process can have: what the machine has, or less if a limit is set."""
    return min(physical_memory(), address_space(), cgroup_limit())


def physical_memory() -> float:
    """Bytes of the machine; infinite where the system does not tell."""
    if not hasattr(os, "sysconf"):  # not a POSIX system
        return float("inf")
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def address_space() -> float:
    """The limit that ``ulimit -v`` sets, infinite if there is none."""
    if resource is None:
        return float("inf")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return float("inf") if limit == resource.RLIM_INFINITY else float(limit)


@cache
def cgroup_limit() -> float:
    """The smallest of `cgroup_limits`, read once: small fits take less time than the files do."""
    return min(cgroup_limits(), default=float("inf"))


def cgroup_limits() -> Iterator[float]:
    """Limits of the control groups that this process is in, those of containers among them."""
    try:
        lines = OWN_CGROUPS.read_text().splitlines()
    except OSError:  # not Linux
        return
    for line in lines:
        # "0::/path" is the one of version 2, "4:memory:/path" that of version 1
        number, controllers, path = line.split(":", 2)
        if number == "0" and not controllers:
            root, name = CGROUPS, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = CGROUPS / "memory", "memory.limit_in_bytes"
        else:
            continue
        # a group has no more than those above it. Inside of a container its own may be the root
        own = PurePosixPath(path.lstrip("/"))
        for group in (own, *own.parents):
            try:
                text = (root / group / name).read_text().strip()
            except OSError:
                continue
            if text.isdigit():  # and not "max"
                yield float(text)


def require_memory(n_bytes: float, what: str, remedies: Sequence[str]) -> None:
    """Refuse a problem that does not fit, before allocating anything.

    Parameters
    ----------
    n_bytes : float
    what : str
        What needs so many bytes.
    remedies : sequence of str
        What could be used instead.
    """
    available = available_memory()
    if n_bytes > available:
        *most, last = remedies
        remedy = f"use {', '.join(most)} or {last}" if most else f"use {last}"
        raise MemoryError(
            f"{what} would need {in_words(n_bytes)}, and there are {in_words(available)}; {remedy}."
        )


def in_words(n_bytes: float) -> str:
    """A number of bytes, with its unit.

    Examples
    --------
    >>> in_words(3.25e9), in_words(58e6)
    ('3.2 GB', '58 MB')
    """
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.3g} MB"
