"""Claims about model files made to do harm: one error, nothing run, nothing large allocated."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("msgspec")
pytest.importorskip("safetensors")
pytest.importorskip("resource")

import sdgm.persistence
from sdgm.persistence.codec import read, to_bytes
from sdgm.persistence.container import (
    MAX_ARRAYS,
    MAX_HEADER,
    MAX_VALUES,
    canonical,
    packed,
    parsed,
)
from sdgm.persistence.documents import Labels, checked
from sdgm.persistence.errors import InvalidModelFile
from sdgm.persistence.labels import decoded_labels, encoded_labels
from sdgm.persistence.values import decoded, encoded
from tests.persistence.models import KINDS, fitted
from tests.persistence.mutations import raw, split, taken_apart, try_files

ROOT = Path(__file__).parents[2]
MODEL = "classifier/model"
Parts = tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]


def problem_with(content: bytes) -> str:
    with pytest.raises(InvalidModelFile) as raised:
        read(io.BytesIO(content), len(content))
    return str(raised.value)


@pytest.fixture
def primal() -> Parts:
    return taken_apart(to_bytes(fitted("diag")))


@pytest.fixture
def dual() -> Parts:
    return taken_apart(to_bytes(fitted("poly")))


@pytest.fixture
def table() -> Parts:
    return taken_apart(to_bytes(fitted("table")))


# --- many wrong files ---


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_file_is_refused_or_gives_a_model_that_predicts(kind: str) -> None:
    counts = try_files(kind, 25, seed=1)
    assert counts["refused"] > 10


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is limited as on Linux")
@pytest.mark.parametrize("kind", KINDS)
def test_thousands_of_wrong_files_take_little_memory_and_time(kind: str) -> None:
    command = [sys.executable, "-W", "error", "-m", "tests.persistence.mutations", kind, "700", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    counts = json.loads(done.stdout)
    assert counts["refused"] > 500
    assert counts["refused"] + counts["loaded"] == 700


def test_nothing_in_the_package_can_run_what_a_file_says() -> None:
    folder = Path(sdgm.persistence.__file__).parent
    text = "\n".join(path.read_text() for path in folder.glob("*.py"))
    imports = re.findall(r"^\s*(?:from|import) (\w+)", text, re.MULTILINE)
    assert not {"pickle", "marshal", "shelve", "importlib", "joblib", "zipfile"} & set(imports)
    assert not re.search(r"\b(eval|exec|__import__|import_module)\(", text)
    assert "allow_pickle" not in text


# --- bombs ---


BOMBS = """
import io
from sdgm.persistence.codec import read
from sdgm.persistence.errors import InvalidModelFile
from tests.persistence.mutations import limit_memory, raw

texts = [
    b"[" * 4_000_000,
    b"[" + b"{}," * 2_000_000 + b"{}]",
    b"[" + b"999," * 1_800_000 + b"1]",
    b"9" * 7_000_000,
    b"[" + b'"ab",' * 1_100_000 + b"1]",
]
for text in texts:
    escaped = text.replace(b'"', rb'\\"')
    for header in (
        b'{"__metadata__":{"sdgm":"1"},"x":' + text + b"}",
        b'{"__metadata__":{"sdgm":"' + escaped + b'"}}',
        b'{"__metadata__":{"sdgm":"' + escaped + rb'\\ud83d\\ude00"}}',
    ):
        content = raw(header, b"")
        limit_memory(64 << 20)
        try:
            read(io.BytesIO(content), len(content))
        except InvalidModelFile as error:
            print(error)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is limited as on Linux")
def test_headers_full_of_values_take_little_memory() -> None:
    command = [sys.executable, "-c", BOMBS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("\n") == 15


def test_many_empty_arrays_are_refused(primal: Parts) -> None:
    document, arrays = primal
    many = {f"table/story/{i}": np.zeros(0) for i in range(MAX_ARRAYS)}
    assert "more than 1000 arrays" in problem_with(packed(document, arrays | many))


def test_a_header_that_is_too_long_is_not_read() -> None:
    for length in (MAX_HEADER + 1, 2**40, 2**64 - 1):
        content = raw(b"{" + b" " * 100, b"", length)
        assert "header is longer than it can be" in problem_with(content)


def test_many_components_times_many_columns_are_refused(primal: Parts) -> None:
    document, arrays = primal
    K, n = 30_000, 30_000
    new = {
        "state/pi": np.ones(K),
        "state/component_class": np.repeat([0, 1, 2], K // 3),
        "state/column": np.arange(1, n + 1),
        "state/component": np.zeros(n, dtype=np.int64),
        "state/w": np.ones(n),
        "state/alpha": np.ones(n),
        # linear terms of many inputs
        "basis/first": np.arange(n),
        "basis/second": np.full(n, -1),
        "scaler/center": np.zeros(n),
        "scaler/inverse_scale": np.ones(n),
    }
    arrays |= {f"{MODEL}/{name}": array for name, array in new.items()}
    del arrays[f"{MODEL}/covariance"]
    document["classifier"]["model"]["covariance"] = None
    assert "which is too many" in problem_with(packed(document, arrays))


def test_a_long_name_in_many_terms_is_refused() -> None:
    # x1, x1^2 and x1 x2: four times the name
    document, arrays = taken_apart(to_bytes(fitted("ridge")))
    document["classifier"]["feature_names"] = ["x" * 3_000_000, "b"]
    assert "feature names so long" in problem_with(packed(document, arrays))


def test_a_long_column_name_with_many_levels_is_refused(table: Parts) -> None:
    document, arrays = table
    document["table"]["inputs"][1]["name"] = "x" * 1_000_000
    assert "columns are not what its classifier takes" in problem_with(packed(document, arrays))


def test_wide_labels_beside_many_come_back_as_objects() -> None:
    labels = ["x" * 1_000_000, *map(str, range(1000))]
    array = decoded_labels(Labels("U1000", labels), "the labels")
    assert array.dtype == object


# --- what the schema refuses though the checksum matches ---


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("state/w", np.nan),
        ("state/alpha", -1.0),
        ("state/component", 99),
        ("state/component", -1),
        ("state/column", 99),
        ("state/column", -1),
        ("basis/first", 4),
        ("basis/first", -3),
        ("basis/first", -1),
        ("basis/second", -2),
        ("basis/second", 99),
        ("state/pi", 0.0),
        ("state/pi", np.inf),
        ("state/component_class", 3),
        ("state/component_class", -1),
        ("scaler/inverse_scale", -1.0),
        ("scaler/center", np.inf),
        ("covariance", np.nan),
        ("../training/history/n_weights", -1),
    ],
)
def test_a_value_out_of_range_is_refused(name: str, value: float, primal: Parts) -> None:
    document, arrays = primal
    arrays[f"{MODEL}/{name}".replace("model/../", "")].flat[0] = value
    assert problem_with(packed(document, arrays)).startswith("is invalid")


def test_components_must_be_in_the_order_of_classes_and_leave_none_out(primal: Parts) -> None:
    document, arrays = primal
    component_class = arrays[f"{MODEL}/state/component_class"]
    component_class[:] = component_class[::-1].copy()
    assert "order of its classes" in problem_with(packed(document, arrays))
    component_class[:] = 0
    assert "order of its classes" in problem_with(packed(document, arrays))


@pytest.mark.parametrize(
    ("where", "value", "problem"),
    [
        ("kind", "os.system", "invalid enum value 'os.system' at file.classifier.kind"),
        ("kind", "SDGMClassifier", "SDGMClassifier has no parameter 'coef0'"),
        ("model/scaler/reach", 0.0, "expected float > 0.0 at file.classifier.model.scaler.reach"),
        ("model/scaler/reach", {"float": "nan"}, "model.scaler.reach"),
        ("model/scaler/reach", {"float": "inf"}, "model.scaler.reach"),
        ("model/classes", {"dtype": "int64", "values": [1, 0]}, "different labels in order"),
        ("model/classes", {"dtype": "int64", "values": [0, 2**63]}, "not of type 'int64'"),
        ("model/classes", {"dtype": "int8", "values": [0, 200]}, "not of type 'int8'"),
        ("model/classes", {"dtype": "int64", "values": [0, True]}, "not of type 'int64'"),
        ("model/classes", {"dtype": "float32", "values": [0.0, 1e300]}, "not of type 'float32'"),
        ("model/classes", {"dtype": "O", "values": [0, 1]}, "at file.classifier.model.classes.dty"),
        ("model/classes", {"dtype": "object", "values": [0, "a"]}, "different labels in order"),
        ("model/classes", {"dtype": "int64", "values": [0]}, "array 'component_class' holds 1"),
        ("feature_names", ["a"], "1 names of features"),
        ("feature_names", "ab", "got str at file.classifier.feature_names"),
        ("training/stop_reason", "bored", "at file.classifier.training.stop_reason"),
        ("extra", 1, "unknown field extra at file.classifier"),
        ("model/extra", 1, "unknown field extra at file.classifier.model"),
        ("training/converged", 1, "got int at file.classifier.training.converged"),
        ("training/n_initial_weights", -1, "expected int >= 0 at file.classifier.training.n_ini"),
        ("model/basis/form", "precomputed", "file.classifier.model.basis"),
        ("model/basis/form", "pickled", "invalid value 'pickled' at file.classifier.model.basis"),
    ],
)
def test_a_wrong_entry_of_the_document_is_refused(
    where: str, value: Any, problem: str, dual: Parts
) -> None:
    document, arrays = dual
    *way, last = where.split("/")
    node = document["classifier"]
    for step in way:
        node = node[step]
    node[last] = value
    assert problem in problem_with(packed(document, arrays))


@pytest.mark.parametrize("name", ["classifier", "versions", "table", "record", "format"])
def test_a_missing_entry_of_the_document_is_refused(name: str, table: Parts) -> None:
    document, arrays = table
    del document[name]
    assert problem_with(packed(document, arrays)).startswith("is ")


@pytest.mark.parametrize(
    "kernel",
    [
        {"kernel": "sigmoid", "values": {}},
        {"kernel": "rbf", "values": {"gamma": -1.0}},
        {"kernel": "rbf", "values": {"gamma": "1"}},
        {"kernel": "rbf", "values": {"gamma": {"float": "nan"}}},
        {"kernel": "poly", "values": {"degree": 0, "gamma": 1.0, "coef0": 1.0}},
        {"kernel": "poly", "values": {"degree": 2.5, "gamma": 1.0, "coef0": 1.0}},
        {"kernel": "linear", "values": {"gamma": 1.0}},
    ],
)
def test_a_kernel_that_is_none_is_refused(kernel: dict[str, Any], dual: Parts) -> None:
    document, arrays = dual
    document["classifier"]["model"]["basis"].update(kernel)
    assert re.search("kernel|basis.values", problem_with(packed(document, arrays)))


@pytest.mark.parametrize(
    ("name", "value"),
    [("predictive", "x"), ("n_components", [1, 1, 1]), ("tol", -1.0), ("verbose", "loud")],
)
def test_a_parameter_that_the_estimator_refuses_is_refused(
    name: str, value: Any, dual: Parts
) -> None:
    document, arrays = dual
    document["classifier"]["parameters"][name] = value
    assert name in problem_with(packed(document, arrays))


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("whitening", -1.0, "not positive definite"),
        ("whitening", 0.0, "not positive definite"),
        ("group", 1, "order of its groups"),
        ("group", 7, "array 'group' holds 7"),
        ("share", 0.0, "array 'share' holds 0.0"),
        ("group_share", -1.0, "array 'group_share' holds -1.0"),
        ("mean", np.nan, "array 'mean' holds NaN"),
    ],
)
def test_a_density_that_is_none_is_refused(name: str, value: float, problem: str) -> None:
    document, arrays = taken_apart(to_bytes(fitted("novelty")))
    arrays[f"novelty/{name}"].flat[0] = value
    assert problem in problem_with(packed(document, arrays))


@pytest.mark.parametrize(
    ("where", "value", "problem"),
    [
        ("n_features", 0, "no inputs"),
        ("n_features", 2, "not some of its inputs"),
        ("feature_names", ["a"], "1 names of features"),
        ("classes", {"dtype": "int64", "values": [0, 1]}, "does not agree"),
        ("classes", {"dtype": "int64", "values": [0, 2, 1]}, "different labels in order"),
        ("parameters/alpha", 1.0, "has no parameter 'alpha'"),
        ("members/FIRST/weight", -0.1, "at file.ensemble.members"),
        ("members/FIRST/weight", {"float": "nan"}, "at file.ensemble.members"),
        ("members/FIRST/slope", {"float": "inf"}, "at file.ensemble.members"),
        ("members/FIRST/space", "elsewhere", "has no space 'elsewhere'"),
        ("members/FIRST/scorer/kernel", "sigmoid", "at file.ensemble.members"),
        ("members/FIRST/scorer/scale", 0.0, "at file.ensemble.members"),
        ("members/FIRST/scorer/explicit", True, "not one weight for each column"),
        ("members/FIRST/scorer/form", "Gaussian", "at file.ensemble.members"),
        ("members", {}, "that no such model has"),
    ],
)
def test_a_wrong_entry_of_an_ensemble_is_refused(where: str, value: Any, problem: str) -> None:
    document, arrays = taken_apart(to_bytes(fitted("skewed ensemble")))
    node = document["ensemble"]
    for step in where.split("/")[:-1]:
        if step == "FIRST":
            (node,) = (each for name, each in entries(node) if name == "standardized Matern 3")
        else:
            node = node[step]
    node[where.split("/")[-1]] = value
    assert problem in problem_with(packed(document, arrays))


def entries(node: dict[str, Any]) -> list[Any]:
    """Keys and values of a mapping, in alphabetical order or not."""
    return node["dict"] if set(node) == {"dict"} else list(node.items())


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("frequencies", -1.0, "holds -1.0"),
        ("spaces/ranked/varying", 3, "not some of its inputs"),
        ("spaces/ranked/varying", -1, "holds -1"),
        ("spaces/ranked/ranks/n_values", 10**18, "not those of its inputs"),
        ("spaces/ranked/ranks/n_values", 0, "holds 0"),
        ("spaces/ranked/ranks/values", 1e9, "not in order"),
        ("spaces/ranked/centers", np.nan, "holds NaN"),
        ("members/standardized Matern 3/scorer/coef", np.inf, "holds NaN or infinity"),
        ("members/standardized linear discriminant/scorer/variances", 0.0, "holds 0.0"),
    ],
)
def test_a_wrong_array_of_an_ensemble_is_refused(name: str, value: float, problem: str) -> None:
    document, arrays = taken_apart(to_bytes(fitted("skewed ensemble")))
    arrays[f"ensemble/{name}"].flat[0] = value
    assert problem in problem_with(packed(document, arrays))


def test_an_ensemble_beside_a_classifier_is_refused(primal: Parts) -> None:
    document, arrays = taken_apart(to_bytes(fitted("ensemble")))
    document["classifier"] = primal[0]["classifier"]
    assert "it has no model, several models" in problem_with(packed(document, arrays | primal[1]))


def test_a_file_of_two_kinds_is_refused(primal: Parts) -> None:
    document, arrays = taken_apart(to_bytes(fitted("novelty")))
    document["classifier"] = primal[0]["classifier"]
    assert "no model, several models" in problem_with(packed(document, arrays | primal[1]))


@pytest.mark.parametrize(
    "change",
    [
        {"fill": None},
        {"fill": {"float": "inf"}},
        {"indicator": False},
        {"name": "other"},
        {"name": 3},
        {"extra": 1},
    ],
)
def test_a_column_that_does_not_fit_the_classifier_is_refused(
    change: dict[str, Any], table: Parts
) -> None:
    document, arrays = table
    document["table"]["inputs"][0].update(change)
    assert problem_with(packed(document, arrays)).startswith("is invalid")


def test_an_array_more_or_less_is_refused(primal: Parts) -> None:
    document, arrays = primal
    with_more = {**arrays, "other": np.zeros(1)}
    assert "array 'other' that no such model has" in problem_with(packed(document, with_more))
    del arrays[f"{MODEL}/scaler/center"]
    assert "array 'classifier/model/scaler/center' is missing" in problem_with(
        packed(document, arrays)
    )


def test_arrays_that_overlap_or_lie_outside_are_refused() -> None:
    header, payload = split(to_bytes(fitted("diag")))
    center, other = f"{MODEL}/scaler/center", f"{MODEL}/scaler/inverse_scale"
    header[center]["data_offsets"] = header[other]["data_offsets"]
    assert "invalid offset for tensor" in problem_with(raw(header, payload))
    header[center] = {"dtype": "F64", "shape": [2**61], "data_offsets": [0, 2**64]}
    assert problem_with(raw(header, payload)).startswith("is ")


# --- JSON ---


@pytest.mark.parametrize(
    "text",
    ["NaN", "[Infinity]", "-Infinity", "1e999", "[" * 100_000, "1" * 30, '{"a":1,"a":1}', "[1", ""],
)
def test_json_that_says_too_much_is_refused(text: str) -> None:
    with pytest.raises(InvalidModelFile):
        parsed(text)


def test_a_document_spelled_differently_is_refused() -> None:
    header, payload = split(to_bytes(fitted("diag")))
    header["__metadata__"]["sdgm"] = header["__metadata__"]["sdgm"].replace(",", ", ", 1)
    assert "not as sdgm writes it" in problem_with(raw(header, payload))
    assert len(f"[{'1,' * MAX_VALUES}1]") < MAX_HEADER


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats() | st.text(),
    lambda children: (
        st.lists(children, max_size=3)
        | st.lists(children, max_size=3).map(tuple)
        | st.dictionaries(st.text() | st.integers(-5, 5), children, max_size=3)
    ),
    max_leaves=8,
)


@given(json_values)
def test_any_value_comes_back_from_json(value: Any) -> None:
    text = canonical(encoded(value, "it", {}))
    assert repr(decoded(parsed(text), {})) == repr(value)


@given(
    st.lists(st.text(), max_size=5)
    | st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5)
    | st.lists(st.booleans(), max_size=5)
    | st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=5)
)
def test_any_labels_come_back_from_json(values: list[Any]) -> None:
    for labels in (np.array(values), np.array([*values, None], dtype=object)[:-1]):
        document = parsed(canonical(encoded(encoded_labels(labels), "labels", {})))
        again = decoded_labels(checked(document, Labels, "labels"), "the labels")
        assert again.dtype == labels.dtype
        assert again.tobytes() == labels.tobytes() or again.tolist() == labels.tolist()
