"""How few weights are enough: error along a path of nested models, and a budget.

pip install "sdgm[plot]" pandas
python examples/weights_budget.py
"""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from sdgm import SDGMClassifier, weights_path
from sdgm.plotting import WeightsPathDisplay, new_axes


def main(folder: str | Path = ".") -> tuple[float, float]:
    """Accuracy of the model as learned, and of the one with at most five weights."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

    model = SDGMClassifier(n_components=1, covariance_type="tied", random_state=0)
    model.fit(X_train, y_train)
    path = weights_path(model, X_train, y_train)
    small = path.at_most(5)
    print(f"{model.n_active_weights_} weights: accuracy {model.score(X_test, y_test):.3f}")
    print(f"{small.n_active_weights_} weights: accuracy {small.score(X_test, y_test):.3f}")
    print("left:", ", ".join(small.terms_))

    display = WeightsPathDisplay.from_path(
        path, X_test, y_test, chosen=5, ax=new_axes((6.0, 4.4)), xscale="linear"
    )
    display.figure_.savefig(Path(folder) / "weights-budget.png", dpi=80)
    return model.score(X_test, y_test), small.score(X_test, y_test)


if __name__ == "__main__":
    main()
