"""Claims about models in ONNX, tried in onnxruntime."""

from __future__ import annotations

import json
from copy import copy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import onnx
import onnxruntime

import sdgm
from sdgm import KernelSDGMClassifier, RVMClassifier, SDGMClassifier
from sdgm.export.onnx_model import to_onnx
from sdgm.tables.inputs import Category, Number
from tests.export.onnx_models import (
    INPUTS,
    KINDS,
    clusters,
    fitted,
    probabilities,
    pruned_to_nothing,
    table_columns,
    table_model,
)


def session(proto: Any) -> Any:
    return session_of(proto.SerializeToString(deterministic=True))


@cache
def session_of(content: bytes) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def run(model: Any, X: np.ndarray, precision: str = "double", **options: Any) -> tuple[Any, Any]:
    """Labels and probabilities of rows, in onnxruntime."""
    dtype = np.float64 if precision == "double" else np.float32
    label, P = session(to_onnx(model, precision=precision, **options)).run(
        None, {"X": X.astype(dtype)}
    )
    assert P.dtype == dtype
    return label, P


def feed(columns: dict[str, np.ndarray], dtype: Any = np.float64) -> dict[str, np.ndarray]:
    """Columns as onnxruntime takes them, missing strings empty."""
    return {
        name: np.array([[value or ""] for value in values], dtype=object)
        if values.dtype == object
        else values[:, None].astype(dtype)
        for name, values in columns.items()
    }


def relative_difference(P: np.ndarray, expected: np.ndarray) -> float:
    """The largest, among probabilities that single precision can hold."""
    held = expected > 1e-30
    return float((np.abs(P - expected)[held] / expected[held]).max())


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_are_equal_in_double_precision(kind: str) -> None:
    model, X = fitted(kind)
    label, P = run(model, X)
    np.testing.assert_allclose(P, model.predict_proba(X), rtol=0, atol=1e-10)
    np.testing.assert_array_equal(label, model.predict(X))


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_of_float_inputs_are_equal_to_the_last_digits(kind: str) -> None:
    model, X = fitted(kind)
    X = X.astype(np.float32)
    expected = model.predict_proba(X.astype(np.float64))
    label, P = run(model, X, "float")
    assert relative_difference(P, expected) < 1e-6
    np.testing.assert_array_equal(label, model.predict(X.astype(np.float64)))


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_in_single_precision_only_are_close(kind: str) -> None:
    model, X = fitted(kind)
    X = X.astype(np.float32)
    _, P = run(model, X, "float_only")
    np.testing.assert_allclose(P, model.predict_proba(X.astype(np.float64)), rtol=0, atol=1e-4)


@pytest.mark.parametrize("kind", ["primal", "rbf", "poly"])
def test_a_large_mean_beside_a_small_deviation_costs_single_precision_nothing(kind: str) -> None:
    X, y = clusters()
    X = X + 1e4 * X.std(axis=0)
    model = KINDS[kind]().fit(X, y)
    X = X.astype(np.float32)
    _, P = run(model, X, "float_only")
    np.testing.assert_allclose(P, model.predict_proba(X.astype(np.float64)), rtol=0, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("n_features", [1, 4])
@pytest.mark.parametrize("kind", ["primal", "spherical", "poly", "rbf"])
def test_any_number_of_classes_and_inputs(kind: str, n_classes: int, n_features: int) -> None:
    model, X = fitted(kind, n_classes, n_features)
    for precision, tolerance in (("double", 1e-10), ("float_only", 1e-4)):
        Z = X if precision == "double" else X.astype(np.float32).astype(np.float64)
        _, P = run(model, Z, precision)
        np.testing.assert_allclose(P, model.predict_proba(Z), rtol=0, atol=tolerance)


@pytest.mark.parametrize("kind", ["dense", "spherical", "poly"])
def test_the_order_of_columns_does_not_matter(kind: str) -> None:
    model, X = fitted(kind)
    model = copy(model)
    fitted_model = model.model_
    order = np.random.default_rng(0).permutation(len(fitted_model.basis))
    reordered = fitted_model.basis.take(order)
    model.model_ = replace(
        fitted_model, basis=reordered, state=fitted_model.among(reordered), covariance=None
    )
    _, P = run(model, X)
    np.testing.assert_allclose(P, model.predict_proba(X), rtol=0, atol=1e-10)


def test_a_model_without_weights_gives_the_class_shares() -> None:
    model, X = pruned_to_nothing()
    for precision in ("double", "float", "float_only"):
        _, P = run(model, X, precision)
        np.testing.assert_allclose(P, model.predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("n_rows", [0, 1, 2, 17])
@pytest.mark.parametrize("kind", ["primal", "spherical", "poly", "rbf"])
def test_any_number_of_rows(kind: str, n_rows: int) -> None:
    model, X = fitted(kind)
    for precision in ("double", "float", "float_only"):
        label, P = run(model, X[:n_rows], precision)
        assert label.shape == (n_rows,) and P.shape == (n_rows, 3)
        if n_rows:
            np.testing.assert_allclose(P, model.predict_proba(X[:n_rows]), atol=1e-4)


@pytest.mark.parametrize("kind", ["primal", "diag", "tied", "dense", "poly", "cubic", "rbf", "rvm"])
def test_extreme_rows_are_clipped_as_python_does(kind: str) -> None:
    model, X = fitted(kind)
    rows = np.vstack([X[0] * scale for scale in (1e30, -1e30, 1e150, -1e300, 1e-320)])
    _, P = run(model, rows)
    np.testing.assert_allclose(P, model.predict_proba(rows), rtol=0, atol=1e-10)


@pytest.mark.parametrize("precision", ["double", "float", "float_only"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_finite_or_infinite_row_overflows(kind: str, precision: str) -> None:
    model, _ = fitted(kind)
    largest = 1e300 if precision == "double" else 3e38
    signs = np.array([[1, 1, 1], [1, -1, 1], [-1, -1, -1], [0, 0, 1]])
    rows = np.vstack([signs * largest, signs[:3] * np.inf, signs * 1e17])
    _, P = run(model, rows, precision)
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("precision", ["double", "float", "float_only"])
@pytest.mark.parametrize("kind", ["primal", "poly", "rbf"])
def test_a_missing_value_makes_its_row_nan_and_no_other(kind: str, precision: str) -> None:
    model, X = fitted(kind)
    rows = X[:20].copy()
    rows[3, 0] = rows[7, 1] = rows[7, 2] = np.nan
    _, P = run(model, rows, precision)
    is_nan = np.isnan(P)
    assert is_nan[[3, 7]].all() and not np.delete(is_nan, [3, 7], axis=0).any()


def test_a_missing_value_counts_even_where_no_weight_is_left() -> None:
    X = np.random.default_rng(0).standard_normal((100, 3))
    model = SDGMClassifier(1, covariance_type="tied", teacher=None).fit(X, X[:, 1] > 0)
    assert model.terms_.tolist() == ["x2"]
    X[0, 0] = np.nan
    _, P = run(model, X)
    assert np.isnan(P[0]).all() and not np.isnan(P[1:]).any()


def test_narrow_kernels_far_from_the_middle_keep_their_digits() -> None:
    X = np.linspace(0.0, 300.0, 60)[:, None].astype(np.float32).astype(np.float64)
    y = np.arange(60) // 6 % 2
    model = RVMClassifier(gamma=0.05, standardize=False).fit(X, y)
    assert len(model.relevance_vectors_) > 5
    _, P = run(model, X, "float_only")
    np.testing.assert_allclose(P, model.predict_proba(X), rtol=2e-5)


@pytest.mark.parametrize(
    "classes",
    [
        [0, 1, 7],
        np.array([3, 200, 255], dtype=np.uint8),
        ["a", "ü", '"<script>\n*/ ??/'],
        np.array(["x", "y" * 10_000, ""], dtype=object),
        [-1.0, 1.0, 3.0],
    ],
)
def test_labels_come_back_as_they_are(classes: Any) -> None:
    X, y = clusters()
    y = np.asarray(classes)[y]
    model = SDGMClassifier(n_components=1, teacher=None).fit(X, y)
    label, _ = run(model, X)
    assert label.tolist() == model.predict(X).tolist()


def test_boolean_labels_become_zero_and_one() -> None:
    X, y = clusters(2)
    model = SDGMClassifier(n_components=1, teacher=None).fit(X, y == 1)
    label, _ = run(model, X)
    assert label.dtype == np.int64
    np.testing.assert_array_equal(label, model.predict(X))


def test_labels_that_onnx_cannot_hold_are_refused() -> None:
    X, y = clusters(2)
    for labels, words in (
        (np.array([1, 2**63 + 5], dtype=np.uint64), "too large for ONNX"),
        (np.array(["a", "\ud800"], dtype=object), "not valid Unicode"),
    ):
        model = SDGMClassifier(n_components=1, teacher=None).fit(X, labels[y])
        with pytest.raises(ValueError, match=words):
            to_onnx(model)


# --- models of tables ---


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_columns_of_a_table_are_encoded_in_the_model(form: str) -> None:
    model, columns = table_model(form), table_columns(500, seed=1)
    label, P = session(to_onnx(model)).run(None, feed(columns))
    expected = probabilities(model, columns)
    np.testing.assert_allclose(P, expected, rtol=0, atol=1e-10)
    assert label.tolist() == model.classes_[expected.argmax(axis=1)].tolist()


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("precision", ["float", "float_only"])
def test_columns_of_a_table_can_be_float(form: str, precision: str) -> None:
    model, columns = table_model(form), table_columns(200, seed=1)
    columns = {
        name: values if values.dtype == object else values.astype(np.float32).astype(np.float64)
        for name, values in columns.items()
    }
    proto = to_onnx(model, precision=precision)
    _, P = session(proto).run(None, feed(columns, np.float32))
    np.testing.assert_allclose(P, probabilities(model, columns), rtol=0, atol=1e-4)


def test_a_missing_number_that_training_never_missed_is_nan() -> None:
    model, columns = table_model(), table_columns(10, seed=2)
    columns["age"][4] = np.nan
    _, P = session(to_onnx(model)).run(None, feed(columns))
    assert np.isnan(P[4]).all() and not np.isnan(np.delete(P, 4, axis=0)).any()


def test_an_empty_string_is_a_level_where_training_saw_it() -> None:
    colour = Category("colour", ("red", "", "blue"), missing=True)
    inputs = (*INPUTS[:3], colour, INPUTS[4])
    model = table_model(inputs=inputs)
    columns = table_columns(50, seed=3)
    columns["colour"] = np.array(["red", "", "blue", "x", "y"] * 10, dtype=object)
    _, P = session(to_onnx(model)).run(None, feed(columns))
    np.testing.assert_allclose(P, probabilities(model, columns), rtol=0, atol=1e-10)


@settings(max_examples=15, deadline=None)
@given(
    name=st.text(st.characters(codec="utf-8"), max_size=20),
    levels=st.lists(st.text(st.characters(codec="utf-8")), min_size=3, max_size=3, unique=True),
)
@example(name="", levels=["\0", "", "0"])
def test_hostile_names_and_levels_are_only_text(name: str, levels: list[str]) -> None:
    colour = Category(name, tuple(levels), missing=True)
    others = [each for each in INPUTS if each.name != "colour"]
    if name in {each.name for each in others}:
        return
    model = table_model(inputs=(*others[:3], colour, others[3]))
    columns = table_columns(8, seed=4)
    del columns["colour"]
    columns[name] = np.array([*levels, levels[0] + "?", *levels, "?" + levels[1]], dtype=object)
    proto = to_onnx(model)
    inputs = feed(columns)
    inputs[proto.graph.input[3].name] = inputs.pop(name)
    _, P = session(proto).run(None, inputs)
    # an empty string that is no level is missing
    if "" not in levels:
        columns[name] = np.array([value or None for value in columns[name]], dtype=object)
    np.testing.assert_allclose(P, probabilities(model, columns), rtol=0, atol=1e-10)


def test_columns_named_like_outputs_or_operators_keep_their_names() -> None:
    names = ["label", "probabilities", "scores", "X", ""]
    inputs = (
        Number(names[0]),
        Number(names[1], fill=2.0, indicator=True),
        Number(names[2], fill=1.5),
        Category(names[3], INPUTS[3].levels, missing=True),  # type: ignore[union-attr]
        Category(names[4], ("f", "m")),
    )
    model, columns = table_model(inputs=inputs), table_columns(20, seed=5)
    columns = dict(zip(names, columns.values(), strict=True))
    proto = to_onnx(model)
    assert [each.name for each in proto.graph.input] == [*names[:4], "column"]
    assert [each.name for each in proto.graph.output] == ["label_", "probabilities_"]
    properties = {each.key: each.value for each in proto.metadata_props}
    assert json.loads(properties["columns"]) == names
    inputs_of = feed(columns)
    inputs_of["column"] = inputs_of.pop("")
    _, P = session(proto).run(None, inputs_of)
    np.testing.assert_allclose(P, probabilities(model, columns), rtol=0, atol=1e-10)


# --- the file ---


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("precision", ["double", "float", "float_only"])
def test_models_are_plain_operators_with_known_shapes(kind: str, precision: str) -> None:
    proto = to_onnx(fitted(kind)[0], precision=precision)
    assert [(each.domain, each.version) for each in proto.opset_import] == [("", 17)]
    assert {node.domain for node in proto.graph.node} == {""}
    inferred = onnx.shape_inference.infer_shapes(proto, check_type=True, strict_mode=True)
    assert len(inferred.graph.value_info) > 5
    if precision == "float_only":
        kinds = {each.data_type for each in inferred.graph.initializer}
        kinds |= {each.type.tensor_type.elem_type for each in inferred.graph.value_info}
        assert onnx.TensorProto.DOUBLE not in kinds


@pytest.mark.parametrize("opset", [13, 18, 21])
@pytest.mark.parametrize("kind", ["primal", "spherical", "cubic", "rbf"])
def test_every_opset_gives_the_same(kind: str, opset: int) -> None:
    model, X = fitted(kind)
    for precision in ("double", "float_only"):
        proto = to_onnx(model, opset=opset, precision=precision)
        assert proto.opset_import[0].version == opset
        _, P = run(model, X[:50], precision, opset=opset)
        np.testing.assert_allclose(P, model.predict_proba(X[:50]), atol=1e-4)


def test_opsets_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="from 13 to"):
        to_onnx(fitted("primal")[0], opset=12)
    with pytest.raises(ValueError, match="categories must be from 19 to"):
        to_onnx(table_model(), opset=17)
    assert to_onnx(table_model()).opset_import[0].version == 19


def test_the_file_is_the_model_and_says_what_it_is(tmp_path: Path) -> None:
    model, _ = fitted("poly")
    path = tmp_path / "model.onnx"
    proto = to_onnx(model, path=path)
    assert onnx.load(path) == proto
    first = path.read_bytes()
    to_onnx(model, path=path)
    assert path.read_bytes() == first and list(tmp_path.iterdir()) == [path]
    assert proto.producer_name == "sdgm" and "KernelSDGMClassifier" in proto.doc_string
    properties = {each.key: each.value for each in proto.metadata_props}
    assert properties["sdgm_version"] == sdgm.__version__
    assert json.loads(properties["classes"]) == [0, 1, 2]


def test_what_cannot_be_exported_is_refused() -> None:
    X, y = clusters(2)
    with pytest.raises(ValueError, match="precision must be one of"):
        to_onnx(fitted("primal")[0], precision="half")
    averaged = SDGMClassifier(1, predictive="averaged", teacher=None).fit(X, y)
    with pytest.raises(ValueError, match="predictive='map'"):
        to_onnx(averaged)
    gram = KernelSDGMClassifier(1, kernel="precomputed").fit(X @ X.T / 1e3, y)
    with pytest.raises(ValueError, match="precomputed"):
        to_onnx(gram)
    with pytest.raises(TypeError, match="cannot be described or exported"):
        to_onnx(object())


def test_models_beyond_single_precision_are_refused_with_a_way_out() -> None:
    X, y = clusters(2)
    steep = KernelSDGMClassifier(1, kernel="poly", degree=60, gamma=1.0, teacher=None).fit(X, y)
    with pytest.raises(ValueError, match="use precision='float'"):
        to_onnx(steep, precision="float_only")
    for scale in (1e45, 1e-45):
        model = SDGMClassifier(1, teacher=None).fit(X * scale, y)
        with pytest.raises(ValueError, match="single precision"):
            to_onnx(model, precision="float_only")
        _, P = run(model, X * scale)
        np.testing.assert_allclose(P, model.predict_proba(X * scale), atol=1e-10)
