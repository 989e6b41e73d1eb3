"""What both forms share: the path of a fit from the user's table to the fitted attributes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from sdgm._typing import FloatArray
from sdgm.core.initialization import (
    Start,
    distinct_rows,
    initial_responsibilities,
    initial_state,
)
from sdgm.core.learning import Result, class_shares, uses_blocks
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.model.scaler import Scaler
from sdgm.core.options import Options, Preset, Solver, preset_options, with_ridge_prior
from sdgm.core.rows import Rows
from sdgm.core.state import Record, State, Stop
from sdgm.estimators.automatic import Candidate
from sdgm.estimators.elimination import within_budget
from sdgm.estimators.fitted import (
    final_evidence,
    fitted_model,
    learned_covariance,
    training_of,
    warn_about,
)
from sdgm.estimators.footprint import covariance_bytes, learning_bytes, n_free
from sdgm.estimators.journal import (
    current_journal,
    fingerprint,
    journaled_learn,
    keeping_journal,
)
from sdgm.estimators.large import RowReader, all_in_memory
from sdgm.estimators.many_rows import ManyRowsMixin
from sdgm.estimators.memory import available_memory, require_memory
from sdgm.estimators.parameters import (
    Predictive,
    Prior,
    boolean,
    check_classes,
    check_labels,
    checked_responsibilities,
    checked_sample_weight,
    choice,
    class_factors,
    components_per_class,
    positive_integer,
    positive_number,
    whole_number,
)
from sdgm.estimators.prediction import PredictionMixin, attribute_of
from sdgm.estimators.preparation import (
    center_and_inverse_scale,
    merged_means,
    reduced_to_samples,
)
from sdgm.estimators.problem import LARGEST_INPUT, Columns, Problem
from sdgm.estimators.progress import (
    CallbackSupportMixin,
    Progress,
    print_end,
    with_callbacks,
)
from sdgm.estimators.sample import Sample
from sdgm.estimators.settings import OpenSettingsMixin, is_open
from sdgm.estimators.threads import learning_threads, sharing_threads
from sdgm.estimators.training import Training
from sdgm.json_values import json_value

# as in `Options`, where frequencies are learned: they keep more weights than labels do
FEW_WEIGHTS = 48


class BaseSDGM(
    OpenSettingsMixin,
    ManyRowsMixin,
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
        with keeping_journal(self.checkpoint, lambda: fingerprint(self, X, y, sample_weight)):
            options = self._options()
            if not self._goes_on():
                self._forget()
            if self._has_many_rows(X, options):
                return self._fit_many_rows(X, y, sample_weight, options)
            problem = self._prepare(all_in_memory(X), y, sample_weight, options)
            if isinstance(X, RowReader):
                self._set_names(X)
            reference = self._reference(problem)
            if reference is not None:
                return self._fit_automatically(reference, problem, X, y, sample_weight)
            self._learn(problem, {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}})
            return self

    def publish(self, model: FittedModel, training: Training) -> Self:
        """Hold a model that was fitted elsewhere, if the parameters are some that a fit takes."""
        self._options()
        self.n_features_in_ = len(model.scaler.center)
        self.model_, self.training_ = model, training
        components_per_class(self._setting("n_components"), model.classes)
        if self.predictive == Predictive.AVERAGED:
            model.require_covariance()
        return self

    def _forget(self) -> None:
        """Begin as if there had been no fit."""
        for name in "model_", "training_":
            if hasattr(self, name):
                delattr(self, name)

    def _learn(self, problem: Problem, data: dict[str, Any], context: Any = None) -> None:
        """Learn with the settings as they are.

        ``data`` is what scikit-learn's callbacks are told; within a larger fit they have its
        ``context``.
        """
        columns = self._make_columns(problem)
        H, rank = len(columns.design.Rt), min(columns.design.Rt.shape)
        self._require_learning(problem, H, rank)
        size = largest_matrix(problem, rank)
        n_coordinates = float(problem.n_components.sum()) * rank
        work = len(problem.y) * size * n_coordinates
        previous = self._previous_state(problem, columns)
        start = self._start_state(problem, columns, previous)
        is_own_task = context is None and hasattr(self, "_skl_callbacks")
        if is_own_task:
            context = self._init_callback_context(max_subtasks=None)
            context.call_on_fit_task_begin(estimator=self, **data)

        def learn_from(seed: int) -> Result:
            def attributes(record: Record) -> dict[str, Any]:
                assert record.state is not None
                return {"model_": fitted_model(problem, columns, record.state)}

            rows = self._rows(problem, columns, seed, continued=previous is not None)
            progress = Progress(self.verbose, context, self, attributes, data)
            keep_states = self.record_states or context is not None
            with learning_threads(len(problem.y), work, size):
                return journaled_learn(
                    rows,
                    columns.design.Rt,
                    start,
                    problem.options,
                    progress,
                    keep_states=keep_states,
                )

        parallel = context is None and current_journal() is None
        results = self._run(learn_from, parallel=parallel)
        best = max(results, key=final_evidence)
        model = fitted_model(problem, columns, best.state)
        covariance = learned_covariance(problem, columns, best.state)
        self.model_ = replace(model, covariance=covariance)
        self.training_ = training_of(
            results,
            best,
            columns,
            n_initial_weights=start.n_weights,
            settings=self._model_key(columns.basis),
            record_states=self.record_states,
            earlier=getattr(self, "training_", None),
        )
        if self.verbose:
            print_end(best)
        interrupted = any(result.stop is Stop.INTERRUPTED for result in results)
        if self.max_weights is not None and not interrupted:
            sample = problem.sample
            self.model_, self.training_ = within_budget(
                self.model_, self.training_, self.max_weights, self._options(), sample, sample
            )
        if is_own_task:
            context.call_on_fit_task_end(estimator=self, **data)
        if interrupted:
            # what was learned so far can be used, and a search around this fit stops too
            raise KeyboardInterrupt
        warn_about(best)

    def _fit_sample(
        self, sample: Sample, classes: np.ndarray[Any, Any], data: Any = None, context: Any = None
    ) -> None:
        """Learn from distinct rows with frequencies of the classes, settings as they are."""
        options = self._options()
        if options.few_weights:  # zero with a ridge prior, and the paper's way
            options = replace(options, few_weights=FEW_WEIGHTS)
        self._forget()
        self.n_features_in_ = sample.X.shape[1]
        n_components = components_per_class(self._setting("n_components"), classes)
        n_components = np.minimum(n_components, (sample.y > 0.0).sum(axis=0))
        scaler = self._scaler(sample.X, sample.s, options)
        X = scaler.standardized(sample.X)
        problem = Problem(
            classes,
            scaler.reaching(X),
            sample.X,
            np.arange(len(sample.X)),
            X,
            sample.y,
            sample.s,
            n_components,
            options,
            choice("init", self.init, Start),
        )
        self._learn(problem, data or {}, context)

    # --- from the user's table to a problem ---

    def _options(self) -> Options:
        """The preset with the user's prior and limits."""
        prior = choice("prior", self.prior, Prior)
        positive_integer("n_init", self.n_init)
        choice("predictive", self.predictive, Predictive)
        whole_number("verbose", self.verbose)
        positive_number("alpha", self.alpha)
        boolean("warm_start", self.warm_start)
        if self.max_weights is not None:
            positive_integer("max_weights", self.max_weights)
        boolean("record_states", self.record_states)
        if self.standardize is not None:
            boolean("standardize", self.standardize)
        options = preset_options(choice("preset", self.preset, Preset))
        solver = choice("solver", self.solver, Solver)
        options = replace(options, solver=solver, is_rough=self._is_sample_fit)
        if prior is Prior.RIDGE:
            options = with_ridge_prior(options, float(self.alpha))
        if self.max_iter is not None:
            options = replace(options, max_iter=positive_integer("max_iter", self.max_iter))
        if self.tol is not None:
            options = replace(options, tol=positive_number("tol", self.tol))
        return options

    def _prepare(self, X: Any, y: Any, sample_weight: Any, options: Options) -> Problem:
        """Check the data, merge repeated rows and standardise."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_labels(y)
        s = checked_sample_weight(sample_weight, X)
        s *= class_factors(self.class_weight, y, s)
        used = np.flatnonzero(s > 0)
        classes, codes = np.unique(y[used], return_inverse=True)
        check_classes(classes)
        n_components = components_per_class(self._setting("n_components"), classes)
        if self._is_precomputed():  # a table that is large itself
            self._require_columns(len(used), X.shape[1])
        rows, s = X[used], s[used]
        merged, merged_s, inverse = distinct_rows(np.column_stack([rows, codes]), s)
        first = np.full(len(merged), len(X))
        np.minimum.at(first, inverse, used)
        merged_codes = codes[np.searchsorted(used, first)]
        init: Start | FloatArray
        if isinstance(self.init, str):
            init = choice("init", self.init, Start)
            n_components = reduced_to_samples(
                n_components, merged_codes, classes, warn=not is_open(self.n_components)
            )
        else:
            init = checked_responsibilities(self.init, codes, n_components, used, len(X))
        if options.merge_rows and not self._is_precomputed():
            if not isinstance(init, Start):
                init = merged_means(init, s, inverse)
            rows, codes, s = merged[:, :-1], merged_codes, merged_s
        else:
            first = used
        scaler = self._scaler(rows, s, options)
        rows = scaler.standardized(rows)
        if not np.abs(rows).max() < LARGEST_INPUT:
            raise ValueError(
                f"the inputs are too large, up to {np.abs(rows).max():.3g}: their squares would "
                f"overflow; {self._smaller_inputs}."
            )
        return Problem(
            classes, scaler.reaching(rows), X, first, rows, codes, s, n_components, options, init
        )

    def _scaler(self, X: FloatArray, s: FloatArray, options: Options) -> Scaler:
        """Mean and inverse deviation of the inputs, or zero and one; those of the last fit."""
        D = X.shape[1]
        if self._goes_on():
            scaler = self.model_.scaler
            if len(scaler.center) != D:
                raise ValueError(
                    f"warm_start cannot go on from {len(scaler.center)} features to {D}; "
                    "set warm_start=False."
                )
            return replace(scaler, reach=np.inf)
        wanted = options.standardize if self.standardize is None else self.standardize
        if wanted and not self._is_precomputed():
            return Scaler(*center_and_inverse_scale(X, s))
        return Scaler.identity(D)

    def _run(self, learn_from: Callable[[int], Result], *, parallel: bool) -> list[Result]:
        """One result per start, or up to the one that was interrupted."""
        seeds = self._seeds()
        if parallel and len(seeds) > 1 and self.n_jobs not in (None, 1):
            return Parallel(n_jobs=self.n_jobs)(delayed(learn_from)(seed) for seed in seeds)
        results: list[Result] = []
        for seed in seeds:
            results.append(learn_from(seed))
            if results[-1].stop is Stop.INTERRUPTED:
                break
        return results

    def _seeds(self) -> list[int]:
        """One seed per start; the first is the user's own number, if there is one."""
        rng = check_random_state(self.random_state)
        if isinstance(self.random_state, Integral):
            return [(int(self.random_state) + start) % 2**32 for start in range(self.n_init)]

        def draw() -> list[int]:
            return [int(seed) for seed in rng.randint(np.iinfo(np.int32).max, size=self.n_init)]

        journal = current_journal()
        return draw() if journal is None else journal.drawn(draw)

    def _rows(self, problem: Problem, columns: Columns, seed: int, *, continued: bool) -> Rows:
        """The rows of the design with responsibilities to start from."""
        rows = Rows(columns.design.Z, problem.y, problem.s)
        if continued:
            return rows
        r0 = problem.init
        if isinstance(r0, Start):
            r0 = initial_responsibilities(
                columns.points, problem.y, problem.s, problem.n_components, r0, seed
            )
        return replace(rows, r0=r0)

    def _start_state(self, problem: Problem, columns: Columns, previous: State | None) -> State:
        """Where learning starts: from nothing, or from the last fit."""
        options, scale = problem.options, columns.design.scale
        if previous is None:
            return initial_state(
                len(scale),
                problem.n_components,
                class_shares(problem.y, problem.s, options),
                alpha=options.alpha_start,
                pinned=options.pinned,
            )
        return replace(
            previous,
            w=previous.w * scale[previous.column],
            alpha=previous.alpha / scale[previous.column] ** 2,
        )

    def _previous_state(self, problem: Problem, columns: Columns) -> State | None:
        """The state of the last fit, in the columns of this one, if it is to be gone on from."""
        if not self._goes_on():
            return None
        model, settings = self.model_, self.training_.settings
        if not np.array_equal(model.classes, problem.classes):
            raise ValueError(
                f"warm_start cannot go on from classes {model.classes.tolist()} to "
                f"{problem.classes.tolist()}; set warm_start=False."
            )
        if settings != self._model_key(columns.basis):
            raise ValueError(
                f"warm_start cannot go on from {settings} to {self._model_key(columns.basis)}; "
                "set warm_start=False."
            )
        state = model.among(columns.basis)
        if not problem.options.learn_alpha:
            state = replace(state, alpha=np.full(state.n_weights, float(self.alpha)))
        # nothing to go on from: all was pruned, or none of the relevance vectors is here
        return state if state.n_weights else None

    # --- what the forms differ in ---

    @abstractmethod
    def _make_columns(self, problem: Problem) -> Columns:
        """The candidate columns of this form."""

    def _model_key(self, basis: Any) -> str:
        """Words for what must stay the same to go on from a fit with columns of such a basis."""
        n_components = json_value(self._setting("n_components"))  # whatever the type of numbers
        return (
            f"{self._columns_key(basis)}, n_components={n_components!r}, "
            f"prior={self.prior!r}, preset={self.preset!r}, standardize={self.standardize!r}"
        )

    @abstractmethod
    def _columns_key(self, basis: Any) -> str:
        """Words for what the columns are."""

    @abstractmethod
    def _require_columns(self, n_rows: int, n_inputs: int) -> None:
        """Refuse columns that cannot fit, as far as the shape of the table tells.

        Where columns are to be chosen, those that are tried first.
        """

    @abstractmethod
    def _fewer_columns(self) -> list[str]:
        """Words for what would make the design smaller."""

    @property
    def _smaller_inputs(self) -> str:
        return "divide the kernel by a number" if self._is_precomputed() else "use standardize=True"

    def _require_learning(self, problem: Problem, n_columns: int, rank: int) -> None:
        """Refuse to learn with so many columns of this rank, if that cannot fit."""
        K, options = int(problem.n_components.sum()), problem.options

        def need(options: Options) -> float:
            size = largest_matrix(replace(problem, options=options), rank)
            n_threads = sharing_threads(len(problem.y), size)
            return learning_bytes(
                problem.X.shape,
                n_columns,
                rank,
                K,
                len(problem.n_components),
                options,
                n_threads,
            )

        n_bytes, available = need(options), available_memory()
        if n_bytes > available:
            remedies = self._smaller(problem)
            by_blocks = need(replace(options, solver=Solver.BLOCK))
            if "solver" in self.get_params() and by_blocks < min(n_bytes, available):
                remedies.append("solver='block'")
            what = f"Learning {K} components x {n_columns} columns of rank {rank}"
            require_memory(n_bytes, what, remedies)
        n_weights = n_free(K, options) * n_columns
        # all of them stay, and to choose among them their covariance is needed
        if self.max_weights is not None and not options.learn_alpha:
            what = f"The covariance of {n_weights} weights"
            require_memory(covariance_bytes(n_weights), what, self._smaller(problem))

    def _smaller(self, problem: Problem) -> list[str]:
        """Words for what would make the problem smaller."""
        can_have_fewer = "n_components" in self.get_params() and int(problem.n_components.max()) > 1
        return self._fewer_columns() + ["fewer components"] * can_have_fewer

    def _is_precomputed(self) -> bool:
        """Whether X holds kernel values instead of inputs."""
        return False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        return tags


def largest_matrix(problem: Problem, rank: int) -> int:
    """Rows of the largest matrix of Newton's method, with a design of this rank.

    With blocks there is one matrix per component.
    """
    K = int(problem.n_components.sum())
    blocks = uses_blocks(len(problem.y), np.full(K, float(rank)), rank, problem.options)
    return rank if blocks else K * rank
