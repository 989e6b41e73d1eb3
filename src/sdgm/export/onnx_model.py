"""A fitted model as an ONNX model, preprocessing included."""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from sdgm import __version__
from sdgm.atomic import replacing
from sdgm.export.model import classifier_and_inputs, exportable
from sdgm.export.onnx_graph import OLDEST_OPSET, DType, Graph, Writer, onnx_type
from sdgm.tables.inputs import Category, Input, Number

try:
    import onnx
    from onnx import helper, numpy_helper
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        'export to ONNX needs onnx, which is not installed: pip install "sdgm[export]"',
        name=error.name,
    ) from error

# understood by every runtime since 2022
OPSET = 17
# strings can be compared from here on
OPSET_OF_STRINGS = 19
# name of the dimension that is open
ROWS = "N"
# of tensors, and of what is computed in between
PRECISIONS: dict[str, tuple[DType, DType]] = {
    "double": (np.float64, np.float64),
    "float": (np.float32, np.float64),
    "float_only": (np.float32, np.float32),
}


def to_onnx(
    model: Any,
    *,
    precision: str = "double",
    opset: int | None = None,
    path: str | PathLike[str] | None = None,
) -> Any:
    """A fitted model as an `onnx.ModelProto` of plain ``ai.onnx`` operators.

    Inputs: for a classifier one tensor ``X`` of shape (N, n_features); for a model of a table one
    tensor of shape (N, 1) per column, named as the column: numbers, where NaN is a missing value,
    or strings, where the empty string is one unless it is a level. Outputs: ``label`` of shape (N,)
    and ``probabilities`` of shape (N, n_classes); an underscore is added where a column has that
    name. Labels are int64 (also for booleans), strings, or double for labels that are floats.

    A row with a missing value in a column that had none in training has probabilities NaN, and a
    label without meaning. Infinite values are clipped as very large ones are.

    Parameters
    ----------
    model : fitted classifier or TableModel
        As in `sdgm.export.model.exportable`.
    precision : {"double", "float", "float_only"}, default="double"
        Of inputs and probabilities. With ``float`` they are single precision, and what lies between
        is double, so that only the last digit is rounded. With ``float_only`` nothing is double,
        for runtimes without double precision: probabilities are as exact as the scores, to a
        relative 1e-5, or 1e-4 where weights of hundreds cancel, and inputs are clipped earlier, so
        that nothing overflows: far outside the training rows, at a standardised 1e15 or so.
    opset : int, optional
        Version of the operators, at least 13; by default 17, and 19 for tables with categories,
        whose strings need it.
    path : path, optional
        Where to write the model as well.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sdgm import SDGMClassifier
    >>> model = SDGMClassifier(n_components=1).fit(*load_iris(return_X_y=True))
    >>> [value.name for value in to_onnx(model).graph.output]
    ['label', 'probabilities']
    """
    if precision not in PRECISIONS:
        known = ", ".join(map(repr, PRECISIONS))
        raise ValueError(f"precision must be one of {known}, got {precision!r}.")
    plain = exportable(model)
    classifier, _ = classifier_and_inputs(model)
    opset = _checked_opset(opset, plain.inputs)
    tensors, computed = PRECISIONS[precision]
    is_table = hasattr(model, "inputs")
    graph = ModelGraph(_input_names(plain.inputs) if is_table else ["X"], tensors)
    writer = Writer(graph, plain, computed)
    features = _encoded(graph, writer) if is_table else _cast(writer, "X")
    outputs = _outputs(graph, writer, writer.probabilities(features))
    if is_table:
        inputs = [
            _input_info(column, name, onnx_type(tensors))
            for column, name in zip(plain.inputs, graph.inputs, strict=True)
        ]
        columns = [column.name for column in plain.inputs]
    else:
        shape: list[str | int] = [ROWS, len(plain.center)]
        inputs = [helper.make_tensor_value_info("X", onnx_type(tensors), shape)]
        columns = list(plain.feature_names)
    proto = helper.make_model(
        helper.make_graph(graph.nodes, "sdgm", inputs, outputs, graph.arrays),
        producer_name="sdgm",
        producer_version=__version__,
        opset_imports=[helper.make_opsetid("", opset)],
        doc_string=(
            f"Sparse discriminative Gaussian mixture ({type(classifier).__name__}). A row with a "
            "missing value in a column that had none in training has probabilities NaN. "
            f"Standardised inputs are clipped at {writer.reach:.3g}."
        ),
    )
    proto.ir_version = helper.find_min_ir_version_for(proto.opset_import)
    # what programs may want to know; JSON in ASCII where it is a list
    properties = {
        "sdgm_version": __version__,
        "classes": json.dumps(plain.classes.tolist()),
        "columns": json.dumps(columns),
        "inputs": json.dumps(graph.inputs),
        "precision": precision,
    }
    helper.set_model_props(proto, properties)
    onnx.checker.check_model(proto, full_check=True)
    if path is not None:
        with replacing(path) as file:
            file.write(proto.SerializeToString(deterministic=True))
    return proto


def label_values(classes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Labels as ONNX can hold them: int64, double or objects that are strings.

    Examples
    --------
    >>> label_values(np.array([False, True]))
    array([0, 1])
    """
    values = classes.tolist()
    if all(isinstance(value, str) for value in values):
        try:
            "".join(values).encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(
                "a class has a name that is not valid Unicode; rename it before fitting."
            ) from None
        return np.array(values, dtype=object)
    if all(isinstance(value, int) for value in values):  # booleans too
        if max(values) > np.iinfo(np.int64).max:
            raise ValueError(
                f"the label {max(values)} is too large for ONNX; use smaller numbers or strings."
            )
        return np.array(values, dtype=np.int64)
    return np.array(values, dtype=np.float64)


class ModelGraph(Graph):
    """Operators and arrays of a model of our own."""

    def __init__(self, inputs: list[str], dtype: DType) -> None:
        self.inputs, self.dtype = inputs, dtype
        self.nodes: list[Any] = []
        self.arrays: list[Any] = []
        # operators keep off these names
        self.outputs = [_unique(name, set(inputs)) for name in ("label", "probabilities")]
        self._taken = {*inputs, *self.outputs}

    def new_name(self, name: str) -> str:
        name = _unique(name, self._taken)
        self._taken.add(name)
        return name

    def add(self, operator: str, inputs: Sequence[str], outputs: list[str], **options: Any) -> None:
        self.nodes.append(helper.make_node(operator, inputs, outputs, outputs[0], **options))

    def constant(self, values: np.ndarray[Any, Any], name: str) -> str:
        name = self.new_name(name)
        self.arrays.append(numpy_helper.from_array(values, name))
        return name


def _unique(name: str, taken: set[str]) -> str:
    unique, n = name, 1
    while unique in taken:
        n += 1
        unique = f"{name}_" if n == 2 else f"{name}_{n}"
    return unique


def _input_names(inputs: tuple[Input, ...]) -> list[str]:
    """Names of the columns, made unique; in ONNX a name cannot be empty."""
    names: list[str] = []
    for each in inputs:
        name = each.name.encode("utf-8", "backslashreplace").decode("utf-8")
        names.append(_unique(name or "column", set(names)))
    return names


def _checked_opset(opset: int | None, inputs: tuple[Input, ...]) -> int:
    has_strings = any(isinstance(each, Category) for each in inputs)
    oldest = OPSET_OF_STRINGS if has_strings else OLDEST_OPSET
    newest = onnx.defs.onnx_opset_version()
    if opset is None:
        return max(OPSET, oldest)
    if not oldest <= opset <= newest:
        strings = " of a table with categories" if has_strings else ""
        raise ValueError(
            f"opset{strings} must be from {oldest} to {newest}, got {opset}; leave it out."
        )
    return int(opset)


def _cast(writer: Writer, values: str) -> str:
    """Numbers in the precision of what is computed; the operator does nothing if they are."""
    return writer.node("Cast", values, name="numbers", to=onnx_type(writer.dtype))


def _encoded(graph: ModelGraph, writer: Writer) -> str:
    """Features (N, D) from the columns of the table."""
    blocks: list[str] = []
    for each, name in zip(writer.model.inputs, graph.inputs, strict=True):
        if isinstance(each, Number):
            blocks += _number(writer, each, _cast(writer, name))
        else:
            blocks += _category(writer, each, name)
    return writer.node("Concat", *blocks, name="features", axis=1)


def _number(writer: Writer, column: Number, name: str) -> list[str]:
    if column.fill is None:
        return [name]
    missing = writer.node("IsNaN", name, name="is_missing")
    filled = writer.node("Where", missing, writer.number(column.fill, "fill"), name, name="filled")
    if not column.indicator:
        return [filled]
    return [filled, writer.node("Cast", missing, name="missing", to=onnx_type(writer.dtype))]


def _category(writer: Writer, column: Category, name: str) -> list[str]:
    """One where the string is a level; the empty string is a missing value unless it is one."""
    levels, n_features = list(column.levels), len(column.features)
    if column.missing and "" not in levels:
        levels.append("")
    if not levels:
        return []
    strings = writer.graph.constant(np.array([levels], dtype=object), "levels")
    equal = writer.node("Equal", name, strings, name="is_level")
    block = writer.node("Cast", equal, name="level", to=onnx_type(writer.dtype))
    if len(levels) < n_features:  # nothing can be missing
        widen = writer.number(np.eye(len(levels), n_features), "with_no_missing")
        block = writer.node("MatMul", block, widen, name="level")
    return [block]


def _outputs(graph: ModelGraph, writer: Writer, P: str) -> list[Any]:
    """Add labels and probabilities; what the model says about them."""
    label, probabilities = graph.outputs
    number, labels = onnx_type(graph.dtype), label_values(writer.model.classes)
    writer.outputs(P, label, probabilities, labels, graph.dtype)
    kind = helper.np_dtype_to_tensor_dtype(labels.dtype)
    shape: list[str | int] = [ROWS, len(labels)]
    return [
        helper.make_tensor_value_info(label, kind, [ROWS], "most probable class"),
        helper.make_tensor_value_info(probabilities, number, shape, "probability of each class"),
    ]


def _input_info(column: Input, name: str, number: int) -> Any:
    """What the model says about a column of the table."""
    kind, words = number, "number; NaN: missing"
    if isinstance(column, Category):
        kind, words = onnx.TensorProto.STRING, "category; the empty string is a missing value"
    return helper.make_tensor_value_info(name, kind, [ROWS, 1], words)
