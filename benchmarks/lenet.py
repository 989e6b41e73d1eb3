"""A whole network made sparse: ``python -m benchmarks.lenet [--epochs N] [--kl-scale S]``.

LeNet-300-100 learns MNIST with sparse variational dropout in all of its layers, then it is pruned
and made compact; beside it the same network without. Molchanov et al. (2017) report 68 times fewer
weights at 1.92 % error. The factor of the divergence was chosen on 10,000 held-back training images
(``--held-back``). Needs the MNIST files in ``SDGM_DATA``.
"""

from __future__ import annotations

import argparse
import copy
from pathlib import Path

import numpy as np
import torch
from torch import nn

from benchmarks.child import ROOT
from benchmarks.machine import cpu_model
from reproduction.deep.images import load_images
from reproduction.deep.measures import batches, file_size, quality
from reproduction.deep.networks import Classifier, lenet_300_100
from reproduction.deep.trainer import TrainingOptions, train
from sdgm.nn import SparseLinear, compact, prune, sparsity

PAGE = ROOT / "docs" / "results" / "lenet.md"
CPU = torch.device("cpu")


def measured(options: TrainingOptions, *, sparse: bool, held_back: bool, log: Path | None) -> dict:
    """Quality and size of a trained network, and of what is left of it."""
    images, test = load_images("mnist", held_back=held_back)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        last = SparseLinear(100, 10) if sparse else nn.Linear(100, 10)
        model = Classifier(lenet_300_100(sparse=sparse), last)
    rows = train(model, images, options, test=test, log=log)
    n_weights = sum(p.numel() for name, p in model.named_parameters() if name.endswith("weight"))
    record = {
        "weights": n_weights,
        "left": n_weights,
        "error": 100.0 * quality(model, test, CPU)["error"],
        "nll": quality(model, test, CPU)["nll"],
        "bytes": file_size(model),
        "seconds": sum(row["cpu_seconds"] for row in rows),
    }
    if sparse:
        pruned = copy.deepcopy(model)
        prune(pruned, batches(images, CPU))
        small = compact(pruned)
        record |= {
            "left": sparsity(pruned).n_nonzero,
            "error": 100.0 * quality(small, test, CPU)["error"],
            "nll": quality(small, test, CPU)["nll"],
            "bytes": file_size(small),
        }
    return record


def line(title: str, records: list[dict]) -> str:
    """A row of the table: means over the seeds."""
    error = np.array([record["error"] for record in records])
    left = np.mean([record["left"] for record in records])
    compression = records[0]["weights"] / left
    spread = error.std(ddof=1) / np.sqrt(len(error)) if len(error) > 1 else 0.0
    return (
        f"| {title} | {error.mean():.2f} ± {spread:.2f} | "
        f"{np.mean([r['nll'] for r in records]):.4f} | {left:,.0f} of {records[0]['weights']:,} | "
        f"{compression:.1f} | {np.mean([r['bytes'] for r in records]) / 1000:,.0f} | "
        f"{np.mean([r['seconds'] for r in records]):,.0f} |"
    )


def main() -> None:
    """Train, measure, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--kl-scale", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--held-back", action="store_true", help="measure there, write no page")
    parser.add_argument("--output", type=Path, default=PAGE, help="the page to write")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.set_flush_denormal(True)
    lines = []
    for title, sparse in ("sparse, pruned and compact", True), ("dense", False):
        if not sparse and given.held_back:
            continue
        records = []
        for seed in range(given.seeds):
            options = TrainingOptions(
                epochs=given.epochs if sparse else 10,
                kl_scale=given.kl_scale,
                kl_warmup=0.3,
                seed=seed,
            )
            log = Path(f"lenet-{given.kl_scale:g}-{given.epochs}.csv") if given.held_back else None
            record = measured(options, sparse=sparse, held_back=given.held_back, log=log)
            print(title, seed, record, flush=True)
            records.append(record)
        lines.append(line(title, records))
    page = "\n".join(
        [
            "# LeNet-300-100 on MNIST, every layer sparse",
            "",
            f"`python -m benchmarks.lenet --epochs {given.epochs} --kl-scale {given.kl_scale:g} "
            f"--seeds {given.seeds}`, PyTorch {torch.__version__}, {given.threads} thread(s) of "
            f"{cpu_model()}. Means over the seeds ± standard error, the last epoch, 10,000 test "
            "images. The dense network is trained for 10 epochs.",
            "",
            "| | error % | log loss | weights left | fewer by | file, kB | processor s |",
            "|---|---|---|---|---|---|---|",
            *lines,
            "| Molchanov et al. (2017) | 1.92 | | | 68 | | |",
            "",
        ]
    )
    print(page)
    if not given.held_back:
        given.output.write_text(page)


if __name__ == "__main__":
    main()
