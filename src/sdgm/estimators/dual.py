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

    A dense model is fitted to the training rows first, the teacher, and the smallest sparse model
    that says the same is learned from it. Settings that are "auto" are chosen on the way.

    Parameters
    ----------
    n_components : int, mapping from label to int, sequence of int or "auto", default="auto"
        Initial number of components per class. "auto" chooses from 1, 2 and 3; without a teacher
        to choose by it is 3.
    kernel : {"poly", "rbf", "linear", "precomputed", "auto"} or callable, default="auto"
        "auto" chooses between "poly" and "rbf"; without a teacher it is "poly". They are
        ``(gamma x'z + coef0)^degree``, ``exp(-gamma |x - z|^2)``, ``x'z``, the kernel matrix in
        place of X, or a function of two matrices that returns their kernel matrix, which may be
        indefinite.
    degree : int, default=2
    gamma : float, "scale" or "auto", default="auto"
        Scale of the inputs in the kernel. "scale" is 1 / (n_features * variance of the inputs, as
        standardised). "auto" chooses; without a teacher it is the preset's, "scale" for `fast` and
        1 for `paper`.
    coef0 : float, default=1.0
    shared_vectors : bool, default=False
        Whether all components use the same relevance vectors: a vector has one precision for all of
        them and stays or leaves as a whole. More weights, and fewer vectors where several
        components need different ones.
    teacher : "auto", None or classifier, default="auto"
        What is learned from, and what settings are chosen by. None: the labels, as in the paper.
        "auto": the probabilities of a `KernelEnsembleClassifier`; with a ridge prior, the paper's
        preset, inputs that are not standardised, an array for ``init`` or a precomputed kernel, the
        labels. Or those of any classifier of scikit-learn's kind, fitted to the rows, and to folds
        of them for what it says of rows that it has not seen; in a ``FrozenEstimator`` it is taken
        as it is.
    prior : {"ard", "ridge"}, default="ard"
        `ard` learns one precision per weight and prunes; `ridge` keeps all at ``alpha``.
    alpha : float, default=1.0
        Precision of the weights with ``prior="ridge"``.
    preset : {"fast", "paper"}, default="fast"
        How learning proceeds: quickly, with all components free, the class prior kept and repeated
        rows merged, or as the authors do it, with their thresholds and no scaling of inputs.
    standardize : bool or None, default=None
        Whether to bring inputs to mean zero and deviation one. None leaves it to the preset: yes
        for `fast`, no for `paper`.
    init : {"kmeans", "gmm", "random"} or array of shape (n_samples, n_components), default="kmeans"
        Responsibilities to start from: k-means within each class, Gaussian mixtures within each
        class, at random, or given.
    n_init : int, default=1
        Number of starts, of which the one with the highest evidence is kept.
    max_iter : int or None, default=None
        Limit of outer iterations; None for the preset's own.
    tol : float or None, default=None
        Relative change of the precisions (of the mixture weights, with a ridge prior) that counts
        as converged; None for the preset's own.
    class_weight : dict, "balanced" or None, default=None
        Factors on the sample weights by class.
    predictive : {"map", "averaged"}, default="map"
        Probabilities from the most probable weights, or averaged over their posterior.
    max_weights : int or None, default=None
        The most weights that the model may have. Once it has learned, the weights that cost least
        leave one after the other, and the others are estimated anew, as in `weights_path`.
    max_features : int or None, default=None
        The most features that the model may read. They are chosen first, with the teacher, by
        default a `KernelEnsembleClassifier`: those that tell most of what it says. The fit then
        sees no others. Needs a named kernel.
    max_divergence : float or None, default=None
        Only with a teacher: the mean divergence from it, in nats, up to which a model says the
        same. The smallest such model is taken. None is 0.005, or a twentieth of the teacher's own
        log loss if that is more. With zero the closest of all candidates is taken, which is the
        largest more often than not; with ``max_weights`` the closest within.
    random_state : int, RandomState or None, default=None
        Seed of the start.
    warm_start : bool, default=False
        Go on from the last fit: its weights, precisions and components, and its scaling of inputs.
        Relevance vectors that are not among the new rows are dropped.
    n_jobs : int or None, default=None
        Processes for several starts.
    verbose : int, default=0
        One for a line now and then, two for a line per iteration.
    record_states : bool, default=False
        Keep the state after every iteration in ``history_``, for films of the learning. Its
        columns count the candidates in order, the constant being column 0.
    checkpoint : path or None, default=None
        File to keep what has been learned in, every few seconds. A fit that was killed and is
        started again with the same data and settings goes on from there, and ends with the same
        model; the file is removed then.
    solver : {"auto", "full", "block"}, default="auto"
        How Newton's matrix is dealt with: as a whole, or by its diagonal blocks, one per component,
        and conjugate gradients, whose time and memory grow linearly with the components. The mode
        is the same; the evidence, and with it which weights leave, is approximate. "auto" takes
        the blocks where the whole would be several times the work.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    n_components_ : array of shape (n_classes,)
        Components left in each class. Those without weights count as one, the background.
    n_active_weights_ : int
        Pairs of component and column whose weight is not zero, the constant included.
    n_initial_weights_ : int
        Weights before learning: candidate columns times free components.
    coef_ : array of shape (n_components, n_relevance_vectors)
        Weights of the kernel values at the relevance vectors.
    intercept_ : array of shape (n_components,)
        Weights of the constant.
    relevance_vectors_ : array of shape (n_relevance_vectors, n_features)
        Training rows that some component uses, in the user's units; None for precomputed kernels.
    relevance_ : array of shape (n_relevance_vectors,)
        Their indices among the training rows.
    gamma_ : float
        The scale used; NaN for precomputed kernels.
    features_used_ : array of shape (n_features_used,)
        Features that the probabilities depend on, in order; the others can be anything.
    mixture_weights_ : array of shape (n_components,)
        They sum to the class's share within each class (`fast`), or to one (`paper`).
    component_class_ : array of shape (n_components,)
        Class index of each component.
    covariance_ : array of shape (n_active_weights, n_active_weights)
        Posterior covariance of the weights that are not zero, in the row order of
        ``[intercept_, coef_]``.
    log_evidence_ : float
    n_iter_ : int
    converged_ : bool
    stop_reason_ : str
    history_ : list of Record
        One per iteration: log posterior, log likelihood, log evidence, weights, components, change
        of the precisions, seconds.
    start_log_evidences_ : array of shape (n_init,)
    chosen_ : dict
        Settings that were chosen from the training rows; empty when none were.
    candidates_ : list of Candidate
        Models that were tried, the chosen one first: settings, weights, divergence from the
        teacher. They are points of a curve of size against loss.
    fidelity_ : float
        Only with a teacher: how much of it is lost, as the mean divergence from it, in nats. It is
        measured at rows between training rows, from which nothing was learned.
    weights_path_ : dict
        Only with ``max_weights``: numbers of weights on the way there, ``n_weights``, and the mean
        ``divergence``, in nats, from what was learned: from the labels, which is the log loss, or
        with automatic settings from the dense model.
    model_ : FittedModel
        All that prediction needs, as one value.
    training_ : Training
        How it was learned, as one value.
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
