"""Special cases of the model: well-known classifiers by their names."""

from __future__ import annotations

from typing import Any, ClassVar

from sdgm.estimators.dual import KernelSDGMClassifier
from sdgm.estimators.primal import SDGMClassifier


class RVMClassifier(KernelSDGMClassifier):
    """Multiclass relevance vector machine: one component per class, an rbf kernel, a softmax.

    Parameters
    ----------
    kernel, degree, gamma, coef0, preset, standardize, max_iter, tol, class_weight, predictive,
    random_state, warm_start, verbose, record_states :
        As in `KernelSDGMClassifier`.

    References
    ----------
    M. E. Tipping, "Sparse Bayesian Learning and the Relevance Vector Machine", JMLR 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RVMClassifier().fit(X, y)
    >>> len(model.relevance_vectors_) < 20
    True
    """

    fixed_settings: ClassVar[dict[str, Any]] = {"n_components": 1, "kernel": "rbf", "gamma": None}

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 2,
        gamma: float | str | None = None,
        coef0: float = 1.0,
        preset: str = "fast",
        standardize: bool | None = None,
        max_iter: int | None = None,
        tol: float | None = None,
        class_weight: Any = None,
        predictive: str = "map",
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        record_states: bool = False,
    ) -> None:
        super().__init__(
            n_components=1,
            teacher=None,
            kernel=kernel,
            degree=degree,
            gamma=gamma,
            coef0=coef0,
            preset=preset,
            standardize=standardize,
            max_iter=max_iter,
            tol=tol,
            class_weight=class_weight,
            predictive=predictive,
            random_state=random_state,
            warm_start=warm_start,
            verbose=verbose,
            record_states=record_states,
        )


class DiscriminativeGMMClassifier(SDGMClassifier):
    """Discriminative Gaussian mixture: all components and weights kept, under a ridge prior.

    Parameters
    ----------
    n_components, covariance_type, alpha, preset, standardize, init, n_init, max_iter, tol,
    class_weight, predictive, random_state, warm_start, n_jobs, verbose, record_states :
        As in `SDGMClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DiscriminativeGMMClassifier(n_components=2, random_state=0).fit(X, y)
    >>> model.n_components_
    array([2, 2, 2])
    """

    def __init__(
        self,
        n_components: Any = 3,
        *,
        covariance_type: str = "full",
        alpha: float = 1.0,
        preset: str = "fast",
        standardize: bool | None = None,
        init: Any = "kmeans",
        n_init: int = 1,
        max_iter: int | None = None,
        tol: float | None = None,
        class_weight: Any = None,
        predictive: str = "map",
        random_state: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        record_states: bool = False,
    ) -> None:
        super().__init__(
            n_components=n_components,
            covariance_type=covariance_type,
            teacher=None,
            prior="ridge",
            alpha=alpha,
            preset=preset,
            standardize=standardize,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            class_weight=class_weight,
            predictive=predictive,
            random_state=random_state,
            warm_start=warm_start,
            n_jobs=n_jobs,
            verbose=verbose,
            record_states=record_states,
        )
