"""Claims about the stored files of every release: they load, and answer what they did."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("msgspec")
pytest.importorskip("safetensors")

import sdgm
from sdgm.core.model.features import CovarianceType
from sdgm.core.model.kernels import KernelName
from sdgm.persistence.codec import to_bytes
from tests.persistence.golden.regenerate import ANSWERS, FOLDER, answer
from tests.persistence.models import classifier_of

FILES = sorted(FOLDER.glob("*/*.sdgm"))
THIS = FOLDER / sdgm.__version__
# estimators that cannot be saved yet: docs/files.md says what a file of one takes
WITHOUT_FILES = {sdgm.KernelEnsembleClassifier}

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_of_every_release_answers_what_it_did(path: Path) -> None:
    with np.load(path.with_name(ANSWERS)) as stored:
        X, expected = stored[f"{path.stem}/X"], stored[f"{path.stem}/answer"]
    model = sdgm.load(path)
    np.testing.assert_allclose(answer(model, X), expected, rtol=1e-9, atol=1e-12)
    to_bytes(model)  # and it can be saved again


@pytest.fixture(scope="module")
def of_this_version() -> list[Any]:
    return [sdgm.load(path) for path in sorted(THIS.glob("*.sdgm"))]


def test_this_version_has_files_of_every_estimator(of_this_version: list[Any]) -> None:
    public = [getattr(sdgm, name) for name in sdgm.__all__]
    estimators = {each for each in public if inspect.isclass(each) and hasattr(each, "get_params")}
    assert estimators - WITHOUT_FILES <= {type(model) for model in of_this_version}


@pytest.mark.parametrize("estimator", sorted(WITHOUT_FILES, key=str))
def test_an_estimator_without_files_is_refused_by_name(estimator: Any, tmp_path: Path) -> None:
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    with pytest.raises(
        TypeError, match=f"{estimator.__name__} cannot be saved; save a TableModel or"
    ):
        sdgm.save(estimator().fit(X, y), tmp_path / "model.sdgm")


def test_this_version_has_files_of_every_form_and_kernel(of_this_version: list[Any]) -> None:
    models = [*map(classifier_of, of_this_version)]
    models += [model.estimator_ for model in models if hasattr(model, "estimator_")]
    given = {
        name: {getattr(model, name, None) for model in models}
        | {getattr(model, "chosen_", {}).get(name) for model in models}
        for name in ("covariance_type", "kernel", "preset", "prior")
    }
    assert set(CovarianceType) <= given["covariance_type"]
    assert {*KernelName, "precomputed"} <= given["kernel"]
    assert {"paper", "fast"} <= given["preset"]
    assert {"ard", "ridge"} <= given["prior"]


def test_the_files_are_small() -> None:
    assert FILES
    for folder in {path.parent for path in FILES}:
        assert sum(path.stat().st_size for path in folder.iterdir()) < 600_000
