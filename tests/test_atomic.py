"""Claims about files that are written whole or not at all."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from sdgm.atomic import replacing


def test_a_file_appears_once_it_is_whole_and_may_have_a_long_name(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 250 + ".txt")
    with replacing(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_follow_the_mask(tmp_path: Path) -> None:
    for mask in (0o022, 0o077):
        before = os.umask(mask)
        try:
            with replacing(tmp_path / str(mask)) as file:
                file.write(b"new")
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / str(mask)).stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"old")
    path.chmod(mode)
    with replacing(path) as file:
        # even before it is whole
        (temporary,) = [each for each in tmp_path.iterdir() if each != path]
        assert stat.S_IMODE(temporary.stat().st_mode) == mode
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_text_is_written_as_it_is(tmp_path: Path) -> None:
    with replacing(tmp_path / "text", text=True) as file:
        file.write("größe\r\n\n")
    assert (tmp_path / "text").read_bytes() == "größe\r\n\n".encode()


def test_a_link_stays_a_link_even_to_what_is_not_there(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there")
    for content in (b"first", b"second"):
        with replacing(link) as file:
            file.write(content)
        assert link.is_symlink()
        assert (tmp_path / "there").read_bytes() == content


def test_devices_and_pipes_are_written_to_and_stay(tmp_path: Path) -> None:
    with replacing(os.devnull) as file:
        file.write(b"nothing")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    seen: list[bytes] = []
    reader = threading.Thread(target=lambda: seen.append(pipe.read_bytes()))
    reader.start()
    with replacing(pipe) as file:
        file.write(b"through")
    reader.join()
    assert seen == [b"through"]
    assert [each.name for each in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_device_is_named() -> None:
    with pytest.raises(OSError, match="No space left") as raised, replacing("/dev/full") as file:
        file.write(b"x" * 100_000)
    assert raised.value.filename == "/dev/full"


def test_places_that_cannot_be_written_to_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none/file'$"), replacing(tmp_path / "none/file"):
        pass
    with pytest.raises(IsADirectoryError) as raised, replacing(tmp_path):
        pass
    assert raised.value.filename == str(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_error_about_another_file_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised, replacing(tmp_path / "out"):
        (tmp_path / "source").read_bytes()
    assert raised.value.filename == str(tmp_path / "source")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_when_writing_fails_the_old_file_stays_and_nothing_else(
    tmp_path: Path, step: str, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise error

    path = tmp_path / "file"
    path.write_bytes(b"old")
    if step != "write":
        monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(error)) as raised, replacing(path) as file:  # noqa: PT012
        file.write(b"new")
        if step == "write":
            fail()
    monkeypatch.undo()
    if isinstance(raised.value, OSError):
        assert raised.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


INTERRUPTED = """
import sys
from sdgm.atomic import replacing

print("ready", flush=True)
while True:
    for letter in b"ab":
        with replacing(sys.argv[1]) as file:
            file.write(bytes([letter]) * 1_000_000)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_signal_at_any_time_leaves_one_whole_file(tmp_path: Path, number: int) -> None:
    path = tmp_path / "file"
    for delay in (0.0, 0.003, 0.01, 0.017):
        path.write_bytes(b"old")
        writer = subprocess.Popen(
            [sys.executable, "-c", INTERRUPTED, str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        threading.Event().wait(delay)
        writer.send_signal(number)
        writer.wait()
        writer.stdout.close()
        assert path.read_bytes() in (b"old", b"a" * 1_000_000, b"b" * 1_000_000)
        if number == signal.SIGINT:
            assert list(tmp_path.iterdir()) == [path]
