"""What averaging over the posterior of the head does: ``python -m benchmarks.laplace_head``.

A small network with an `SDGM` head learns scikit-learn's digits; the head is pruned, and a Laplace
posterior of its surviving weights is computed from the training features. Probabilities of test
samples are compared with and without averaging, over several seeds and training sizes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from torch import Tensor, nn

from benchmarks.child import ROOT
from sdgm.metrics import expected_calibration_error
from sdgm.nn import SDGM, ELBOLoss, laplace, parameter_groups, prune

PAGE = ROOT / "docs" / "results" / "laplace-head.md"
SIZES = (100, 300, 1000)
STEPS, BATCH, PASSES = 600, 64, 128
WAYS = (
    "trained weights",
    "Laplace, alpha by evidence",
    "Laplace, alpha by validation",
    "learned noise",
)


def trained(X: Tensor, y: Tensor) -> tuple[nn.Module, SDGM]:
    """The network in front and the pruned head."""
    front = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    head = SDGM(8, 10, n_components=2)
    model = nn.Sequential(front, head)
    loss = ELBOLoss(model, len(X), kl_scale=3.0, warmup=STEPS // 5)
    optimizer = torch.optim.Adam(parameter_groups(model, lr=5e-3))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for _ in range(STEPS):
        rows = torch.randint(len(X), (BATCH,))
        optimizer.zero_grad()
        loss(model(X[rows]), y[rows]).backward()
        optimizer.step()
        schedule.step()
    prune(model, [(X, y)])
    model.eval()
    return front, head


def measured(size: int, seed: int) -> list[list[float]]:
    """Error, NLL and ECE in percent, of each of the ways to get probabilities."""
    torch.manual_seed(seed)
    X, y = load_digits(return_X_y=True)
    parts = train_test_split(
        (X / 16.0).astype("float32"), y, train_size=size, random_state=seed, stratify=y
    )
    X_train, X_test, y_train, y_test = map(torch.as_tensor, parts)
    n_fit = size * 4 // 5
    front, head = trained(X_train[:n_fit], y_train[:n_fit])
    with torch.no_grad():
        features, unseen = front(X_train), front(X_test)
    seen = features[:n_fit], y_train[:n_fit]
    held_back = features[n_fit:], y_train[n_fit:]
    by_validation = laplace(head, *seen, validation=held_back)
    probabilities = (
        head.log_proba(unseen).double().exp(),
        laplace(head, *seen).predict_proba(unseen.double()),
        by_validation.predict_proba(unseen.double()),
        with_noise_averaged(head, unseen),
    )
    labels = y_test.numpy()
    rows = []
    for tensor in probabilities:
        P = tensor.detach().numpy()
        P = P / P.sum(axis=1, keepdims=True)
        error = 100.0 * float(np.mean(P.argmax(axis=1) != labels))
        rows.append([error, log_loss(labels, P), 100.0 * expected_calibration_error(labels, P)])
    return rows


@torch.no_grad()
def with_noise_averaged(head: SDGM, x: Tensor) -> Tensor:
    """Mean probabilities over passes with the noise that the head has learned."""
    head.train()
    P = torch.stack([head.log_proba(x).double().exp() for _ in range(PASSES)]).mean(dim=0)
    head.eval()
    return P


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.laplace_head", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args()
    torch.set_num_threads(1)
    lines = [
        "# Averaging over the posterior of the head",
        "",
        f"`python -m benchmarks.laplace_head --seeds {options.seeds}`: digits, 64-64-8 network, "
        f"SDGM head of 10 x 2 components, KL weight 3/N, {STEPS} steps on four fifths of the "
        "training samples, the rest for validation; the head is pruned, its Laplace posterior is "
        f"computed from the training features. Means over {options.seeds} seeds on the test "
        "samples (the rest of 1,797), in brackets the number of seeds in which averaging is better "
        "than not.",
        "",
        "| training samples | probabilities | error % | NLL | ECE % |",
        "|---|---|---|---|---|",
    ]
    for size in SIZES:
        results = np.array([measured(size, seed) for seed in range(options.seeds)])
        better = (results < results[:, :1]).sum(axis=0)
        for way, mean, wins in zip(WAYS, results.mean(axis=0), better, strict=True):
            counts = [""] * 3 if way == WAYS[0] else [f" ({count})" for count in wins]
            lines.append(
                f"| {size} | {way} | {mean[0]:.2f}{counts[0]} | {mean[1]:.3f}{counts[1]} | "
                f"{mean[2]:.2f}{counts[2]} |"
            )
            print(lines[-1], flush=True)
    options.output.write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
