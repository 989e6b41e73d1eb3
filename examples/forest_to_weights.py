"""A random forest as a dozen weights and a C header, and what that costs.

pip install "sdgm[plot]" pandas
python examples/forest_to_weights.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from sdgm import SDGMClassifier, weights_path
from sdgm.export import to_c


def main(folder: str | Path = ".") -> tuple[float, float, int]:
    """Test errors of the forest and of its small student, and the number of weights of that."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

    forest = RandomForestClassifier(200, min_samples_leaf=3, random_state=0).fit(X_train, y_train)
    student = SDGMClassifier(
        n_components=1, covariance_type="tied", teacher=forest, random_state=0
    ).fit(X_train, y_train)  # clones of the forest are fitted, in folds
    path = weights_path(student, X_train, y_train)
    small = path.at_most(12)
    n_nodes = sum(tree.tree_.node_count for tree in forest.estimators_)
    print(f"forest:  {n_nodes} nodes, error {1 - forest.score(X_test, y_test):.3f}")
    error = 1 - student.score(X_test, y_test)
    print(f"student: {student.n_active_weights_} weights, error {error:.3f}", end=", ")
    print(f"fidelity {student.fidelity_:.3f} nats")
    print(
        f"small:   {small.n_active_weights_} weights, error {1 - small.score(X_test, y_test):.3f}"
    )
    k = np.abs(small.coef_).sum(axis=1).argmax()  # of two classes one has weights
    weights = small.coef_[k]
    print(f"for {('malignant', 'benign')[small.component_class_[k]]}:")
    for j in np.argsort(-np.abs(weights)):
        print(f"  {weights[j]:+6.2f}  {small.terms_[j]}")
    header = to_c(small, name="tumour")
    header.write(Path(folder) / "tumour.h")
    print(f"tumour.h: {header.flash_bytes} bytes of flash, {header.multiply_adds} multiply-adds")

    P = forest.predict_proba(X_test).clip(1e-3, 1 - 1e-3)
    lost = [
        np.mean((P * (np.log(P) - model.predict_log_proba(X_test))).sum(axis=1))
        for model in path.models
    ]
    errors = [100 * (1 - model.score(X_test, y_test)) for model in path.models]
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(path.n_weights, lost, "o-", color="#0072B2", clip_on=False)
    left.set(title="what is lost of the forest", ylabel="nats per test row", ylim=(0, None))
    right.plot(path.n_weights, errors, "o-", color="#0072B2", clip_on=False, label="student")
    level = 100 * (1 - forest.score(X_test, y_test))
    right.axhline(level, color="#D55E00", dashes=(4, 2), label=f"forest, {n_nodes:,} nodes")
    right.set(title="what is wrong", ylabel="test error, %", ylim=(0, 1.15 * max(errors)))
    right.legend(frameon=False)
    for ax in left, right:
        ax.axvline(12, color="0.8", zorder=0)
        ax.set(xlabel="weights", xlim=(0, None), xticks=(1, 4, 8, 12, 16))
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", color="0.9")
    figure.savefig(Path(folder) / "forest-to-weights.png", dpi=100)
    return 1 - forest.score(X_test, y_test), 1 - small.score(X_test, y_test), len(weights)


if __name__ == "__main__":
    main()
