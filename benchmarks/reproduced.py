"""What benchmarks take from the reproduction of the paper: data, baselines, the demo's model."""

from __future__ import annotations

from typing import Any

from reproduction.datasets import load_ida, redrawn
from reproduction.generative import GaussianMixtureBayesClassifier
from reproduction.tuned_svm import TunedSVMClassifier
from sdgm.demo import paper_model
from sdgm.demo import ripley as demo_data

__all__ = [
    "GaussianMixtureBayesClassifier",
    "TunedSVMClassifier",
    "demo_data",
    "load_ida",
    "mnist",
    "paper_model",
    "redrawn",
]


def mnist() -> Any:
    """Images and digits to learn from, and to test on; PyTorch is imported here."""
    from reproduction.deep.images import arranged_idx, read_files

    return arranged_idx(read_files("mnist"))
