"""Claims about the map of models."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from sklearn.base import ClassifierMixin

pytest.importorskip("matplotlib")

import sdgm
from reproduction.figures.position import (
    BOX_HEIGHT,
    BOX_WIDTH,
    BOXES,
    Box,
    arrow_ends,
    arrows,
    draw_position,
)
from reproduction.gaussian_processes.estimator import MixtureOfGPsClassifier
from sdgm.estimators.forms import AUTO_COMPONENTS

ESTIMATORS = [box for box in BOXES if box.is_code]
# public names are imported when they are first asked for
CLASSIFIERS = {name: getattr(sdgm, name) for name in sdgm.__all__ if name.endswith("Classifier")}
CLASSIFIERS["MixtureOfGPsClassifier"] = MixtureOfGPsClassifier


def inside(box: Box, x: float, y: float) -> bool:
    left, bottom = box.corner
    return left < x < left + BOX_WIDTH and bottom < y < bottom + BOX_HEIGHT


@pytest.mark.parametrize("box", ESTIMATORS, ids=lambda box: box.name)
def test_what_is_written_in_a_box_is_an_estimator_of_ours(box: Box) -> None:
    assert isinstance(eval(box.text, CLASSIFIERS), ClassifierMixin)


def test_the_corners_have_the_properties_of_their_place() -> None:
    for box in ESTIMATORS:
        if "GP" not in box.name:
            model = eval(box.text, CLASSIFIERS)
            # left open, the number of components is chosen, up to several
            most = max(AUTO_COMPONENTS) if model.n_components == "auto" else model.n_components
            assert (most > 1) == box.mixture
            assert (model.prior == "ard") == box.sparse
            assert hasattr(model, "kernel") == (box.column == 2)


def test_all_models_are_reached_from_the_gaussian() -> None:
    reached = {"Gaussian"}
    for _ in BOXES:
        reached |= {end.name for start, end, _ in arrows() if start.name in reached}
    assert reached == {box.name for box in BOXES}


def test_there_are_as_many_arrows_of_each_kind_as_pairs_of_neighbours() -> None:
    assert Counter(kind for _, _, kind in arrows()) == {
        "mixture": 6,
        "sparse": 6,
        "discriminative": 4,
        "Bayesian kernelisation": 4,
    }


def test_the_arrows_that_the_paper_names_are_there() -> None:
    found = {(start.name, end.name): kind for start, end, kind in arrows()}
    assert found["Gaussian", "GMM"] == "mixture"
    assert found["GMM", "Discriminative GMM"] == "discriminative"
    assert found["Logistic regression", "Gaussian process (GP)"] == "Bayesian kernelisation"
    assert found["Discriminative GMM", "Mixture of GPs (MGP)"] == "Bayesian kernelisation"
    assert found["Gaussian process (GP)", "RVM"] == "sparse"
    assert found["RVM", "SDGM, dual form"] == "mixture"
    assert found["Mixture of GPs (MGP)", "SDGM, dual form"] == "sparse"


def test_boxes_do_not_overlap_and_arrows_pass_beside_them() -> None:
    for a, b in combinations(BOXES, 2):
        apart = abs(a.corner[0] - b.corner[0]), abs(a.corner[1] - b.corner[1])
        assert apart[0] > BOX_WIDTH or apart[1] > BOX_HEIGHT
    for start, end, kind in arrows():
        (x, y), (x_end, y_end) = arrow_ends(start, end, kind)
        steps = [step / 50 for step in range(1, 50)]
        points = [(x + s * (x_end - x), y + s * (y_end - y)) for s in steps]
        assert not any(inside(box, *point) for box in BOXES for point in points)


def test_two_pictures_are_written(tmp_path: Path) -> None:
    paths = draw_position(tmp_path / "new", quick=True)
    assert paths == [tmp_path / "new" / "position.png", tmp_path / "new" / "position.svg"]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert paths[1].read_bytes().startswith(b"<?xml")
