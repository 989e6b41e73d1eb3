"""Classes with two modes each: where the components of a mixture end up.

python examples/ripley_components.py
"""

from __future__ import annotations

from pathlib import Path

from sdgm import KernelSDGMClassifier
from sdgm.datasets import make_ripley
from sdgm.plotting import ComponentsDisplay, new_axes


def main(folder: str | Path = ".") -> list[int]:
    """Components left in each class; draws them over the rows."""
    X, y, X_test, y_test = make_ripley().split()

    model = KernelSDGMClassifier(n_components=2, random_state=0).fit(X, y)
    print(f"components per class: {model.n_components_.tolist()}")
    print(f"weights: {model.n_initial_weights_} at the start, {model.n_active_weights_} left")
    print(f"test error: {1 - model.score(X_test, y_test):.3f}")

    # Only differences of scores are learned. What all components share is set by the rows.
    display = ComponentsDisplay.from_estimator(model, X, y, ax=new_axes((7.5, 5.0)))
    display.figure_.savefig(Path(folder) / "ripley-components.png", dpi=80, bbox_inches="tight")
    return model.n_components_.tolist()


if __name__ == "__main__":
    main()
