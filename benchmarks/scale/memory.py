"""Memory of this process: what it allocated, and what of files is mapped into it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any, Self

from benchmarks.environment import peak_memory, status_bytes

# seconds between two looks
EVERY = 0.02


class Watched:
    """Peaks while something is done.

    Linux counts two things as resident: memory that the process allocated (``RssAnon``), which
    nobody else can have, and pages of files that are mapped (``RssFile``), which the system takes
    back when it needs them. The first peak is found by looking often, the sum of both (``VmHWM``)
    is kept by the system.

    `before` is what was allocated at the start: Python, its packages, and data in memory.
    """

    def __enter__(self) -> Self:
        with suppress(OSError):  # forget the peak of what was before
            Path("/proc/self/clear_refs").write_text("5")
        self.before, self.allocated, self.mapped, self.resident = 0, 0, 0, 0
        self._look()
        self.before = self.allocated
        self._end = Event()
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._end.set()
        self._thread.join()
        self._look()
        self.resident = peak_memory()

    def _watch(self) -> None:
        while not self._end.wait(EVERY):
            self._look()

    def _look(self) -> None:
        self.allocated = max(self.allocated, status_bytes("RssAnon"))
        self.mapped = max(self.mapped, status_bytes("RssFile"))

    def record(self) -> dict[str, int]:
        """For a file of records."""
        return {
            "before_bytes": self.before,
            "allocated_bytes": self.allocated,
            "mapped_bytes": self.mapped,
            "peak_bytes": self.resident,
        }
