"""A head without training: a backbone's features, a sparse head fitted to them, a C header.

pip install "sdgm[torch]"
python examples/fitted_head.py

The backbone has learned to tell the digits 0 to 4 apart. The head is for 5 to 9, which it has not
seen.
"""

from __future__ import annotations

from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from sdgm import SDGMClassifier
from sdgm.export import to_c
from sdgm.nn import compact, extract_features, fit_head, sparsity, to_classifier


def main(epochs: int = 15) -> tuple[float, int]:
    """Accuracy on test pictures, and the size of the head in C."""
    torch.manual_seed(0)
    X, y = load_digits(return_X_y=True)
    pictures, labels = torch.as_tensor(X / 16.0).float().reshape(-1, 1, 8, 8), torch.as_tensor(y)
    known, new = labels < 5, (labels >= 5).nonzero()[:, 0]

    backbone = nn.Sequential(
        nn.Conv2d(1, 16, 3),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3),
        nn.ReLU(),
        nn.AvgPool2d(4),
        nn.Flatten(),
    )
    train(nn.Sequential(backbone, nn.Linear(16, 5)), pictures[known], labels[known], epochs)

    dataset = TensorDataset(pictures[new], labels[new] - 5)
    loader = DataLoader(dataset, batch_size=100)
    features, labels = extract_features(backbone, loader)  # once, without gradients
    half = len(labels) // 2
    head = fit_head(features[:half], labels[:half], student=SDGMClassifier(1), compress=False)
    print(sparsity(compact(head)))
    with torch.no_grad():
        P = head(features[half:]).softmax(dim=1)
    accuracy = (P.argmax(dim=1) == labels[half:]).float().mean().item()

    source = to_c(to_classifier(head[-1]), name="head")
    source.write(Path("head.h"))
    print(f"head.h: {source.flash_bytes} bytes, {source.multiply_adds} multiply-adds")
    return accuracy, source.flash_bytes


def train(model: nn.Module, pictures: torch.Tensor, labels: torch.Tensor, epochs: int) -> None:
    """The usual way, for the backbone."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    loader = DataLoader(TensorDataset(pictures, labels), batch_size=50, shuffle=True)
    for _ in range(epochs):
        for x, t in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), t).backward()
            optimizer.step()


if __name__ == "__main__":
    print("accuracy {:.3f}, {} bytes".format(*main()))
