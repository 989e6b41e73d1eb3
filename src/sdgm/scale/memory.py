"""Available memory, the memory that a fit needs, and the refusal of fits that need more."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path, PurePosixPath

from sdgm.core.inference.recipe import Recipe

try:
    import resource
except ImportError:  # not a POSIX system
    resource = None  # type: ignore[assignment]

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")


def available_memory() -> float:
    """Bytes that this process can use: the memory of the machine, or a lower limit."""
    return min(physical_memory(), address_space(), cgroup_limit())


def physical_memory() -> float:
    """Memory of the machine in bytes; infinite if unknown."""
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
    """The smallest of `cgroup_limits`, read once, because reading takes longer than a small fit."""
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
        # a group has at most the memory of its parents. Inside a container its own may be the root
        own = PurePosixPath(path.lstrip("/"))
        for group in (own, *own.parents):
            try:
                text = (root / group / name).read_text().strip()
            except OSError:
                continue
            if text.isdigit():  # and not "max"
                yield float(text)


def require_memory(n_bytes: float, what: str, remedies: Sequence[str]) -> None:
    """Refuse a problem that does not fit in memory, before allocating anything.

    Parameters
    ----------
    n_bytes : float
    what : str
        What needs the memory.
    remedies : sequence of str
        What could be used instead.
    """
    available = available_memory()
    if n_bytes > available:
        *most, last = remedies
        remedy = f"use {', '.join(most)} or {last}" if most else f"use {last}"
        raise MemoryError(
            f"{what} would need {in_words(n_bytes)}, but {in_words(available)} are available; "
            f"{remedy}."
        )


def in_words(n_bytes: float) -> str:
    """A number of bytes, with its unit.

    Examples
    --------
    >>> in_words(3.25e9), in_words(58e6)
    ('3.2 GB', '58 MB')
    """
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.3g} MB"


# --- what a fit needs, by arithmetic on shapes ---

# The counts of copies are those of the arrays that are alive at once where most of them are,
# compared with measured peaks in ``tests/scale/test_memory_estimate.py``. They are of the first
# pass, with all weights; how much pruning saves later is unknown in advance.
NUMBER = 8.0  # bytes
# size of the largest array of a fit up to which memory is not checked: some copies of half a
# megabyte are less than importing numpy takes
SMALL_NUMBERS = 1 << 16
# weights up to which their covariance is kept
MAX_COVARIANCE = 4_000
# the table: as given, sorted with its labels, standardised
TABLE_COPIES = 3
# columns of the design that are factorised or scaled: themselves, times the root of the weights,
# the copy that LAPACK works on, and its triangle
COLUMN_COPIES = 4
# of a kernel with explicit features: with a constant, scaled, two factors, times each other
EXPLICIT_COPIES = 6
# of a kernel's pivoted factor: itself, with a constant, as Z and R, and two while it is scaled
FACTOR_COPIES = 5.5
# of a kernel matrix: itself, with a constant, scaled, LAPACK's copy, and its two factors
GRAM_COPIES = 6
# values per weight: four arrays of the state, current and previous, and the terms of the next alpha
WEIGHT_COPIES = 40
# of the covariance of the weights: curvature, factor, inverse, two triangles, scaled
COVARIANCE_COPIES = 6


def feature_bytes(N: int, D: int, H: int) -> float:
    """To make a design from H features of N rows with D inputs."""
    small = min(N, H)  # rows of square factors: the identity or singular vectors, scaled
    return NUMBER * (TABLE_COPIES * N * D + COLUMN_COPIES * N * H + 3 * small**2)


def explicit_bytes(N: int, D: int, n_features: int) -> float:
    """To make a design from the explicit features of a kernel."""
    return NUMBER * (TABLE_COPIES * N * D + EXPLICIT_COPIES * N * n_features)


def factor_bytes(N: int, D: int, rank: int) -> float:
    """To make a design from a kernel by a factorisation of this rank."""
    return NUMBER * (TABLE_COPIES * N * D + FACTOR_COPIES * N * rank)


def gram_bytes(N: int, D: int, n_columns: int) -> float:
    """To make a design from a matrix of kernel values."""
    return NUMBER * (TABLE_COPIES * N * D + GRAM_COPIES * N * n_columns)


def learning_bytes(
    table: tuple[int, int],
    n_columns: int,
    rank: int,
    n_components: int,
    n_classes: int,
    recipe: Recipe,
    n_threads: int = 1,
) -> float:
    """To learn with a design.

    Parameters
    ----------
    table : (int, int)
        Rows and inputs.
    n_columns : int
        H, the candidate columns.
    rank : int
        p, that of the design.
    n_components : int
        K of all classes.
    n_classes : int
    recipe : Recipe
    n_threads : int
        Threads that share the rows.
    """
    (N, D), H, p, M = table, n_columns, rank, n_components
    K = n_free(M, recipe)
    has_more_weights = p < H
    # factors of the columns of each component; a square design is scaled, and nothing else
    whitening = 0 if is_square(N, H, p) else K * H * p
    whitening += K * p**2 if has_more_weights else 0
    # the table, the design, responsibilities
    data = TABLE_COPIES * N * D + N * p + H * p + 2 * N * M
    lasts = has_more_weights or not recipe.learns_alpha
    find_mode = recipe.method.find_mode
    observed = not recipe.learns_alpha and find_mode.forms_missing_information and n_classes < M
    newton = find_mode.solver.numbers(N, p, K, n_threads, lasts=lasts, observed=observed)
    return NUMBER * (data + whitening + WEIGHT_COPIES * K * H + newton)


def n_free(n_components: int, recipe: Recipe) -> int:
    """Components with weights: one less if one is pinned, or if one of two is enough."""
    preparation = recipe.preparation
    if preparation.pinned or (preparation.ties_two and n_components == 2):
        return n_components - 1
    return n_components


def is_square(N: int, H: int, p: int) -> bool:
    """Whether the columns of the design are its coordinates, as those of few features are."""
    return p == H <= N


def covariance_bytes(n_weights: int) -> float:
    """To compute the covariance of the weights."""
    return COVARIANCE_COPIES * NUMBER * n_weights**2


def keeps_covariance(n_weights: int) -> bool:
    """Whether the covariance of this many weights is cheap enough and fits into memory."""
    return n_weights <= MAX_COVARIANCE and covariance_bytes(n_weights) <= available_memory()
