"""Tests of the PyTorch layer: left out where PyTorch is not installed, one thread each."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["*.py"]

if find_spec("torch"):
    import torch

    torch.set_num_threads(1)
