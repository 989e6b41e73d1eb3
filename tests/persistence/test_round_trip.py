"""Claims about models that were saved and loaded: they are what they were."""

from __future__ import annotations

import copy
import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

pytest.importorskip("msgspec")
pytest.importorskip("safetensors")

import sdgm
from sdgm import (
    KernelSDGMClassifier,
    RVMClassifier,
    SDGMClassifier,
    SemiSupervisedSDGMClassifier,
    load,
    save,
)
from tests.persistence.comparison import first_difference
from tests.persistence.models import KINDS, classifier_of, fitted, moons, outputs, rows_of

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")


def saved_and_loaded(model: Any, folder: Path) -> Any:
    path = folder / "model.sdgm"
    assert save(model, path) == path.stat().st_size
    return load(path)


ESTIMATORS = [
    each
    for each in (getattr(sdgm, name) for name in sdgm.__all__)
    if inspect.isclass(each) and hasattr(each, "get_params")
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: each.__name__)
def test_every_public_estimator_is_saved_with_its_defaults(estimator: Any, tmp_path: Path) -> None:
    X, y = moons()
    model = estimator().fit(X, y)
    again = saved_and_loaded(model, tmp_path)
    assert type(again) is estimator
    for method in outputs(model):
        np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))


@pytest.mark.parametrize("name", ["SDGMClassifier", "KernelEnsembleClassifier"])
def test_models_of_a_cluster_are_saved_as_local_ones(name: str, tmp_path: Path) -> None:
    sdgm_dask = pytest.importorskip("sdgm.dask")
    da = pytest.importorskip("dask.array")
    X, y = moons()
    model = getattr(sdgm_dask, name)().fit(da.from_array(X, chunks=30), da.from_array(y, chunks=30))
    refused(model, tmp_path, "save model.to_local()", TypeError)
    again = saved_and_loaded(model.to_local(), tmp_path)
    np.testing.assert_array_equal(again.predict_proba(X), model.to_local().predict_proba(X))


def test_a_classifier_made_of_a_layer_is_saved(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    nn = pytest.importorskip("sdgm.nn")
    layer = nn.SDGM(3, 2, dtype=torch.float64).eval()
    model = nn.to_classifier(layer, ["no", "yes"])
    again = saved_and_loaded(model, tmp_path)
    X = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.fixture(params=KINDS)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Any]:
    """A model of each kind, and what came back."""
    model = fitted(request.param)
    return model, saved_and_loaded(model, tmp_path)


def test_predictions_are_equal_bit_by_bit(pair: tuple[Any, Any]) -> None:
    model, again = map(classifier_of, pair)
    X = rows_of(model)
    for method in outputs(model):
        before, after = getattr(model, method)(X), getattr(again, method)(X)
        assert before.dtype == after.dtype
        assert before.tobytes() == after.tobytes()
    if hasattr(model, "covariance_"):
        before = model.predict_proba_averaged(X, return_std=True)
        after = again.predict_proba_averaged(X, return_std=True)
        np.testing.assert_array_equal(before, after)


def test_no_attribute_is_lost_and_none_is_changed(pair: tuple[Any, Any]) -> None:
    model, again = pair
    assert type(again) is type(model)
    assert vars(again).keys() == vars(model).keys()
    assert first_difference(model, again) is None
    assert first_difference(again, model) is None
    model, again = map(classifier_of, pair)
    assert vars(again).keys() == vars(model).keys()
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray):
            assert getattr(again, name).dtype == value.dtype, name
            assert getattr(again, name).flags.writeable


def test_parameters_clones_and_words_are_the_same(pair: tuple[Any, Any]) -> None:
    model, again = map(classifier_of, pair)
    assert repr(again).replace("np.int64(3)", "3") == repr(model).replace("np.int64(3)", "3")
    assert again.get_params().keys() == model.get_params().keys()
    assert not hasattr(clone(again), "classes_")


def test_a_loaded_model_can_be_copied_and_pickled(pair: tuple[Any, Any]) -> None:
    _, again = pair
    X = rows_of(again)
    for other in (copy.deepcopy(again), pickle.loads(pickle.dumps(again))):
        for method in outputs(classifier_of(again)):
            np.testing.assert_array_equal(
                getattr(classifier_of(other), method)(X), getattr(classifier_of(again), method)(X)
            )


def test_saving_twice_and_saving_what_was_loaded_give_the_same_bytes(
    pair: tuple[Any, Any], tmp_path: Path
) -> None:
    model, again = pair
    for number, each in enumerate((model, model, again)):
        save(each, tmp_path / f"{number}.sdgm")
    contents = {(tmp_path / f"{number}.sdgm").read_bytes() for number in range(3)}
    assert len(contents) == 1


@pytest.mark.parametrize(
    "model",
    [
        SDGMClassifier(np.int64(2), warm_start=True, max_iter=3, tol=1e-12, teacher=None),
        KernelSDGMClassifier(2, warm_start=True, max_iter=3, tol=1e-12, teacher=None),
        RVMClassifier(warm_start=True, max_iter=3, tol=1e-12),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore:The fit stopped at max_iter")
def test_a_loaded_model_goes_on_learning_where_it_was(model: Any, tmp_path: Path) -> None:
    X, y = moons()
    model = clone(model).fit(X, y)
    n_weights = model.n_active_weights_
    again = saved_and_loaded(model, tmp_path)
    model.fit(X, y)
    again.fit(X, y)
    assert again.n_initial_weights_ == n_weights
    assert again.log_evidence_ == model.log_evidence_
    np.testing.assert_array_equal(again.coef_, model.coef_)


def test_settings_changed_since_the_fit_are_remembered(tmp_path: Path) -> None:
    X, y = moons()
    model = (
        SDGMClassifier(1, teacher=None)
        .fit(X, y)
        .set_params(covariance_type="diag", warm_start=True)
    )
    again = saved_and_loaded(model, tmp_path)
    with pytest.raises(ValueError, match="warm_start cannot continue from covariance_type='full'"):
        again.fit(X, y)


def test_the_history_comes_back_without_states(tmp_path: Path) -> None:
    model = fitted("rbf")
    again = saved_and_loaded(model, tmp_path)
    assert model.history_[0].state is not None
    assert all(record.state is None for record in again.history_)
    assert [record.log_evidence for record in again.history_] == [
        record.log_evidence for record in model.history_
    ]


def test_a_loaded_model_can_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from sdgm.plotting import BoundaryDisplay

    X, y = moons()
    again = saved_and_loaded(fitted("poly"), tmp_path)
    display = BoundaryDisplay.from_estimator(again, X, y)
    assert display.ax_ is not None


def test_a_model_of_a_table_keeps_columns_record_and_story(tmp_path: Path) -> None:
    model = fitted("table")
    again = saved_and_loaded(model, tmp_path)
    assert again.inputs == model.inputs
    assert (again.target, again.id_column) == (model.target, model.id_column)
    assert again.record == model.record
    assert again.story.keys() == model.story.keys()
    for name, array in model.story.items():
        assert again.story[name].dtype == array.dtype
        np.testing.assert_array_equal(again.story[name], array)


LABELS = {
    "int": st.lists(st.integers(-(2**62), 2**62), min_size=2, max_size=4, unique=True),
    "small int": st.lists(st.integers(-128, 127), min_size=2, max_size=4, unique=True),
    "bool": st.just([False, True]),
    "float": st.lists(st.integers(-(2**50), 2**50).map(float), min_size=2, max_size=4, unique=True),
    "text": st.lists(st.text(min_size=1, max_size=9), min_size=2, max_size=4, unique=True),
}


@st.composite
def problems(draw: Any) -> tuple[Any, Any, Any]:
    """An estimator, rows and labels of any kind."""
    kind = draw(st.sampled_from(sorted(LABELS)))
    labels = np.array(draw(LABELS[kind]))
    if kind == "small int":
        labels = labels.astype(np.int8)
    labels = np.unique(labels)  # text loses null characters at its end
    if len(labels) < 2:
        labels = np.array(["a", "b"])
    if labels.dtype.kind == "U" and draw(st.booleans()):
        labels = labels.astype(object)
    rng = np.random.default_rng(draw(st.integers(0, 100)))
    codes = np.arange(30) % len(labels)
    X = rng.normal(size=(30, draw(st.integers(1, 3)))) + codes[:, None]
    estimator = draw(
        st.sampled_from(
            [
                SDGMClassifier(1, covariance_type="full", teacher=None),
                SDGMClassifier(2, covariance_type="diag", preset="paper"),
                SDGMClassifier([1] * len(labels), covariance_type="spherical", teacher=None),
                SDGMClassifier(1, covariance_type="tied", standardize=False, teacher=None),
                SDGMClassifier(1, prior="ridge", class_weight="balanced"),
                KernelSDGMClassifier(1, kernel="poly", degree=3, teacher=None),
                KernelSDGMClassifier(1, kernel="rbf", gamma=0.3, shared_vectors=True, teacher=None),
                KernelSDGMClassifier(1, kernel="linear", predictive="averaged", teacher=None),
                RVMClassifier(gamma="scale"),
            ]
        )
    )
    return clone(estimator), X, labels[codes]


@given(problem=problems(), names=st.lists(st.text(max_size=5), min_size=3, max_size=3, unique=True))
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*components and gets")
def test_models_of_any_labels_and_names_come_back(
    problem: tuple[Any, Any, Any], names: list[str], tmp_path: Path
) -> None:
    estimator, X, y = problem
    frame = pytest.importorskip("pandas").DataFrame(X, columns=names[: X.shape[1]])
    model = estimator.fit(frame, y)
    again = saved_and_loaded(model, tmp_path)
    assert again.classes_.dtype == model.classes_.dtype
    assert again.classes_.tolist() == model.classes_.tolist()
    assert again.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    assert [type(label) for label in again.classes_] == [type(label) for label in model.classes_]
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    assert first_difference(model, again) is None


# --- what is refused ---


def refused(model: Any, folder: Path, match: str, kind: type[Exception] = ValueError) -> None:
    path = folder / "model.sdgm"
    path.write_bytes(b"the old file")
    with pytest.raises(kind, match=match) as raised:
        save(model, path)
    assert str(raised.value).count("\n") == 0
    assert path.read_bytes() == b"the old file"
    assert [each.name for each in folder.iterdir()] == ["model.sdgm"]


def test_functions_among_the_parameters_are_refused(tmp_path: Path) -> None:
    X, y = moons()
    model = KernelSDGMClassifier(1, kernel=lambda X, Z: X @ Z.T, teacher=None).fit(X, y)
    refused(model, tmp_path, "kernel is a function")
    refused(model.set_params(kernel="rbf"), tmp_path, "kernel is a function")


def test_a_generator_of_random_numbers_is_refused(tmp_path: Path) -> None:
    X, y = moons()
    model = SDGMClassifier(1, random_state=np.random.RandomState(0), teacher=None).fit(X, y)
    refused(model, tmp_path, "random_state is of type RandomState.*set_params")
    assert saved_and_loaded(model.set_params(random_state=0), tmp_path).random_state == 0


def test_a_list_that_holds_itself_is_refused(tmp_path: Path) -> None:
    X, y = moons()
    endless: list[Any] = []
    endless.append(endless)
    model = SDGMClassifier(1, teacher=None).fit(X, y).set_params(n_components=endless)
    refused(model, tmp_path, "n_components is")


def test_what_is_not_fitted_or_not_ours_is_refused(tmp_path: Path) -> None:
    class Own(SDGMClassifier):
        pass

    X, y = moons()
    refused(SDGMClassifier(), tmp_path, "not fitted", NotFittedError)
    refused(SemiSupervisedSDGMClassifier(), tmp_path, "not fitted", NotFittedError)
    refused(LogisticRegression(), tmp_path, "LogisticRegression cannot be saved", TypeError)
    pipeline = make_pipeline(SDGMClassifier(1, teacher=None)).fit(X, y)
    refused(pipeline, tmp_path, "Pipeline cannot be saved", TypeError)
    refused(Own(1).fit(X, y), tmp_path, "Own cannot be saved", TypeError)


def test_a_model_changed_by_hand_is_refused(tmp_path: Path) -> None:
    X, y = moons()
    model = SDGMClassifier(1, teacher=None).fit(X, y)
    model.coef_[:] += 1.0
    refused(model, tmp_path, "coef_ was changed after the fit")
    model = SDGMClassifier(1, teacher=None).fit(X, y)
    model.model_.scaler.center[0] = np.nan
    refused(model, tmp_path, "'center' holds NaN")


def test_a_record_or_story_that_a_file_cannot_hold_is_refused(tmp_path: Path) -> None:
    model = copy.copy(fitted("table"))
    model.record = {"error": np.nan}
    refused(model, tmp_path, "record holds something that JSON does not")
    model.record = {"when": object()}
    refused(model, tmp_path, "record holds something that JSON does not")
    model.record = {}
    model.story = {"text": np.array(["a"])}
    refused(model, tmp_path, "story\\['text'\\] is of type <U1")
    model.story = {"a\nb": np.zeros(1)}
    refused(model, tmp_path, "name it with letters and digits")
