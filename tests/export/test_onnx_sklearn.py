"""Claims about pipelines that skl2onnx converts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

pytest.importorskip("onnxruntime")
pytest.importorskip("skl2onnx")

import onnxruntime
import skl2onnx
from skl2onnx.common.data_types import (
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)

from sdgm import (
    DiscriminativeGMMClassifier,
    KernelSDGMClassifier,
    RVMClassifier,
    SDGMClassifier,
)
from sdgm.export.onnx_sklearn import register_skl2onnx
from tests.export.onnx_models import around, clusters

CLASSIFIERS: list[Any] = [
    SDGMClassifier(n_components=2, random_state=0, teacher=None),
    KernelSDGMClassifier(n_components=2, random_state=0, teacher=None),
    RVMClassifier(),
    DiscriminativeGMMClassifier(n_components=1),
]


@pytest.fixture(autouse=True)
def registered() -> None:
    register_skl2onnx()


def run(proto: Any, inputs: dict[str, Any]) -> list[Any]:
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, inputs)


def converted(model: Any, kind: Any, n_features: int = 3, **options: Any) -> Any:
    """The ONNX model of a pipeline; options are for its last step."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    return skl2onnx.convert_sklearn(
        model,
        initial_types=[("X", kind([None, n_features]))],
        options={id(last): {"zipmap": False, **options}},
    )


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda each: type(each).__name__)
def test_a_pipeline_gives_the_same_probabilities(classifier: Any) -> None:
    X, y = clusters()
    model = make_pipeline(StandardScaler(), classifier).fit(X, y)
    X = around(X).astype(np.float32).astype(np.float64)
    expected = model.predict_proba(X)
    label, P = run(converted(model, DoubleTensorType), {"X": X})
    np.testing.assert_allclose(P, expected, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(label, model.predict(X))
    label, P = run(converted(model, FloatTensorType), {"X": X.astype(np.float32)})
    assert P.dtype == np.float32
    # the scaler of skl2onnx is single precision
    np.testing.assert_allclose(P, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda each: type(each).__name__)
def test_a_classifier_alone_rounds_the_last_digit_of_float_only(classifier: Any) -> None:
    X, y = clusters()
    model = classifier.fit(X, y)
    X = around(X).astype(np.float32)
    _, P = run(converted(model, FloatTensorType), {"X": X})
    expected = model.predict_proba(X.astype(np.float64))
    held = expected > 1e-30
    np.testing.assert_allclose(P[held], expected[held], rtol=1e-6)


def test_all_can_be_single_precision() -> None:
    X, y = clusters()
    model = SDGMClassifier(n_components=1, teacher=None).fit(X, y)
    proto = converted(model, FloatTensorType, float_only=True)
    assert all(each.data_type != 11 for each in proto.graph.initializer)
    _, P = run(proto, {"X": X.astype(np.float32)})
    np.testing.assert_allclose(P, model.predict_proba(X), atol=1e-4)


def test_integers_can_be_inputs() -> None:
    X, y = clusters()
    X = np.rint(X)
    model = SDGMClassifier(n_components=1, teacher=None).fit(X, y)
    _, P = run(converted(model, Int64TensorType), {"X": X.astype(np.int64)})
    np.testing.assert_allclose(P, model.predict_proba(X), atol=1e-6)


def test_zipmap_gives_probabilities_by_class() -> None:
    X, y = clusters()
    names = np.array(["a", "ü", "<b>"])
    model = SDGMClassifier(n_components=1, teacher=None).fit(X, names[y])
    # the operator ZipMap takes float only
    proto = skl2onnx.to_onnx(model, X[:1].astype(np.float32))
    label, P = run(proto, {"X": X[:5].astype(np.float32)})
    assert label.tolist() == model.predict(X[:5]).tolist()
    expected = model.predict_proba(X[:5])
    for row, each in zip(P, expected, strict=True):
        assert row == pytest.approx(dict(zip(model.classes_, each, strict=True)), abs=1e-5)
    proto = skl2onnx.to_onnx(model, X[:1], options={"zipmap": "columns"})
    outputs = run(proto, {"X": X[:5]})
    np.testing.assert_allclose(np.column_stack(outputs[1:]), expected, atol=1e-10)


def test_classes_can_stay_numbers() -> None:
    X, y = clusters()
    model = SDGMClassifier(n_components=1, teacher=None).fit(X, np.array(["a", "b", "c"])[y])
    label, _ = run(converted(model, DoubleTensorType, nocl=True), {"X": X})
    np.testing.assert_array_equal(model.classes_[label], model.predict(X))


@pytest.mark.parametrize("labels", [[False, True], [-1.0, 3.0], [7, 8]])
def test_labels_that_are_numbers_become_whole_numbers(labels: Any) -> None:
    X, y = clusters(2)
    model = SDGMClassifier(n_components=1, teacher=None).fit(X, np.array(labels)[y])
    label, _ = run(converted(model, DoubleTensorType), {"X": X})
    assert label.dtype == np.int64
    np.testing.assert_array_equal(label, model.predict(X))


def test_labels_too_large_for_whole_numbers_are_refused() -> None:
    X, y = clusters(2)
    model = SDGMClassifier(n_components=1, teacher=None).fit(X, np.array([0.0, 2.0**60])[y])
    with pytest.raises(ValueError, match="too large for skl2onnx"):
        converted(model, DoubleTensorType)


def test_mixed_columns_convert_in_a_column_transformer() -> None:
    pd = pytest.importorskip("pandas")
    X, y = clusters(2, 2)
    frame = pd.DataFrame({"size": X[:, 0], "colour": np.where(X[:, 1] > 10, "red", "blue")})
    columns = make_column_transformer((StandardScaler(), ["size"]), (OneHotEncoder(), ["colour"]))
    model = make_pipeline(columns, SDGMClassifier(n_components=1, teacher=None)).fit(frame, y)
    proto = skl2onnx.convert_sklearn(
        model,
        initial_types=[
            ("size", FloatTensorType([None, 1])),
            ("colour", StringTensorType([None, 1])),
        ],
        options={"zipmap": False},
    )
    inputs = {
        "size": frame[["size"]].to_numpy(np.float32),
        "colour": frame[["colour"]].to_numpy(object),
    }
    _, P = run(proto, inputs)
    np.testing.assert_allclose(P, model.predict_proba(frame), atol=1e-5)


def test_a_classifier_inside_another_converts() -> None:
    X, y = clusters(2)
    inner = SDGMClassifier(n_components=1, teacher=None)
    model = CalibratedClassifierCV(inner, cv=2).fit(X, y)
    proto = skl2onnx.to_onnx(model, X[:1], options={"zipmap": False})
    _, P = run(proto, {"X": X})
    np.testing.assert_allclose(P, model.predict_proba(X), atol=1e-5)


def test_registering_again_changes_nothing() -> None:
    X, y = clusters()
    model = SDGMClassifier(n_components=1, teacher=None).fit(X, y)
    before = converted(model, DoubleTensorType)
    register_skl2onnx()
    register_skl2onnx()
    after = converted(model, DoubleTensorType)
    np.testing.assert_array_equal(run(before, {"X": X})[1], run(after, {"X": X})[1])


def test_what_cannot_be_converted_is_refused() -> None:
    X, y = clusters(2)
    model = SDGMClassifier(1, predictive="averaged", teacher=None).fit(X, y)
    with pytest.raises(ValueError, match="predictive='map'"):
        converted(model, DoubleTensorType)
    model = SDGMClassifier(1, teacher=None).fit(X, y)
    with pytest.raises(ValueError, match="need 13 or later"):
        skl2onnx.to_onnx(model, X[:1], target_opset=12)
