"""Claims about the model card."""

from __future__ import annotations

import json
from math import exp, isnan, log, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sdgm import SDGMClassifier
from sdgm.export.card import to_json
from tests.export.onnx_models import (
    KINDS,
    clusters,
    fitted,
    probabilities,
    pruned_to_nothing,
    table_columns,
    table_model,
)


def strict(text: str) -> Any:
    """JSON as the standard has it: no NaN, no infinity, no name twice."""

    def refuse(constant: str) -> Any:
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


def from_card(card: dict[str, Any], row: dict[str, Any]) -> list[float]:
    """Class probabilities of a row, from the card alone and in plain Python."""
    x: list[float] = []
    for each in card["inputs"]:
        value = row[each["name"]]
        if each["kind"] == "number":
            missing = isnan(value)
            x += [each["fill"] if missing and each["fill"] is not None else value]
            x += [float(missing)] if each["indicator"] else []
        else:
            x += [float(value == level) for level in each["levels"]]
            x += [float(value is None)] if each["missing"] else []
    scaler = [(each["center"], each["inverse_scale"]) for each in card["features"]]
    z = [(v - c) * s for v, (c, s) in zip(x, scaler, strict=True)]
    z = [min(max(v, -card["reach"]), card["reach"]) for v in z]
    if "terms" in card:
        columns = [of_term(term, z) for term in card["terms"]]
    else:
        standardized = [
            [(v - c) * s for v, (c, s) in zip(each["features"], scaler, strict=True)]
            for each in card["relevance_vectors"]
        ]
        columns = [of_kernel(card["kernel"], z, v) for v in standardized]
    totals = {json.dumps(label): 0.0 for label in card["classes"]}
    scores = [
        log(m["mixture_weight"])
        + m["constant"]
        + sum(w["weight"] * columns[w["term"]] for w in m["weights"])
        for m in card["modes"]
    ]
    for mode, score in zip(card["modes"], scores, strict=True):
        totals[json.dumps(mode["class"])] += exp(score - max(scores))
    return [total / sum(totals.values()) for total in totals.values()]


def of_term(term: dict[str, Any], z: list[float]) -> float:
    if "squared_norm" in term:
        return sum(v * v for v in z)
    product = 1.0
    for i in term["features"]:
        product *= z[i]
    return product


def of_kernel(kernel: dict[str, Any], z: list[float], v: list[float]) -> float:
    inner = sum(a * b for a, b in zip(z, v, strict=True))
    match kernel["name"]:
        case "poly":
            return (kernel["gamma"] * inner + kernel["coef0"]) ** kernel["degree"]
        case "rbf":
            return exp(-kernel["gamma"] * sum((a - b) ** 2 for a, b in zip(z, v, strict=True)))
    return inner


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_can_be_computed_from_the_card_alone(kind: str) -> None:
    model, X = fitted(kind)
    X = X[:200]
    card = strict(to_json(model))
    names = [each["name"] for each in card["inputs"]]
    P = [from_card(card, dict(zip(names, row, strict=True))) for row in X.tolist()]
    np.testing.assert_allclose(P, model.predict_proba(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_columns_of_a_table_can_be_encoded_from_the_card_alone(form: str) -> None:
    model, columns = table_model(form), table_columns(200, seed=7)
    card = strict(to_json(model))
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    P = [from_card(card, row) for row in rows]
    np.testing.assert_allclose(P, probabilities(model, columns), rtol=0, atol=1e-12)
    assert card["target"] == "ill" and card["classes"] == ["no", "perhaps", "yes"]


def test_relevance_vectors_have_the_rows_of_the_table() -> None:
    n_vectors = len(table_model("dual").classifier.relevance_)
    rows = list(range(5, 5 + n_vectors))
    card = strict(to_json(table_model("dual", record={"relevance_rows": rows})))
    assert [each["training_row"] for each in card["relevance_vectors"]] == rows
    assert card["training_rows_counted_from"] == 1


def test_a_model_without_weights_has_a_card() -> None:
    model, X = pruned_to_nothing()
    card = strict(to_json(model))
    assert card["weights"]["left"] == 0
    np.testing.assert_allclose(from_card(card, {"x1": 3.0}), model.predict_proba(X[:1])[0])


@pytest.mark.parametrize("labels", [[3, 5], ["a", "ü </script>\n"], [False, True], [-1.0, 2.0]])
def test_labels_keep_their_types(labels: Any) -> None:
    X, y = clusters(2)
    model = SDGMClassifier(n_components=1, teacher=None).fit(X, np.array(labels)[y])
    card = strict(to_json(model))
    assert card["classes"] == labels
    assert [type(each) for each in card["classes"]] == [type(each) for each in labels]
    assert {mode["class"] for mode in card["modes"]} == set(labels)


def test_weights_come_with_their_deviations() -> None:
    model, _ = fitted("primal")
    card = strict(to_json(model))
    stds = [mode["constant_std"] for mode in card["modes"]]
    stds += [each["std"] for mode in card["modes"] for each in mode["weights"]]
    expected = np.sqrt(np.diagonal(model.covariance_))
    np.testing.assert_allclose(sorted(each for each in stds if each is not None), sorted(expected))


def test_what_json_cannot_hold_is_null_or_a_word() -> None:
    X, y = clusters(2)
    init = np.ones((len(y), 2)) * (y[:, None] == [0, 1])
    model = SDGMClassifier(1, init=init, random_state=np.random.RandomState(0), teacher=None).fit(
        X, y
    )
    record = {"held_out": {"error": nan, "rows": [np.int64(3), float("inf")]}}
    table = table_model(record=record)
    assert strict(to_json(table))["training"] == {"held_out": {"error": None, "rows": [3, None]}}
    parameters = strict(to_json(model))["settings"]["parameters"]
    assert parameters["init"] == "array of shape (150, 2)"
    assert parameters["random_state"] == "RandomState"


def test_a_name_that_is_half_a_character_survives() -> None:
    X, y = clusters(2, 1)
    model = SDGMClassifier(1, teacher=None).fit(X, y)
    model.feature_names_in_ = np.array(["\ud800"], dtype=object)
    text = to_json(model)
    assert text.encode("utf-8")
    assert strict(text)["inputs"][0]["name"] == "\ud800"


def test_the_file_is_the_text_and_the_same_each_time(tmp_path: Path) -> None:
    model, _ = fitted("poly")
    path = tmp_path / "card.json"
    text = to_json(model, path)
    assert path.read_text(encoding="utf-8") == text == to_json(model)
    assert list(tmp_path.iterdir()) == [path]
