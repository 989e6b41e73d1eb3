"""A flower of a kind that training never saw: the classifier is sure, the detector is not.

python examples/novelty.py
"""

from __future__ import annotations

from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

from sdgm import FamiliarityDetector, SDGMClassifier


def main() -> tuple[float, float]:
    """Share of strange rows noticed, and of familiar rows wrongly suspected."""
    X, y = load_iris(return_X_y=True)
    strange = X[y == 0]  # setosa is left out of training
    X_train, X_test, y_train, _ = train_test_split(X[y > 0], y[y > 0], random_state=0)

    model = SDGMClassifier(n_components=1, random_state=0).fit(X_train, y_train)
    detector = FamiliarityDetector(false_alarm_rate=0.05).fit(X_train, y_train)

    sure = (model.predict_proba(strange).max(axis=1) > 0.99).mean()
    noticed = (detector.predict(strange) == -1).mean()
    alarms = (detector.predict(X_test) == -1).mean()
    print(f"flowers of an unknown kind with a probability above 0.99: {sure:.0%}")
    print(f"noticed by the detector: {noticed:.0%}; false alarms: {alarms:.0%}")
    return float(noticed), float(alarms)


if __name__ == "__main__":
    main()
