"""A model in ONNX: the same probabilities from onnxruntime, without sdgm.

pip install "sdgm[export]" onnxruntime
python examples/onnx_runtime.py
"""

from __future__ import annotations

import numpy as np
import onnxruntime
from sklearn.datasets import load_wine

from sdgm import KernelSDGMClassifier
from sdgm.export import to_onnx


def main() -> float:
    """Largest difference between probabilities from onnxruntime and from Python."""
    X, y = load_wine(return_X_y=True)
    model = KernelSDGMClassifier(n_components=1, random_state=0).fit(X, y)

    graph = to_onnx(model)  # double precision; precision="float" for the other
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    label, P = session.run(["label", "probabilities"], {"X": X})
    print(f"{graph.ByteSize()} bytes, operators: {sorted({n.op_type for n in graph.graph.node})}")
    print(f"same labels: {np.array_equal(label, model.predict(X))}")
    return float(np.abs(P - model.predict_proba(X)).max())


if __name__ == "__main__":
    print(f"largest difference {main():.1e}")
