"""The original form: sparse weights on quadratic features."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sdgm.core.model.features import Monomials
from sdgm.estimators.base import BaseSDGM


class SDGMClassifier(BaseSDGM):
    """Sparse discriminative Gaussian mixture, original form.

    Each class is a mixture of Gaussians, trained discriminatively: the score of a component is a
    weighted sum of quadratic features of the input. Sparse Bayesian learning prunes weights and
    whole components during the fit.

    By default, a dense model (the teacher) is fitted to the training rows first, and the smallest
    sparse model that reproduces its probabilities is distilled from it. Parameters that are "auto"
    are chosen in the process.

    Parameters
    ----------
    n_components : int, mapping from label to int, sequence of int or "auto", default="auto"
        Initial number of components per class. "auto" chooses from 1, 2 and 3; without a teacher
        it is 3.
    covariance_type : {"full", "diag", "spherical", "tied", "auto"}, default="auto"
        Quadratic features: all products, squares only, the squared norm only, or none, which makes
        scores linear. "auto" is the first of "full", "diag" and "tied" with at most 4,000 terms;
        without a teacher it is "full".
    teacher : "auto", None or classifier, default="auto"
        What the model learns from. None: the labels, as in the paper. "auto": the probabilities of
        a `KernelEnsembleClassifier`, except with a ridge prior, the paper's preset, features that
        are not standardised, an array for ``init`` or a precomputed kernel, where it is None. A
        scikit-learn classifier: its probabilities, from a fit to all rows and from cross-fitting.
        A ``FrozenEstimator`` is used without fitting it.
    prior : {"ard", "ridge"}, default="ard"
        "ard" learns one precision per weight and prunes weights; "ridge" fixes all precisions at
        ``alpha``.
    alpha : float, default=1.0
        Precision of the weights with ``prior="ridge"``.
    preset : {"fast", "paper"}, default="fast"
        Variant of the algorithm. "fast" leaves all components free and keeps the class prior;
        "paper" follows the authors' program, with its thresholds and without scaling.
    standardize : bool or None, default=None
        Whether to standardise features to mean zero and standard deviation one. None means True
        for the preset "fast" and False for "paper".
    init : {"kmeans", "gmm", "random"} or array of shape (n_samples, n_components), default="kmeans"
        Initial responsibilities: k-means within each class, Gaussian mixtures within each class,
        random, or an array.
    n_init : int, default=1
        Number of initialisations; the fit with the highest evidence is kept.
    max_iter : int or None, default=None
        Maximum number of outer iterations; None for the preset's value.
    tol : float or None, default=None
        Tolerance on the relative change of the precisions (with a ridge prior, of the mixture
        weights); None for the preset's value.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the sample weights.
    predictive : {"map", "averaged"}, default="map"
        Whether probabilities use the MAP weights or are averaged over their posterior.
    max_weights : int or None, default=None
        Maximum number of weights. After the fit, weights are removed by backward elimination, and
        the others are re-estimated, as in `weights_path`.
    max_features : int or None, default=None
        Maximum number of features. They are selected first, as those that explain most of the
        teacher (by default a `KernelEnsembleClassifier`); the fit uses no others.
    max_divergence : float or None, default=None
        Only with a teacher: the smallest model whose mean divergence from the teacher, in nats, is
        at most this is chosen. None means 0.005, or a twentieth of the teacher's own log loss if
        that is larger. With zero the closest candidate is chosen, which is usually the largest;
        with ``max_weights``, the closest within the budget. With more than 16,384 rows labels
        choose: the simplest candidate whose log loss is at most this above that of the best.
    random_state : int, RandomState or None, default=None
        Seed of the initialisation.
    warm_start : bool, default=False
        Whether to start from the weights, precisions, components and scaling of the last fit.
    n_jobs : int or None, default=None
        Number of processes for ``n_init`` > 1.
    verbose : int, default=0
        1 prints some progress, 2 a line per iteration.
    record_states : bool, default=False
        Whether to keep the state after every iteration in ``history_``, for animations. Its
        columns are the candidates in order; column 0 is the constant.
    checkpoint : path or None, default=None
        File in which the state of the fit is saved every few seconds. If a fit is killed and
        started again with the same data and parameters, it resumes from this file and ends with
        the same model. The file is removed at the end.
    solver : {"auto", "full", "block"}, default="auto"
        "full" factorises the whole Hessian. "block" uses conjugate gradients, preconditioned by the
        diagonal blocks of the components; time and memory grow linearly with the number of
        components. The mode is the same, but the evidence, and therefore which weights are removed,
        is approximate. "auto" uses "block" if "full" would be several times as expensive.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    n_components_ : array of shape (n_classes,)
        Remaining components of each class. Components without weights count as one background
        component.
    n_active_weights_ : int
        Number of nonzero weights, including constants.
    n_initial_weights_ : int
        Number of weights before the fit: candidate columns times free components.
    coef_ : array of shape (n_components, n_terms)
        Weights of the remaining terms of the standardised features.
    intercept_ : array of shape (n_components,)
        Weights of the constant.
    terms_ : array of shape (n_terms,)
        Names of the remaining terms, such as ``x1*x3``.
    features_used_ : array of shape (n_features_used,)
        Sorted indices of the features that the probabilities depend on.
    mixture_weights_ : array of shape (n_components,)
        Within each class they sum to the class frequency ("fast") or to one ("paper").
    component_class_ : array of shape (n_components,)
        Class index of each component.
    covariance_ : array of shape (n_active_weights, n_active_weights)
        Posterior covariance of the nonzero weights, in the row-major order of
        ``[intercept_, coef_]``.
    log_evidence_ : float
    n_iter_ : int
    converged_ : bool
    stop_reason_ : str
    history_ : list of Record
        One record per iteration: log posterior, log likelihood, log evidence, numbers of weights
        and components, change of the precisions, seconds.
    start_log_evidences_ : array of shape (n_init,)
    chosen_ : dict
        Parameters that were chosen from the training rows; empty if there were none.
    candidates_ : list of Candidate
        Models that were tried, the chosen one first, with their settings, numbers of weights and
        divergences from the teacher: points on a curve of size against loss. With more than 16,384
        rows the divergence is from labels that none has learned from, which is the log loss.
    fidelity_ : float
        Only with a teacher: mean divergence from the teacher, in nats, at held-out synthetic rows.
    weights_path_ : dict
        Only with ``max_weights``: the numbers of weights along the elimination path, ``n_weights``,
        and the mean ``divergence`` in nats from the teacher or, without one, from the labels, which
        is the log loss.
    model_ : FittedModel
        Everything needed for prediction, as one value.
    training_ : Training
        Information about the fit, as one value.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    References
    ----------
    H. Hayashi and S. Uchida, "A Discriminative Gaussian Mixture Model with Sparsity", ICLR 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = SDGMClassifier(n_components=1, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> model.n_active_weights_ < 20
    True
    """

    def __init__(
        self,
        n_components: Any = "auto",
        *,
        covariance_type: str | None = "auto",
        teacher: Any = "auto",
        prior: str = "ard",
        alpha: float = 1.0,
        preset: str = "fast",
        standardize: bool | None = None,
        init: Any = "kmeans",
        n_init: int = 1,
        max_iter: int | None = None,
        tol: float | None = None,
        class_weight: Any = None,
        predictive: str = "map",
        max_weights: int | None = None,
        max_features: int | None = None,
        max_divergence: float | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        record_states: bool = False,
        checkpoint: Any = None,
        solver: str = "auto",
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.teacher = teacher
        self.prior = prior
        self.alpha = alpha
        self.preset = preset
        self.standardize = standardize
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.predictive = predictive
        self.max_weights = max_weights
        self.max_features = max_features
        self.max_divergence = max_divergence
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.record_states = record_states
        self.checkpoint = checkpoint
        self.solver = solver

    fixed_settings: ClassVar[dict[str, Any]] = {"n_components": 3, "covariance_type": "full"}

    n_features_in_: int

    @property
    def terms_(self) -> np.ndarray[Any, Any]:
        """Names of the surviving terms, in the user's names of the inputs."""
        basis = self.model_.basis
        assert isinstance(basis, Monomials)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{i + 1}" for i in range(self.n_features_in_)]
        return np.array(basis.names(names), dtype=object)
