"""The film: what every frame says is what the classifier said after that iteration."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine, make_blobs

from sdgm import KernelSDGMClassifier, RVMClassifier, SDGMClassifier, SemiSupervisedSDGMClassifier
from sdgm.core.model.state import State
from sdgm.datasets import make_ripley
from sdgm.report.arrays import ARRAYS, is_consistent
from sdgm.report.states import (
    candidate_basis,
    component_identities,
    state_model,
    survivors_in_order,
)
from sdgm.report.story import FILM_ROWS, film, film_iterations
from sdgm.report.view import discriminant_view

X_RIPLEY, Y_RIPLEY, _, _ = make_ripley(random_state=0).split()
MODELS = {
    "primal": SDGMClassifier(2, random_state=0, teacher=None),
    "primal, chosen": SDGMClassifier(random_state=0),
    "spherical": SDGMClassifier(2, covariance_type="spherical", random_state=0, teacher=None),
    "dual": KernelSDGMClassifier(3, random_state=0, teacher=None),
    "dual, chosen": KernelSDGMClassifier(random_state=0),
    "paper": KernelSDGMClassifier(2, preset="paper", max_iter=60, tol=1.0, random_state=0),
    "rbf": RVMClassifier(random_state=0),
}


@pytest.fixture(scope="module", params=MODELS, ids=list(MODELS))
def fitted(request):
    model = MODELS[request.param].set_params(record_states=True)
    return model.fit(X_RIPLEY, Y_RIPLEY)


@pytest.fixture(scope="module")
def story(fitted):
    return film(fitted, X_RIPLEY, Y_RIPLEY)


def test_the_last_frame_is_the_classifier(fitted, story):
    basis = candidate_basis(fitted, X_RIPLEY, Y_RIPLEY)
    last = state_model(fitted.history_[-1].state, basis, fitted)
    P = np.exp(last.log_proba(X_RIPLEY))
    np.testing.assert_allclose(P, fitted.predict_proba(X_RIPLEY), rtol=0, atol=1e-12)
    predicted = fitted.classes_[story["rows/class"][-1]]
    assert np.array_equal(predicted, fitted.predict(X_RIPLEY))


def test_a_story_is_small_sound_and_numeric(fitted, story):
    assert set(story) <= set(ARRAYS)
    assert is_consistent(story, fitted)
    assert sum(array.nbytes for array in story.values()) < 1_000_000
    assert all(array.dtype.kind in "iuf" for array in story.values())


def test_the_grid_holds_the_probabilities(fitted, story):
    x_low, x_high, y_low, y_high = story["limits"]
    size = story["grid"].shape[-1]
    x, y = np.linspace(x_low, x_high, size), np.linspace(y_low, y_high, size)
    i, j = 20, 41
    P = fitted.predict_proba([[x[j], y[i]]])[0]
    tempered = story["grid"][-1, 0, i, j] / 255.0
    ratio = (tempered / (1.0 - tempered)) ** 3.0
    assert abs(ratio / (1.0 + ratio) - P[1]) < 0.02


def test_ends_of_lines_are_the_weights_that_are_left(fitted, story):
    left = np.isfinite(story["alpha"][-1])
    assert left.sum() == fitted.n_active_weights_
    np.testing.assert_allclose(
        np.sort(story["alpha"][-1, left]), np.sort(np.log10(fitted.model_.state.alpha)), rtol=1e-4
    )


def test_components_keep_their_place_until_they_leave():
    model = KernelSDGMClassifier(3, record_states=True, random_state=0, teacher=None)
    story = film(model.fit(X_RIPLEY, Y_RIPLEY), X_RIPLEY, Y_RIPLEY)
    alive = np.isfinite(story["pi"])
    assert alive[0].sum() == 6
    assert alive[-1].sum() == len(model.mixture_weights_)
    assert not (~alive[:-1] & alive[1:]).any()  # none comes back
    moved = np.abs(np.diff(story["pi"], axis=0))
    assert np.nanmax(moved) < 0.2


def test_without_states_only_rows_are_kept():
    X, y = load_iris(return_X_y=True)
    story = film(SDGMClassifier(1, teacher=None).fit(X, y), X, y)
    assert "rows/x" in story
    assert "iteration" not in story


def test_other_rows_than_those_of_the_fit_make_no_film_of_the_dual_form():
    model = KernelSDGMClassifier(2, record_states=True, random_state=0, teacher=None).fit(
        X_RIPLEY, Y_RIPLEY
    )
    story = film(model, X_RIPLEY + 0.25, Y_RIPLEY)
    assert "view" not in story
    assert "pi" in story


def test_precomputed_kernels_have_no_story():
    model = KernelSDGMClassifier(1, kernel="precomputed", record_states=True)
    gram = X_RIPLEY @ X_RIPLEY.T
    assert film(model.fit(gram, Y_RIPLEY), gram, Y_RIPLEY) == {}


def test_kernels_that_are_functions_have_no_picture():
    model = KernelSDGMClassifier(1, kernel=lambda X, Z: X @ Z.T, record_states=True, teacher=None)
    story = film(model.fit(X_RIPLEY, Y_RIPLEY), X_RIPLEY, Y_RIPLEY)
    assert "alpha" in story
    assert "view" not in story


def test_a_budget_ends_the_film():
    model = KernelSDGMClassifier(3, max_weights=4, record_states=True, random_state=0, teacher=None)
    story = film(model.fit(X_RIPLEY, Y_RIPLEY), X_RIPLEY, Y_RIPLEY)
    assert np.isfinite(story["alpha"][-1]).sum() == model.n_active_weights_ <= 4
    assert np.array_equal(story["rows/class"][-1], model.predict(X_RIPLEY))


@pytest.mark.parametrize("kind", [SDGMClassifier, KernelSDGMClassifier])
def test_a_film_can_end_without_weights(kind):
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 2)), 2, axis=0)
    y = np.tile([0, 1], 20)  # every row has both labels
    model = kind(1, record_states=True, random_state=0).fit(X, y)
    assert model.n_active_weights_ == 0
    story = film(model, X, y)
    assert is_consistent(story, model)
    assert len(story["iteration"]) == model.n_iter_
    assert not np.isfinite(story["alpha"][-1]).any()
    assert np.array_equal(story["rows/class"][-1], model.predict(X))


def test_rows_without_a_label_are_left_out():
    y = Y_RIPLEY.astype(object)
    y[::2] = -1
    semi = SemiSupervisedSDGMClassifier(
        SDGMClassifier(1, record_states=True, teacher=None), random_state=0
    )
    story = film(semi.fit(X_RIPLEY, y.astype(int)), X_RIPLEY, y.astype(int))
    assert len(story["rows/index"]) == 125
    assert set(story["rows/y"]) == {0, 1}


def test_of_many_rows_some_are_kept_from_every_class_and_all_relevance_vectors():
    X, y = make_blobs([900, 80, 20], 3, random_state=0)
    model = KernelSDGMClassifier(1, record_states=True, random_state=0, teacher=None).fit(X, y)
    story = film(model, X, y)
    assert len(story["rows/index"]) == FILM_ROWS
    assert set(story["rows/y"]) == {0, 1, 2}
    assert set(model.relevance_) <= set(story["rows/index"].tolist())
    assert len(np.unique(story["rows/index"])) == FILM_ROWS


def test_many_inputs_have_a_view_and_the_weightiest_features():
    X, y = load_wine(return_X_y=True)
    model = SDGMClassifier(1, record_states=True, random_state=0, teacher=None).fit(X, y)
    story = film(model, X, y)
    assert story["view"].shape == (178, 2)
    assert "grid" not in story
    assert len(story["rows/features"]) == 4
    np.testing.assert_allclose(story["rows/x"], X[:, story["rows/features"]], rtol=1e-6)


def test_one_input_can_be_filmed():
    X, y = X_RIPLEY[:, :1], Y_RIPLEY
    story = film(SDGMClassifier(1, record_states=True, teacher=None).fit(X, y), X, y)
    assert np.isfinite(story["view"]).all()


def test_frames_go_from_the_first_iteration_to_the_last():
    for n_iter in (1, 2, 40, 41, 55, 630, 10_000):
        chosen = film_iterations(n_iter)
        assert chosen[0] == 1
        assert chosen[-1] == n_iter
        assert len(chosen) <= 40
        assert len(chosen) > min(n_iter, 30) - 1
        assert (np.diff(chosen) > 0).all()


def test_the_component_that_left_is_found():
    def state(w, component, column, classes):
        n = len(classes)
        return State(
            np.array(w),
            np.ones(len(w)),
            np.array(component),
            np.array(column),
            np.full(n, 1.0 / n),
            np.array(classes),
        )

    before = state([1.0, -2.0, 0.5, 3.0], [0, 1, 1, 2], [1, 1, 2, 3], [0, 0, 1])
    after = state([-1.9, 0.4, 3.1], [0, 0, 1], [1, 2, 3], [0, 1])
    assert [ids.tolist() for ids in component_identities([before, before, after])] == [
        [0, 1, 2],
        [0, 1, 2],
        [1, 2],
    ]


def test_the_cheapest_increasing_choice_is_found():
    rng = np.random.default_rng(0)
    for _ in range(20):
        cost = rng.random((2, 4))
        best = min(
            ((i, j) for i in range(4) for j in range(i + 1, 4)),
            key=lambda pair: cost[0, pair[0]] + cost[1, pair[1]],
        )
        assert tuple(survivors_in_order(cost)) == best


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_a_view_separates_classes_that_lie_apart(n_classes):
    centers = 6.0 * np.eye(n_classes, 8)
    X, y = make_blobs(60 * n_classes, centers=centers, n_features=8, random_state=0)
    view = discriminant_view((X - X.mean(axis=0)) / X.std(axis=0), y)
    if n_classes == 2:
        means = [view[y == c, 0].mean() for c in range(2)]
        assert abs(means[0] - means[1]) > 4.0 * view[y == 0, 0].std()
    assert view.shape == (60 * n_classes, 2)
    assert np.isfinite(view).all()


def test_constant_rows_have_a_view():
    assert np.array_equal(discriminant_view(np.zeros((5, 3)), np.arange(5) % 2), np.zeros((5, 2)))


@pytest.fixture(scope="module")
def filmed():
    model = KernelSDGMClassifier(1, record_states=True, random_state=0, teacher=None)
    model.fit(X_RIPLEY, Y_RIPLEY)
    return model, film(model, X_RIPLEY, Y_RIPLEY)


@pytest.mark.parametrize(
    "change",
    [
        {"rows/y": np.full(250, 2, dtype=np.int32)},
        {"rows/y": np.zeros(3, dtype=np.int32)},
        {"grid": np.zeros((3, 1, 8, 8), dtype=np.uint8)},
        {"rows/features": np.array([0, 7], dtype=np.int32)},
        {"alpha/component": np.array([99])},
        {"rows/x": np.zeros((250, 2), dtype=np.int32)},
        {"iteration": None},
    ],
)
def test_a_story_that_does_not_fit_together_is_not_told(filmed, change):
    model, story = filmed
    assert is_consistent(story, model)
    changed = {name: array for name, array in (story | change).items() if array is not None}
    assert not is_consistent(changed, model)
