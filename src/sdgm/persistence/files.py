"""`save` and `load`: files that are read within bounds, and written whole or not at all."""

from __future__ import annotations

import os
import stat
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from sdgm.atomic import replacing
from sdgm.persistence.container import (
    MAX_FILE,
    MAX_HEADER,
    PREFIX,
    check_checksum,
    packed,
    read_arrays,
    read_header,
)
from sdgm.persistence.errors import ModelFileError, Unsound
from sdgm.persistence.models import Blueprint, document_of
from sdgm.persistence.sameness import first_difference

SUFFIX = ".sdgm"


def save(model: Any, path: str | os.PathLike[str]) -> int:
    """Write a fitted model to a file.

    The file holds arrays and JSON, nothing that is executed when it is read, and does not depend on
    the version of scikit-learn. It is written beside the old one, which it then replaces: whatever
    happens meanwhile, one of them is there. The same model gives the same bytes.

    Parameters
    ----------
    model : fitted classifier or TableModel
        `SDGMClassifier`, `KernelSDGMClassifier`, `RVMClassifier`, `DiscriminativeGMMClassifier` or
        `SemiSupervisedSDGMClassifier`, with a kernel that has a name, or a model of a table.
        Callbacks, requests of metadata and the states in ``history_`` are not kept.
    path : str or path
        Ends in ``.sdgm``.

    Returns
    -------
    n_bytes : int
        Size of the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from sdgm import SDGMClassifier, load, save
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SDGMClassifier(n_components=1).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     n_bytes = save(model, Path(folder, "iris.sdgm"))
    ...     again = load(Path(folder, "iris.sdgm"))
    >>> n_bytes < 20_000
    True
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    target = Path(path)
    if target.suffix != SUFFIX:
        raise ValueError(
            f"{target} does not end in {SUFFIX}; name the model file {target.stem}{SUFFIX}."
        )
    content = to_bytes(model)
    write(target, content)
    return len(content)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    Everything in the file is checked before it is used, and nothing in it is executed. A file that
    is damaged, or made to do harm, gives an error and costs little memory. But a checksum is no
    signature: what a sound model predicts is up to who made it.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    model : the fitted model
        It predicts bit by bit what the saved one does, and can go on learning with ``warm_start``.

    Raises
    ------
    ModelFileError
        With the name of the file and what is wrong with it.

    Examples
    --------
    >>> from sdgm import load
    >>> load("iris.csv")
    Traceback (most recent call last):
    sdgm.persistence.errors.ModelFileError: iris.csv does not exist; check the path.
    """
    try:
        check_regular(Path(path))
        with open(path, "rb") as stream:
            # of the file that is open: another may have taken its name meanwhile
            return read(stream, os.fstat(stream.fileno()).st_size)
    except Unsound as error:
        raise ModelFileError(f"{os.fspath(path)} {error}.") from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ModelFileError(f"{os.fspath(path)} cannot be read: {reason}.") from error


def check_regular(path: Path) -> None:
    """Refuse folders, pipes and devices before they are opened."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise Unsound("does not exist; check the path") from None
    except ValueError:  # a null character
        raise Unsound("is no path") from None
    if stat.S_ISDIR(status.st_mode):
        raise Unsound(f"is a folder; name the {SUFFIX} file in it")
    if not stat.S_ISREG(status.st_mode):
        raise Unsound("is not a regular file")


def read(stream: BinaryIO, size: int) -> Any:
    """The model in a stream of so many bytes."""
    try:
        header = read_header(stream, size)
        check_checksum(stream, header)
        blueprint = Blueprint(header.document, header.entries)
        return blueprint.model(read_arrays(stream, header))
    except RecursionError:
        raise Unsound("is not sound: its header is nested too deeply") from None


def to_bytes(model: Any) -> bytes:
    """The file of a model, once it was read back and found to be the same."""
    content = packed(*document_of(model))
    name = type(model).__name__
    if int.from_bytes(content[:PREFIX], "little") > MAX_HEADER or len(content) > MAX_FILE:
        raise ValueError(
            f"{name} cannot be saved: it would take {len(content)} bytes, and model files have "
            f"{MAX_FILE} at most, {MAX_HEADER} of them for text; leave out what is large."
        )
    try:
        again = read(BytesIO(content), len(content))
    except Unsound as error:
        raise ValueError(f"{name} cannot be saved: its file {error}.") from error
    difference = first_difference(model, again)
    if difference is not None:
        raise ValueError(
            f"{name} cannot be saved: its {difference} is not what a fit leaves behind; fit it "
            "again."
        )
    return content


def write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    with replacing(path) as stream:
        stream.write(content)
