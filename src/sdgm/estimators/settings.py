"""Settings that may be left open, and the fit that chooses them."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sdgm.core.model.state import Stop
from sdgm.core.selection.reference import MAX_RANK, Reference, fit_reference
from sdgm.core.solvers.precision import FactorizationError
from sdgm.estimators.automatic import (
    MAX_COORDINATES,
    MAX_ROWS,
    choose,
    honest_covariance,
    is_interrupted,
)
from sdgm.estimators.elimination import divergence_within, within_budget
from sdgm.estimators.footprint import reference_bytes
from sdgm.estimators.memory import require_memory
from sdgm.estimators.progress import FIT_FRAMES
from sdgm.estimators.threads import blas_threads
from sdgm.exceptions import NumericalTroubleWarning

if TYPE_CHECKING:
    from sdgm.core.model.basis import Basis
    from sdgm.core.model.fitted_model import FittedModel
    from sdgm.estimators.problem import Problem
    from sdgm.estimators.training import Training


class OpenSettingsMixin:
    """For estimators some of whose settings can be chosen from the training rows."""

    standardize: bool | None
    init: Any
    warm_start: bool
    max_weights: int | None
    model_: FittedModel
    training_: Training
    _init_callback_context: Any
    _is_sample_fit: bool

    # how often each row counts when a sparse model learns from the reference
    _replicates: ClassVar[float]
    # settings that may be left open, and what they are when nothing is chosen
    _fixed_settings: ClassVar[dict[str, Any]]

    @abstractmethod
    def _rounds(self, reference: Reference) -> Iterator[Sequence[dict[str, Any]]]:
        """Settings to try, simple ones in the first rounds."""

    def _setting(self, name: str) -> Any:
        """A parameter as given, else as chosen from the data, else its fixed value."""
        value = getattr(self, name)
        if is_open(value):
            return getattr(self, "chosen_", {}).get(name, self._fixed_settings[name])
        return value

    def _chooses(self, name: str) -> bool:
        """Whether a setting is to be chosen: it is "auto", or all of them are left open."""
        values = [getattr(self, each) for each in self._fixed_settings]
        return is_auto(getattr(self, name)) or all(value is None for value in values)

    def _is_affordable(self, n_components: Any, n_columns: int, reference: Reference) -> bool:
        """Whether a candidate with so many columns is small enough to be tried."""
        n_rows, n_classes = reference.P_c.shape
        per_class = int(n_components) if isinstance(n_components, Integral) else 1
        return n_classes * per_class * min(n_rows, n_columns) <= MAX_COORDINATES

    @abstractmethod
    def _is_precomputed(self) -> bool: ...

    @abstractmethod
    def _require_columns(self, n_rows: int, n_inputs: int) -> None: ...

    @abstractmethod
    def _seeds(self) -> list[int]: ...

    @abstractmethod
    def _model_key(self, basis: Basis) -> str: ...

    def _goes_on(self) -> bool:
        """Whether this fit starts from the last one."""
        return bool(self.warm_start) and hasattr(self, "training_")

    def _continues(self, problem: Problem) -> bool:
        """Whether this fit starts from the last one, and finds something of it in its rows."""
        return self._goes_on()

    def _is_automatic(self, problem: Problem) -> bool:
        """Whether settings are to be chosen: all were left open, or one was said to be "auto"."""
        values = [getattr(self, name) for name in self._fixed_settings]
        wanted = any(self._chooses(name) for name in self._fixed_settings)
        possible = (
            problem.options.learns_alpha
            and problem.options.preparation.merge_rows
            and self.standardize is not False
            and isinstance(self.init, str)
            and not self._is_precomputed()
        )
        if any(map(is_auto, values)) and not possible:
            raise ValueError(
                "settings can be 'auto' only with prior='ard', preset='fast', standardised inputs, "
                "a named init and a named kernel; give numbers, or leave these at their defaults."
            )
        enough = len(problem.y) > MAX_ROWS or self._is_sample_fit
        return wanted and possible and not enough and not self._continues(problem)

    def _reference(self, problem: Problem) -> Reference | None:
        """The dense model to learn from; None if settings are not to be chosen, or it fails."""
        if not self._is_automatic(problem):
            return None
        N, C = len(problem.y), len(problem.classes)
        self._require_columns(*problem.X.shape)
        require_memory(
            reference_bytes(N, N, C),
            f"Choosing the settings from {N} rows of {C} classes",
            ["settings of your own", "fewer rows"],
        )
        newton_size = float(C * min(N, MAX_RANK))
        try:
            with blas_threads(N * newton_size**2):
                return fit_reference(problem.X, problem.y, problem.s)
        except FactorizationError:
            return None

    def _fit_automatically(
        self, reference: Reference, problem: Problem, X: Any, y: Any, sample_weight: Any
    ) -> Self:
        """Choose the settings and the model, and take over what it learned."""
        data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        context = None
        if hasattr(self, "_skl_callbacks"):
            context = self._init_callback_context(max_subtasks=None)
            context.call_on_fit_task_begin(estimator=self, **data)
        labelled = problem.sample
        plain = clone(self).set_params(
            class_weight=None, warm_start=False, random_state=self._seeds()[0]
        )
        plain.max_weights = None  # the choice comes first
        model, tried, learned = choose(
            plain,
            self._rounds(reference),
            labelled.X,
            problem.y,
            problem.s,
            reference,
            problem.classes,
            self.max_weights,
            divergence_within,
            (data, context),
        )
        covariance = honest_covariance(model.model_, labelled.X, problem.y, problem.s)
        self.model_ = replace(model.model_.at_rows(problem.first_user_row), covariance=covariance)
        self.training_ = replace(
            model.training_,
            chosen=dict(tried[0].parameters),
            candidates=tried,
            learned_reference=True,
        )
        self.training_ = replace(self.training_, settings=self._model_key(self.model_.basis))
        interrupted = any(map(is_interrupted, tried))
        if self.max_weights is not None and not interrupted:
            self.model_, self.training_ = within_budget(
                self.model_,
                self.training_,
                self.max_weights,
                problem.options,
                learned,
                labelled,
            )
        if context is not None:
            context.call_on_fit_task_end(estimator=self, **data)
        if interrupted:
            # what was learned so far can be used, and a search around this fit stops too
            raise KeyboardInterrupt
        warn_about(model)
        return self


def warn_about(model: Any) -> None:
    """Say so when the chosen model did not end well."""
    if model.stop_reason_ == Stop.MAX_ITER:
        warnings.warn(
            f"Learning of the chosen model stopped at max_iter={model.n_iter_} before it "
            "converged; raise max_iter or tol, or give the settings instead of leaving them open.",
            ConvergenceWarning,
            stacklevel=3 + FIT_FRAMES,
        )
    elif model.stop_reason_ == Stop.NUMERICAL:
        warnings.warn(
            f"Learning of the chosen model stopped after {model.n_iter_} iterations because the "
            "posterior precision of the weights could not be factorised; the model is the one "
            "reached so far. Give the settings instead of leaving them open.",
            NumericalTroubleWarning,
            stacklevel=3 + FIT_FRAMES,
        )


def is_auto(value: object) -> bool:
    """Whether a setting is to be chosen from the data, by name."""
    return isinstance(value, str) and value == "auto"


def is_open(value: object) -> bool:
    """Whether a setting has no value of its own."""
    return value is None or is_auto(value)
