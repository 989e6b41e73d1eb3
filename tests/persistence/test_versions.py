"""Claims about files and pickles of other versions: older ones load, newer ones say so."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.exceptions
from sklearn.base import clone

pytest.importorskip("msgspec")
pytest.importorskip("safetensors")

import sdgm
from sdgm import ModelFileError, load
from sdgm.exceptions import InconsistentVersionWarning
from sdgm.persistence import versions
from sdgm.persistence.codec import to_bytes
from sdgm.persistence.container import packed
from tests.persistence.models import classifier_of, fitted, rows_of
from tests.persistence.mutations import taken_apart

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")

Change = Callable[[dict[str, Any], dict[str, Any]], None]


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., Path]:
    """A file of a model with another document, its checksum right."""

    def write(kind: str, change: Change, version: str | None = None) -> Path:
        document, arrays = taken_apart(to_bytes(fitted(kind)))
        if version is not None:
            document["versions"]["sdgm"] = version
        change(document, arrays)
        path = tmp_path / "model.sdgm"
        path.write_bytes(packed(document, arrays))
        return path

    return write


def nothing(document: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Leave the document as it is."""


def problem_with(path: Path) -> str:
    with pytest.raises(ModelFileError) as raised:
        load(path)
    assert str(raised.value).startswith(f"{path} ") and "\n" not in str(raised.value)
    return str(raised.value).removeprefix(f"{path} ")


# --- older files ---


@pytest.mark.parametrize("name", ["solver", "max_weights", "n_init"])
def test_a_parameter_that_a_file_lacks_takes_its_default(name: str, changed: Any) -> None:
    path = changed("diag", lambda document, _: document["classifier"]["parameters"].pop(name))
    model = load(path)
    assert model.get_params()[name] == type(model)().get_params()[name]
    X = rows_of(model)
    np.testing.assert_array_equal(model.predict_proba(X), fitted("diag").predict_proba(X))


@pytest.mark.parametrize("kind", ["partly labelled", "novelty"])
def test_so_does_one_of_the_other_estimators(kind: str, changed: Any) -> None:
    def change(document: dict[str, Any], _: Any) -> None:
        part = document.get("semi_supervised") or document["novelty"]
        del part["parameters"]["random_state"]

    model = load(changed(kind, change))
    assert model.random_state == type(model)().random_state
    X = rows_of(model)
    np.testing.assert_array_equal(model.predict(X), fitted(kind).predict(X))


@pytest.mark.parametrize("name", ["newton_steps", "alpha_change", "iteration"])
def test_a_number_that_the_history_lacks_is_zero_or_unknown(name: str, changed: Any) -> None:
    def change(document: dict[str, Any], arrays: dict[str, Any]) -> None:
        del document["classifier"]["training"]["history"][name]
        del arrays[f"classifier/training/history/{name}"]

    model, before = load(changed("diag", change)), fitted("diag")
    assert len(model.history_) == len(before.history_)
    values = {getattr(record, name) for record in model.history_}
    assert all(value == 0 or np.isnan(value) for value in values)
    assert [r.log_evidence for r in model.history_] == [r.log_evidence for r in before.history_]


# --- newer files ---

NEWER = "was written by sdgm 0.2.0 and cannot be read by sdgm 0.1.0: "
REMEDY = '; pip install "sdgm>=0.2.0".'


@pytest.fixture(autouse=True)
def this_is_0_1_0(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "__version__", "0.1.0")


@pytest.mark.parametrize("kind", ["primal", "rbf", "partly labelled", "table", "novelty"])
def test_a_newer_file_of_which_all_is_known_loads(kind: str, changed: Any) -> None:
    model = load(changed(kind, nothing, "0.2.0"))
    X = rows_of(model)
    before = classifier_of(fitted(kind)).predict(X)
    np.testing.assert_array_equal(classifier_of(model).predict(X), before)


def test_a_newer_parameter_names_the_version_to_install(changed: Any) -> None:
    def change(document: dict[str, Any], _: Any) -> None:
        document["classifier"]["parameters"]["kernel_of_tomorrow"] = None

    path = changed("diag", change, "0.2.0")
    assert (
        problem_with(path) == f"{NEWER}SDGMClassifier has no parameter 'kernel_of_tomorrow'{REMEDY}"
    )
    path = changed("diag", change, "0.1.0")
    assert problem_with(path) == "is invalid: SDGMClassifier has no parameter 'kernel_of_tomorrow'."


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["classifier"].update(kind="KernelEnsembleClassifier"), "KernelEnsemble"),
        (lambda d: d.update(forest={"trees": []}), "unknown field forest"),
        (lambda d: d["classifier"]["model"].update(temperature=2.0), "unknown field temperature"),
        (lambda d: d["classifier"]["model"]["basis"].update(kernel="matern"), "'matern'"),
        (lambda d: d["classifier"]["parameters"].update(preset="faster"), "'faster'"),
        (lambda d: d["classifier"]["parameters"].update(solver="quasi"), "'quasi'"),
    ],
)
def test_whatever_else_a_newer_file_needs_names_the_version(
    change: Any, said: str, changed: Any
) -> None:
    text = problem_with(changed("poly", lambda document, _: change(document), "0.2.0"))
    assert text.startswith(NEWER) and text.endswith(REMEDY)
    assert said in text


def test_what_a_newer_file_says_of_the_learning_is_passed_over(changed: Any) -> None:
    def change(document: dict[str, Any], arrays: dict[str, Any]) -> None:
        training = document["classifier"]["training"]
        arrays["classifier/training/history/leverage"] = np.zeros((3, 2))
        training["history"]["leverage"] = {"array": "classifier/training/history/leverage"}
        training["energy"] = 3.0

    model = load(changed("diag", change, "0.2.0"))
    assert len(model.history_) == len(fitted("diag").history_)
    assert not hasattr(model.training_, "energy")


def test_the_record_of_a_newer_table_is_kept_as_it_is(changed: Any) -> None:
    path = changed("table", lambda document, _: document["record"].update(humidity=3), "0.2.0")
    assert load(path).record["humidity"] == 3


def test_a_newer_format_names_the_version_to_install(changed: Any) -> None:
    path = changed("diag", lambda document, _: document.update(format=2), "1.0.0")
    assert problem_with(path) == (
        "was written by sdgm 1.0.0 in format 2, and sdgm 0.1.0 reads formats up to 1; "
        'pip install "sdgm>=1.0.0".'
    )


@pytest.mark.parametrize("version", ["0.2.0\n", "9" * 5000, "new", "", "0.2.0; rm -rf /"])
def test_an_odd_version_does_not_get_into_the_advice(version: str, changed: Any) -> None:
    def change(document: dict[str, Any], _: Any) -> None:
        document["classifier"]["parameters"]["kernel_of_tomorrow"] = None

    text = problem_with(changed("diag", change, version))
    assert len(text) < 200 and "rm -rf" not in text


def test_entries_that_are_not_there_are_not_written() -> None:
    document, _ = taken_apart(to_bytes(fitted("diag")))
    assert {"table", "semi_supervised", "novelty", "record"}.isdisjoint(document)


# --- pickles ---


@pytest.mark.parametrize("kind", ["diag", "rbf", "partly labelled", "novelty"])
def test_a_pickle_of_another_version_warns_as_scikit_learn_does(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = fitted(kind)
    with monkeypatch.context() as patch:
        patch.setattr(sdgm, "__version__", "0.0.9")
        content = pickle.dumps(model)
    with pytest.warns(InconsistentVersionWarning) as seen:
        again = pickle.loads(content)
    assert issubclass(InconsistentVersionWarning, sklearn.exceptions.InconsistentVersionWarning)
    names = {warning.message.estimator_name: str(warning.message) for warning in seen}  # type: ignore[union-attr]
    text = names[type(model).__name__]
    assert "sdgm 0.0.9" in text and f"sdgm {sdgm.__version__}" in text and "sdgm.save" in text
    assert vars(again).keys() == vars(model).keys()
    np.testing.assert_array_equal(again.predict(rows_of(again)), model.predict(rows_of(model)))


@pytest.mark.parametrize("kind", ["diag", "partly labelled", "novelty"])
def test_a_pickle_of_this_version_and_a_clone_do_not_warn(kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = pickle.loads(pickle.dumps(fitted(kind)))
        clone(again)
    assert vars(again).keys() == vars(fitted(kind)).keys()
