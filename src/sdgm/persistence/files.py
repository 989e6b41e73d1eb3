"""`save` and `load`: files that are read within bounds, and written whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from sdgm.atomic import replacing
from sdgm.persistence.errors import InvalidModelFile, ModelFileError

SUFFIX = ".sdgm"


def save(model: Any, path: str | os.PathLike[str]) -> int:
    """Write a fitted model to a file.

    The file holds arrays and JSON, but no code, and does not depend on the version of scikit-learn.
    An existing file is replaced atomically. The same model gives the same bytes.

    Parameters
    ----------
    model : fitted estimator or TableModel
        `SDGMClassifier`, `KernelSDGMClassifier`, `RVMClassifier`, `DiscriminativeGMMClassifier` or
        `SemiSupervisedSDGMClassifier` with a named kernel, `FamiliarityDetector`,
        `KernelEnsembleClassifier`, or a model fitted to a table. Callbacks, metadata requests and
        the states in ``history_`` are not saved.
    path : str or path
        Must end in ``.sdgm``.

    Returns
    -------
    n_bytes : int
        Size of the file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from sdgm import SDGMClassifier, load, save
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SDGMClassifier(n_components=1).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     n_bytes = save(model, Path(folder, "iris.sdgm"))
    ...     again = load(Path(folder, "iris.sdgm"))
    >>> n_bytes < 20_000, bool((again.predict_proba(X) == model.predict_proba(X)).all())
    (True, True)
    """
    target = Path(path)
    if target.suffix != SUFFIX:
        raise ValueError(
            f"{target} does not end in {SUFFIX}; name the model file {target.stem}{SUFFIX}."
        )
    content = codec().to_bytes(model)
    write(target, content)
    return len(content)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    Everything in the file is validated, and no code is executed. A damaged or malicious file raises
    an error without using much memory. The checksum is not a signature: a valid file from an
    untrusted source may hold a model that gives wrong answers. Files of older versions load, and
    files of newer versions load if they use nothing new.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    model : the fitted model
        Its predictions are identical to the bit, and ``warm_start`` works.

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
            return codec().read(stream, os.fstat(stream.fileno()).st_size)
    except InvalidModelFile as error:
        raise ModelFileError(f"{os.fspath(path)} {error}.") from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ModelFileError(f"{os.fspath(path)} cannot be read: {reason}.") from error


def codec() -> Any:
    """The module that needs the extra ``io``, or a sentence on how to get it."""
    try:
        import msgspec  # noqa: F401
        import safetensors.numpy  # noqa: F401
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f'model files need {error.name}, which is not installed: pip install "sdgm[io]"',
            name=error.name,
        ) from error
    from sdgm.persistence import codec

    return codec


def check_regular(path: Path) -> None:
    """Refuse folders, pipes and devices before they are opened."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise InvalidModelFile("does not exist; check the path") from None
    except ValueError:  # a null character
        raise InvalidModelFile("is not a path") from None
    if stat.S_ISDIR(status.st_mode):
        raise InvalidModelFile(f"is a folder; give the {SUFFIX} file in it")
    if not stat.S_ISREG(status.st_mode):
        raise InvalidModelFile("is not a regular file")


def write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    with replacing(path) as stream:
        stream.write(content)
