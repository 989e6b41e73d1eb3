"""SDGM as the last layer of a small network: train, prune, compact.

pip install "sdgm[torch]"
python examples/torch_last_layer.py
"""

from __future__ import annotations

import torch
from sklearn.datasets import make_moons
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from sdgm.nn import SDGM, ELBOLoss, compact, parameter_groups, prune, sparsity


def main(epochs: int = 30) -> tuple[float, float]:
    """Accuracy on test rows, before and after pruning."""
    torch.manual_seed(0)
    X, y = map(torch.as_tensor, make_moons(500, noise=0.15, random_state=0))
    X_test, y_test = map(torch.as_tensor, make_moons(1000, noise=0.15, random_state=1))
    X, X_test = X.float(), X_test.float()
    batches = DataLoader(TensorDataset(X, y), batch_size=50, shuffle=True)

    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 4), SDGM(4, 2, 2))
    loss = ELBOLoss(model, n_train=len(X))
    optimizer = torch.optim.Adam(parameter_groups(model, lr=1e-2))
    for _ in range(epochs):
        for x, t in batches:
            optimizer.zero_grad()
            loss(model(x), t).backward()
            optimizer.step()

    def accuracy(network: nn.Module) -> float:
        with torch.no_grad():
            return (network.eval()(X_test).argmax(dim=1) == y_test).float().mean().item()

    before = accuracy(model)
    print(sparsity(prune(model, batches)))
    return before, accuracy(compact(model))


if __name__ == "__main__":
    print("accuracy {:.3f}, pruned and compact {:.3f}".format(*main()))
