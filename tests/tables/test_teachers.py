"""Tables can be learned from the labels, or from other classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import make_moons

from sdgm.tables import TableModel, fit_table
from sdgm.tables.errors import SettingError


def moons() -> tuple[pl.DataFrame, Any]:
    X, y = make_moons(160, noise=0.2, random_state=0)
    return pl.DataFrame(X, schema=["left", "up"]), np.array(["low", "high"])[y]


@pytest.mark.parametrize(
    ("teacher", "name"),
    [("auto", None), ("forest", "RandomForest"), ("boosting", "HistGradientBoosting")],
)
def test_a_table_is_learned_from_a_teacher(teacher: str, name: str | None) -> None:
    frame, y = moons()
    model = TableModel(teacher=teacher, form="dual", random_state=0).fit(frame, y)
    assert model.classifier.fidelity_ < 0.2
    assert model.score(frame, y) > 0.9
    given = model.classifier.get_params()["teacher"]
    assert given == "auto" if name is None else type(given).__name__.startswith(name)


def test_labels_are_learned_as_they_are() -> None:
    frame, y = moons()
    model = fit_table(frame, y, teacher="labels", form="primal", components=2, test_size=0.0)
    assert model.classifier.teacher is None
    assert model.classifier.candidates_ == []


def test_an_unknown_teacher_is_named_with_the_known_ones() -> None:
    frame, y = moons()
    with pytest.raises(SettingError, match="must be one of auto, labels, forest, boosting, got 'm"):
        fit_table(frame, y, teacher="master")
