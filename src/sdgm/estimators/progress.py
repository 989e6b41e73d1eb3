"""Progress of a fit, read from its records: printed lines and scikit-learn's callbacks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from sdgm.core.model.state import Record

if TYPE_CHECKING:
    from sdgm.core.inference.learning import Result

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    # calls between the user's line and the body of `fit`, for warnings that point at it
    FIT_FRAMES = 2
except ImportError:  # scikit-learn < 1.9
    FIT_FRAMES = 1
    F = TypeVar("F", bound=Callable[..., Any])

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin where it does not exist yet."""

    def with_callbacks(method: F) -> F:
        """The method as it is."""
        return method


__all__ = ["FIT_FRAMES", "CallbackSupportMixin", "Progress", "print_end", "with_callbacks"]

# iterations between two lines at verbose=1
LINE_EVERY = 10


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


class Progress:
    """Called after every outer pass of learning; true when a callback asks to stop.

    Parameters
    ----------
    verbose : int
        Zero for silence, one for a line now and then, two for a line per pass.
    context : scikit-learn's callback context of this start, or None
    estimator : the estimator being fitted
    attributes : callable
        Fitted attributes of a record's state, for callbacks that want to predict.
    data : dict
        ``X``, ``y`` and ``metadata`` for callbacks that want to score.
    """

    def __init__(
        self,
        verbose: int,
        context: Any,
        estimator: Any,
        attributes: Callable[[Record], dict[str, Any]],
        data: dict[str, Any],
    ) -> None:
        self.verbose = verbose
        self.context = context
        self.estimator = estimator
        self.attributes = attributes
        self.data = data

    def __call__(self, record: Record) -> bool:
        if self.verbose > 1 or (self.verbose == 1 and record.iteration % LINE_EVERY == 1):
            print_line(record)
        if self.context is None:
            return False
        task = self.context.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        stop = task.call_on_fit_task_end(
            estimator=self.estimator,
            reconstruction_attributes=partial(self.attributes, record),
            **self.data,
        )
        return bool(stop)
