"""A PAC-Bayes bound on the error of a fitted classifier, from its training rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from sdgm._typing import BoolArray, FloatArray, IntArray
from sdgm.bounds import pac_bayes
from sdgm.bounds.gibbs import Answers, Loss, Posterior, mean_losses, weight_posterior
from sdgm.core.model.features import n_monomials
from sdgm.core.model.kernels import KernelBasis
from sdgm.estimators.base import BaseSDGM
from sdgm.estimators.dual import KernelSDGMClassifier
from sdgm.estimators.forms import AUTO_COMPONENTS
from sdgm.estimators.parameters import choice, components_per_class, positive_integer
from sdgm.estimators.plan import settings_of
from sdgm.estimators.quadratic_form import FULL_TO_SIMPLE
from sdgm.estimators.students import SCALES

# factors on the covariance of the weights that are tried, in octaves: more of them above one, since
# a wider posterior is less far from the prior
COVARIANCE_SCALES = 2.0 ** np.arange(-4, 9)
# draws that the factor is chosen by, apart from those that the bound is computed from: an error of
# 10% is then known to 0.2 points
PILOT_DRAWS = 20_000
# share of delta that is kept for the draws: delta enters by its logarithm, which loses 0.02
DRAWS_SHARE = 0.02
# how many values of a setting were there to choose from, the fixed one included
CHOICES = {
    "covariance_type": len(FULL_TO_SIMPLE) + 1,
    "kernel": 3,
    "gamma": 2 * len(SCALES) + 1,
}


class Scaling(StrEnum):
    """Where the scaling of the inputs comes from."""

    GIVEN = "given"
    PAID = "paid"


@dataclass(frozen=True)
class PACBayesBound:
    """Upper bounds on the error on new rows, and their terms.

    Attributes
    ----------
    gibbs_bound : float
        Upper bound on the error of the Gibbs classifier, which draws weights for each row.
    gibbs_error : float
        Error of the Gibbs classifier on the rows, estimated from draws.
    joint_bound, joint_error : float
        The same for the probability that two draws both misclassify a row.
    vote_bound : float
        Upper bound on the error of the majority vote over the posterior.
    kl_weights, kl_structure, kl_settings : float
        KL divergence of posterior from prior in nats: for the values of the weights; for the choice
        of weights, components and relevance vectors; for settings, prior variances and scaling.
    n_rows : int
        Number of rows on which errors were measured, without relevance vectors.
    covariance_scale : float
        Factor of the covariance of the weights, chosen to make the bound small.
    delta : float
        Probability that any of the bounds does not hold.
    scaling_is_given : bool
        Whether the bounds treat centers and scales of the features, which were estimated from the
        rows, as known in advance.

    Examples
    --------
    >>> from sdgm import SDGMClassifier, pac_bayes_bound
    >>> from sdgm.datasets import make_ripley
    >>> X, y, _, _ = make_ripley(1000, 4, random_state=0).split()
    >>> model = SDGMClassifier(2, random_state=0, teacher=None).fit(X, y)
    >>> bound = pac_bayes_bound(model, X, y)
    >>> bound.gibbs_error < bound.gibbs_bound < 0.4
    True
    """

    gibbs_bound: float
    gibbs_error: float
    joint_bound: float
    joint_error: float
    vote_bound: float
    kl_weights: float
    kl_structure: float
    kl_settings: float
    n_rows: int
    covariance_scale: float
    delta: float
    scaling_is_given: bool

    @property
    def kl(self) -> float:
        """All nats that are paid."""
        return self.kl_weights + self.kl_structure + self.kl_settings


def pac_bayes_bound(
    model: Any,
    X: Any,
    y: Any,
    *,
    delta: float = 0.05,
    loss: str = "error",
    scaling: str = "given",
    n_alternatives: int = 1,
    n_draws: int = 500_000,
    random_state: Any = 0,
) -> PACBayesBound:
    """PAC-Bayes bound on the error on new rows, which holds with probability ``1 - delta``.

    The only assumption is that rows are independent draws from one distribution. The posterior is
    ``N(w, covariance_)`` with the covariance scaled by a factor; the prior is a mixture over all
    models that the fit could have returned. In the dual form, errors are measured on the rows that
    are not relevance vectors, and the choice of the relevance vectors is part of the bound.

    Parameters
    ----------
    model : SDGMClassifier, KernelSDGMClassifier or a special case of them
        Fitted.
    X, y : array-like
        The training rows, in the same order as in the fit.
    delta : float, default=0.05
        Probability that the bounds do not hold.
    loss : {"error", "probability"}, default="error"
        Whether a drawn classifier predicts its most probable class, or a class drawn from its
        probabilities. The vote of the latter is the classifier with ``predictive="averaged"``. The
        vote of the former is ``predictive="map"`` if there are two classes of one component each.
    scaling : {"given", "paid"}, default="given"
        Whether the standardisation of the features (and ``gamma="scale"``) is treated as known in
        advance, or rounded to a grid and included in the bound, at about ten nats per feature.
    n_alternatives : int, default=1
        Number of models from which this one was chosen by results on the same rows, by hand or in
        a search.
    n_draws : int, default=500_000
        Total number of draws over all rows.
    random_state : int, RandomState or None, default=0
        Seed of the draws.

    Returns
    -------
    bound : PACBayesBound

    References
    ----------
    J. Langford, "Tutorial on Practical Prediction Theory for Classification", JMLR 2005.
    A. Maurer, "A Note on the PAC Bayesian Theorem", 2004.
    F. Laviolette and M. Marchand, "PAC-Bayes Risk Bounds for Stochastic Averages and Majority Votes
    of Sample-Compressed Classifiers", JMLR 2007.

    Examples
    --------
    >>> from sdgm import KernelSDGMClassifier, pac_bayes_bound
    >>> from sdgm.datasets import make_ripley
    >>> X, y, _, _ = make_ripley(1000, 4, random_state=0).split()
    >>> model = KernelSDGMClassifier(1, kernel="rbf", gamma=1.0, random_state=0).fit(X, y)
    >>> bound = pac_bayes_bound(model, X, y, delta=0.01)
    >>> bound.n_rows == 1000 - len(model.relevance_)
    True
    >>> bound.gibbs_bound < 0.4
    True
    """
    check_model(model)
    if isinstance(delta, bool) or not isinstance(delta, int | float) or not 0 < delta < 1:
        raise ValueError(f"delta must be a number between 0 and 1, got {delta!r}; try 0.05.")
    used_loss = choice("loss", loss, Loss)
    used_scaling = choice("scaling", scaling, Scaling)
    positive_integer("n_draws", n_draws)
    settings = math.log(positive_integer("n_alternatives", n_alternatives))
    rng = np.random.default_rng(check_random_state(random_state).randint(2**32, dtype=np.uint64))
    X, y = validate_data(model, X, y, dtype=np.float64, reset=False)
    code = codes(model, y)
    kept, structure = structure_cost(model, X)
    Phi, cost, is_given = basis_values(model, X[kept], used_scaling)
    posterior = weight_posterior(model.model_, Phi)
    settings += cost + settings_cost(model) + pac_bayes.prior_choice_cost(len(posterior.groups))
    answers = Answers(model.component_class_, len(model.classes_), code[kept], used_loss)
    return smallest_bound(
        posterior,
        *posterior.scores(Phi),
        answers,
        structure=structure,
        settings=settings,
        delta=float(delta),
        n_draws=n_draws,
        rng=rng,
        scaling_is_given=is_given,
    )


def check_model(model: Any) -> None:
    """Refuse what has no posterior over weights on a basis."""
    if not isinstance(model, BaseSDGM):
        raise TypeError(
            "pac_bayes_bound needs an SDGMClassifier, a KernelSDGMClassifier or a special case of "
            f"them, got {type(model).__name__}."
        )
    check_is_fitted(model)
    if model.covariance_ is None:
        raise ValueError(
            f"{type(model).__name__} kept no covariance of its {model.n_active_weights_} weights, "
            "so that there is no posterior to draw from; fit a smaller model."
        )


def codes(model: Any, y: np.ndarray[Any, Any]) -> IntArray:
    """Class index of each label."""
    index = {label: c for c, label in enumerate(model.classes_.tolist())}
    unknown = [label for label in y.tolist() if label not in index]
    if unknown:
        raise ValueError(
            f"y has the label {unknown[0]!r}, which the model has not seen; pass the rows that it "
            "was fitted to."
        )
    return np.array([index[label] for label in y.tolist()])


def settings_cost(model: Any) -> float:
    """Nats for the settings that the fit chose from lists; those given were there before."""
    return sum(math.log(n) for name, n in CHOICES.items() if is_chosen(model, name))


def is_chosen(model: Any, name: str) -> bool:
    """Whether this setting of this form was left to the fit."""
    settings = settings_of(model, model.chosen_)
    return name in model.chosen_ and settings.chooses(name)


def structure_cost(model: Any, X: FloatArray) -> tuple[BoolArray, float]:
    """Rows to measure errors on, and nats for components, relevance vectors and weights."""
    kept = np.ones(len(X), dtype=bool)
    most = [max(AUTO_COMPONENTS)] * len(model.classes_)
    settings = settings_of(model, model.chosen_)
    if not is_chosen(model, "n_components"):
        most = components_per_class(settings["n_components"], model.classes_).tolist()
    # which component's constant is zero, of all of them
    cost = pac_bayes.components_cost(model.n_components_.tolist(), most)
    cost += math.log(len(model.mixture_weights_))
    inputs = model.model_.scaler.inputs
    # which inputs were chosen; how many was given
    cost += pac_bayes.log_binomial(X.shape[1], len(inputs))
    if isinstance(model, KernelSDGMClassifier):
        check_rows(model, X)
        kept[model.relevance_] = False
        n_candidates = int((~kept).sum())
        if n_candidates == len(X):
            raise ValueError(
                f"all of the {len(X)} rows are relevance vectors, so that none is left to measure "
                "errors on; use a sparser model or more rows."
            )
        cost += pac_bayes.subset_cost(len(X), n_candidates)
    else:
        n_candidates = n_monomials(len(inputs), settings["covariance_type"]) - 1
    for n_weights in model.model_.active[:, 1:].sum(axis=1).tolist():
        cost += pac_bayes.subset_cost(n_candidates, n_weights)
    return kept, cost


def check_rows(model: Any, X: FloatArray) -> None:
    """Refuse rows whose relevance vectors are not where they were in the fit."""
    rows, vectors = model.relevance_, model.relevance_vectors_
    if vectors is None:
        is_same = len(X) == X.shape[1]
    else:
        is_same = rows.max(initial=-1) < len(X) and np.array_equal(X[rows], vectors)
    if not is_same:
        raise ValueError(
            "the relevance vectors are not where they were among the rows of X; pass the training "
            "rows in the order of the fit."
        )


def basis_values(model: Any, X: FloatArray, scaling: Scaling) -> tuple[FloatArray, float, bool]:
    """Surviving columns at rows, the constant first; nats for the scaling; whether it is given."""
    basis, scaler, cost = model.model_.basis, model.model_.scaler, 0.0
    center, inverse_scale = scaler.center, scaler.inverse_scale
    is_scaled = bool((center != 0.0).any() or (inverse_scale != 1.0).any())
    is_scaled_kernel = (
        isinstance(basis, KernelBasis)
        and hasattr(basis.kernel, "gamma")
        and not is_chosen(model, "gamma")
        and (isinstance(model.gamma, str) or (model.gamma is None and model.preset != "paper"))
    )
    if scaling is Scaling.PAID:
        if is_scaled:
            center, inverse_scale, nats = pac_bayes.rounded_scaling(center, inverse_scale)
            cost += float(nats[model.features_used_].sum())
        if isinstance(basis, KernelBasis):
            kernel: Any = basis.kernel
            if is_scaled_kernel:
                one = np.ones(1)
                _, gamma, nats = pac_bayes.rounded_scaling(0.0 * one, kernel.gamma * one)
                kernel = replace(kernel, gamma=float(gamma[0]))
                cost += float(nats[0])
            vectors = (basis.user_vectors - center) * inverse_scale
            basis = replace(basis, kernel=kernel, vectors=vectors)
    Phi = basis.transform((X - center) * inverse_scale)
    is_given = scaling is Scaling.GIVEN and (is_scaled or is_scaled_kernel)
    return np.column_stack([np.ones(len(X)), Phi]), cost, is_given


def smallest_bound(
    posterior: Posterior,
    mean: FloatArray,
    root: FloatArray,
    answers: Answers,
    *,
    structure: float,
    settings: float,
    delta: float,
    n_draws: int,
    rng: np.random.Generator,
    scaling_is_given: bool,
) -> PACBayesBound:
    """The bound at the factor on the covariance that makes it small.

    The inequality holds for all posteriors at once, so that the factor is free; only the draws that
    measure the error must not be those that chose it.
    """
    n = len(mean)
    # one half of delta for single errors, one for joint ones
    bound_delta, draw_delta = 0.5 * delta * (1.0 - DRAWS_SHARE), 0.5 * delta * DRAWS_SHARE

    def weights_kl(factor: float) -> float:
        return pac_bayes.weights_kl(posterior.mean, factor * posterior.covariance, posterior.groups)

    def pilot(factor: float) -> float:
        error, _ = mean_losses(
            mean, math.sqrt(factor) * root, answers, max(PILOT_DRAWS // (2 * n), 1), rng
        )
        kl = weights_kl(factor) + structure + settings
        return pac_bayes.pac_bayes_kl_bound(error, kl, n, bound_delta)

    factor = min(COVARIANCE_SCALES.tolist(), key=pilot)
    n_pairs = math.ceil(n_draws / (2 * n))
    error, joint = mean_losses(mean, math.sqrt(factor) * root, answers, n_pairs, rng)
    kl = weights_kl(factor)
    total = kl + structure + settings
    gibbs_bound = pac_bayes.pac_bayes_kl_bound(
        pac_bayes.monte_carlo_upper(error, 2 * n_pairs * n, draw_delta), total, n, bound_delta
    )
    # two draws diverge twice as much; both err no more often than one
    joint_bound = min(
        gibbs_bound,
        pac_bayes.pac_bayes_kl_bound(
            pac_bayes.monte_carlo_upper(joint, n_pairs * n, draw_delta), 2.0 * total, n, bound_delta
        ),
    )
    return PACBayesBound(
        gibbs_bound=gibbs_bound,
        gibbs_error=error,
        joint_bound=joint_bound,
        joint_error=joint,
        vote_bound=pac_bayes.vote_bound(gibbs_bound, joint_bound),
        kl_weights=kl,
        kl_structure=structure,
        kl_settings=settings,
        n_rows=n,
        covariance_scale=factor,
        delta=delta,
        scaling_is_given=scaling_is_given,
    )
