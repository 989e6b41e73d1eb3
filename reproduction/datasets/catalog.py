"""What sets there are, which are found, and where to get the others; nothing is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reproduction.datasets.cifar import CIFAR, LICENCE, N_PIXELS, SOURCE, found_form, load_cifar
from reproduction.datasets.files import verified_content
from reproduction.datasets.ida import IDA_SETS, IdaSet, load_ida, text_splits
from reproduction.datasets.image_sets import IMAGES
from sdgm.datasets import data_folder, ripley

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
        The function of `reproduction.datasets` that makes such rows without a file.
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
    >>> from reproduction.datasets import catalog
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
    """All the sets of the experiments, with what is in `data_folder` now.

    Files are looked for by name only, not opened: see `verify`.

    Returns
    -------
    entries : list of Entry

    Examples
    --------
    >>> from reproduction.datasets import catalog
    >>> [entry.name for entry in catalog()][:4]
    ['ripley', 'checkerboard', 'banana', 'breast_cancer']
    """
    folder = data_folder()
    return [
        ripley_entry(folder),
        CHECKERBOARD,
        *(ida_entry(entry, folder) for entry in IDA_SETS.values()),
        *(image_entry(name, folder) for name in IMAGES),
        *(cifar_entry(name, folder) for name in CIFAR),
    ]


def verify(entry: Entry) -> None:
    """Verify the checksums of the files of a set.

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
    >>> from reproduction.datasets import catalog, verify
    >>> verify(catalog()[0])
    """
    if not entry.found:
        return
    if entry.sha256:
        for file, sha256 in zip(entry.files, entry.sha256, strict=True):
            verified_content(data_folder() / file, sha256)
    elif entry.name in IDA_SETS:
        load_ida(entry.name)
    elif entry.name in CIFAR:
        load_cifar(CIFAR[entry.name], data_folder())
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


def cifar_entry(name: str, folder: Path) -> Entry:
    """CIFAR-10 or CIFAR-100, in the binary or the pickled form."""
    known = CIFAR[name]
    form = found_form(known, folder)
    return Entry(
        name=name,
        title=known.title,
        rows=60_000,
        inputs=N_PIXELS,
        classes=known.classes,
        n_splits=1,
        files=(form or known.forms[0]).files,
        found=form is not None,
        generator=None,
        source=SOURCE,
        licence=LICENCE,
        where_to_get=known.where_to_get,
        put_in=known.forms[0].folder,
        sha256=(),  # of the images, in any form and order: load_cifar compares it
    )
