"""Leave out the doctests of modules whose optional extra is not installed."""

from importlib.util import find_spec

NEEDS = {
    "src/sdgm/cli": ("typer", "rich"),
    "src/sdgm/plotting": ("matplotlib",),
    "src/sdgm/experiments/figures": ("matplotlib",),
    "src/sdgm/experiments/reproduction.py": ("matplotlib",),
    "src/sdgm/experiments/deep": ("torch",),
    "src/sdgm/nn": ("torch",),
    "src/sdgm/export/onnx_graph.py": ("onnx",),
    "src/sdgm/export/onnx_model.py": ("onnx",),
    "src/sdgm/export/onnx_sklearn.py": ("onnx", "skl2onnx"),
    "src/sdgm/persistence": ("safetensors", "msgspec"),
    "src/sdgm/dask.py": ("dask", "distributed"),
}

collect_ignore = [path for path, names in NEEDS.items() if not all(map(find_spec, names))]
