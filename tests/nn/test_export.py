"""Compiled and exported layers say the same as the layer itself."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from sdgm.nn import SDGM, SparseLinear, compact, prune
from sdgm.nn.quadratic import MANY
from tests.nn.problems import random_layer

LAYERS = {
    "full": lambda: random_layer(4, 3, 2, dtype=torch.float32),
    "unequal": lambda: random_layer(4, 3, [1, 3, 2], dtype=torch.float32),
    "low rank": lambda: random_layer(4, 3, 2, "low_rank", dtype=torch.float32),
    "constants": lambda: constants(random_layer(4, 3, [1, 3, 2], dtype=torch.float32)),
    "compact": lambda: pruned(random_layer(4, 3, [1, 3, 2], dtype=torch.float32)),
}


def pruned(layer: SDGM) -> nn.Module:
    layer.alive[1] = False
    prune(layer)
    return compact(layer)


def constants(layer: SDGM) -> nn.Module:
    layer.mask.fill_(False)
    return compact(layer)


@pytest.fixture(params=LAYERS)
def layer(request: pytest.FixtureRequest) -> nn.Module:
    return LAYERS[request.param]().eval()


X = 3.0 + 2.0 * torch.randn(5, 4, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def _clean_compiler() -> None:
    torch.compiler.reset()


@pytest.mark.usefixtures("_clean_compiler")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_one_graph_holds_the_whole_layer(layer: nn.Module) -> None:
    compiled = torch.compile(layer, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(X), layer(X))
    layer.train()
    assert compiled(X).shape == (5, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert compiled(X).dtype == torch.float32


@pytest.mark.usefixtures("_clean_compiler")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_one_graph_holds_the_gradient_of_many_features() -> None:
    layer = random_layer(MANY, 3, 2, sparse=False)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    x = torch.randn(5, MANY, dtype=torch.float64, requires_grad=True)
    gradients = [
        torch.autograd.grad(module(x).square().sum(), x)[0] for module in (layer, compiled)
    ]
    torch.testing.assert_close(*gradients)


@pytest.mark.slow
@pytest.mark.usefixtures("_clean_compiler")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_compiled_code_gives_the_same_scores_and_gradients(layer: nn.Module) -> None:
    compiled = torch.compile(layer, fullgraph=True)
    torch.testing.assert_close(compiled(X), layer(X), rtol=1e-5, atol=1e-5)
    gradients = []
    for module in (layer, compiled):
        layer.zero_grad()
        module(X).square().mean().backward()
        gradients.append([p.grad.clone() for p in layer.parameters() if p.grad is not None])
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-3)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_the_exported_program_takes_batches_of_any_size(layer: nn.Module) -> None:
    batch = torch.export.Dim("batch")
    program = torch.export.export(layer, (X,), dynamic_shapes=({0: batch},))
    exported = program.module()
    for x in (X, X[:3], X.repeat(3, 1)):
        torch.testing.assert_close(exported(x), layer(x))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_onnxruntime_gives_the_same_scores(layer: nn.Module, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    model = nn.Sequential(SparseLinear(4, 4), nn.ReLU(), layer).eval()
    path = tmp_path / "model.onnx"
    batch = torch.export.Dim("batch")
    torch.onnx.export(model, (X,), path, dynamo=True, dynamic_shapes=({0: batch},), verbose=False)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for x in (X, X.repeat(3, 1)):
        (scores,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        expected = model(x).detach().numpy()
        np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5 * abs(expected).max())
