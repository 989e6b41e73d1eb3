"""Claims about models in words."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.metrics.pairwise import laplacian_kernel

from sdgm import (
    DiscriminativeGMMClassifier,
    KernelSDGMClassifier,
    SDGMClassifier,
)
from sdgm.description import Description, describe
from tests.export.onnx_models import (
    INPUTS,
    KINDS,
    clusters,
    fitted,
    pruned_to_nothing,
    table_columns,
    table_model,
)
from tests.fitted import set_covariance, set_mixture_weights, set_weights
from tests.reference.gaussians import weights_from_gaussian


def modes_of(words: Description) -> list[Any]:
    return [mode for each in words.classes for mode in each.modes]


def dense_gaussians() -> tuple[Any, np.ndarray, np.ndarray]:
    """A model of all quadratic terms whose components are two known Gaussians, standardised."""
    X, y = clusters(2, 2)
    model = DiscriminativeGMMClassifier(1).fit(X, y)
    mean = np.array([[0.5, -1.0], [2.0, 0.0]])
    covariance = np.array([[[1.0, 0.3], [0.3, 0.5]], [[2.0, 0.0], [0.0, 0.1]]])
    w = weights_from_gaussian(mean, covariance)
    set_weights(model, w[:, 1:], w[:, 0])
    return model, mean, covariance


@pytest.mark.parametrize("kind", KINDS)
def test_every_weight_is_told_with_its_deviation(kind: str) -> None:
    model, _ = fitted(kind)
    model = getattr(model, "estimator_", model)
    words = describe(model)
    assert words.n_weights == model.n_active_weights_
    coef, intercept = np.zeros(model.coef_.shape), np.zeros(len(model.coef_))
    std = np.full(model.model_.active.shape, np.nan)
    for k, mode in enumerate(modes_of(words)):
        assert mode.mixture_weight == model.mixture_weights_[k]
        for term in mode.terms:
            coef[k, term.column] = term.weight
            std[k, 1 + term.column] = term.std
        if mode.constant is not None:
            intercept[k], std[k, 0] = mode.constant.weight, mode.constant.std
    np.testing.assert_array_equal(coef, model.coef_)
    np.testing.assert_array_equal(intercept, model.intercept_)
    np.testing.assert_allclose(std[model.model_.active], np.sqrt(np.diagonal(model.covariance_)))


def test_terms_are_named_and_the_most_certain_comes_first() -> None:
    model, _ = fitted("dense")
    for mode in modes_of(describe(model)):
        certainty = [abs(term.weight) / term.std for term in mode.terms]
        assert certainty == sorted(certainty, reverse=True)
        assert [term.name for term in mode.terms] == [model.terms_[t.column] for t in mode.terms]


def test_terms_know_their_features() -> None:
    model, _ = fitted("dense")
    features = {
        term.name: term.features for mode in modes_of(describe(model)) for term in mode.terms
    }
    assert features["x1"] == ("x1",) and features["x2^2"] == ("x2",)
    assert features["x1*x3"] == ("x1", "x3")
    model, _ = fitted("spherical")
    features = {
        term.name: term.features for mode in modes_of(describe(model)) for term in mode.terms
    }
    assert features["|x|^2"] == ("x1", "x2", "x3")


def test_a_gaussian_is_told_in_the_users_units() -> None:
    model, mean, covariance = dense_gaussians()
    scale = 1.0 / model.model_.scaler.inverse_scale
    for k, mode in enumerate(modes_of(describe(model))):
        gaussian = mode.gaussian
        np.testing.assert_allclose(gaussian.mean, model.model_.scaler.center + scale * mean[k])
        np.testing.assert_allclose(gaussian.std, scale * np.sqrt(np.diagonal(covariance[k])))
        deviation = np.sqrt(np.diagonal(covariance[k]))
        expected = covariance[k] / deviation / deviation[:, None]
        np.testing.assert_allclose(gaussian.correlation, expected, atol=1e-12)


def test_a_gaussian_of_kernels_is_proportional_to_exp_of_the_score() -> None:
    X, y = clusters(2, 2)
    model = KernelSDGMClassifier(1, prior="ridge", random_state=0).fit(X, y)
    set_weights(model, -np.abs(model.coef_) - 0.01)  # sums of negative squares
    for k, mode in enumerate(modes_of(describe(model))):
        gaussian = mode.gaussian
        covariance = np.array(gaussian.correlation) * np.outer(gaussian.std, gaussian.std)
        log_density = multivariate_normal(gaussian.mean, covariance).logpdf(X)
        z = (X - model.model_.scaler.center) * model.model_.scaler.inverse_scale
        difference = model.model_.basis.transform(z) @ model.coef_[k] - log_density
        np.testing.assert_allclose(difference, difference[0], rtol=1e-8)


def test_a_mode_is_a_gaussian_in_the_inputs_that_it_uses() -> None:
    model, _, _ = dense_gaussians()
    # x1, x2, x1^2, x1*x2, x2^2: a Gaussian of x2 alone, and a slope that is none
    set_weights(model, np.array([[0.0, 1.0, 0.0, 0.0, -0.5], [1.0, 0.0, 0.0, 0.0, -0.5]]))
    first, second = modes_of(describe(model))
    assert first.gaussian.features == ("x2",) and first.gaussian.correlation == ((1.0,),)
    assert second.gaussian is None


def test_a_direction_without_say_leaves_no_gaussian() -> None:
    X, y = clusters(2, 2)
    X = np.column_stack([X, 3.0 - X[:, 0]])  # as the levels of a category with two of them
    model = KernelSDGMClassifier(1, prior="ridge").fit(X, y)
    rng = np.random.default_rng(0)
    for scale in np.geomspace(1e-20, 1e20, 40):
        set_weights(model, -scale * rng.random(model.coef_.shape))
        assert all(mode.gaussian is None for mode in modes_of(describe(model)))


def test_inputs_without_a_term_are_not_used() -> None:
    X = np.random.default_rng(0).standard_normal((200, 4))
    model = SDGMClassifier(1, covariance_type="tied", teacher=None).fit(
        X, X[:, 1] + 0.3 * X[:, 2] > 0
    )
    words = describe(model)
    used = {name for mode in modes_of(words) for term in mode.terms for name in term.features}
    assert set(words.inputs) == used == {"x2", "x3"} and words.unused == ("x1", "x4")
    assert {each.name for each in words.features if each.used} == used
    assert "used: x2, x3\nnot used: x1, x4\n" in words.text()


def test_a_column_is_used_if_one_of_its_levels_is() -> None:
    words = describe(table_model())
    used = {name for mode in modes_of(words) for term in mode.terms for name in term.features}
    for column in INPUTS:
        assert (column.name in words.inputs) == bool(used & set(column.features))
    assert set(words.inputs) | set(words.unused) == {column.name for column in INPUTS}
    assert words.target == "ill"


def test_relevance_vectors_are_told_as_the_table_has_them() -> None:
    model, columns = table_model("dual"), table_columns(200, seed=0)
    vectors = describe(model).vectors
    assert vectors
    for h, each in enumerate(vectors):
        assert each.weights == tuple(model.classifier.coef_[:, h])
        for name, value in each.values.items():
            there = columns[name][each.row]
            if name == "height" and np.isnan(there):
                there = 1.5  # filled, and no indicator says so
            if there is None or there == "green" or there != there:
                assert value is None
            else:
                assert value == there


def test_rows_of_relevance_vectors_are_those_of_the_table_where_they_are_known() -> None:
    model = table_model("dual")
    n_vectors = len(model.classifier.relevance_)
    known = table_model("dual", record={"relevance_rows": list(range(1001, 1001 + n_vectors))})
    torn = table_model("dual", record={"relevance_rows": [1]})
    for each, first in ((known, 1), (model, 0), (torn, 0)):
        words = describe(each)
        rows = [vector.row for vector in words.vectors]
        assert words.rows_from == first
        assert rows == (
            each.record["relevance_rows"] if first else each.classifier.relevance_.tolist()
        )
    assert "rows of the table are counted from 1" in describe(known).text(120)
    assert " 1,001 " in describe(known).text(120)
    assert "training rows are counted from 0" in describe(model).text(120)


def test_shares_have_equally_many_decimals() -> None:
    model, _, _ = dense_gaussians()
    for weights, said in (([0.3, 0.7], ["0.30", "0.70"]), ([0.9996, 0.0004], ["1.00", "0.0004"])):
        set_mixture_weights(model, weights)
        assert re.findall(r"share ([\d.]+)", describe(model).text(200)) == said


def test_the_text_says_what_was_removed() -> None:
    model, _ = fitted("primal")
    removed = model.n_initial_weights_ - model.n_active_weights_
    assert f"removed {removed} of {model.n_initial_weights_} weights" in describe(model).text()


def test_the_text_has_the_terms_with_their_deviations() -> None:
    model, _, _ = dense_gaussians()
    set_covariance(model, np.diag(np.full(12, 0.04)))
    text = describe(model).text(200)
    assert "class 0, mode 1 (share 0.50): " in text
    assert "- 1.22(±0.20) x2^2" in text and "0.73(±0.20) x1*x2" in text
    assert "Gaussian with mean x1" in text and "quadratic form common to all" in text
    assert "- 1.22(+-0.20) x2^2" in describe(model).text(200, ascii=True)


@pytest.mark.parametrize("std", [1e-12, 1e-3, 0.5, 9.96, 1e4, 1e9])
def test_weights_have_the_digits_that_deviations_account_for(std: float) -> None:
    model, _, _ = dense_gaussians()
    set_covariance(model, np.diag(np.full(12, std**2)))
    text = describe(model).text(200)
    assert f"(±{float(f'{std:.2g}'):.{max(0, 1 - int(np.floor(np.log10(std))))}f})" in text or (
        f"(±{std:.2g})" in text
    )


def test_a_mode_without_terms_is_the_same_everywhere() -> None:
    model, _ = pruned_to_nothing()
    text = describe(model).text()
    assert "class 0, mode 1 (share 0.50): constant" in text
    assert "not used: x1" in text


def test_weights_without_deviations_are_told_alone() -> None:
    model, _, _ = dense_gaussians()
    set_covariance(model, None)
    words = describe(model)
    assert all(term.std is None for mode in modes_of(words) for term in mode.terms)
    assert "±" not in words.text()


@pytest.mark.parametrize("width", [40, 60, 88, 200])
@pytest.mark.parametrize("kind", ["primal", "dense", "poly", "rbf"])
def test_lines_keep_to_the_width(kind: str, width: int) -> None:
    text = describe(fitted(kind)[0]).text(width)
    assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("kind", KINDS)
def test_the_dictionary_is_json(kind: str) -> None:
    plain = describe(fitted(kind)[0]).as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain


@pytest.mark.parametrize("labels", [[3, 5], ["a", "b c"], [False, True], [-1.0, 2.0]])
def test_labels_keep_their_types(labels: Any) -> None:
    X, y = clusters(2)
    words = describe(SDGMClassifier(n_components=1, teacher=None).fit(X, np.array(labels)[y]))
    told = [each.label for each in words.classes]
    assert told == labels and [type(each) for each in told] == [type(each) for each in labels]
    assert f"class {labels[1]}, mode 1" in words.text()


def test_hostile_names_do_not_break_the_text() -> None:
    pd = pytest.importorskip("pandas")
    X, y = clusters(2, 3)
    names = ["\x1b[31mred\x07", "two\nlines\r\u202e", "n" * 10_000]
    labels = np.array(["<script>\n", "\x1b]0;title\x07"])
    model = DiscriminativeGMMClassifier(1).fit(pd.DataFrame(X, columns=names), labels[y])
    for ascii in (False, True):
        text = describe(model).text(ascii=ascii)
        assert all(line.isprintable() for line in text.splitlines())
        assert len(text.splitlines()) < 60 and max(map(len, text.splitlines())) < 130
        assert r"\x1b[31mred\x07" in text and r"two\nlines\r\u202e" in text
        assert text.isascii() or not ascii
    assert describe(model).features[2].name == names[2]


def test_kernels_without_inputs_or_names_are_told_too() -> None:
    X, y = clusters(2)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    words = describe(KernelSDGMClassifier(1, kernel="precomputed").fit(X @ X.T, y))
    assert "as given in place of the inputs" in words.text() and words.vectors[0].values == {}
    words = describe(KernelSDGMClassifier(1, kernel=laplacian_kernel, teacher=None).fit(X, y))
    assert "by laplacian_kernel" in words.text() and set(words.vectors[0].values) == set(
        words.inputs
    )


def test_chosen_settings_are_told() -> None:
    words = describe(fitted("automatic")[0])
    assert set(words.chosen) == {"kernel", "gamma", "n_components"}
    assert "chosen from the training rows: kernel=" in words.text()
    assert "divergence from the teacher: 0.0" in words.text()


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot be described or exported"):
        describe(object())


def test_thousands_of_terms_are_counted_unless_all_are_asked_for() -> None:
    X, y = clusters(2, 2)
    X = np.concatenate([X, X + 0.01 * np.arange(len(X))[:, None]])
    y = np.concatenate([y, y])
    model = KernelSDGMClassifier(1, kernel="rbf", prior="ridge", alpha=1.0).fit(X, y)
    words = describe(model)
    n_terms = len(modes_of(words)[0].terms)
    assert n_terms > 100
    text, every = words.text(), words.text(most=None)
    assert text.count(" k(x, ") < 2 * 100 + 3 and f"and {n_terms - 100} more" in text
    assert every.count(" k(x, ") >= 2 * n_terms and " more" not in every
