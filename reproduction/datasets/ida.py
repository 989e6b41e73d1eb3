"""Rätsch's IDA benchmark sets: the rows, the original splits, own splits where these lack."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from sdgm._typing import FloatArray, IntArray
from sdgm.datasets import DamagedDataError, Dataset, MissingDataError, data_folder
from sdgm.datasets.files import read_verified

LICENCE = "none stated; the sets derive from UCI, DELVE and STATLOG"
BREAST_CANCER_LICENCE = (
    "none stated; M. Zwitter and M. Soklic, University Medical Centre Ljubljana, ask to be named"
)
# folders at GitHub with copies of the benchmark's files, and the revision that was read
BANANA = "HideakiHayashi/SDGM_ICLR2021/tree/8b81b493/Matlab/BananaData"
TEN_SPLITS = "fernando2393/Relevance-Vector-Machine/tree/4692830b/Classification/datasets"
HEART_RINGNORM = "povelfk/AdvML19-Project-RVM/tree/fe15c4dc/data"
TWONORM = "yzhang00/Python-ML-Project-2/tree/3052697b/Data"
POOLED = "Devn913/AGMR_entropy_sparse/tree/7d5f7cfd/twin_datasets"


@dataclass(frozen=True)
class IdaSet:
    """What is known of a set before any file is opened."""

    name: str
    rows: int
    inputs: int
    n_train: int
    n_splits: int  # distinct ones in the packed file
    copy: str
    sha256: str  # of the packed file
    rows_sha256: str  # of the sorted rows, see `sorted_rows_sha256`

    @property
    def packed(self) -> str:
        """The packed file, below the data folder."""
        return f"ida/{self.name}{'' if self.n_splits else '_pooled_only'}.npz"

    @property
    def text_name(self) -> str:
        """The set's name in the benchmark's own file names."""
        return self.name.replace("_", "-")

    @property
    def text_folder(self) -> str:
        """Where the original text files are looked for, below the data folder."""
        return f"ida/{self.text_name}"

    @property
    def source(self) -> str:
        """Where the rows are from."""
        return (
            "IDA benchmark repository (G. Rätsch, T. Onoda, K.-R. Müller, Machine Learning 42, "
            f"2001); copy at https://github.com/{self.copy}"
        )

    @property
    def licence(self) -> str:
        """What is known of the licence."""
        return BREAST_CANCER_LICENCE if self.name == "breast_cancer" else LICENCE

    @property
    def where_to_get(self) -> str:
        """What to fetch when the packed file is missing."""
        text = "the benchmark's own text files (*_train_data_1.asc and so on)"
        if not self.n_splits:
            return f"{text}, whose rows {repository(self.copy)} has in another form,"
        copy = TEN_SPLITS if self.copy == BANANA else self.copy  # BANANA has another form
        return f"{text}, which do as well, from {repository(copy)}"


def repository(copy: str) -> str:
    """The address of the repository that a folder at GitHub is in."""
    return f"https://github.com/{copy.partition('/tree/')[0]}"


# name, rows, inputs, training rows, distinct splits, copy; sha256 of the packed file, of the rows
IDA_SETS = {
    entry.name: entry
    for entry in (
        IdaSet(
            *("banana", 5300, 2, 400, 80, BANANA),
            "8e38de61097a384965c2d3d154510c0a5290211358be3bdf54262da0b6262c9e",
            "cec3b04399c7847fa8d41b86e039b55c8d26693cdff626c8b064cf17990088bc",
        ),
        IdaSet(
            *("breast_cancer", 277, 9, 200, 10, TEN_SPLITS),
            "c983d9526c166068f821467b44d90c79c02af32056c194f3677c0ff4b813f8d4",
            "172639b9252831c330cff1c4b8752b6045aff1049792b07b5a15cfb6200e6661",
        ),
        IdaSet(
            *("titanic", 2201, 3, 150, 10, TEN_SPLITS),
            "9c16363d899bf6597729478e56e19cc0c8bbd2efaf5c4db8e08e34c14a461cc1",
            "531c69c08f4e876d51e9865fd897a4b733c77f3f5f1acfe33d8242b383fd98c8",
        ),
        IdaSet(
            *("waveform", 5000, 21, 400, 10, TEN_SPLITS),
            "447001934bce34e0e98152423bcc227fb0f31b17fb6b81fdd16b2c98104d277e",
            "ed3a79d506454ab3beaf66cd9bf8ddfb3a01f8668d2cf8b44502d81d681b714e",
        ),
        IdaSet(
            *("german", 1000, 20, 700, 10, TEN_SPLITS),
            "0fc3707b7dce71a9b7a2056d00eeed51a26c8093d9416c4291d24b278f88c089",
            "04baea7d434787a81231fb8f147ba528a986ca3a1e56d8398fb8841f9e356e23",
        ),
        IdaSet(
            *("image", 2310, 18, 1300, 9, TEN_SPLITS),
            "2845814fcb16e5e3657d5f24dc2f9ebbc27e88476b31b5ad0a08801be0723526",
            "2658e27c513611f1d402f13120c4ea8485727db2eaa2fc69db71b1cac47e4514",
        ),
        IdaSet(
            *("heart", 270, 13, 170, 10, HEART_RINGNORM),
            "e508daed79e66156a9b9a2017769a9a6aabdd706aed892051186d1ff24690d0a",
            "1882e2a30cf1ba05d566abf3cf5183374a323251f429db0afc3835ab0d43a099",
        ),
        IdaSet(
            *("ringnorm", 7400, 20, 400, 10, HEART_RINGNORM),
            "0bf8a2c75e5adbd5af5842fab9ddf5dcd2d030d8e810f90217fc714bccdab60b",
            "3aa0efcab2da6948c12449fa3122b76ce2bf9dab62878e5be2d217542b43b77d",
        ),
        IdaSet(
            *("twonorm", 7400, 20, 400, 1, TWONORM),
            "6b7bcb490ff0255455095e8f68b7dbeca16bc02cd11cb826557c57738d87746f",
            "821e5942793884ebe7eb059a7a7ef777adcf6af88278b5205630fcb05b85dc2d",
        ),
        IdaSet(
            *("flare_solar", 1066, 9, 666, 0, POOLED),
            "6a87614262b1dedfe466520825a4929581d8c0904b26b5989896f4fadb675ca8",
            "f1538c62d3ef7627f73c313b4269bb46bb88f602955edaf83dde9e751b42a12b",
        ),
        IdaSet(
            *("splice", 3175, 60, 1000, 0, POOLED),
            "9dfa3d8cc84c5e2519208991e1963e94e07508bda11c6f30e9f81f32bb1922c2",
            "e01efcded306de2d7991046ab7c55c765e5e58abc10674239983178cb1ad95aa",
        ),
        IdaSet(
            *("thyroid", 215, 5, 140, 0, POOLED),
            "96685154a826b353c1b828afff53815dca7481d53001c415b42570732e071d8d",
            "d8b9510941a0b52168a375f29b6719f9f1c2250f6471c4d514ae4d870b2e134c",
        ),
    )
}
IDA_NAMES = tuple(IDA_SETS)

Rows = tuple[FloatArray, np.ndarray[Any, Any], list[tuple[IntArray, IntArray]], list[str]]


def load_ida(name: str) -> Dataset:
    """One of the IDA benchmark sets with its original splits.

    Read from ``ida/<name>.npz`` in `data_folder`, or else from the benchmark's own text files
    there, ``ida/<name>/<name>_{train,test}_{data,labels}_<k>.asc`` with a hyphen for ``_`` in the
    name; all splits whose four files are there are taken.

    The packed file is held against a checksum of its bytes. Of text files, the sizes of the two
    parts are checked, and that train and test rows together, with their labels and sorted, are
    value for value the rows of the packed file. Which rows are in which part is taken on trust.

    Parameters
    ----------
    name : str
        One of `IDA_NAMES`.

    Returns
    -------
    data : Dataset
        Labels -1 and +1, inputs as published (most sets are standardised). Splits are in order of
        their numbers and named after them; copies of earlier ones (banana 23 to 42, image 10) are
        left out. The packed flare_solar, splice and thyroid have no splits: see `redrawn`.

    Raises
    ------
    ValueError
        When there is no set of that name.
    MissingDataError
        When there is no such file.
    DamagedDataError
        When the values are not the published ones.

    References
    ----------
    G. Rätsch, T. Onoda, K.-R. Müller, Soft margins for AdaBoost, Machine Learning 42, 2001.

    Examples
    --------
    >>> from reproduction.datasets import load_ida, make_titanic
    >>> from sdgm.datasets import MissingDataError
    >>> try:
    ...     data = load_ida("titanic")
    ... except MissingDataError:
    ...     data = make_titanic()
    >>> data.X.shape
    (2201, 3)
    """
    if name not in IDA_SETS:
        raise ValueError(f"There is no IDA set {name!r}: try one of {', '.join(IDA_NAMES)}.")
    entry, folder = IDA_SETS[name], data_folder()
    if (folder / entry.packed).is_file():
        sha256, (X, y, splits, names) = entry.sha256, read_packed(entry, folder)
    elif numbers := text_splits(entry, folder):
        sha256, (X, y, splits, names) = entry.rows_sha256, read_text(entry, folder, numbers)
    else:
        raise MissingDataError(entry.packed, entry.where_to_get, folder, entry.text_folder)
    return Dataset(
        name=name,
        X=X,
        y=y.astype(np.intp),
        splits=splits,
        source=entry.source,
        licence=entry.licence,
        sha256=sha256,
        generated=False,
        split_names=names,
    )


def redrawn(
    data: Dataset, n_splits: int = 100, random_state: Any = 0, n_train: int | None = None
) -> Dataset:
    """The same rows with splits of our own, drawn at random within each class.

    These are not the published splits. A result on them is not a result under the benchmark's
    protocol, and should be quoted as one on own splits.

    Parameters
    ----------
    data : Dataset
    n_splits : int
    random_state : int, RandomState or None
    n_train : int or None
        Training rows per split, the rest are test rows. By default as many as in the first split
        of `data`, or, when it has none, as in the benchmark's set of that name.

    Returns
    -------
    data : Dataset
        Splits named "own split 1" and so on. Each part has the shares of the classes in all rows,
        up to one row per class.

    Examples
    --------
    >>> from reproduction.datasets import make_titanic, redrawn
    >>> data = redrawn(make_titanic(), n_splits=3)
    >>> data.split_names
    ['own split 1', 'own split 2', 'own split 3']
    >>> [(len(train), len(test)) for train, test in data.splits]
    [(150, 2051), (150, 2051), (150, 2051)]
    """
    if n_train is None:
        n_train = published_n_train(data)
    N, C = len(data.X), len(np.unique(data.y))
    if n_splits < 1:
        raise ValueError(f"n_splits must be at least 1, got {n_splits}.")
    if not C <= n_train <= N - C:
        raise ValueError(
            f"n_train must be between {C} and {N - C}, so that each part of {data.name} can have "
            f"every class, got {n_train}."
        )
    draw = StratifiedShuffleSplit(
        n_splits, train_size=n_train, test_size=N - n_train, random_state=random_state
    )
    return replace(
        data,
        splits=list(draw.split(data.X, data.y)),
        split_names=[f"own split {k}" for k in range(1, n_splits + 1)],
    )


def published_n_train(data: Dataset) -> int:
    """Training rows per split, from the splits that are there or from the benchmark."""
    if data.splits:
        return len(data.splits[0][0])
    if data.name in IDA_SETS:
        return IDA_SETS[data.name].n_train
    raise ValueError(f"{data.name} has no splits to take the sizes from: give n_train.")


def read_packed(entry: IdaSet, folder: Path) -> Rows:
    """Rows, labels, distinct splits and their names, from the packed file."""
    content = read_verified(folder / entry.packed, entry.sha256)
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        X, y = arrays["X"], arrays["y"]
        if not entry.n_splits:
            return X, y, [], []
        first = np.flatnonzero(arrays["duplicate_of"] == 0)
        train, test = (arrays[part][first].astype(np.intp) for part in ("train_idx", "test_idx"))
        names = [f"original split {k}" for k in arrays["split_number"][first]]
        return X, y, list(zip(train, test, strict=True)), names


def text_files(entry: IdaSet, folder: Path, k: int) -> list[Path]:
    """The four files of a split: inputs and labels to learn from, the same to test on."""
    return [
        folder / entry.text_folder / f"{entry.text_name}_{part}_{kind}_{k}.asc"
        for part in ("train", "test")
        for kind in ("data", "labels")
    ]


def text_splits(entry: IdaSet, folder: Path) -> list[int]:
    """Numbers of the splits whose four text files are there."""
    start = f"{entry.text_name}_train_data_"
    found = (path.stem[len(start) :] for path in (folder / entry.text_folder).glob(f"{start}*.asc"))
    numbers = sorted(int(k) for k in found if k.isdecimal())
    return [k for k in numbers if all(path.is_file() for path in text_files(entry, folder, k))]


def read_text(entry: IdaSet, folder: Path, numbers: Sequence[int]) -> Rows:
    """Rows, labels, distinct splits and their names, from the text files.

    Rows are numbered as they come in the first split, training rows first, as in the packed file.
    """
    splits: dict[bytes, tuple[IntArray, IntArray]] = {}
    names = []
    for k in numbers:
        table = text_rows(entry, text_files(entry, folder, k))
        order = row_order(table)
        if not splits:
            pool, pool_order = table, order
        index = np.empty(entry.rows, dtype=np.intp)  # table[j] is pool[index[j]]
        index[order] = pool_order
        if index.tobytes() not in splits:
            splits[index.tobytes()] = index[: entry.n_train], index[entry.n_train :]
            names.append(f"original split {k}")
    return pool[:, :-1], pool[:, -1], list(splits.values()), names


def text_rows(entry: IdaSet, files: Sequence[Path]) -> FloatArray:
    """Rows of one split, training part first, label last, after they were found right."""
    n_test = entry.rows - entry.n_train
    try:
        X_train, y_train, X_test, y_test = (
            np.array(path.read_text().split(), dtype=float).reshape(n, -1)
            for path, n in zip(files, np.repeat([entry.n_train, n_test], 2), strict=True)
        )
        table = np.block([[X_train, y_train], [X_test, y_test]])
    except ValueError as error:  # not text, not numbers, or not as many as expected
        raise DamagedDataError(*files) from error
    right_shape = table.shape == (entry.rows, entry.inputs + 1)
    if not right_shape or sorted_rows_sha256(table) != entry.rows_sha256:
        raise DamagedDataError(*files)
    return table


def row_order(table: FloatArray) -> IntArray:
    """Sorts rows by the first column, then by the second, and so on."""
    return np.lexsort(table.T[::-1])


def sorted_rows_sha256(table: FloatArray) -> str:
    """Checksum of the rows whatever their order, label last, as little-endian float64."""
    return hashlib.sha256(table[row_order(table)].astype("<f8").tobytes()).hexdigest()
