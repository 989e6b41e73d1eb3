"""How much memory there is, and how what does not fit is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sdgm.scale import memory
from sdgm.scale.memory import available_memory, require_memory
from tests.estimators.problems import pretend_memory


def test_the_refusal_has_numbers_and_remedies(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_memory(monkeypatch, 2e9)
    require_memory(1.9e9, "It", ["less"])
    message = r"^It would need 2\.1 GB, but 2\.0 GB are available; use a, b or c\.$"
    with pytest.raises(MemoryError, match=message):
        require_memory(2.1e9, "It", ["a", "b", "c"])
    pretend_memory(monkeypatch, 2e6)
    with pytest.raises(MemoryError, match=r"2\.5 MB, but 2 MB are available; use less\.$"):
        require_memory(2.5e6, "It", ["less"])


def test_limits_of_the_process_count(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_memory(monkeypatch, 4e9)
    monkeypatch.setattr(memory, "cgroup_limit", lambda: float("inf"))
    monkeypatch.setattr(memory, "address_space", lambda: float("inf"))
    assert available_memory() == pytest.approx(4e9, rel=1e-5)
    monkeypatch.setattr(memory, "address_space", lambda: 3e9)
    assert available_memory() == 3e9
    monkeypatch.setattr(memory, "cgroup_limit", lambda: 2e9)
    assert available_memory() == 2e9


@pytest.mark.parametrize(
    ("own", "limits", "available"),
    [
        ("0::/", {"memory.max": "2000"}, 2000.0),
        ("0::/a/b", {"a/b/memory.max": "max", "a/memory.max": "3000"}, 3000.0),
        ("0::/a/b", {"a/b/memory.max": "1000", "a/memory.max": "3000"}, 1000.0),
        ("0::/a/b", {"memory.max": "5000"}, 5000.0),  # the container's own, seen from inside
        ("4:cpu,memory:/a\n0::/", {"memory/a/memory.limit_in_bytes": "4000"}, 4000.0),
        ("4:cpu:/a\n0::/", {"memory/a/memory.limit_in_bytes": "4000"}, np.inf),
        ("0::/../x", {}, np.inf),
    ],
)
def test_limits_of_control_groups(
    own: str,
    limits: dict[str, str],
    available: float,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    root = tmp_path / "cgroup"
    for path, text in limits.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text + "\n")
    (tmp_path / "own").write_text(own + "\n")
    monkeypatch.setattr(memory, "CGROUPS", root)
    monkeypatch.setattr(memory, "OWN_CGROUPS", tmp_path / "own")
    assert min(memory.cgroup_limits(), default=np.inf) == available
