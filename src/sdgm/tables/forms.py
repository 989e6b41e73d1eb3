"""The classifier of a table: one form, or the better of both."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from enum import StrEnum
from time import perf_counter
from typing import Any

import numpy as np

from sdgm._typing import FloatArray
from sdgm.estimators.automatic import FAITHFUL, MAX_ROWS
from sdgm.estimators.base import BaseSDGM
from sdgm.estimators.dual import KernelSDGMClassifier
from sdgm.estimators.primal import SDGMClassifier
from sdgm.tables.errors import SettingError, polars

# mean divergence in nats from the dense model, and so log loss, that is worth a larger model
WORTH_IT = 2.0 * FAITHFUL
# told the form in work, and how many iterations its learning has made
Progress = Callable[[str, int], None]


class Form(StrEnum):
    """Which form of the model to learn."""

    AUTO = "auto"
    PRIMAL = "primal"
    DUAL = "dual"

    @classmethod
    def _missing_(cls, value: object) -> Form:
        known = ", ".join(map(str, cls))
        raise SettingError("form", f"must be one of {known}, got {value!r}.")


class Iterations:
    """A callback of scikit-learn that counts iterations."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self.tell = tell
        self.n = 0

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to clear away."""

    def on_fit_task_begin(self, estimator: Any, context: Any, **_: Any) -> None:
        """Nothing to say yet."""

    def on_fit_task_end(self, estimator: Any, context: Any, **_: Any) -> bool:
        """Tell how many there were."""
        self.n += 1
        self.tell(self.n)
        return False


def new_classifier(form: Form, components: Any, random_state: int) -> BaseSDGM:
    """A classifier of this form; what is not given is chosen from the rows."""
    common: dict[str, Any] = {"random_state": random_state, "record_states": True}
    if form is Form.PRIMAL:
        if components != "auto":
            common |= {"n_components": components, "covariance_type": "auto"}
        return SDGMClassifier(**common)
    if components != "auto":
        common |= {"n_components": components, "kernel": "auto", "gamma": "auto"}
    return KernelSDGMClassifier(**common)


def learned(
    X: FloatArray,
    names: tuple[str, ...],
    labels: np.ndarray[Any, Any],
    form: Form,
    components: Any,
    random_state: int,
    progress: Progress | None = None,
) -> tuple[BaseSDGM, list[dict[str, Any]], list[str]]:
    """A fitted classifier, the forms that were tried, and what there was to warn of.

    Both forms learn from the same dense model. The primal one comes first, and is taken if its
    divergence from the dense model is at most `WORTH_IT`. Otherwise the dual one is tried too: the
    one with fewer numbers is taken, unless the other is closer by more than `WORTH_IT`. Beyond
    `MAX_ROWS` rows only the primal form is tried.
    """
    forms = [form]
    if form is Form.AUTO:
        forms = [Form.PRIMAL, Form.DUAL] if len(X) <= MAX_ROWS else [Form.PRIMAL]
    frame = polars().from_numpy(X, schema=list(names))
    fitted, tried, said = [], [], []
    for each in forms:
        classifier = new_classifier(each, components, random_state)
        watch(classifier, each, progress)
        start = perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            classifier.fit(frame, labels)
        classifier.__dict__.pop("_skl_callbacks", None)
        fitted.append(classifier)
        said.append([str(warning.message) for warning in caught])
        tried.append(summary(each, classifier, perf_counter() - start))
        divergence = tried[-1]["divergence"]
        if divergence is not None and divergence <= WORTH_IT:
            break  # the other form could not be worth more
    best = better(tried)
    tried.insert(0, tried.pop(best))
    return fitted[best], tried, said[best]


def watch(classifier: BaseSDGM, form: Form, progress: Progress | None) -> None:
    """Have iterations told, where scikit-learn has callbacks."""
    if progress is None:
        return
    progress(str(form), 0)
    if hasattr(classifier, "set_callbacks"):
        classifier.set_callbacks(Iterations(lambda n: progress(str(form), n)))


def better(tried: list[dict[str, Any]]) -> int:
    """Which of the forms to take: the fewest numbers among the closest."""
    if any(each["divergence"] is None for each in tried):  # they learned from the labels
        return max(range(len(tried)), key=lambda i: tried[i]["log_evidence"])
    closest = min(each["divergence"] for each in tried)
    close = [i for i, each in enumerate(tried) if each["divergence"] <= closest + WORTH_IT]
    return min(close, key=lambda i: tried[i]["numbers"])


def summary(form: Form, classifier: BaseSDGM, seconds: float) -> dict[str, Any]:
    """What is remembered of a form that was tried."""
    vectors = getattr(classifier, "relevance_vectors_", np.empty((0, 0)))
    candidates = classifier.candidates_
    return {
        "form": str(form),
        "weights": int(classifier.n_active_weights_),
        "numbers": int(classifier.n_active_weights_ + vectors.size),
        "divergence": candidates[0].divergence if candidates else None,
        "log_evidence": float(classifier.log_evidence_),
        "seconds": seconds,
    }


def forget_states(classifier: BaseSDGM) -> None:
    """Drop what was kept for the story alone."""
    classifier.training_ = classifier.training_.without_states()
    classifier.set_params(record_states=False)
