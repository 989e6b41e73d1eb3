"""Wine: thirteen measurements, three growers, and a model short enough to read.

pip install "sdgm" pandas
python examples/wine_read_the_model.py
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score

from sdgm import SDGMClassifier


def main() -> int:
    """Number of weights; prints every one of them."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = SDGMClassifier(n_components=1, covariance_type="tied", max_weights=10, random_state=0)
    error = 1 - cross_val_score(model, X, y, cv=5).mean()
    model.fit(X, y)
    print(f"error in five folds {error:.3f}, {model.n_active_weights_} weights")

    # Standard deviations come in the same order as the weights that are not zero.
    weights = np.column_stack([model.intercept_, model.coef_])
    deviations = np.zeros_like(weights)
    deviations[weights != 0] = np.sqrt(np.diag(model.covariance_))

    # One unit is one standard deviation of the input: the sizes can be compared.
    names = ["1", *model.terms_]
    for k, c in enumerate(model.component_class_):
        print(f"grower {model.classes_[c]}:")
        for j in np.argsort(-np.abs(weights[k])):
            if weights[k, j]:
                print(f"  {weights[k, j]:+6.2f} +- {deviations[k, j]:.2f}  {names[j]}")
    return int(model.n_active_weights_)


if __name__ == "__main__":
    main()
