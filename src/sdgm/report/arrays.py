"""The arrays of a story: names, shapes and types, and whether they fit together.

A story is a dict of numeric arrays, so that it fits into a model file.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Story = dict[str, np.ndarray[Any, Any]]

# Shape and kind of every array. F frames, R kept rows, S kept features, K components and W weights
# of the first frame, G points along an axis, c = C - 1; kinds are those of dtypes, b is for bytes.
ARRAYS = {
    "iteration": ("F", "iu"),  # of each frame, counted from one
    "n_rows": ("1", "iu"),  # training rows
    "rows/index": ("R", "iu"),  # of the kept rows among them
    "rows/y": ("R", "iu"),  # class indices
    "rows/features": ("S", "iu"),  # both of two, else those in use
    "rows/x": ("RS", "f"),  # in the user's units
    "pi": ("FK", "f"),  # mixture weights, NaN once a component has been removed
    "component_class": ("K", "iu"),
    "alpha": ("FW", "f"),  # log10 of the precisions, NaN once a weight has been removed
    "alpha/component": ("W", "iu"),
    "alpha/count": ("1", "iu"),  # weights at the first frame, of which some are kept
    "view": ("R2", "f"),  # coordinates of the kept rows in the picture
    "rows/class": ("FR", "iu"),  # most probable class
    "rows/confidence": ("FR", "b"),  # its probability, 0 to 255
    "rows/vector": ("FR", "b"),  # dual form: one where the row is a relevance vector
    "limits": ("4", "f"),  # two inputs: x1 from, to, x2 from, to of the grid
    "grid": ("FcGG", "b"),  # two inputs: tempered probabilities, 0 to 255, of all but class 0
    "mean": ("FK2", "f"),  # two inputs: the components as Gaussians as wide as the rows
    "covariance": ("FK3", "f"),
}
# arrays that need each other
GROUPS = (
    {"n_rows", "rows/index", "rows/y", "rows/features", "rows/x"},
    {"iteration", "pi", "component_class", "alpha", "alpha/component", "alpha/count"},
    {"view", "rows/class", "rows/confidence"},
    {"limits", "grid"},
    {"mean", "covariance"},
)


def is_consistent(story: Story, classifier: Any) -> bool:
    """Whether shapes, types and indices of a story fit together; it may come from a file.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sdgm import SDGMClassifier
    >>> from sdgm.report import film
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SDGMClassifier(1, record_states=True).fit(X, y)
    >>> story = film(model, X, y)
    >>> is_consistent(story, model), is_consistent(story | {"view": story["view"][:3]}, model)
    (True, False)
    """
    known = {name: np.asarray(array) for name, array in story.items() if name in ARRAYS}
    if any(names & known.keys() and not names <= known.keys() for names in GROUPS):
        return False
    if "view" in known and "iteration" not in known:
        return False
    C = len(classifier.classes_)
    sizes = {**{str(n): n for n in range(1, 5)}, "c": C - 1}
    for name, array in known.items():
        axes, kind = ARRAYS[name]
        has_kind = array.dtype == np.uint8 if kind == "b" else array.dtype.kind in kind
        if array.ndim != len(axes) or not has_kind:
            return False
        if any(sizes.setdefault(axis, n) != n for axis, n in zip(axes, array.shape, strict=True)):
            return False
    if any(n < 1 for axis, n in sizes.items() if axis not in "SW"):
        return False
    limits = dict.fromkeys(("rows/y", "rows/class", "component_class"), C)
    limits |= {"rows/features": classifier.n_features_in_, "alpha/component": sizes.get("K", 0)}
    for name in limits.keys() & known.keys():
        if not ((known[name] >= 0) & (known[name] < limits[name])).all():
            return False
    steps = known.get("iteration", np.array([1]))
    return bool(steps[0] >= 1 and (np.diff(steps) > 0).all())
