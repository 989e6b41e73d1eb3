"""Whether the arrays of a story fit together: it may come from a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdgm.report.story import Story

# letters are sizes that must agree; 1, 2, 3 and 4 are themselves, c is one less than the classes
SHAPES = {
    "iteration": "F",
    "n_rows": "1",
    "rows/index": "R",
    "rows/y": "R",
    "rows/features": "S",
    "rows/x": "RS",
    "pi": "FK",
    "component_class": "K",
    "alpha": "FW",
    "alpha/component": "W",
    "alpha/count": "1",
    "view": "R2",
    "rows/class": "FR",
    "rows/confidence": "FR",
    "rows/vector": "FR",
    "limits": "4",
    "grid": "FcGG",
    "mean": "FK2",
    "covariance": "FK3",
}
WHOLE = {"iteration", "n_rows", "rows/index", "rows/y", "rows/features", "component_class"}
WHOLE |= {"alpha/component", "alpha/count", "rows/class"}
BYTES = {"rows/confidence", "rows/vector", "grid"}
# what is only there together
TOGETHER = (
    {"n_rows", "rows/index", "rows/y", "rows/features", "rows/x"},
    {"iteration", "pi", "component_class", "alpha", "alpha/component", "alpha/count"},
    {"view", "rows/class", "rows/confidence"},
    {"limits", "grid"},
    {"mean", "covariance"},
)


def is_sound(story: Story, classifier: Any) -> bool:
    """Whether a story can be told of a classifier.

    Parameters
    ----------
    story : dict of arrays
    classifier : fitted SDGMClassifier or KernelSDGMClassifier

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sdgm import SDGMClassifier
    >>> from sdgm.report import film
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SDGMClassifier(1, record_states=True).fit(X, y)
    >>> story = film(model, X, y)
    >>> is_sound(story, model), is_sound(story | {"view": story["view"][:3]}, model)
    (True, False)
    """
    if not story:
        return True
    known = {name: np.asarray(array) for name, array in story.items() if name in SHAPES}
    for names in TOGETHER:
        if names & known.keys() and not names <= known.keys():
            return False
    if "view" in known and "iteration" not in known:
        return False
    n_classes, n_features = len(classifier.classes_), classifier.n_features_in_
    sizes = {"1": 1, "2": 2, "3": 3, "4": 4, "c": n_classes - 1}
    for name, array in known.items():
        letters = SHAPES[name]
        kinds = "iu" if name in WHOLE else "f"
        kind_fits = array.dtype == np.uint8 if name in BYTES else array.dtype.kind in kinds
        if array.ndim != len(letters) or not kind_fits:
            return False
        for letter, size in zip(letters, array.shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                return False
    if min(sizes.values()) < 1 and sizes.get("S") != 0 and sizes.get("W") != 0:
        return False
    limits = {
        "rows/y": n_classes,
        "rows/class": n_classes,
        "component_class": n_classes,
        "rows/features": n_features,
        "alpha/component": sizes.get("K", 0),
    }
    in_range = all(
        not known[name].size or (known[name].min() >= 0 and known[name].max() < limit)
        for name, limit in limits.items()
        if name in known
    )
    steps = known.get("iteration", np.array([1]))
    return in_range and bool(steps[0] >= 1 and (np.diff(steps) > 0).all())
