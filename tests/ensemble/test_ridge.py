"""Kernel ridge regression: every ridge and every row left out from one eigendecomposition."""

from __future__ import annotations

import numpy as np
import pytest

from sdgm.ensemble.kernels import Kind, MemberKernel, distances
from sdgm.ensemble.ridge import (
    Smoother,
    left_out,
    smoother_of_features,
    smoother_of_kernel,
    squared_error,
)
from sdgm.ensemble.rows import LabelledRows, labelled_rows
from tests.ensemble.problems import random_rows, random_table, weights_of, without

KERNELS = [
    MemberKernel(Kind.LINEAR),
    MemberKernel(Kind.QUADRATIC, 4.0),
    MemberKernel(Kind.MATERN, 1.0),
]
RIDGE = 0.3


def gram(kernel: MemberKernel, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return kernel.of(distances(X, Z) if kernel.of_distances else X @ Z.T, X.shape[1])


def kernel_smoother(kernel: MemberKernel, rows: LabelledRows) -> Smoother:
    return smoother_of_kernel(gram(kernel, rows.X, rows.X), rows)


def leverages(smoother: Smoother, ridge: float) -> np.ndarray:
    return smoother.leverages(np.array([ridge]))[:, 0]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_a_case_left_out_is_predicted_as_by_a_fit_without_it(kernel: MemberKernel) -> None:
    rows = random_rows()
    smoother = kernel_smoother(kernel, rows)
    F = left_out(smoother.fitted(np.array([RIDGE]))[:, 0], leverages(smoother, RIDGE), rows)
    for case in range(len(rows.cases)):
        rest = without(rows, case)
        coef, constant = kernel_smoother(kernel, rest).spectrum.coefficients(RIDGE)
        x = rows.X[rows.cases.row[case]][None]
        np.testing.assert_allclose(
            gram(kernel, x, rest.X) @ coef + constant, F[case][None], atol=1e-8
        )


def test_the_fit_minimises_the_penalised_squares() -> None:
    rows, kernel = random_rows(), KERNELS[2]
    K = gram(kernel, rows.X, rows.X)
    coef, constant = kernel_smoother(kernel, rows).spectrum.coefficients(RIDGE)

    def objective(coef: np.ndarray, constant: np.ndarray) -> float:
        error = rows.Y - K @ coef - constant
        return float(rows.s @ (error**2).sum(axis=1) + RIDGE * np.sum(coef * (K @ coef)))

    best = objective(coef, constant)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.1):
        assert objective(coef + size * rng.normal(size=coef.shape), constant) > best
        assert objective(coef, constant + size * rng.normal(size=constant.shape)) > best


def test_the_prediction_at_the_rows_is_the_fit() -> None:
    rows, kernel = random_rows(), KERNELS[2]
    smoother = kernel_smoother(kernel, rows)
    coef, constant = smoother.spectrum.coefficients(RIDGE)
    F = gram(kernel, rows.X, rows.X) @ coef + constant
    np.testing.assert_allclose(F, smoother.fitted(np.array([RIDGE]))[:, 0], atol=1e-10)


def test_leverages_are_the_derivatives_of_the_fit() -> None:
    rows, kernel = random_rows(), KERNELS[2]
    h = leverages(kernel_smoother(kernel, rows), RIDGE)
    F = kernel_smoother(kernel, rows).fitted(np.array([RIDGE]))[:, 0]
    for n in (0, 11):
        Y = rows.Y.copy()
        Y[n, 0] += 1.0
        moved = LabelledRows(rows.X, Y, rows.s, rows.cases)
        change = kernel_smoother(kernel, moved).fitted(np.array([RIDGE]))[:, 0][n, 0] - F[n, 0]
        assert change == pytest.approx(h[n])


def test_features_give_what_their_kernel_matrix_gives() -> None:
    rows = random_rows(D=4)
    by_kernel = smoother_of_kernel(rows.X @ rows.X.T, rows)
    by_features = smoother_of_features(rows.X, rows)
    for ridge in (1e-3, 1.0):
        np.testing.assert_allclose(
            by_features.fitted(np.array([ridge]))[:, 0],
            by_kernel.fitted(np.array([ridge]))[:, 0],
            atol=1e-9,
        )
        np.testing.assert_allclose(
            leverages(by_features, ridge), leverages(by_kernel, ridge), atol=1e-9
        )
        coef, constant = by_features.spectrum.coefficients(ridge)
        np.testing.assert_allclose(
            rows.X @ coef + constant, by_kernel.fitted(np.array([ridge]))[:, 0], atol=1e-9
        )


def test_a_weight_is_a_number_of_copies() -> None:
    X, y, s = random_table()
    copies = np.repeat(np.arange(len(y)), s.astype(int))
    once, _ = labelled_rows(X, weights_of(y, s, 3))
    often, inverse = labelled_rows(X[copies], weights_of(y[copies], np.ones(len(copies)), 3))
    np.testing.assert_array_equal(once.X, often.X)
    np.testing.assert_allclose(once.s, often.s)
    np.testing.assert_allclose(once.cases.mass, often.cases.mass)
    # and as if equal rows had not been merged at all
    apart = LabelledRows(
        X[copies], weights_of(y[copies], np.ones(len(copies)), 3), np.ones(len(copies)), once.cases
    )
    np.testing.assert_allclose(
        kernel_smoother(KERNELS[2], apart).fitted(np.array([RIDGE]))[:, 0],
        kernel_smoother(KERNELS[2], once).fitted(np.array([RIDGE]))[:, 0][inverse],
        atol=1e-8,
    )


def test_frequencies_of_classes_are_rows_with_labels() -> None:
    X, _, _ = random_table()
    rows, _ = labelled_rows(X[:5], np.array([[2.0, 1.0, 0.0]] * 5))
    labelled, _ = labelled_rows(
        np.repeat(X[:5], 3, axis=0), weights_of(np.tile([0, 0, 1], 5), np.ones(15), 3)
    )
    np.testing.assert_allclose(rows.Y, labelled.Y)
    np.testing.assert_allclose(rows.cases.mass, labelled.cases.mass)
    np.testing.assert_array_equal(rows.cases.row, labelled.cases.row)


def test_the_squared_error_is_that_of_the_predictions_left_out() -> None:
    rows = random_rows()
    smoother = kernel_smoother(KERNELS[2], rows)
    F, h = smoother.fitted(np.array([RIDGE]))[:, 0], leverages(smoother, RIDGE)
    error = np.eye(3)[rows.cases.label] - left_out(F, h, rows)
    expected = np.average((error**2).sum(axis=1), weights=rows.cases.weight)
    assert squared_error(F, h, rows) == pytest.approx(expected)


def test_class_weights_do_not_change_what_one_copy_is() -> None:
    X, y, s = random_table()
    factors = np.array([0.5, 2.0, 5.0])
    rows, _ = labelled_rows(X, weights_of(y, s, 3), factors)
    np.testing.assert_allclose(rows.cases.mass, factors[rows.cases.label])
    assert rows.cases.weight.sum() == pytest.approx(s @ factors[y])
