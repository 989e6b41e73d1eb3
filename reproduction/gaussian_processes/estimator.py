"""Mixture of Gaussian processes, the model without sparsity: column MGP of Table 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from scipy import optimize
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from reproduction.gaussian_processes.latent import (
    Latent,
    latent_curvature,
    latent_mode,
    latent_posterior,
)
from sdgm._typing import FloatArray, IntArray
from sdgm.core.inference.initialization import Start, initial_responsibilities
from sdgm.core.model.posterior import class_log_posterior, component_log_posterior, row_posterior
from sdgm.estimators.parameters import (
    Predictive,
    boolean,
    check_classes,
    check_labels,
    choice,
    components_per_class,
    positive_integer,
)
from sdgm.estimators.preparation import reduced_to_samples
from sdgm.scale.memory import require_memory
from sdgm.scale.sampling import all_in_memory

# draws of the latent functions at a row, half of them mirrored
DRAWS = 64
# matrices of all pairs of rows beside one per component: the kernel's, and what one is made by
WORKING_COPIES = 7
# rows predicted at once
BLOCK_ROWS = 512
# change of the log kernel parameters, and of the log evidence, that ends the search
THETA_TOLERANCE = 0.05
EVIDENCE_TOLERANCE = 0.05
# first step of the search, in log kernel parameters
FIRST_STEP = 0.7


class MixtureOfGPsClassifier(ClassifierMixin, BaseEstimator):
    """Mixture of Gaussian processes: a latent function per component in place of sparse weights.

    Nothing is sparse: every component but the pinned one has as many weights as there are training
    rows. With one component per class, two classes and a pinned component it is scikit-learn's
    `GaussianProcessClassifier`. Made for comparison; time grows with the cube of the rows.

    Parameters
    ----------
    n_components : int, mapping from label to int, or sequence of int, default=3
        Components of each class.
    kernel : scikit-learn kernel or None, default=None
        Covariance of every latent function; None for ``1.0 * RBF(1.0)``.
    optimizer : bool, default=True
        Whether the kernel's free parameters are moved to a maximum of Laplace's evidence (Nelder
        and Mead's simplex), or stay as they are.
    max_evaluations : int, default=60
        Limit of evaluations of the evidence.
    pinned : bool, default=True
        Whether the latent function of the last component of the last class is zero.
    predictive : {"averaged", "map"}, default="averaged"
        Probabilities averaged over the posterior of the latent functions, or at its mode.
    random_state : int, RandomState or None, default=None
        Seed of the k-means start.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    n_components_ : array of shape (n_classes,)
    component_class_ : array of shape (n_components,)
    mixture_weights_ : array of shape (n_components,)
        They sum to one within each class.
    kernel_ : scikit-learn kernel
        With the parameters found.
    log_evidence_ : float
    n_active_weights_ : int
        Training rows times free components.
    n_evaluations_ : int
        Of the evidence.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning", 2006.
    V. Tresp, "Mixtures of Gaussian Processes", NIPS 2000.

    Examples
    --------
    >>> from sdgm.datasets import make_ripley
    >>> X, y, X_test, y_test = make_ripley(n_train=100).split()
    >>> model = MixtureOfGPsClassifier(n_components=2, random_state=0).fit(X, y)
    >>> model.score(X_test, y_test) > 0.88
    True
    """

    def __init__(
        self,
        n_components: Any = 3,
        *,
        kernel: Any = None,
        optimizer: bool = True,
        max_evaluations: int = 60,
        pinned: bool = True,
        predictive: str = "averaged",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.optimizer = optimizer
        self.max_evaluations = max_evaluations
        self.pinned = pinned
        self.predictive = predictive
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the kernel's parameters and the latent functions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        choice("predictive", self.predictive, Predictive)
        positive_integer("max_evaluations", self.max_evaluations)
        boolean("pinned", self.pinned)
        boolean("optimizer", self.optimizer)
        X, y = validate_data(self, all_in_memory(X), y, dtype=np.float64)
        check_labels(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        check_classes(self.classes_)
        n_components = components_per_class(self.n_components, self.classes_)
        self.n_components_ = reduced_to_samples(n_components, codes, self.classes_, warn=True)
        K, N = int(self.n_components_.sum()), len(X)
        require_memory(
            8.0 * (K + WORKING_COPIES) * N**2,
            f"The curvature of {K} components x {N} rows",
            ["fewer rows"],
        )
        self.component_class_ = np.repeat(np.arange(len(self.classes_)), self.n_components_)
        self._X, self._free = X, np.ones(K, dtype=bool)
        self._free[-1] = not self.pinned
        kernel = 1.0 * RBF(1.0) if self.kernel is None else clone(self.kernel)
        self._learn(kernel, codes, self._start(X, codes))
        return self

    def _start(self, X: FloatArray, y: IntArray) -> Latent:
        """Zero functions, uniform pi, responsibilities from k-means."""
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        r = initial_responsibilities(X, y, np.ones(len(X)), self.n_components_, Start.KMEANS, seed)
        zero = np.zeros((r.shape[1], len(X)))
        return Latent(zero, zero, (1.0 / self.n_components_)[self.component_class_], r)

    def _learn(self, kernel: Any, y: IntArray, start: Latent) -> None:
        """Search the kernel's parameters, and keep the mode at the best ones."""
        best: tuple[float, FloatArray, Latent] | None = None
        self.n_evaluations_ = 0

        def evidence(theta: FloatArray) -> float:
            nonlocal best
            gram = kernel.clone_with_theta(theta)(self._X)
            # the best so far is close to the mode, whatever the kernel's parameters
            begin = start if best is None else best[2]._replace(f=best[2].a @ gram)
            latent, value = latent_mode(
                gram, y, self.component_class_, self._free, begin, from_start=best is None
            )
            self.n_evaluations_ += 1
            if best is None or value > best[0]:
                best = value, theta.copy(), latent
            return -value

        theta, bounds = kernel.theta, kernel.bounds
        if self.optimizer and kernel.n_dims:
            corners = np.vstack([theta, theta + FIRST_STEP * np.eye(len(theta))])
            optimize.minimize(
                evidence,
                theta,
                method="Nelder-Mead",
                bounds=bounds,
                options={
                    "xatol": THETA_TOLERANCE,
                    "fatol": EVIDENCE_TOLERANCE,
                    "maxfev": self.max_evaluations,
                    "initial_simplex": np.clip(corners, bounds[:, 0], bounds[:, 1]),
                },
            )
        else:
            evidence(theta)
        assert best is not None
        self.log_evidence_, theta, latent = best
        self.kernel_ = kernel.clone_with_theta(theta)
        self.mixture_weights_ = latent.pi
        self.n_active_weights_ = int(self._free.sum()) * len(self._X)
        self._a = latent.a
        P = row_posterior(latent.f.T + np.log(latent.pi), y, self.component_class_).P_cm
        self._curvature = latent_curvature(self.kernel_(self._X), P, self._free)

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """Most probable class of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : array of shape (n_samples,)
        """
        return self._fitted().classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> FloatArray:
        """Class posterior P(c | x) of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        P_c : array of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        if choice("predictive", self.predictive, Predictive) is Predictive.AVERAGED:
            return np.concatenate([self._averaged(*block) for block in self._blocks(X)])
        means = [self._class_proba(cross @ self._a.T) for _, cross in self._blocks(X)]
        return np.concatenate(means)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_P_c : array of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict_component_proba(self, X: Any) -> FloatArray:
        """Component posterior P(c, m | x) of every row, at the mode of the latent functions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        P_cm : array of shape (n_samples, n_components)
            Column k belongs to class ``classes_[component_class_[k]]``.
        """
        log_pi = np.log(self._fitted().mixture_weights_)
        scores = [cross @ self._a.T + log_pi for _, cross in self._blocks(X)]
        return np.exp(component_log_posterior(np.concatenate(scores)))

    def _fitted(self) -> Self:
        check_is_fitted(self)
        return self

    def _blocks(self, X: Any) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Some rows at a time, with their covariances with the training rows."""
        X = validate_data(self._fitted(), all_in_memory(X), dtype=np.float64, reset=False)
        for first in range(0, len(X), BLOCK_ROWS):
            rows = X[first : first + BLOCK_ROWS]
            yield rows, self.kernel_(rows, self._X)

    def _averaged(self, rows: FloatArray, cross: FloatArray) -> FloatArray:
        """Class posterior averaged over draws of the latent functions, the same in every call."""
        prior = self.kernel_.diag(rows)
        mean, covariance = latent_posterior(self._curvature, self._a, cross, prior, self._free)
        eigenvalues, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))[:, None, :]  # (n, K, K)
        draws = np.random.default_rng(0).standard_normal((DRAWS // 2, len(self._a)))
        offsets = np.einsum("nkl,sl->snk", root, draws)
        draws_of_P = [self._class_proba(mean + f) + self._class_proba(mean - f) for f in offsets]
        return np.sum(draws_of_P, axis=0) / DRAWS

    def _class_proba(self, f: FloatArray) -> FloatArray:
        """P(c | x) from latent values (n, K)."""
        log_P_cm = component_log_posterior(f + np.log(self.mixture_weights_))
        return np.exp(class_log_posterior(log_P_cm, self.component_class_, len(self.classes_)))
