"""Can the probabilities be trusted? Reliability, and the error when unsure rows are left open.

python examples/calibration_and_rejection.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

from sdgm import KernelSDGMClassifier
from sdgm.datasets import make_ripley
from sdgm.metrics import expected_calibration_error, rejection_curve
from sdgm.plotting import RejectionDisplay, ReliabilityDisplay


def main(folder: str | Path = ".") -> tuple[float, float]:
    """Error of all test rows, and of the surer half."""
    X, y, X_test, y_test = make_ripley().split()
    model = KernelSDGMClassifier(random_state=0).fit(X, y)

    P = model.predict_proba(X_test)
    curve = rejection_curve(y_test, P, labels=model.classes_)
    half = curve.error[curve.answered >= 0.5][0]
    print(f"calibration error {expected_calibration_error(y_test, P):.3f}")
    print(f"error {curve.error[-1]:.3f}, of the surer half of the rows {half:.3f}")

    figure = plt.figure(figsize=(10.0, 4.6), layout="constrained")
    left, right = figure.subfigures(1, 2)
    ReliabilityDisplay.from_estimator(model, X_test, y_test, ax=left.subplots())
    RejectionDisplay.from_estimator(model, X_test, y_test, ax=right.subplots())
    figure.savefig(Path(folder) / "calibration-and-rejection.png", dpi=80)
    plt.close(figure)
    return float(curve.error[-1]), float(half)


if __name__ == "__main__":
    main()
