"""Claims about settings chosen from the training rows: the choice, and what the user gets."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import rel_entr
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_circles, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sdgm import KernelSDGMClassifier, RVMClassifier, SDGMClassifier
from sdgm._typing import FloatArray, IntArray
from sdgm.core.inference.mode import EMGradient
from sdgm.datasets import make_ripley
from sdgm.estimators import choosing
from sdgm.estimators.choosing import (
    FAITHFUL,
    FAITHFUL_SHARE,
    MORE_REPLICATES,
    NEARLY,
    NEEDLESS,
    SPENT,
    choose,
    limit_of,
    preference,
    targets_for,
    tolerance_of,
)
from sdgm.estimators.distillation import Targets
from sdgm.estimators.parameters import OpenSettings
from sdgm.estimators.plan import Plan, plan_of
from sdgm.estimators.preparation import prepared_again
from sdgm.estimators.problem import Sample
from sdgm.estimators.run import Run
from sdgm.estimators.training import Candidate, Fit, Training
from tests.estimators.problems import assert_proper, blobs, own_warnings_allowed, two_modes

both_forms = pytest.mark.parametrize("form", [SDGMClassifier, KernelSDGMClassifier])
few_examples = settings(max_examples=5, deadline=None, derandomize=True)


def ripley(n_train: int = 120) -> tuple[FloatArray, IntArray]:
    X, y, _, _ = make_ripley(n_train, 4).split()
    return X, y


PROBLEMS: dict[str, tuple[FloatArray, IntArray]] = {
    "ripley": ripley(),
    "moons": make_moons(120, noise=0.2, random_state=0),
    "circles": make_circles(120, noise=0.1, factor=0.5, random_state=0),
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
}


@cache
def fitted(form: Any, name: str) -> Any:
    """An automatic fit that nobody may change."""
    return form(random_state=0).fit(*PROBLEMS[name])


def targets_of_fit(form: Any, X: FloatArray, y: IntArray) -> Targets:
    """What an automatic fit learns from."""
    plan, problem = prepared_again(form(random_state=0), X, y)
    targets = targets_for(problem, plan)
    assert targets is not None
    return targets


# --- the choice ---


def candidate(n_weights: int, n_numbers: int, divergence: float) -> Candidate:
    return Candidate({}, 8.0, n_weights, n_numbers, divergence)


def test_what_is_faithful_depends_on_what_the_teacher_knows() -> None:
    sample = Sample(np.zeros((1, 1)), np.full((1, 2), 0.5), np.ones(1))
    assert tolerance_of(Targets.at_rows(sample)) == FAITHFUL
    assert tolerance_of(Targets.at_rows(sample, log_loss=1.0)) == FAITHFUL_SHARE


def test_weights_leave_up_to_what_is_faithful_only_from_a_model_made_to_be() -> None:
    sample = Sample(np.zeros((2, 1)), np.array([[0.5, 0.5], [0.2, 0.8]]), np.ones(2))
    targets, plan = Targets.at_rows(sample), plan_of(SDGMClassifier())
    plain = Candidate({}, plan.form.replicates, 3, 3, 0.001)
    closer = replace(plain, replicates=4.0 * plain.replicates)
    far = replace(closer, divergence=2.0 * FAITHFUL)
    assert 0.001 + NEEDLESS < SPENT < FAITHFUL
    assert limit_of(plain, plan, targets) == SPENT
    near = replace(plain, divergence=SPENT)
    assert limit_of(near, plan, targets) == SPENT + NEEDLESS
    assert limit_of(closer, plan, targets) == FAITHFUL
    assert limit_of(far, plan, targets) == far.divergence + NEEDLESS
    given = plan_of(SDGMClassifier(max_divergence=0.1))
    assert [limit_of(each, given, targets) for each in (plain, closer, far)] == [0.1] * 3


def test_preference_is_truth_then_size_or_closeness() -> None:
    best_first = [
        candidate(8, 8, 0.5 * FAITHFUL),  # small and true
        candidate(8, 8, 0.9 * FAITHFUL),  # equally small, not as close
        candidate(3, 30, 0.0),  # true, but more numbers
        candidate(9, 90, 2.0 * FAITHFUL),  # not true, but close
        candidate(1, 1, 3.0 * FAITHFUL),
    ]
    found = sorted(reversed(best_first), key=lambda each: preference(each, FAITHFUL))
    assert found == best_first


class NoColumns:
    """A basis that stores nothing."""

    n_stored_numbers = 0


@dataclass(frozen=True)
class StubModel:
    """A model with a given divergence from equal probabilities, and a given number of weights."""

    divergence: float
    n_weights: int
    basis: NoColumns = field(default_factory=NoColumns)

    def log_proba(self, X: FloatArray) -> FloatArray:
        # (q, 1 - q) with divergence -ln(4 q (1 - q)) / 2 from (1/2, 1/2)
        q = 0.5 + 0.5 * np.sqrt(1.0 - np.exp(-2.0 * self.divergence))
        return np.log(np.tile([q, 1.0 - q], (len(X), 1)))


@dataclass(frozen=True)
class StubForm:
    """A form that tries what it was told to."""

    tried: list[list[dict[str, Any]]]
    settings: OpenSettings | None = None

    replicates: ClassVar[float] = 5.0

    def with_settings(self, settings: OpenSettings) -> StubForm:
        return replace(self, settings=settings)

    def rounds(self, *_: Any) -> Iterator[list[dict[str, Any]]]:
        return iter(self.tried)


def stub_fit(plan: Plan, targets: Targets, replicates: float, classes: Any, run: Run) -> Fit:
    """A model that is half as far with four times the replicates, and has twice the weights.

    One that is stuck stays where it is.
    """
    given, times = plan.settings.given, np.sqrt(replicates / StubForm.replicates)
    times = 1.0 if given.get("stuck") else times
    training = Training([], 0.0, np.zeros(1), 0, True, "converged", "")
    model: Any = StubModel(given["divergence"] / times, int(given["n_weights"] * times))
    return Fit(model, training)


def chosen(
    rounds: list[list[dict[str, Any]]], max_weights: int | None = None, within: Any = None
) -> tuple[Any, list[Candidate]]:
    even = Targets.at_rows(Sample(np.arange(6.0)[:, None], np.full((6, 2), 0.5), np.ones(6)))
    plan = replace(plan_of(SDGMClassifier(random_state=0)), form=StubForm(rounds))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choosing, "candidate_fit", stub_fit)
        patch.setattr(choosing, "divergence_within", within)
        fit, tried, _ = choose(plan, even, np.arange(2), Run(), max_weights)
    return fit.model, tried


def stub(times_faithful: float, n_weights: int) -> dict[str, Any]:
    return {"divergence": times_faithful * FAITHFUL, "n_weights": n_weights}


def test_the_first_round_with_a_faithful_model_decides() -> None:
    rounds = [[stub(9.0, 1)], [stub(0.9, 7), stub(0.1, 9)], [stub(0.0, 2)]]
    model, tried = chosen(rounds)
    assert model.n_weights == 7
    assert len(tried) == 3 and tried[0].parameters == rounds[1][0]
    assert tried[0].divergence == pytest.approx(0.9 * FAITHFUL)


def test_without_a_faithful_model_the_closest_has_more_replicates() -> None:
    model, tried = chosen([[stub(90.0, 1)], [stub(20.0, 50), stub(30.0, 2)], [stub(40.0, 60)]])
    assert model.n_weights == 200 and tried[0].divergence == pytest.approx(5.0 * FAITHFUL)
    own = StubForm.replicates
    assert [each.replicates for each in tried[:3]] == [16.0 * own, 4.0 * own, own]
    assert len(tried) == 4 + len(MORE_REPLICATES)


@pytest.mark.parametrize(("far", "expected"), [(0.9, [20, 10, 3, 3, 5]), (1.1, [3, 3, 5])])
def test_where_the_closest_comes_no_closer_the_simplest_may(far: float, expected: Any) -> None:
    rounds = [[stub(10.0 * far * NEARLY, 5)], [stub(10.0, 3) | {"stuck": True}]]
    _, tried = chosen(rounds)
    assert [each.n_weights for each in tried] == expected


def test_where_it_is_close_more_replicates_come_before_richer_settings() -> None:
    model, tried = chosen([[stub(0.9 * NEARLY, 3)], [stub(0.0, 1)]])
    assert [each.n_weights for each in tried] == [6, 3]
    assert model.n_weights == 6


def test_where_replicates_bring_nothing_richer_settings_are_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(choosing, "MORE_REPLICATES", (1.0,))
    model, tried = chosen([[stub(0.9 * NEARLY, 3)], [stub(0.5, 20)]])
    assert len(tried) == 3
    assert model.n_weights == 20


def test_replicates_that_bring_nothing_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "WORTH_MORE", 0.4)
    _, tried = chosen([[stub(9.0, 3)]])
    assert [each.n_weights for each in tried] == [6, 3]


def test_a_budget_that_the_choice_keeps_changes_nothing() -> None:
    model, tried = chosen([[stub(0.5, 9), stub(0.6, 3)], [stub(0.0, 1)]], max_weights=4)
    assert model.n_weights == 3
    assert len(tried) == 2


def test_above_the_budget_the_closest_within_it_is_chosen() -> None:
    asked = []

    def within(fit: Fit, max_weights: int, recipe: Any, soft: Any) -> float:
        asked.append(max_weights)
        return 1.0 / fit.model.n_weights

    model, tried = chosen([[stub(9.0, 7)], [stub(0.5, 16), stub(0.6, 18)]], 4, within)
    assert asked == [4, 4, 4]
    assert [each.n_weights for each in tried] == [18, 16, 7]
    assert model.n_weights == 18


# --- what the user gets ---


@both_forms
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_fit_is_close_to_its_teacher(form: Any, name: str) -> None:
    X, y = PROBLEMS[name]
    targets, model = targets_of_fit(form, X, y), fitted(form, name)
    assert_proper(model, X)
    assert set(model.chosen_) == set(model.fixed_settings)
    best = model.candidates_[0]
    assert best.parameters == model.chosen_
    assert best.n_weights == model.n_active_weights_
    n_inputs = np.size(getattr(model, "relevance_vectors_", []))
    assert best.n_numbers == model.n_active_weights_ + n_inputs
    rows = targets.judged
    divergence = rel_entr(rows.y, model.predict_proba(rows.X)).sum(axis=1).mean()
    assert model.fidelity_ == best.divergence == pytest.approx(divergence, abs=1e-6)
    assert divergence < 3.0 * tolerance_of(targets)
    # both err on the same rows, but for a few that are doubtful
    P, Q = targets.learned.y, model.predict_proba(targets.learned.X)
    differ = P.argmax(axis=1) != Q.argmax(axis=1)
    assert differ.mean() <= 0.05


@both_forms
def test_a_linear_boundary_is_learned_as_well_as_by_logistic_regression(form: Any) -> None:
    losses = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1650, 6))
        y = (X @ [2.0, -1.0, 1.0, 0.0, 0.0, 0.0] + rng.logistic(size=len(X)) > 0.0).astype(int)
        train, test = slice(150), slice(150, None)
        linear = LogisticRegression().fit(X[train], y[train]).score(X[test], y[test])
        losses.append(linear - form().fit(X[train], y[train]).score(X[test], y[test]))
    assert np.mean(losses) < 0.02


@both_forms
@pytest.mark.slow
def test_wdbc_is_learned_as_well_as_by_logistic_regression(form: Any) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    linear = make_pipeline(StandardScaler(), LogisticRegression())
    losses = []
    for seed in range(4):
        a, b, c, d = train_test_split(X, y, train_size=200, random_state=seed, stratify=y)
        losses.append(linear.fit(a, c).score(b, d) - form(random_state=0).fit(a, c).score(b, d))
    assert np.mean(losses) < 0.02


def test_relevance_vectors_are_rows_of_the_user() -> None:
    for name, (X, _) in PROBLEMS.items():
        model = fitted(KernelSDGMClassifier, name)
        assert len(model.relevance_) > 0
        np.testing.assert_array_equal(model.relevance_vectors_, X[model.relevance_])
        np.testing.assert_allclose(
            model.model_.basis.vectors,
            (X[model.relevance_] - model.model_.scaler.center) * model.model_.scaler.inverse_scale,
        )


def test_relevance_counts_the_rows_as_given_with_repeated_and_unused_ones() -> None:
    X, y = PROBLEMS["moons"]
    X, y = np.concatenate([X[:20] + 9.0, X, X]), np.concatenate([y[:20], y, y])
    s = np.repeat([0.0, 1.0], [20, len(y) - 20])
    model = KernelSDGMClassifier().fit(X, y, s)
    np.testing.assert_array_equal(model.relevance_vectors_, X[model.relevance_])
    assert model.relevance_.min() >= 20
    assert model.relevance_.max() < 20 + len(PROBLEMS["moons"][1])


def test_terms_have_the_names_of_the_users_columns() -> None:
    X, y = load_iris(return_X_y=True)
    plain = fitted(SDGMClassifier, "iris")
    table = pytest.importorskip("pandas").DataFrame(X, columns=list("abcd"))
    named = SDGMClassifier(random_state=0).fit(table, y)
    assert len(named.terms_) == named.coef_.shape[1]
    renamed = [term.translate(str.maketrans("abcd", "1234")) for term in named.terms_]
    assert renamed == [term.replace("x", "") for term in plain.terms_]


@both_forms
def test_a_smaller_divergence_asks_for_more(form: Any) -> None:
    X, y = two_modes(80)
    enough, closest, rough = (
        form(max_divergence=limit, random_state=0).fit(X, y) for limit in (None, 0, 10.0)
    )
    assert closest.fidelity_ == min(each.divergence for each in closest.candidates_)
    assert len(rough.candidates_) <= len(enough.candidates_) <= len(closest.candidates_)
    assert closest.fidelity_ <= enough.fidelity_ <= rough.fidelity_ + 1e-12
    assert rough.candidates_[0].n_numbers == min(each.n_numbers for each in rough.candidates_)


@both_forms
@few_examples
@given(max_weights=st.integers(1, 12), seed=st.integers(0, 100))
def test_a_budget_of_weights_is_kept(form: Any, max_weights: int, seed: int) -> None:
    X, y = two_modes(60, seed=seed)
    with own_warnings_allowed():
        model = form(max_weights=max_weights, random_state=0).fit(X, y)
    assert 1 <= model.n_active_weights_ <= max_weights
    assert_proper(model, X)
    assert model.weights_path_["n_weights"][-1] == model.n_active_weights_


# --- what must not change a fit ---


def assert_same(one: Any, other: Any, X: FloatArray) -> None:
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    assert one.chosen_ == other.chosen_
    assert one.n_active_weights_ == other.n_active_weights_
    np.testing.assert_array_equal(one.covariance_, other.covariance_)


@both_forms
@few_examples
@given(n_classes=st.integers(2, 3), ties=st.booleans(), seed=st.integers(0, 1000))
def test_repetition_order_and_absence_are_weights(
    form: Any, n_classes: int, ties: bool, seed: int
) -> None:
    X, y = blobs(36, n_classes, seed=seed)
    X = X.round(1) if ties else X
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 4, size=len(y))
    s[:n_classes] = 1
    model = form(random_state=0)
    with own_warnings_allowed():
        weighted = clone(model).fit(X, y, s.astype(float))
        order = rng.permutation(s.sum())
        repeated = clone(model).fit(X.repeat(s, axis=0)[order], y.repeat(s)[order])
    assert_same(weighted, repeated, X)


@both_forms
def test_names_of_classes_do_not_matter(form: Any) -> None:
    X, y = PROBLEMS["iris"]
    same_order = form(random_state=0).fit(X, np.array(["one", "three", "two"])[y])
    assert same_order.classes_.tolist() == ["one", "three", "two"]
    assert_same(fitted(form, "iris"), same_order, X)
    assert set(same_order.predict(X)) == {"one", "three", "two"}
    reverse = form(random_state=0).fit(X, np.array(["c", "b", "a"])[y])
    np.testing.assert_allclose(
        reverse.predict_proba(X)[:, ::-1], same_order.predict_proba(X), atol=1e-3
    )


@both_forms
def test_class_weights_shift_probabilities(form: Any) -> None:
    X, y = PROBLEMS["ripley"]
    factor = {0: 1.0, 1: 3.0}
    by_class = form(class_weight=factor, random_state=0).fit(X, y)
    named = form(2, class_weight=factor, random_state=0, teacher=None).fit(X, y)
    weighted = form(2, random_state=0, teacher=None).fit(X, y, np.where(y == 1, 3.0, 1.0))
    assert_same(named, weighted, X)
    shift = by_class.predict_proba(X)[:, 1] - fitted(form, "ripley").predict_proba(X)[:, 1]
    assert shift.mean() > 0.05


@both_forms
def test_fit_leaves_the_parameters_as_they_were(form: Any) -> None:
    model = fitted(form, "moons")
    assert model.get_params() == form(random_state=0).get_params()
    assert_same(clone(model).fit(*PROBLEMS["moons"]), model, PROBLEMS["moons"][0])


@both_forms
def test_a_pickled_model_predicts_the_same(form: Any) -> None:
    X, _ = PROBLEMS["moons"]
    model = fitted(form, "moons")
    assert_same(pickle.loads(pickle.dumps(model)), model, X)


@both_forms
def test_within_a_budget_fidelity_is_of_the_model_that_is_left(form: Any) -> None:
    X, y = PROBLEMS["moons"]
    model = form(max_weights=2, random_state=0).fit(X, y)
    rows = targets_of_fit(form, X, y).judged
    divergence = rel_entr(rows.y, model.predict_proba(rows.X)).sum(axis=1).mean()
    assert model.fidelity_ == pytest.approx(divergence, abs=1e-6)
    assert model.candidates_[0].n_weights == model.n_active_weights_ == 2


@both_forms
def test_a_warm_start_keeps_what_was_chosen_and_the_teacher(form: Any) -> None:
    X, y = PROBLEMS["moons"]
    model = form(warm_start=True, random_state=0).fit(X, y)
    before, chosen = model.predict_proba(X), model.chosen_
    model.fit(X, y)
    assert model.chosen_ == chosen != {}
    # it still learns from the teacher, not from the labels
    np.testing.assert_allclose(model.predict_proba(X), before, atol=0.05)
    assert model.fidelity_ == model.candidates_[0].divergence
    model.set_params(warm_start=False).fit(X, y)
    assert_same(model, fitted(form, "moons"), X)


# --- one setting only ---


def test_auto_for_one_setting_leaves_the_others_as_given() -> None:
    X, y = PROBLEMS["moons"]
    model = KernelSDGMClassifier(1, kernel="rbf", gamma="auto", random_state=0).fit(X, y)
    assert model.chosen_ == {"n_components": 1, "kernel": "rbf", "gamma": model.gamma_}
    assert {each.parameters["kernel"] for each in model.candidates_} == {"rbf"}
    model = SDGMClassifier(2, covariance_type="auto", random_state=0).fit(X, y)
    assert model.chosen_["n_components"] == 2
    assert all(each.parameters["n_components"] == 2 for each in model.candidates_)
    model = SDGMClassifier("auto", covariance_type="diag", random_state=0).fit(X, y)
    assert model.chosen_["covariance_type"] == "diag"


def test_the_scale_of_a_relevance_vector_machine_can_be_chosen() -> None:
    X, y = PROBLEMS["moons"]
    model = RVMClassifier(gamma="auto", random_state=0).fit(X, y)
    assert model.chosen_["gamma"] == model.gamma_
    assert model.n_components_.tolist() == [1, 1]
    assert model.score(X, y) > 0.9


@both_forms
@pytest.mark.parametrize("reason", ["numerical trouble", "labels"])
def test_without_a_teacher_the_settings_are_the_fixed_ones(
    monkeypatch: pytest.MonkeyPatch, reason: str, form: Any
) -> None:
    def trouble(*_: Any) -> None:
        raise np.linalg.LinAlgError("no convergence")

    X, y = two_modes(51)
    model = form(random_state=0)
    if reason == "labels":
        model.set_params(teacher=None)
    else:
        monkeypatch.setattr(choosing, "targets_of", trouble)
    model.fit(X, y)
    assert model.chosen_ == {} and model.candidates_ == []
    assert not hasattr(model, "fidelity_")
    fixed = form(3, random_state=0, teacher=None).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), fixed.predict_proba(X))


@both_forms
def test_a_class_of_two_rows_is_no_reason_to_warn(form: Any) -> None:
    # nobody asked for more components than rows; warnings are errors
    X, _ = blobs(8, 2)
    model = form(random_state=0).fit(X, np.repeat([0, 1], [6, 2]))
    assert model.chosen_ != {}


# --- while and after learning ---


def interrupt_after(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, n_calls: int
) -> list[None]:
    """As if the user pressed Ctrl-C in a call of this function; returns its calls so far."""
    original = getattr(owner, name)
    calls: list[None] = []

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        calls.append(None)
        if len(calls) > n_calls:
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, interrupted)
    return calls


@both_forms
def test_an_interrupt_between_candidates_ends_the_whole_fit(
    monkeypatch: pytest.MonkeyPatch, form: Any
) -> None:
    calls = interrupt_after(monkeypatch, choosing, "judged", 1)
    with pytest.raises(KeyboardInterrupt):
        form(random_state=0).fit(*PROBLEMS["moons"])
    assert len(calls) == 2


@both_forms
@pytest.mark.parametrize("n_calls", [1, 3, 6])
def test_an_interrupt_within_a_candidate_ends_the_whole_fit_with_the_best_so_far(
    monkeypatch: pytest.MonkeyPatch, n_calls: int, form: Any
) -> None:
    X, y = PROBLEMS["moons"]
    calls = interrupt_after(monkeypatch, EMGradient, "__call__", n_calls)
    model = form(random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert len(calls) == n_calls + 1
    assert_proper(model, X)
    assert model.chosen_ == model.candidates_[0].parameters
    assert "interrupted" in {each.stop_reason for each in model.candidates_}


@both_forms
def test_an_interrupt_before_the_first_pass_of_a_later_candidate_keeps_those_before(
    monkeypatch: pytest.MonkeyPatch, form: Any
) -> None:
    X, y = PROBLEMS["moons"]
    # so that all are tried
    monkeypatch.setattr(choosing, "FAITHFUL", 0.0)
    monkeypatch.setattr(choosing, "FAITHFUL_SHARE", 0.0)
    fit, calls = choosing.student_fit, []

    def interrupting(*arguments: Any) -> Any:
        calls.append(None)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return fit(*arguments)

    monkeypatch.setattr(choosing, "student_fit", interrupting)
    model = form(random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert len(calls) == 2
    assert [each.stop_reason for each in model.candidates_] == ["interrupted"]
    assert_proper(model, X)


def test_the_covariance_is_that_of_the_labels_each_counted_once() -> None:
    X, y = PROBLEMS["ripley"]
    model = SDGMClassifier(1, covariance_type="auto", random_state=0, teacher=None).fit(X, y)
    Phi = np.column_stack(
        [np.ones(len(X)), model.model_.basis.transform(model.model_.scaler.standardized(X))]
    )
    P = model.predict_component_proba(X)
    k, h = np.nonzero(model.model_.active)
    A = np.diag(model.model_.state.alpha)
    for n in range(len(X)):
        W = np.diag(P[n]) - np.outer(P[n], P[n])
        A += W[np.ix_(k, k)] * np.outer(Phi[n, h], Phi[n, h])
    np.testing.assert_allclose(model.covariance_, np.linalg.inv(A), rtol=1e-6)


@both_forms
def test_averaged_probabilities_are_less_certain_with_fewer_rows(form: Any) -> None:
    X, y, X_test, _ = make_ripley(240, 100).split()
    deviation = {}
    for step in (1, 8):
        model = form(random_state=0).fit(X[::step], y[::step])
        mean, std = model.predict_proba_averaged(X_test, return_std=True)
        np.testing.assert_allclose(mean.sum(axis=1), 1.0)
        deviation[step] = std.mean()
    assert deviation[8] > 1.3 * deviation[1] > 0.0
