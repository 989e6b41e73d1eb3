"""The classifier of a table, in one form or the better of both, and the record of its learning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from sdgm.environment import versions
from sdgm.estimators.base import BaseSDGM
from sdgm.estimators.choosing import FAITHFUL, MAX_ROWS
from sdgm.estimators.dual import KernelSDGMClassifier
from sdgm.estimators.parameters import components_per_class
from sdgm.estimators.plan import settings_of
from sdgm.estimators.primal import SDGMClassifier
from sdgm.tables.errors import polars
from sdgm.tables.inputs import feature_names
from sdgm.tables.settings import Form, Settings, Teacher
from sdgm.tables.training_rows import Encoded

# difference in mean divergence from the dense model, in nats of log loss, that justifies a larger
# model
WORTH_IT = 2.0 * FAITHFUL
# called with the form that is being learned and the number of its iterations so far
Progress = Callable[[str, int], None]
HISTORY = ("iteration", "log_evidence", "log_likelihood", "n_weights", "n_components")


class Iterations:
    """A callback of scikit-learn that counts iterations; it needs all four methods."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self.tell, self.n = tell, 0

    def setup(self, estimator: Any, context: Any) -> None: ...

    def teardown(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_begin(self, estimator: Any, context: Any, **_: Any) -> None: ...

    def on_fit_task_end(self, estimator: Any, context: Any, **_: Any) -> bool:
        self.n += 1
        self.tell(self.n)
        return False


def new_classifier(form: Form, settings: Settings, classes: list[Any]) -> BaseSDGM:
    """A classifier of this form; settings that are not given are chosen from the data."""
    is_primal, components = form is Form.PRIMAL, settings.n_components
    given: dict[str, Any] = {
        "class_weight": settings.class_weight_of(classes),
        "max_weights": settings.max_weights,
        "random_state": settings.random_state,
        "record_states": True,
    }
    given |= {"n_components": components, "teacher": teacher_of(settings)}
    return SDGMClassifier(**given) if is_primal else KernelSDGMClassifier(**given)


def teacher_of(settings: Settings) -> Any:
    """The teacher of this name, as the classifiers take it."""
    match Teacher(settings.teacher):
        case Teacher.LABELS:
            return None
        case Teacher.FOREST:
            from sklearn.ensemble import RandomForestClassifier

            return RandomForestClassifier(min_samples_leaf=2, random_state=settings.random_state)
        case Teacher.BOOSTING:
            from sklearn.ensemble import HistGradientBoostingClassifier

            return HistGradientBoostingClassifier(random_state=settings.random_state)
        case _:
            return "auto"


def fitted_classifier(
    rows: Encoded, settings: Settings, progress: Progress | None = None
) -> tuple[BaseSDGM, list[dict[str, Any]], list[str]]:
    """A fitted classifier, a summary of each form that was tried, and the warnings of the fit.

    Both forms learn from the same teacher. The primal form comes first, and is taken if its
    divergence from the dense model is at most `WORTH_IT`. Otherwise the dual form is tried too: the
    one with fewer numbers is taken, unless the other is closer by more than `WORTH_IT`. Beyond
    `MAX_ROWS` rows only the primal form is tried.
    """
    forms = [Form(settings.form)]
    if forms == [Form.AUTO]:
        forms = [Form.PRIMAL, Form.DUAL] if len(rows.X) <= MAX_ROWS else [Form.PRIMAL]
    frame = polars().from_numpy(rows.X, schema=list(feature_names(rows.inputs)))
    classes = np.unique(rows.labels).tolist()
    fitted, tried, said = [], [], []
    for each in forms:
        classifier = new_classifier(each, settings, classes)
        watch(classifier, each, progress)
        start = perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            classifier.fit(frame, rows.labels, rows.sample_weight)
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
    """Report iterations, where scikit-learn has callbacks."""
    if progress is not None:
        progress(str(form), 0)
        if hasattr(classifier, "set_callbacks"):
            classifier.set_callbacks(Iterations(lambda n: progress(str(form), n)))


def better(tried: list[dict[str, Any]]) -> int:
    """Index of the form to take: the fewest numbers among the closest to the dense model."""
    if any(each["divergence"] is None for each in tried):  # they learned from the labels
        return max(range(len(tried)), key=lambda i: tried[i]["log_evidence"])
    closest = min(each["divergence"] for each in tried)
    close = [i for i, each in enumerate(tried) if each["divergence"] <= closest + WORTH_IT]
    return min(close, key=lambda i: tried[i]["numbers"])


def summary(form: Form, classifier: BaseSDGM, seconds: float) -> dict[str, Any]:
    """Size, quality and time of a form that was tried."""
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


def learning_record(classifier: BaseSDGM, form: str) -> dict[str, Any]:
    """When, with which software and settings a classifier was learned, and its history."""
    initial = components_per_class(
        settings_of(classifier, classifier.chosen_)["n_components"], classifier.classes_
    )
    defaults = type(classifier)().get_params()
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "form": form,
        "parameters": {
            name: type(value).__name__ if isinstance(value, BaseEstimator) else value
            for name, value in classifier.get_params(deep=False).items()
            if value != defaults[name] and name != "record_states"
        },
        "chosen": dict(classifier.chosen_),
        "converged": bool(classifier.converged_),
        "weights": {
            "initial": int(classifier.n_initial_weights_),
            "final": int(classifier.n_active_weights_),
        },
        "components": {
            "initial": np.maximum(initial, classifier.n_components_).tolist(),
            "final": classifier.n_components_.tolist(),
        },
        "history": {
            name: [getattr(record, name) for record in classifier.history_] for name in HISTORY
        },
    }


def forget_states(classifier: BaseSDGM) -> None:
    """Drop the states that were recorded for the report."""
    classifier.training_ = classifier.training_.without_states()
    classifier.set_params(record_states=False)
