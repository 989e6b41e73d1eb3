"""What both forms share: parameters, `fit` and fitted attributes."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import validate_data

from sdgm._typing import FloatArray
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.model.state import Record
from sdgm.estimators.choosing import fit_automatically, reference_for
from sdgm.estimators.fitting import fit_problem, warn_about
from sdgm.estimators.parameters import Predictive, components_per_class
from sdgm.estimators.pickling import VersionedPickleMixin
from sdgm.estimators.plan import form_of, plan_of, settings_of
from sdgm.estimators.prediction import PredictionMixin, attribute_of
from sdgm.estimators.preparation import check_same_inputs, prepared
from sdgm.estimators.run import CallbackSupportMixin, Run, Task, with_callbacks
from sdgm.estimators.training import Candidate, Fit, Training
from sdgm.scale.checkpoint import fingerprint, kept_checkpoint
from sdgm.scale.many_rows import fit_many_rows, has_many_rows, table_of
from sdgm.scale.sampling import RowReader, all_in_memory, name_inputs


class BaseSDGM(
    VersionedPickleMixin,
    CallbackSupportMixin,
    ClassifierMixin,
    PredictionMixin,
    BaseEstimator,
):
    """Common part of `SDGMClassifier` and `KernelSDGMClassifier`."""

    n_components: Any
    prior: str
    alpha: float
    preset: str
    standardize: bool | None
    init: Any
    n_init: int
    max_iter: int | None
    tol: float | None
    class_weight: Any
    predictive: str
    max_weights: int | None
    random_state: Any
    warm_start: bool
    n_jobs: int | None
    verbose: int
    record_states: bool
    checkpoint: Any
    solver: str

    # settings that may be left open, and what they are when nothing is chosen
    fixed_settings: ClassVar[dict[str, Any]]

    n_features_in_: int
    training_: Training
    history_: list[Record] = attribute_of("training_.history")
    n_iter_: int = attribute_of("training_.n_iter")
    converged_: bool = attribute_of("training_.converged")
    stop_reason_: str = attribute_of("training_.stop_reason")
    log_evidence_: float = attribute_of("training_.log_evidence")
    start_log_evidences_: FloatArray = attribute_of("training_.start_log_evidences")
    n_initial_weights_: int = attribute_of("training_.n_initial_weights")
    chosen_: dict[str, Any] = attribute_of("training_.chosen")
    candidates_: list[Candidate] = attribute_of("training_.candidates")

    @property
    def weights_path_(self) -> dict[str, Any]:
        """The way to ``max_weights``, if there was a limit."""
        if self.training_.weights_path is None:
            raise AttributeError("weights_path_ is there only after a fit with max_weights.")
        return self.training_.weights_path

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the classifier from labelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels: numbers, strings or booleans.
        sample_weight : array-like of shape (n_samples,), optional
            How often each sample counts; zero leaves it out.

        Returns
        -------
        self
        """
        previous = self._previous_fit()
        state = None if previous is None else previous[0].state
        plan = plan_of(self, previous=previous)
        self._forget_unless(previous, X)
        with kept_checkpoint(
            self.checkpoint, lambda: fingerprint(self, X, y, sample_weight, state)
        ) as checkpoint:
            run = Run(checkpoint, self.verbose, self._task(X, y, sample_weight))
            if has_many_rows(X, plan):
                table, classes = table_of(self, X, y, sample_weight)
                run.task.begin()
                fit = fit_many_rows(table, self.n_features_in_, classes, plan, run)
                return self._keep(fit, run)
            rows, labels = validate_data(self, all_in_memory(X), y, dtype=np.float64)
            if isinstance(X, RowReader):
                name_inputs(self, X)
            problem = prepared(rows, labels, sample_weight, plan)
            reference = reference_for(problem, plan) if plan.settings.wants_choice else None
            run.task.begin()
            if reference is None:
                fit = fit_problem(problem, plan, run)
            else:
                fit = fit_automatically(reference, problem, plan, run)
            return self._keep(fit, run)

    def publish(self, model: FittedModel, training: Training) -> Self:
        """Hold a model that was fitted elsewhere, if the parameters are some that a fit takes.

        Parameters
        ----------
        model : FittedModel
        training : Training
        """
        plan = plan_of(self, chosen=training.chosen)
        components_per_class(plan.settings["n_components"], model.classes)
        if self.predictive == Predictive.AVERAGED:
            model.require_covariance()
        self.n_features_in_ = len(model.scaler.center)
        self.model_, self.training_ = model, training
        return self

    def _previous_fit(self) -> tuple[FittedModel, Training] | None:
        """What this fit goes on from, if it does."""
        if not self.warm_start or not hasattr(self, "training_"):
            return None
        return self.model_, self.training_

    def _forget_unless(self, previous: tuple[FittedModel, Training] | None, X: Any) -> None:
        """Drop an earlier model, unless it is gone on from; a fit that fails leaves none."""
        if previous is not None:
            shape: tuple[int, ...] = getattr(X, "shape", ())
            if len(shape) == 2:
                check_same_inputs(previous[0], shape[1])
            return
        for name in "model_", "training_":
            if hasattr(self, name):
                delattr(self, name)

    def _task(self, X: Any, y: Any, sample_weight: Any) -> Task:
        """The fit as scikit-learn's callbacks see it, where there are any."""
        if not hasattr(self, "_skl_callbacks"):
            return Task()
        data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        return Task(self, lambda: self._init_callback_context(max_subtasks=None), data)

    def _keep(self, fit: Fit, run: Run) -> Self:
        """Keep what a fit led to, and say so when it did not end well."""
        self.model_, self.training_ = fit.model, fit.training
        run.task.end()
        if fit.is_interrupted:
            # what was learned so far can be used, and a search around this fit stops too
            raise KeyboardInterrupt
        warn_about(fit.training)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = form_of(self, settings_of(self)).is_precomputed
        return tags
