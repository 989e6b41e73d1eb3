"""What accompanies a fit: checkpoint, printed lines, callbacks, warnings, and the current stage."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from sdgm.core.inference.learning import Result
from sdgm.core.inference.recipe import Callback, Recipe
from sdgm.core.model.state import Record
from sdgm.scale.checkpoint import Checkpoint

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9
    F = TypeVar("F", bound=Callable[..., Any])

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin where it does not exist yet."""

    def with_callbacks(method: F) -> F:
        """The method as it is."""
        return method


__all__ = [
    "CallbackSupportMixin",
    "Run",
    "Task",
    "print_end",
    "print_line",
    "warn_user",
    "with_callbacks",
]

# iterations between two lines at verbose=1
LINE_EVERY = 10
# packages between a fit and the user's own line
LIBRARIES = ("sdgm", "sklearn", "joblib", "contextlib")


def print_line(record: Record) -> None:
    """One line on the state of learning."""
    print(
        f"[sdgm] iteration {record.iteration:4d}  weights {record.n_weights:6d}  "
        f"components {record.n_components:3d}  log likelihood {record.log_likelihood:12.4f}  "
        f"log evidence {record.log_evidence:12.4f}  {record.seconds:7.2f} s",
        flush=True,
    )


def print_end(result: Result) -> None:
    """One line on why learning ended."""
    last = result.records[-1] if result.records else None
    seconds = f" in {last.seconds:.2f} s" if last else ""
    print(
        f"[sdgm] {result.stop.value} after {len(result.records)} iterations{seconds}: "
        f"{result.state.n_weights} weights in {result.state.n_components} components",
        flush=True,
    )


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's own code that led here."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_back is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in LIBRARIES:
            break
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


class Task:
    """A fit as scikit-learn's callbacks see it.

    Parameters
    ----------
    estimator : the estimator being fitted
    make_context : callable
        Makes scikit-learn's callback context.
    data : dict
        ``X``, ``y`` and ``metadata`` for callbacks that want to score.
    """

    def __init__(
        self, estimator: Any, make_context: Callable[[], Any], data: dict[str, Any]
    ) -> None:
        self.estimator = estimator
        self.make_context = make_context
        self.data = data
        self.context: Any = None

    def begin(self) -> None:
        """Say that the fit begins."""
        self.context = self.make_context()
        self.context.call_on_fit_task_begin(estimator=self.estimator, **self.data)

    def end(self) -> None:
        """Say that the fit ended."""
        self.context.call_on_fit_task_end(estimator=self.estimator, **self.data)

    def iteration(self, attributes: Callable[[Record], dict[str, Any]], record: Record) -> bool:
        """Report a record and the fitted attributes at its state; true if learning should stop."""
        task = self.context.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        stop = task.call_on_fit_task_end(
            estimator=self.estimator,
            reconstruction_attributes=partial(attributes, record),
            **self.data,
        )
        return bool(stop)


@dataclass(frozen=True)
class Run:
    """Passed from `fit` to each of its stages.

    Attributes
    ----------
    checkpoint : Checkpoint or None
        Stores the results of stages, by their names.
    verbose : int
        0 for silence, 1 for some lines, 2 for a line per pass.
    task : Task or None
        Receives the reports for callbacks.
    stage : str
        Name of the current stage.
    """

    checkpoint: Checkpoint | None = None
    verbose: int = 0
    task: Task | None = None
    stage: str = "fit"

    def at(self, stage: str) -> Run:
        """The run of a stage within this one."""
        return replace(self, stage=f"{self.stage}/{stage}")

    def seeds(self, draw: Callable[[], list[int]]) -> list[int]:
        """Seeds of this stage: those of the checkpoint, or new ones."""
        return draw() if self.checkpoint is None else self.checkpoint.drawn(self.stage, draw)

    def learning(self, recipe: Recipe) -> Callable[..., Result]:
        """`Recipe.learn`, or the result that the checkpoint has for this stage."""
        if self.checkpoint is None:
            return recipe.learn
        return partial(self.checkpoint.learn, self.stage, recipe)

    def observer(self, attributes: Callable[[Record], dict[str, Any]]) -> Callback | None:
        """Prints lines and tells callbacks, with the fitted attributes at a record."""
        task = self.task
        if not self.verbose and task is None:
            return None

        def look(record: Record) -> bool:
            if self.verbose > 1 or (self.verbose == 1 and record.iteration % LINE_EVERY == 1):
                print_line(record)
            return task is not None and task.iteration(attributes, record)

        return look
