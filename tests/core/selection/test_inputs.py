"""Forward selection of inputs against regressions that are fitted one by one."""

from __future__ import annotations

import numpy as np
import pytest

from sdgm.core.model.features import monomials
from sdgm.core.selection import inputs
from sdgm.core.selection.inputs import forward_order, inputs_in_order, terms_with
from sdgm.core.selection.screening import Linearised


def soft_rows(f: np.ndarray) -> Linearised:
    P = 1.0 / (1.0 + np.exp(-f))
    return Linearised.around(np.stack([P, 1.0 - P], axis=1), np.ones(len(f)))


def test_every_input_is_the_one_that_explains_most_beside_those_before() -> None:
    rng = np.random.default_rng(0)
    terms = monomials(4)
    Phi = terms.transform(rng.normal(size=(60, 4)))
    F = rng.normal(size=(60, 2)) + Phi[:, [2, 7]] + Phi[:, [3, 4]]
    A, b = Phi.T @ Phi + np.eye(len(terms)), Phi.T @ F

    def explained(chosen: list[int]) -> float:
        known = [-1, *chosen]
        g = np.flatnonzero(np.isin(terms.first, known) & np.isin(terms.second, known))
        return float((b[g] * np.linalg.solve(A[np.ix_(g, g)], b[g])).sum())

    order = forward_order(terms, A, b, 4).tolist()
    for n in range(4):
        best = max(set(range(4)) - set(order[:n]), key=lambda j: explained([*order[:n], j]))
        assert order[n] == best
    assert sorted(order) == [0, 1, 2, 3]


def test_an_input_brings_its_products_with_those_before() -> None:
    terms = monomials(3)
    names = np.array(terms.names(["a", "b", "c"]))
    assert names[terms_with(terms, 1, [])].tolist() == ["b", "b^2"]
    assert names[terms_with(terms, 1, [2])].tolist() == ["b", "b^2", "b*c"]


@pytest.mark.parametrize("most_terms", [inputs.MOST_TERMS, 5])
def test_a_ring_is_found_among_noise(monkeypatch: pytest.MonkeyPatch, most_terms: int) -> None:
    monkeypatch.setattr(inputs, "MOST_TERMS", most_terms)
    X = np.random.default_rng(0).normal(size=(200, 6))
    order = inputs_in_order(X, soft_rows(X[:, 1] ** 2 + X[:, 4] ** 2 - 2.0), 2)
    assert sorted(order.tolist()) == [1, 4]


def test_of_very_many_inputs_only_those_that_tell_something_alone_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inputs, "MOST_INPUTS", 3)
    X = np.random.default_rng(0).normal(size=(200, 40))
    order = inputs_in_order(X, soft_rows(3.0 * X[:, 7] - 2.0 * X[:, 31]), 2)
    assert order.tolist() == [7, 31]


def test_an_input_that_says_the_same_comes_late_and_a_constant_last() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[:, 1], X[:, 3] = X[:, 0], 0.0
    order = inputs_in_order(X, soft_rows(3.0 * X[:, 0] + X[:, 2]), 4).tolist()
    assert order[:2] == [0, 2] and order[-1] == 3


def test_units_of_the_inputs_do_not_matter() -> None:
    X = np.random.default_rng(0).normal(size=(200, 5))
    rows = soft_rows(2.0 * X[:, 1] + 1.5 * X[:, 3] - X[:, 4] ** 2)
    order = inputs_in_order(X, rows, 5).tolist()
    assert set(order[:3]) == {1, 3, 4}
    for unit in (1e-3, 1e3):
        scaled = X * np.where(np.isin(np.arange(5), [1, 4]), unit, 1.0)
        assert inputs_in_order(scaled, rows, 3).tolist() == order[:3]


def test_nor_do_they_where_inputs_are_looked_at_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "MOST_INPUTS", 3)
    X = 1.0 - np.random.default_rng(0).exponential(size=(200, 40))  # skewed
    rows = soft_rows(3.0 * X[:, 7] - 2.0 * X[:, 31])
    X[:, 10:30] *= 100.0
    assert inputs_in_order(X, rows, 2).tolist() == [7, 31]


def test_products_are_there_up_to_the_largest_number_of_terms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = np.random.default_rng(0).normal(size=(400, 3))
    rows = soft_rows(2.0 * X[:, 0] + 2.0 * X[:, 0] * X[:, 1] + X[:, 2])
    for most_terms, order in ((len(monomials(3)), [0, 1, 2]), (len(monomials(3)) - 1, [0, 2, 1])):
        monkeypatch.setattr(inputs, "MOST_TERMS", most_terms)
        assert inputs_in_order(X, rows, 3).tolist() == order
