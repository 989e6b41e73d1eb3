"""Rows come in day by day: each fit goes on from the last.

python examples/warm_start.py
"""

from __future__ import annotations

import numpy as np

from sdgm import SDGMClassifier
from sdgm.datasets import make_ripley


def main() -> tuple[int, int]:
    """Iterations of the later fits, from scratch and going on."""
    X, y, X_test, y_test = make_ripley(n_train=1000, random_state=0).split()
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]

    going_on = SDGMClassifier(n_components=2, teacher=None, random_state=0, warm_start=True)
    scratch = SDGMClassifier(n_components=2, teacher=None, random_state=0)

    iterations = [0, 0]
    for n in (400, 600, 800, 1000):
        going_on.fit(X[:n], y[:n])
        scratch.fit(X[:n], y[:n])
        print(
            f"{n:5} rows: {scratch.n_iter_:3} iterations from scratch, {going_on.n_iter_:3} going "
            f"on; error {1 - going_on.score(X_test, y_test):.3f}"
        )
        if n > 400:
            iterations[0] += scratch.n_iter_
            iterations[1] += going_on.n_iter_
    return iterations[0], iterations[1]


if __name__ == "__main__":
    main()
