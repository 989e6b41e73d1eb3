"""SDGM as the head of a skorch classifier: digits, a small network, sparse weights.

pip install "sdgm[torch]" skorch
python examples/skorch_head.py
"""

from __future__ import annotations

from typing import Any

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from skorch import NeuralNetClassifier
from torch import nn

from sdgm.nn import SDGM, ELBOLoss, compact, parameter_groups, prune, sparsity


class SparseClassifier(NeuralNetClassifier):
    """A skorch classifier whose loss knows the model and the number of training samples."""

    def fit(self, X: Any, y: Any, **settings: Any) -> SparseClassifier:
        self.n_train = len(y)
        return super().fit(X, y, **settings)

    def initialize_criterion(self) -> SparseClassifier:
        self.criterion_ = ELBOLoss(self.module_, self.n_train, kl_scale=3.0)
        return self

    def initialize_optimizer(self, triggered_directly: bool | None = None) -> SparseClassifier:
        self.optimizer_ = torch.optim.Adam(parameter_groups(self.module_, self.lr))
        return self


def main(epochs: int = 30) -> tuple[float, float]:
    """Accuracy on test samples, before and after pruning."""
    torch.manual_seed(0)
    X, y = load_digits(return_X_y=True)
    X = (X / 16.0).astype("float32")
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    model = SparseClassifier(
        nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8), SDGM(8, 10, n_components=2)),
        criterion=ELBOLoss,
        max_epochs=epochs,
        lr=5e-3,
        batch_size=64,
        train_split=None,
        predict_nonlinearity=lambda scores: scores.softmax(dim=-1),
        verbose=0,
    )
    model.fit(X_train, y_train)
    before = model.score(X_test, y_test)
    prune(model.module_, [(torch.as_tensor(X_train), torch.as_tensor(y_train))])
    print(sparsity(model.module_))
    model.module_ = compact(model.module_)
    return before, model.score(X_test, y_test)


if __name__ == "__main__":
    print("accuracy {:.3f}, pruned and compact {:.3f}".format(*main()))
