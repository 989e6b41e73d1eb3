"""Leave out the doctests of modules whose optional extra is not installed; close figures."""

import sys
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

NEEDS = {
    "src/sdgm/cli": ("typer", "rich"),
    "src/sdgm/plotting": ("matplotlib",),
    "src/sdgm/nn": ("torch",),
    "src/sdgm/export/onnx_graph.py": ("onnx",),
    "src/sdgm/export/onnx_model.py": ("onnx",),
    "src/sdgm/export/onnx_sklearn.py": ("onnx", "skl2onnx"),
    "src/sdgm/persistence": ("safetensors", "msgspec"),
    "src/sdgm/report/page.py": ("jinja2",),
    "src/sdgm/report/notebook.py": ("jinja2",),
    "src/sdgm/dask": ("dask", "distributed"),
    "src/sdgm/tables": ("polars", "narwhals"),
    # whose examples have a frame
    "src/sdgm/description/from_model.py": ("pandas",),
    "src/sdgm/estimators/primal.py": ("pandas",),
    "src/sdgm/export/card.py": ("pandas",),
    "reproduction/app.py": ("typer", "rich"),
    "reproduction/data_command.py": ("typer", "rich"),
    "reproduction/progress.py": ("rich",),
    "reproduction/figures": ("matplotlib",),
    "reproduction/report.py": ("matplotlib",),
    "reproduction/deep": ("torch",),
}

collect_ignore = [path for path, names in NEEDS.items() if not all(map(find_spec, names))]


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    """Matplotlib warns of more than 20 open figures, and warnings are errors."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
