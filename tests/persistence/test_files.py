"""Claims about model files on disk: whole or not at all, and refused in one sentence."""

from __future__ import annotations

import os
import pickle
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("msgspec")
pytest.importorskip("safetensors")

import safetensors.numpy

import sdgm
from sdgm import ModelFileError, load, save
from sdgm.persistence import files
from sdgm.persistence.container import MAX_FILE, REMEDY, packed
from tests.persistence.models import fitted
from tests.persistence.mutations import taken_apart

NOBODY = 65534


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Somebody who may not do everything, even if root runs the tests."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    yield
    if is_root:
        os.seteuid(0)


def problem_with(path: Path) -> str:
    """What is said about a file, checked to be one sentence that begins with its name."""
    with pytest.raises(ModelFileError) as raised:
        load(path)
    text = str(raised.value)
    assert text.startswith(str(path))
    assert text.endswith(".") and "\n" not in text
    return text.removeprefix(str(path)).strip()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "model.sdgm"
    save(fitted("diag"), path)
    return path


# --- reading what is no model ---


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    assert problem_with(tmp_path / "none.sdgm") == "does not exist; check the path."
    assert problem_with(tmp_path) == "is a folder; give the .sdgm file in it."
    (tmp_path / "file").write_bytes(b"")
    assert problem_with(tmp_path / "file" / "none.sdgm") == "does not exist; check the path."
    assert problem_with(Path("a\0b")) == "is not a path."


def test_files_of_other_formats_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.sdgm"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("model.json", "{}")
    contents = [
        other.read_bytes(),
        pickle.dumps(fitted("diag")),
        b"a,b\n1,2\n" * 100,
        b"\x93NUMPY" + bytes(100),
        b"{}",
        b"\0" * 1000,
    ]
    for content in contents:
        other.write_bytes(content)
        assert problem_with(other) == f"is not a model file of sdgm; {REMEDY}."
    other.write_bytes(b"")
    assert problem_with(other) == "is empty."
    safetensors.numpy.save_file({"a": np.zeros(3)}, other)
    assert "holds arrays but no sdgm model" in problem_with(other)


def test_devices_and_pipes_are_not_opened(tmp_path: Path) -> None:
    assert problem_with(Path("/dev/zero")) == "is not a regular file."
    os.mkfifo(tmp_path / "pipe")
    assert problem_with(tmp_path / "pipe") == "is not a regular file."


@pytest.fixture
def unreadable(path: Path) -> Path:
    path.chmod(0)
    return path


def test_files_that_may_not_be_read_are_refused(unreadable: Path, unprivileged: None) -> None:
    path = unreadable
    assert "cannot be read: Permission denied" in problem_with(path)


def test_a_newer_format_asks_for_an_update(path: Path) -> None:
    document, arrays = taken_apart(path.read_bytes())
    path.write_bytes(packed({**document, "format": 3}, arrays))
    version = sdgm.__version__
    assert problem_with(path) == (
        f"was written by sdgm {version} in format 3, and sdgm {version} reads formats up to 1; "
        f'pip install "sdgm>={version}".'
    )
    del document["versions"]
    path.write_bytes(packed({**document, "format": 3}, arrays))
    assert problem_with(path).endswith("reads formats up to 1; update sdgm.")


def test_damage_is_found(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    assert "is damaged: incomplete metadata, file not fully covered" in problem_with(path)
    path.write_bytes(content + b"\0")
    assert "is damaged: incomplete metadata, file not fully covered" in problem_with(path)
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert "is damaged: its checksum does not match" in problem_with(path)
    path.write_bytes(content.replace(b"diag", b"tied"))
    assert "is damaged: its checksum does not match" in problem_with(path)


def test_a_file_too_large_for_a_model_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.sdgm"
    with open(path, "wb") as stream:
        stream.truncate(MAX_FILE + 1)  # takes no room
    assert problem_with(path).startswith(f"has {MAX_FILE + 1} bytes")


# --- writing ---


def test_the_suffix_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"data.csv does not end in .sdgm; name .* data.sdgm"):
        save(fitted("diag"), tmp_path / "data.csv")


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none/model.sdgm'$"):
        save(fitted("diag"), tmp_path / "none" / "model.sdgm")
    (tmp_path / "folder.sdgm").mkdir()
    with pytest.raises(IsADirectoryError, match=r"folder.sdgm'$"):
        save(fitted("diag"), tmp_path / "folder.sdgm")


@pytest.fixture
def in_fixed_folder(path: Path) -> Iterator[Path]:
    path.parent.chmod(0o500)
    yield path
    path.parent.chmod(0o700)


def test_a_folder_that_may_not_be_written_to_is_named(
    in_fixed_folder: Path, unprivileged: None
) -> None:
    with pytest.raises(PermissionError, match=r"model.sdgm'$"):
        save(fitted("diag"), in_fixed_folder)


def test_permissions_follow_the_mask(tmp_path: Path) -> None:
    for mask in (0o022, 0o077):
        path = tmp_path / f"{mask}.sdgm"
        before = os.umask(mask)
        try:
            save(fitted("diag"), path)
        finally:
            os.umask(before)
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_a_file_that_nobody_else_may_read_stays_so(path: Path) -> None:
    path.chmod(0o600)
    save(fitted("tied"), path)
    assert load(path).covariance_type == "tied"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_stays_a_link(path: Path) -> None:
    link = path.parent / "link.sdgm"
    link.symlink_to(path)
    save(fitted("tied"), link)
    assert link.is_symlink()
    assert load(path).covariance_type == "tied"


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_when_writing_fails_the_old_file_stays(
    path: Path, step: str, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise error

    before = path.read_bytes()
    monkeypatch.setattr(files.os, step, fail)
    with pytest.raises(type(error)):
        save(fitted("tied"), path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["model.sdgm"]


KILL_WRITERS = """
import os, random, signal, sys, time
from pathlib import Path
from sdgm.persistence.files import write

target, *sources = map(Path, sys.argv[1:])
contents = [source.read_bytes() for source in sources]
rng = random.Random(0)
for _ in range(20):
    child = os.fork()
    while child == 0:
        for content in contents:
            write(target, content)
    time.sleep(rng.uniform(0.0, 0.03))
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert target.read_bytes() in contents
print("valid")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that forks")
def test_a_kill_while_saving_leaves_the_old_file_or_the_new_one(path: Path) -> None:
    sources = [path.parent / "diag.sdgm", path.parent / "table.sdgm"]
    save(fitted("diag"), sources[0])
    save(fitted("table"), sources[1])
    path.write_bytes(sources[0].read_bytes())
    command = [sys.executable, "-c", KILL_WRITERS, str(path), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("valid\n", "")
    load(path)


@pytest.mark.parametrize("package", ["safetensors.numpy", "msgspec"])
def test_without_the_extra_a_sentence_says_what_to_install(
    package: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for call in (lambda: load(path), lambda: save(fitted("diag"), path)):
        with pytest.raises(ModuleNotFoundError, match=r'pip install "sdgm\[io\]"$'):
            call()
