"""The dual form: sparse weights on kernels at the training rows."""

from __future__ import annotations

from typing import Any, ClassVar

from sdgm._typing import IntArray
from sdgm.estimators.base import BaseSDGM
from sdgm.estimators.prediction import attribute_of


class KernelSDGMClassifier(BaseSDGM):
    """Sparse discriminative Gaussian mixture, dual form.

    The score of a component is a weighted sum of kernel values between the input and the training
    rows, plus a constant. Sparse Bayesian learning leaves a handful of them: the relevance vectors.
    With the quadratic kernel this is the paper's kernelised mixture of Gaussians.

    By default, a dense model (the teacher) is fitted to the training rows first, and the smallest
    sparse model that reproduces its probabilities is distilled from it. Parameters that are "auto"
    are chosen in the process.

    Parameters
    ----------
    n_components : int, mapping from label to int, sequence of int or "auto", default="auto"
        Initial number of components per class. "auto" chooses from 1, 2 and 3; without a teacher
        it is 3.
    kernel : {"poly", "rbf", "linear", "precomputed", "auto"} or callable, default="auto"
        "poly" is ``(gamma x'z + coef0)^degree``, "rbf" is ``exp(-gamma |x - z|^2)`` and "linear"
        is ``x'z``. With "precomputed", X is the kernel matrix. A callable takes two matrices and
        returns their kernel matrix, which may be indefinite. "auto" chooses between "poly" and
        "rbf"; without a teacher it is "poly".
    degree : int, default=2
    gamma : float, "scale" or "auto", default="auto"
        Kernel coefficient. "scale" is 1 / (n_features * variance of the standardised features).
        "auto" chooses; without a teacher it is "scale" for the preset "fast" and 1 for "paper".
    coef0 : float, default=1.0
    shared_vectors : bool, default=False
        Whether all components share their relevance vectors: a vector then has one precision and is
        kept or removed as a whole. This gives more weights, but fewer vectors if components would
        otherwise use different ones.
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
        Variant of the algorithm. "fast" leaves all components free, keeps the class prior and
        merges repeated rows; "paper" follows the authors' program, with its thresholds and without
        scaling.
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
        teacher (by default a `KernelEnsembleClassifier`); the fit uses no others. Needs a named
        kernel.
    max_divergence : float or None, default=None
        Only with a teacher: the smallest model whose mean divergence from the teacher, in nats, is
        at most this is chosen. None means 0.005, or a twentieth of the teacher's own log loss if
        that is larger. With zero the closest candidate is chosen, which is usually the largest;
        with ``max_weights``, the closest within the budget. With more than 16,384 rows and two
        classes labels choose: the smallest candidate whose log loss is at most this above that
        of the best.
    random_state : int, RandomState or None, default=None
        Seed of the initialisation.
    warm_start : bool, default=False
        Whether to start from the weights, precisions, components and scaling of the last fit.
        Relevance vectors that are not among the new rows are dropped.
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
    coef_ : array of shape (n_components, n_relevance_vectors)
        Weights of the kernel values at the relevance vectors.
    intercept_ : array of shape (n_components,)
        Weights of the constant.
    relevance_vectors_ : array of shape (n_relevance_vectors, n_features)
        Training rows that some component uses, in the original units; None for precomputed kernels.
    relevance_ : array of shape (n_relevance_vectors,)
        Indices of the relevance vectors among the training rows.
    gamma_ : float
        Kernel coefficient in use; NaN for precomputed kernels.
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
        rows and two classes the divergence is from labels that none has learned from, which
        is the log loss.
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
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = KernelSDGMClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> len(model.relevance_vectors_) < 15
    True
    """

    def __init__(
        self,
        n_components: Any = "auto",
        *,
        kernel: Any = "auto",
        degree: int = 2,
        gamma: float | str | None = "auto",
        coef0: float = 1.0,
        shared_vectors: bool = False,
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
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shared_vectors = shared_vectors
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

    fixed_settings: ClassVar[dict[str, Any]] = {"n_components": 3, "kernel": "poly", "gamma": None}

    gamma_: float = attribute_of("model_.basis.gamma")
    relevance_: IntArray = attribute_of("model_.basis.user_rows")
    relevance_vectors_: Any = attribute_of("model_.basis.user_vectors")
