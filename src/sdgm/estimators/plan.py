"""The parameters of a fit, checked: settings that may be chosen, the form, and the recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sdgm._typing import FloatArray, IntArray
from sdgm.core.inference.preset import Preset
from sdgm.core.inference.recipe import PRESETS, Recipe
from sdgm.core.inference.variations import (
    for_sample,
    limited,
    with_ridge_prior,
    with_shared_columns,
    with_solver,
)
from sdgm.core.model.basis import Basis
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.solvers.select import Solver
from sdgm.estimators.forms import Form
from sdgm.estimators.kernel_form import KernelForm
from sdgm.estimators.parameters import (
    OpenSettings,
    Predictive,
    Prior,
    boolean,
    check_teacher,
    choice,
    is_given,
    positive_integer,
    positive_number,
    whole_number,
)
from sdgm.estimators.quadratic_form import QuadraticForm
from sdgm.estimators.training import Training

# seeds are drawn below this
LARGEST_SEED = 2**31 - 1


@dataclass(frozen=True)
class Plan:
    """What a fit will do, as far as the parameters determine it.

    Attributes
    ----------
    settings : OpenSettings
    form : Form
        With the settings as they are.
    recipe : Recipe
    parameters : dict
        Of the estimator; users cannot change the others.
    alpha, prior, preset, standardize, init, class_weight, random_state, n_init, max_weights :
    max_features, max_divergence, n_jobs, predictive, record_states, teacher :
        As given.
    previous : (FittedModel, Training) or None
        The model that a warm start continues from.
    inputs : (n_inputs,) array or None
        Features that are read; None for all.
    may_share : bool
        Whether many classes may share their columns, which makes the model larger.
    """

    settings: OpenSettings
    form: Form
    recipe: Recipe
    parameters: Mapping[str, Any]
    alpha: float
    prior: str
    preset: str
    standardize: bool | None
    init: Any
    class_weight: Any
    random_state: Any
    n_init: int
    max_weights: int | None
    max_features: int | None
    max_divergence: float | None
    n_jobs: int | None
    predictive: str
    record_states: bool
    teacher: Any = None
    previous: tuple[FittedModel, Training] | None = field(default=None, repr=False)
    inputs: IntArray | None = None
    may_share: bool = True

    @property
    def merges_rows(self) -> bool:
        """Whether identical rows are one row."""
        return self.recipe.preparation.merge_rows and not self.form.is_precomputed

    def key(self, basis: Basis) -> str:
        """Words for what must stay the same to go on from a fit with these columns."""
        # whatever the type of numbers
        n_components = np.asarray(self.settings["n_components"]).tolist()
        return (
            f"{self.form.key(basis)}, n_components={n_components!r}, "
            f"prior={self.prior!r}, preset={self.preset!r}, standardize={self.standardize!r}"
        )

    def seeds(self) -> list[int]:
        """One seed per start; the first is the user's own number, if there is one."""
        rng = check_random_state(self.random_state)
        if isinstance(self.random_state, Integral):
            return [(int(self.random_state) + start) % 2**32 for start in range(self.n_init)]
        seeds: list[int] = rng.randint(LARGEST_SEED, size=self.n_init).tolist()
        return seeds

    def with_settings(self, values: Mapping[str, Any]) -> Plan:
        """The plan of a candidate, whose open settings have these values."""
        settings = self.settings.with_values(values)
        return replace(self, settings=settings, form=self.form.with_settings(settings))

    def with_inputs(self, inputs: IntArray) -> Plan:
        """The plan of a fit that reads these features of all."""
        previous = self.previous
        if previous is not None:
            previous = previous[0].only_inputs(inputs), previous[1]
        return replace(self, inputs=inputs, previous=previous)

    def read(self, X: FloatArray) -> FloatArray:
        """The features that are read: (N, n_inputs)."""
        return X if self.inputs is None else np.ascontiguousarray(X[:, self.inputs])

    def for_sample(self, seed: int) -> Plan:
        """The plan of a fit to a sample, which is refined on all rows afterwards."""
        recipe = for_sample(self.recipe)
        return replace(self, recipe=recipe, random_state=seed)


def plan_of(
    estimator: Any,
    *,
    chosen: Mapping[str, Any] | None = None,
    previous: tuple[FittedModel, Training] | None = None,
) -> Plan:
    """The plan of an estimator, or one sentence about an invalid parameter.

    Parameters
    ----------
    estimator : SDGMClassifier, KernelSDGMClassifier or one of their special cases
    chosen : dict, optional
        Settings that an earlier fit chose, to be kept.
    previous : (FittedModel, Training), optional
        The model that a warm start continues from, with its chosen settings.
    """
    if previous is not None:
        chosen = previous[1].chosen
    settings = settings_of(estimator, chosen)
    recipe = recipe_of(estimator)
    form = form_of(estimator, settings)
    form.check()
    if estimator.max_features is not None:
        check_max_features(estimator.max_features, form)
    if previous is not None:
        form = form.continuing(previous[0])
    return Plan(
        settings=settings,
        form=form,
        recipe=recipe,
        parameters=estimator.get_params(deep=False),
        alpha=float(estimator.alpha),
        prior=estimator.prior,
        preset=estimator.preset,
        standardize=estimator.standardize,
        init=estimator.init,
        class_weight=estimator.class_weight,
        random_state=estimator.random_state,
        n_init=estimator.n_init,
        max_weights=estimator.max_weights,
        max_features=estimator.max_features,
        max_divergence=estimator.max_divergence,
        n_jobs=estimator.n_jobs,
        predictive=estimator.predictive,
        record_states=estimator.record_states,
        teacher=teacher_of(estimator),
        previous=previous,
    )


def check_max_features(limit: object, form: Form) -> None:
    """Refuse an invalid budget of inputs, as far as that is known without the data."""
    positive_integer("max_features", limit)
    if form.is_precomputed or callable(getattr(form, "kernel", None)):
        what = "precomputed" if form.is_precomputed else "a function"
        raise ValueError(
            f"max_features needs one of the named kernels, but kernel is {what}; use kernel="
            "'poly', 'rbf' or 'linear', or set max_features=None."
        )


def teacher_of(estimator: Any) -> Any:
    """The teacher, checked; the paper's preset learns labels.

    So do special cases of the model, which have no such parameter, unless a setting is to be
    chosen.
    """
    if "teacher" in estimator.get_params(deep=False):
        teacher = estimator.teacher
    else:
        settings = settings_of(estimator).given.values()
        teacher = "auto" if "auto" in map(str, settings) else None
        if teacher is not None and estimator.prior != Prior.ARD:
            raise ValueError(
                f"settings of {type(estimator).__name__} cannot be 'auto', since that needs "
                "prior='ard'; give them values, or use SDGMClassifier."
            )
    if teacher is None:
        return None
    check_teacher(teacher)
    is_paper = estimator.preset == Preset.PAPER and not is_given(teacher)
    return None if is_paper else teacher


def settings_of(estimator: Any, chosen: Mapping[str, Any] | None = None) -> OpenSettings:
    """Settings of an estimator that may be left open, given what was chosen for it."""
    fixed = estimator.fixed_settings
    given = {name: getattr(estimator, name) for name in fixed}
    return OpenSettings(given, fixed, chosen or {})


def form_of(estimator: Any, settings: OpenSettings) -> Form:
    """The original form, which has a covariance type, or the dual form, which has a kernel."""
    if "covariance_type" in settings.fixed:
        return QuadraticForm(settings["covariance_type"])
    is_paper = estimator.preset == Preset.PAPER
    return KernelForm(
        settings["kernel"],
        settings["gamma"],
        estimator.degree,
        estimator.coef0,
        default_gamma=1.0 if is_paper else "scale",
    )


def recipe_of(estimator: Any) -> Recipe:
    """The preset with the user's prior, solver and limits."""
    prior = choice("prior", estimator.prior, Prior)
    positive_integer("n_init", estimator.n_init)
    choice("predictive", estimator.predictive, Predictive)
    check_random_state(estimator.random_state)
    if estimator.n_jobs is not None and (
        not isinstance(estimator.n_jobs, Integral) or estimator.n_jobs == 0
    ):
        raise ValueError(
            f"n_jobs must be None or a whole number other than 0, got {estimator.n_jobs!r}."
        )
    whole_number("verbose", estimator.verbose)
    positive_number("alpha", estimator.alpha)
    boolean("warm_start", estimator.warm_start)
    if estimator.max_weights is not None:
        positive_integer("max_weights", estimator.max_weights)
    if estimator.max_divergence not in (None, 0):
        positive_number("max_divergence", estimator.max_divergence)
    boolean("record_states", estimator.record_states)
    if estimator.standardize is not None:
        boolean("standardize", estimator.standardize)
    recipe = PRESETS[choice("preset", estimator.preset, Preset)]
    solver = choice("solver", estimator.solver, Solver)
    if solver is not Solver.AUTO:
        recipe = with_solver(recipe, solver)
    if prior is Prior.RIDGE:
        recipe = with_ridge_prior(recipe, float(estimator.alpha))
    if estimator.max_iter is not None:
        recipe = limited(recipe, max_iter=positive_integer("max_iter", estimator.max_iter))
    if estimator.tol is not None:
        recipe = limited(recipe, tol=positive_number("tol", estimator.tol))
    shared = getattr(estimator, "shared_vectors", False)
    boolean("shared_vectors", shared)
    return with_shared_columns(recipe) if shared else recipe
