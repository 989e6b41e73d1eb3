"""The classifiers in pipelines that skl2onnx converts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sdgm.estimators.dual import KernelSDGMClassifier
from sdgm.estimators.primal import SDGMClassifier
from sdgm.estimators.special_cases import DiscriminativeGMMClassifier, RVMClassifier
from sdgm.export.model import exportable
from sdgm.export.onnx_graph import OLDEST_OPSET, Graph, Writer, onnx_type
from sdgm.export.onnx_model import label_values

try:
    from onnx import helper
    from skl2onnx import update_registered_converter
    from skl2onnx.common.data_types import DoubleTensorType
    from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes
    from skl2onnx.common.utils_classifier import get_label_classes
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        'pipelines to ONNX need skl2onnx, which is not installed: pip install "sdgm[export]"',
        name=error.name,
    ) from error

CLASSIFIERS = SDGMClassifier, KernelSDGMClassifier, RVMClassifier, DiscriminativeGMMClassifier
# whole numbers below it are the same as floats and as integers
LARGEST_WHOLE = 2.0**53
# as scikit-learn's own classifiers have them
OPTIONS = {
    "zipmap": [True, False, "columns"],
    "nocl": [True, False],
    "output_class_labels": [False, True],
    "float_only": [False, True],
}


def register_skl2onnx() -> None:
    """Teach skl2onnx the classifiers of this package, so that it converts pipelines with them.

    Inputs may be float, double, integers or booleans; probabilities are double where they are, and
    float otherwise. In between all is double, unless the option ``float_only`` is set. For double
    inputs the option ``zipmap`` must be False or ``"columns"``, as with other classifiers: ONNX has
    such maps of floats only. Calling it again changes nothing.

    Examples
    --------
    >>> from skl2onnx import to_onnx
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), SDGMClassifier(n_components=1)).fit(X, y)
    >>> register_skl2onnx()
    >>> proto = to_onnx(model, X[:1], options={"zipmap": False})
    >>> [value.name for value in proto.graph.output]
    ['label', 'probabilities']
    """
    for classifier in CLASSIFIERS:
        update_registered_converter(
            classifier,
            f"Sdgm{classifier.__name__}",
            calculate_linear_classifier_output_shapes,
            _convert,
            options=OPTIONS,
        )


class ContainerGraph(Graph):
    """Operators and arrays for a model that skl2onnx puts together."""

    def __init__(self, scope: Any, container: Any) -> None:
        self.scope, self.container = scope, container

    def new_name(self, name: str) -> str:
        return str(self.scope.get_unique_variable_name(name))

    def add(self, operator: str, inputs: Sequence[str], outputs: list[str], **options: Any) -> None:
        name = self.scope.get_unique_operator_name(operator)
        self.container.add_node(operator, list(inputs), outputs, name=name, **options)

    def constant(self, values: np.ndarray[Any, Any], name: str) -> str:
        name = self.new_name(name)
        content: Any = values.ravel().tolist()
        kind = helper.np_dtype_to_tensor_dtype(values.dtype)
        if values.dtype == object:
            content = [value.encode("utf-8") for value in content]
        self.container.add_initializer(name, kind, list(values.shape), content)
        return name


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the operators of one classifier to the model."""
    classifier, variable = operator.raw_operator, operator.inputs[0]
    if container.target_opset < OLDEST_OPSET:
        needed = f"the classifiers need {OLDEST_OPSET} or later"
        raise ValueError(f"target_opset is {container.target_opset}, and {needed}.")
    is_double = isinstance(variable.type, DoubleTensorType)
    float_only = scope.get_options(classifier, {"float_only": False})["float_only"]
    dtype = np.float32 if float_only and not is_double else np.float64
    graph = ContainerGraph(scope, container)
    features = graph.node("Cast", variable.full_name, name="features", to=onnx_type(dtype))[0]
    writer = Writer(graph, exportable(classifier), dtype)
    label, probabilities = (output.full_name for output in operator.outputs)
    labels = _labels(get_label_classes(scope, classifier))
    out = np.float64 if is_double else np.float32
    writer.outputs(writer.probabilities(features), label, probabilities, labels, out)


def _labels(classes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Labels as skl2onnx declares them: strings or int64."""
    labels = label_values(classes)
    if labels.dtype != np.float64:
        return labels
    if np.any(np.abs(labels) >= LARGEST_WHOLE):
        raise ValueError(
            f"the label {labels[np.abs(labels).argmax()]:.3g} is too large for skl2onnx, which "
            "makes labels that are floats whole numbers; use smaller ones or sdgm.export.to_onnx."
        )
    return labels.astype(np.int64)
