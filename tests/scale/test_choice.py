"""Claims about settings of many rows: labels of rows that nothing was learned from decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import log_loss

from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm._typing import FloatArray, IntArray
from sdgm.core.solvers.precision import FactorizationError
from sdgm.estimators.plan import plan_of
from sdgm.estimators.run import Run
from sdgm.scale import choice, many_rows
from sdgm.scale.choice import chosen_by_labels, scale_by_labels, unseen_labels
from sdgm.scale.sampling import Picked
from tests.small_scale import assert_same, make_small


@pytest.fixture(autouse=True)
def small_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand rows are many, and blocks have 64 of them."""
    make_small(monkeypatch)


def gaussians(
    n_modes: int, n_rows: int, seed: int, n_inputs: int = 2
) -> tuple[FloatArray, IntArray]:
    """Two classes of so many Gaussians each, in alternation along an input."""
    rng = np.random.default_rng(seed)
    mode = rng.integers(2 * n_modes, size=n_rows)
    X = rng.normal(size=(n_rows, n_inputs))
    X[:, 0] += 3.0 * mode
    return X, mode % 2


def picked(n_rows: int, first: int = 0, seed: int = 0) -> Picked:
    X, y = gaussians(2, n_rows, seed)
    return Picked(X, y, np.ones(n_rows), first + np.arange(n_rows))


@pytest.mark.parametrize("n_modes", [1, 2])
def test_as_many_components_are_chosen_as_the_classes_have(n_modes: int) -> None:
    X, y = gaussians(n_modes, 3_000, 0)
    model = SDGMClassifier(random_state=0).fit(X, y)
    assert model.chosen_["n_components"] == n_modes
    X_test, y_test = gaussians(n_modes, 10_000, 1)
    given = SDGMClassifier(n_modes, covariance_type="full", teacher=None, random_state=0)
    losses = [log_loss(y_test, m.predict_proba(X_test)) for m in (model, given.fit(X, y))]
    assert losses[0] <= losses[1] + 1e-3


def test_what_was_chosen_of_many_rows_gives_the_same_model_when_named() -> None:
    X, y = gaussians(2, 1_500, 0)
    chosen = SDGMClassifier(random_state=0).fit(X, y)
    named = SDGMClassifier(**chosen.chosen_, random_state=0).fit(X, y)
    assert_same(named, chosen)
    assert named.chosen_ == chosen.chosen_
    assert len(named.candidates_) == 1 < len(chosen.candidates_)


def test_rows_of_the_sample_do_not_judge() -> None:
    sample, others = picked(20), picked(30, first=10)
    unseen = unseen_labels(sample, others, 2)
    np.testing.assert_array_equal(unseen.X, others.X[10:])
    np.testing.assert_array_equal(unseen.y.argmax(axis=1), others.y[10:])
    np.testing.assert_array_equal(unseen.y.sum(axis=1), 1.0)
    assert len(unseen_labels(sample, sample, 2).s) == 20  # there are no others


def test_a_candidate_is_judged_by_its_log_loss() -> None:
    sample, others = picked(400), picked(300, first=1_000, seed=1)
    plan = plan_of(SDGMClassifier(1, random_state=0))
    fit = chosen_by_labels(sample, others, np.arange(2), plan, Run())
    model = SDGMClassifier(1, covariance_type="full", teacher=None, random_state=0)
    P = model.fit(sample.X, sample.y).predict_proba(others.X)
    (candidate,) = fit.training.candidates
    assert candidate.divergence == pytest.approx(log_loss(others.y, P), rel=1e-9)


def test_the_loss_that_is_allowed_decides_between_simple_and_close() -> None:
    sample, others = picked(800), picked(1_000, first=1_000, seed=1)
    chosen = [
        chosen_by_labels(
            sample,
            others,
            np.arange(2),
            plan_of(SDGMClassifier(random_state=0, max_divergence=allowed)),
            Run(),
        ).training.candidates
        for allowed in (0.0, 1.0)
    ]
    closest, simplest = chosen
    assert closest[0].divergence == min(each.divergence for each in closest)
    assert simplest[0].parameters["n_components"] == 1 < closest[0].parameters["n_components"]


def test_a_candidate_that_fails_is_left_out_and_nothing_hides_that_all_fail(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fit, refused = choice.label_fit, {1}

    def refusing(sample: Picked, classes: Any, plan: Any, run: Run) -> Any:
        if plan.settings["n_components"] in refused:
            raise FactorizationError("not this one")
        return fit(sample, classes, plan, run)

    monkeypatch.setattr(choice, "label_fit", refusing)
    X, y = gaussians(1, 1_500, 0)
    assert SDGMClassifier(random_state=0).fit(X, y).chosen_["n_components"] > 1
    refused |= {2, 3}
    with pytest.raises(FactorizationError, match="not this one"):
        SDGMClassifier(random_state=0).fit(X, y)


def test_after_an_interrupt_the_best_so_far_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    fit, first = choice.label_fit, [1]

    def interrupted(sample: Picked, classes: Any, plan: Any, run: Run) -> Any:
        if plan.settings["n_components"] not in first:
            raise KeyboardInterrupt
        return fit(sample, classes, plan, run)

    monkeypatch.setattr(choice, "label_fit", interrupted)
    sample, others = picked(400), picked(300, first=1_000, seed=1)
    plan = plan_of(SDGMClassifier(random_state=0))
    kept = chosen_by_labels(sample, others, np.arange(2), plan, Run())
    assert kept.is_interrupted and kept.training.chosen["n_components"] == 1
    first.clear()
    with pytest.raises(KeyboardInterrupt):
        chosen_by_labels(sample, others, np.arange(2), plan, Run())


def test_many_rows_need_no_teacher_where_labels_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = gaussians(1, 1_500, 0)
    expected = SDGMClassifier(random_state=0).fit(X, y)

    def asked(*arguments: Any) -> None:
        raise AssertionError("a teacher is asked")

    monkeypatch.setattr(many_rows, "targets_for", asked)
    assert_same(SDGMClassifier(random_state=0).fit(X, y), expected)
    KernelSDGMClassifier(random_state=0).fit(X, y)
    # relevance vectors of labels take long where classes are many
    monkeypatch.setattr(many_rows, "LABELLED_CLASSES", 1)
    with pytest.raises(AssertionError, match="a teacher is asked"):
        KernelSDGMClassifier(random_state=0).fit(X, y)


def test_labels_choose_kernel_and_scale() -> None:
    """Classes that alternate along an input need a narrow kernel, one Gaussian each a wide one."""
    scales = []
    for n_modes, kernel in ((1, "poly"), (4, "rbf")):
        X, y = gaussians(n_modes, 3_000, 0)
        model = KernelSDGMClassifier(random_state=0).fit(X, y)
        assert model.chosen_["kernel"] == kernel
        X_test, y_test = gaussians(n_modes, 5_000, 1)
        assert log_loss(y_test, model.predict_proba(X_test)) < 0.4
        rows = Picked(X, y, np.ones(len(y)), np.arange(len(y)))
        plan = plan_of(KernelSDGMClassifier(random_state=0))
        scales.append(scale_by_labels(rows, np.arange(2), plan, "rbf"))
    assert scales[0] < scales[1]


def test_named_settings_of_a_kernel_stay() -> None:
    X, y = gaussians(2, 1_500, 0)
    chosen = KernelSDGMClassifier(random_state=0).fit(X, y)
    assert_same(KernelSDGMClassifier(**chosen.chosen_, random_state=0).fit(X, y), chosen)
    named = KernelSDGMClassifier(kernel="rbf", gamma=0.5, random_state=0).fit(X, y)
    assert named.chosen_["gamma"] == 0.5 and named.chosen_["kernel"] == "rbf"
