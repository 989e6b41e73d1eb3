"""Two moons: a curved boundary from a handful of training rows.

python examples/moons_boundary.py
"""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

from sdgm import KernelSDGMClassifier
from sdgm.plotting import BoundaryDisplay, new_axes


def main(folder: str | Path = ".") -> tuple[float, int]:
    """Accuracy on test rows, and number of relevance vectors; draws the boundary."""
    X, y = make_moons(400, noise=0.2, random_state=0)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

    model = KernelSDGMClassifier(max_weights=12, random_state=0).fit(X_train, y_train)
    print(model.chosen_)
    print(f"{len(model.relevance_vectors_)} of {len(X_train)} rows are needed to predict")

    display = BoundaryDisplay.from_estimator(model, X_train, y_train, ax=new_axes((6.6, 5.0)))
    display.figure_.savefig(Path(folder) / "moons-boundary.png", dpi=80, bbox_inches="tight")
    return model.score(X_test, y_test), len(model.relevance_vectors_)


if __name__ == "__main__":
    print(f"accuracy {main()[0]:.3f}")
