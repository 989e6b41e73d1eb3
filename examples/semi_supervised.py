"""Ten labels for three hundred rows: what the rows without labels add.

python examples/semi_supervised.py
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_moons

from sdgm import KernelSDGMClassifier, SemiSupervisedSDGMClassifier


def main() -> tuple[float, float]:
    """Accuracy from the labelled rows alone, and with all rows."""
    X, y = make_moons(300, noise=0.1, random_state=0)
    X_test, y_test = make_moons(1000, noise=0.1, random_state=1)

    rng = np.random.default_rng(0)
    labelled = np.concatenate([rng.choice(np.flatnonzero(y == c), 5, False) for c in (0, 1)])
    y_few = np.full_like(y, -1)  # -1: no label
    y_few[labelled] = y[labelled]

    alone = KernelSDGMClassifier(random_state=0).fit(X[labelled], y[labelled])
    both = SemiSupervisedSDGMClassifier(KernelSDGMClassifier(random_state=0)).fit(X, y_few)
    print(f"ten labelled rows alone:      accuracy {alone.score(X_test, y_test):.3f}")
    print(f"and 290 rows without a label: accuracy {both.score(X_test, y_test):.3f}")
    print(f"believed of models that use the latter: {both.unlabelled_share_:.2f}")
    return alone.score(X_test, y_test), both.score(X_test, y_test)


if __name__ == "__main__":
    main()
