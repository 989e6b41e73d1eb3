"""What benchmarks take from the reproduction of the paper: data, baselines, the demo's model."""

from __future__ import annotations

from typing import Any

from sdgm.datasets import load_ida, redrawn
from sdgm.experiments.demo import paper_model
from sdgm.experiments.demo import ripley as demo_data
from sdgm.experiments.generative import GaussianMixtureBayesClassifier
from sdgm.experiments.tuned_svm import TunedSVMClassifier

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
    from sdgm.experiments.deep.images import arranged_idx, read_files

    return arranged_idx(read_files("mnist"))
