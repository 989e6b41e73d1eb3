"""The rows of Table 1: how each classifier is set up, and how many weights it has.

Whatever is chosen from data is chosen on the training rows alone, inside ``fit``. Where a kernel
scale is chosen, it is by scikit-learn's `GridSearchCV`: five stratified folds, mean log loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from reproduction.gaussian_processes.estimator import MixtureOfGPsClassifier
from reproduction.generative import GaussianMixtureBayesClassifier
from reproduction.tuned_svm import TunedSVMClassifier
from sdgm import KernelSDGMClassifier, RVMClassifier

COMPONENTS_PER_CLASS = 3
FOLDS, QUICK_FOLDS = 5, 3
# scales of the quadratic kernel (gamma x'z + 1)^2 that are tried, the same for all data sets
SDGM_GAMMAS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
# times 1 / D, scales of exp(-gamma |x - z|^2) on standardised inputs
RBF_FACTORS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
SVM_COSTS = (0.1, 1.0, 10.0, 100.0)
# of the logistic regression, inverse strength of its penalty
RIDGE_COSTS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)


@dataclass(frozen=True)
class Situation:
    """What a method may depend on before it sees any row.

    Attributes
    ----------
    n_features : int
    seed : int
        Of starts and folds.
    quick : bool
        Fewer folds and coarser grids.
    """

    n_features: int
    seed: int
    quick: bool

    @property
    def folds(self) -> StratifiedKFold:
        n_splits = QUICK_FOLDS if self.quick else FOLDS
        return StratifiedKFold(n_splits, shuffle=True, random_state=self.seed)

    def grid(self, values: Sequence[float]) -> list[float]:
        """The values, or every third one."""
        return list(values[1::3] if self.quick else values)

    def chosen(self, estimator: Any, grid: dict[str, list[float]]) -> GridSearchCV:
        """The estimator with the parameters of the lowest cross-validated log loss."""
        return GridSearchCV(
            estimator, grid, scoring="neg_log_loss", cv=self.folds, error_score=-np.inf
        )


@dataclass(frozen=True)
class Method:
    """A row of the table.

    Attributes
    ----------
    title : str
        As in the table.
    make : callable
        From a `Situation` to an estimator.
    n_weights : callable
        From the fitted estimator and the number of training rows to weights before and after
        learning.
    note : str
        How it is set up, for the page.
    """

    title: str
    make: Callable[[Situation], Any]
    n_weights: Callable[[Any, int], tuple[int, int]]
    note: str


def as_published(situation: Situation) -> KernelSDGMClassifier:
    """SDGM as the authors run it: their thresholds, (x'z + 1)^2 on inputs as they are."""
    return KernelSDGMClassifier(
        COMPONENTS_PER_CLASS, kernel="poly", preset="paper", random_state=situation.seed
    )


def scale_chosen(situation: Situation) -> GridSearchCV:
    """SDGM with the kernel scale chosen on the training rows."""
    model = KernelSDGMClassifier(
        COMPONENTS_PER_CLASS,
        kernel="poly",
        standardize=False,
        random_state=situation.seed,
        teacher=None,
    )
    return situation.chosen(model, {"gamma": situation.grid(SDGM_GAMMAS)})


def automatic(situation: Situation) -> KernelSDGMClassifier:
    """SDGM without arguments."""
    return KernelSDGMClassifier(random_state=situation.seed)


def relevance_vector_machine(situation: Situation) -> GridSearchCV:
    """RVM with an rbf kernel whose width is chosen as SDGM's scale is."""
    factors = situation.grid(RBF_FACTORS)
    return situation.chosen(
        RVMClassifier(), {"gamma": [factor / situation.n_features for factor in factors]}
    )


def gaussian_process(situation: Situation) -> Any:
    """scikit-learn's classifier, kernel parameters by Laplace's evidence."""
    return make_pipeline(StandardScaler(), GaussianProcessClassifier(first_kernel(situation)))


def mixture_of_processes(situation: Situation) -> Any:
    """Three Gaussian processes per class, one pinned, kernel parameters by Laplace's evidence."""
    model = MixtureOfGPsClassifier(
        COMPONENTS_PER_CLASS,
        kernel=first_kernel(situation),
        max_evaluations=4 if situation.quick else 60,
        random_state=situation.seed,
    )
    return make_pipeline(StandardScaler(), model)


def first_kernel(situation: Situation) -> Any:
    """Where the search for the kernel's parameters starts, on standardised inputs."""
    return 1.0 * RBF(np.sqrt(situation.n_features))


def generative_mixture(situation: Situation) -> Any:
    """A Gaussian mixture per class by BIC, and Bayes' rule."""
    model = GaussianMixtureBayesClassifier(
        n_init=1 if situation.quick else 3, random_state=situation.seed
    )
    return make_pipeline(StandardScaler(), model)


def support_vector_machine(situation: Situation) -> Any:
    """Rbf SVM with cost and width by cross-validated error, Platt's probabilities."""
    gammas = [factor / situation.n_features for factor in situation.grid(RBF_FACTORS)]
    model = TunedSVMClassifier(costs=SVM_COSTS, gammas=gammas, cv=situation.folds)
    return make_pipeline(StandardScaler(), model)


def logistic_regression(situation: Situation) -> Any:
    """Linear, the strength of its ridge penalty by cross-validated log loss."""
    model = LogisticRegression(max_iter=1000)
    return make_pipeline(
        StandardScaler(), situation.chosen(model, {"C": situation.grid(RIDGE_COSTS)})
    )


def sdgm_weights(model: KernelSDGMClassifier, N: int) -> tuple[int, int]:
    """Candidate and surviving weights."""
    return model.n_initial_weights_, model.n_active_weights_


METHODS = {
    "sdgm": Method(
        "SDGM, scale chosen",
        scale_chosen,
        lambda model, N: sdgm_weights(model.best_estimator_, N),
        "dual form, 3 components per class, (gamma x'z + 1)^2 on inputs as they are, preset "
        "`fast`, identical rows merged; gamma by 5-fold cross-validated log loss over "
        + ", ".join(f"{gamma:g}" for gamma in SDGM_GAMMAS),
    ),
    "automatic": Method(
        "SDGM, automatic",
        automatic,
        sdgm_weights,
        "`KernelSDGMClassifier()`, all settings chosen from the training rows",
    ),
    "sdgm-published": Method(
        "SDGM, as published",
        as_published,
        sdgm_weights,
        "dual form, 3 components per class, (x'z + 1)^2 on inputs as they are, preset `paper`",
    ),
    "gp": Method(
        "GP",
        gaussian_process,
        lambda model, N: (N, N),
        "scikit-learn's `GaussianProcessClassifier`, rbf kernel, parameters by Laplace's evidence, "
        "standardised inputs (the paper used the method of Wenzel et al., 2019)",
    ),
    "mgp": Method(
        "MGP",
        mixture_of_processes,
        lambda model, N: (model[-1].n_active_weights_,) * 2,
        "`MixtureOfGPsClassifier`: 3 Gaussian processes per class, one of the six pinned at zero, "
        "rbf kernel, parameters by Laplace's evidence, standardised inputs",
    ),
    "rvm": Method(
        "RVM",
        relevance_vector_machine,
        lambda model, N: sdgm_weights(model.best_estimator_, N),
        "`RVMClassifier`, rbf kernel on standardised inputs, width chosen as SDGM's scale "
        "(the paper quotes Tipping, 2001)",
    ),
    "gmm": Method(
        "Gaussian mixtures, BIC",
        generative_mixture,
        lambda model, N: (model[-1].n_parameters_,) * 2,
        "one Gaussian mixture per class, covariance type and number of components by BIC, Bayes' "
        "rule; weights are means, covariances and shares",
    ),
    "svm": Method(
        "SVM",
        support_vector_machine,
        lambda model, N: (N, model[-1].n_support_vectors_),
        "rbf kernel, cost and width by cross-validated error, Platt's probabilities; weights are "
        "support vectors",
    ),
    "logistic": Method(
        "logistic regression",
        logistic_regression,
        lambda model, N: (model[0].n_features_in_ + 1,) * 2,
        "linear, ridge penalty by cross-validated log loss",
    ),
}
