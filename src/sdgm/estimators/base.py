"""What both forms share: parameters, `fit` and fitted attributes."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Self

from sklearn.base import ClassifierMixin

from sdgm._typing import FloatArray
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.model.state import Record
from sdgm.estimators.parameters import Predictive, components_per_class, is_given
from sdgm.estimators.pickling import VersionedEstimator
from sdgm.estimators.plan import Plan, form_of, plan_of, settings_of
from sdgm.estimators.prediction import PredictionMixin, attribute_of
from sdgm.estimators.preparation import check_same_inputs, prepared
from sdgm.estimators.run import CallbackSupportMixin, Run, Task, with_callbacks
from sdgm.estimators.training import Candidate, Fit, Training
from sdgm.scale.checkpoint import Checkpoint, fingerprint, kept_checkpoint
from sdgm.scale.sampling import RowReader, all_in_memory, name_inputs
from sdgm.scale.table import LARGE_ROWS, table_of
from sdgm.scale.validation import validated


class BaseSDGM(
    CallbackSupportMixin,
    ClassifierMixin,
    PredictionMixin,
    VersionedEstimator,
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
    max_features: int | None
    max_divergence: float | None
    random_state: Any
    warm_start: bool
    n_jobs: int | None
    verbose: int
    record_states: bool
    checkpoint: Any
    solver: str

    # settings that may be left open, and their values when nothing is chosen
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
    def fidelity_(self) -> float:
        """Mean divergence from the teacher, in nats, at held-out synthetic rows."""
        if not self.training_.learned_reference:
            raise AttributeError("fidelity_ is only available after a fit with a teacher.")
        return self.training_.candidates[0].divergence

    @property
    def weights_path_(self) -> dict[str, Any]:
        """The elimination path to ``max_weights``, if it was given."""
        if self.training_.weights_path is None:
            raise AttributeError("weights_path_ is only available after a fit with max_weights.")
        return self.training_.weights_path

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier to labelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels: numbers, strings or booleans.
        sample_weight : array-like of shape (n_samples,), optional
            Sample weights, treated as frequencies; zero leaves a sample out.

        Returns
        -------
        self
        """
        # imported here, because a model that is only loaded to predict does not need the code of
        # the fit
        from sdgm.estimators.choosing import fit_automatically, targets_for
        from sdgm.estimators.fitting import fit_problem
        from sdgm.estimators.inputs import with_inputs
        from sdgm.scale import many_rows

        previous = self._previous_fit(X)
        plan = plan_of(self, previous=previous)
        kept: AbstractContextManager[Checkpoint | None] = nullcontext()
        if self.checkpoint is not None:
            mark = partial(fingerprint, self, X, y, sample_weight, previous and previous[0].state)
            kept = kept_checkpoint(self.checkpoint, mark)
        task = self._task(X, y, sample_weight) if hasattr(self, "_skl_callbacks") else None
        with kept as checkpoint:
            run = Run(checkpoint, self.verbose, task)
            if has_many_rows(X, plan):
                refuse_teacher(plan)
                table, classes = table_of(self, X, y, sample_weight)
                learned = partial(many_rows.fit_many_rows, table, self.n_features_in_, classes)
            else:
                is_read = isinstance(X, RowReader | str | PathLike)
                every = all_in_memory(X) if is_read else X
                rows, labels = validated(self, every, y)
                if is_read:
                    name_inputs(self, X)
                if plan.max_features is not None or previous is not None:
                    plan = with_inputs(plan, rows, labels, sample_weight)
                problem = prepared(rows, labels, sample_weight, plan)
                learned = partial(fit_problem, problem)
                targets = None if plan.teacher is None else targets_for(problem, plan)
                if targets is not None:
                    learned = partial(fit_automatically, targets, problem)
            if task is not None:
                task.begin()
            return self._keep(learned(plan, run), run)

    def publish(self, model: FittedModel, training: Training) -> Self:
        """Take over a model that was fitted elsewhere, if a fit would accept the parameters.

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

    def _previous_fit(self, X: Any) -> tuple[FittedModel, Training] | None:
        """The model that this fit starts from; without a warm start an earlier model is dropped.

        If the fit fails, the estimator is not fitted.
        """
        if self.warm_start and hasattr(self, "training_"):
            shape: tuple[int, ...] = getattr(X, "shape", ())
            if len(shape) == 2:
                check_same_inputs(self.model_, shape[1])
            return self.model_, self.training_
        for name in {"model_", "training_"} & vars(self).keys():
            delattr(self, name)
        return None

    def _task(self, X: Any, y: Any, sample_weight: Any) -> Task:
        """The fit as scikit-learn's callbacks see it."""
        data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        return Task(self, lambda: self._init_callback_context(max_subtasks=None), data)

    def _keep(self, fit: Fit, run: Run) -> Self:
        """Keep the result of a fit, and warn if it did not end well."""
        self.model_, self.training_ = fit.model, fit.training
        if run.task is not None:
            run.task.end()
        if fit.is_interrupted:
            # the model learned so far can be used, and a search around this fit stops too
            raise KeyboardInterrupt
        if not fit.training.converged:
            from sdgm.estimators.fitting import warn_about

            warn_about(fit.training)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = form_of(self, settings_of(self)).is_precomputed
        return tags


def refuse_teacher(plan: Plan) -> None:
    """Refuse a teacher for many rows, whose weights are learned from the labels."""
    if is_given(plan.teacher):
        raise ValueError(
            f"a teacher is supported up to {LARGE_ROWS} rows; fit to a sample of them, or set "
            "teacher='auto'."
        )


def has_many_rows(X: Any, plan: Plan) -> bool:
    """Whether a sample selects the structure of the model."""
    from sdgm.scale import many_rows

    shape = getattr(X, "shape", None)
    if shape is None:
        shape = (len(X) if hasattr(X, "__len__") else 0,)
    if len(shape) == 0 or shape[0] <= min(many_rows.MAX_ROWS, many_rows.LARGE_ROWS):
        return False  # whatever the settings
    return shape[0] > many_rows.rows_at_once(plan) and many_rows.why_not_by_sums(plan) is None
