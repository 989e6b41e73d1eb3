"""SDGM as the head of a Lightning module: digits, a small network, sparse weights.

pip install "sdgm[torch]" lightning
python examples/lightning_head.py
"""

from __future__ import annotations

import lightning
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from sdgm.nn import SDGM, ELBOLoss, compact, parameter_groups, prune, sparsity


class DigitsModule(lightning.LightningModule):
    """A network with the layer as its head. The loss is a submodule, so checkpoints hold it."""

    def __init__(self, n_train: int) -> None:
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8), SDGM(8, 10, n_components=2)
        )
        # n_train counts the samples of all processes, also in data-parallel training
        self.loss = ELBOLoss(self.model, n_train, kl_scale=3.0)

    def training_step(self, batch: tuple[Tensor, Tensor], index: int) -> Tensor:
        x, y = batch
        loss = self.loss(self.model(x), y)
        self.log_dict({"nll": self.loss.nll, "kl": self.loss.kl})
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(parameter_groups(self.model, lr=5e-3))


def main(epochs: int = 30) -> tuple[float, float]:
    """Accuracy on test samples, before and after pruning."""
    lightning.seed_everything(0, verbose=False)
    X, y = load_digits(return_X_y=True)
    X = (X / 16.0).astype("float32")
    X_train, X_test, y_train, y_test = map(
        torch.as_tensor, train_test_split(X, y, random_state=0, stratify=y)
    )
    batches = DataLoader(TensorDataset(X_train, y_train), batch_size=64, shuffle=True)
    module = DigitsModule(len(X_train))
    trainer = lightning.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, batches)

    def accuracy(model: nn.Module) -> float:
        with torch.no_grad():
            return (model.eval()(X_test).argmax(dim=1) == y_test).float().mean().item()

    before = accuracy(module.model)
    prune(module.model, batches)
    print(sparsity(module.model))
    return before, accuracy(compact(module.model))


if __name__ == "__main__":
    print("accuracy {:.3f}, pruned and compact {:.3f}".format(*main()))
