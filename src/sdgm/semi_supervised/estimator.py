"""Learning from rows some of which have no label."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import ConvergenceWarning

from sdgm._typing import BoolArray, FloatArray, IntArray
from sdgm.core.inference.initialization import distinct_rows
from sdgm.core.mixtures.clusters import MAX_CLUSTERS
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.model.state import Stop
from sdgm.ensemble.fitting import MATRICES, fit_ensemble, n_centers
from sdgm.ensemble.model import prediction_bytes
from sdgm.ensemble.rows import labelled_rows
from sdgm.estimators.base import BaseSDGM
from sdgm.estimators.budget import honest_covariance
from sdgm.estimators.choosing import MAX_ROWS, choose, is_interrupted
from sdgm.estimators.distillation import (
    Targets,
    at_least,
    numbers_between,
    rows_between,
    targets_at,
)
from sdgm.estimators.parameters import (
    check_labels,
    checked_sample_weight,
    class_factors,
    is_given,
    whole_number,
)
from sdgm.estimators.pickling import VersionedEstimator
from sdgm.estimators.plan import Plan, form_of, plan_of, settings_of
from sdgm.estimators.prediction import PredictionMixin, attribute_of
from sdgm.estimators.preparation import center_and_inverse_scale
from sdgm.estimators.primal import SDGMClassifier
from sdgm.estimators.problem import LARGEST_INPUT, Sample
from sdgm.estimators.run import Run, warn_user
from sdgm.estimators.training import Training
from sdgm.scale.memory import NUMBER, require_memory
from sdgm.scale.sampling import all_in_memory
from sdgm.scale.threads import one_blas_thread
from sdgm.scale.validation import validated
from sdgm.semi_supervised.graph import MAX_DENSE
from sdgm.semi_supervised.partly_labelled import (
    UNLABELLED,
    DenseModel,
    fit_partly_labelled,
    taught_by,
)


@dataclass(frozen=True)
class PartlyLabelledRows:
    """Distinct rows in sorted order."""

    X: FloatArray  # as the user gave them: (N, D)
    y: IntArray  # class indices, -1 where there is no label: (N,)
    s: FloatArray  # how often each is there: (N,)
    first_user_row: IntArray  # for each row, the first row given that is equal to it: (N,)
    classes: np.ndarray[Any, Any]  # labels of the classes: (C,)
    factors: FloatArray  # weight of one copy of a labelled row of each class: (C,)

    @property
    def labelled(self) -> BoolArray:
        return self.y != UNLABELLED

    @property
    def weight(self) -> FloatArray:
        """Weights with those of the classes: (N,)."""
        return self.s * np.where(self.labelled, self.factors[self.y], 1.0)

    def take(self, index: IntArray | BoolArray) -> PartlyLabelledRows:
        """These rows only."""
        return replace(
            self,
            X=self.X[index],
            y=self.y[index],
            s=self.s[index],
            first_user_row=self.first_user_row[index],
        )


class SemiSupervisedSDGMClassifier(
    ClassifierMixin, MetaEstimatorMixin, PredictionMixin, VersionedEstimator
):
    """Semi-supervised SDGM classifier; unlabelled rows have the label -1.

    A dense model is fitted to the labels first: the ensemble of the labelled rows, or the teacher
    of the wrapped classifier if it has one, averaged with further members whose kernels or
    clusters are estimated from all rows. The weights in the average depend on how well members
    predict left-out labels. The wrapped classifier is distilled from this average at all rows.

    If all rows have labels, the wrapped classifier is fitted as usual.

    Parameters
    ----------
    estimator : SDGMClassifier, KernelSDGMClassifier or None, default=None
        The classifier to fit, with its parameters. None means ``SDGMClassifier()``, whose
        hyperparameters are chosen from the data.
    max_unlabelled : int, default=2000
        Maximum number of distinct unlabelled rows; if there are more, they are thinned out evenly.
    random_state : int, RandomState or None, default=None
        Seed of the initialisation; None uses the ``random_state`` of the estimator.

    Attributes
    ----------
    estimator_ : SDGMClassifier or KernelSDGMClassifier
        The fitted classifier. The covariance of its weights is based on the labelled rows.
    classes_ : array of shape (n_classes,)
        Labels, without -1.
    transduction_ : array of shape (n_samples,)
        Labels of the training rows, predicted for rows without a label.
    shares_ : dict from str to float
        Weight of each member in the average, the largest first; empty if all rows had labels.
        Names of members that use unlabelled rows begin with graph, clusters or hybrid.
    unlabelled_share_ : float
        Total weight of the models that use unlabelled rows.
    n_labelled_ : int
        Number of rows with a label and a positive sample weight.
    model_, coef_, intercept_, covariance_, n_active_weights_, features_used_ :
        Of ``estimator_``, as are ``n_components_``, ``component_class_`` and ``mixture_weights_``.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    Notes
    -----
    The other classifiers treat -1 as an ordinary label. If labels are strings, y must be an array
    of dtype object in which the number -1 stands for a missing label.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> y_partly = np.where(np.arange(200) < 12, y, -1)
    >>> model = SemiSupervisedSDGMClassifier(random_state=0).fit(X, y_partly)
    >>> model.classes_
    array([0, 1])
    >>> model.score(X, y) > 0.95
    True
    """

    model_: FittedModel = attribute_of("estimator_.model_")
    predictive: str = attribute_of("estimator_.predictive")

    def __init__(
        self, estimator: Any = None, *, max_unlabelled: int = 2000, random_state: Any = None
    ) -> None:
        self.estimator = estimator
        self.max_unlabelled = max_unlabelled
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the classifier from labelled and unlabelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels; -1 where there is none.
        sample_weight : array-like of shape (n_samples,), optional
            How often each sample counts; zero leaves it out.

        Returns
        -------
        self
        """
        whole_number("max_unlabelled", self.max_unlabelled)
        estimator = self._unfitted()
        plan = plan_of(estimator)
        if plan.max_features is not None:
            raise ValueError(
                f"max_features={plan.max_features} chooses features by labels of all rows, and "
                "some are missing; set max_features=None, and leave features out of X instead."
            )
        X, y = validated(self, all_in_memory(X), y)
        labelled = has_label(y)
        s = checked_sample_weight(sample_weight, X)
        used = labelled & (s > 0.0)
        if not used.any():
            raise ValueError(
                "y has no label: every sample that counts is -1, which means unlabelled; give some "
                "samples of each class their label."
            )
        check_labels(y[labelled])
        classes = np.unique(y[used])
        if len(classes) < 2:
            raise ValueError(
                f"y has only one class, {classes.tolist()[0]!r}, and -1 means unlabelled; "
                "a classifier needs labelled samples of at least two, and SDGMClassifier takes -1 "
                "for a label."
            )
        self.n_labelled_ = int(used.sum())
        rows = self._rows(X, y, s, used, classes, estimator.class_weight)
        dense = None
        if not rows.labelled.all() and rows.labelled.sum() <= MAX_ROWS:
            plan.form.require(len(rows.X), rows.X.shape[1], plan.settings)
            require_dense(rows)
            dense = dense_model(rows, plan.teacher)
        self.shares_: dict[str, float] = {} if dense is None else dense.shares
        self.unlabelled_share_ = 0.0 if dense is None else dense.unlabelled_share
        if dense is None:
            plain = clone(estimator).fit(X[used], y[used], s[used])
            self._keep(estimator, plain.model_, plain.training_, np.flatnonzero(used))
        else:
            self._learn(estimator, plan, rows, dense)
        self.transduction_ = y.copy()
        if not labelled.all():
            self.transduction_[~labelled] = self.estimator_.predict(X[~labelled])
        if hasattr(self, "feature_names_in_"):
            self.estimator_.feature_names_in_ = self.feature_names_in_
        if getattr(self.estimator_, "stop_reason_", None) == Stop.INTERRUPTED:
            # what was learned so far can be used, and a search around this fit stops too
            raise KeyboardInterrupt
        return self

    def _unfitted(self) -> Any:
        """A clone of the wrapped classifier, checked."""
        estimator = SDGMClassifier() if self.estimator is None else self.estimator
        if not isinstance(estimator, BaseSDGM):
            raise TypeError(
                "estimator must be an SDGMClassifier or a KernelSDGMClassifier, got "
                f"{type(estimator).__name__}; for others there is scikit-learn's "
                "SelfTrainingClassifier."
            )
        if form_of(estimator, settings_of(estimator)).is_precomputed:
            raise ValueError(
                "kernel='precomputed' has no inputs whose clusters could be found; name a kernel."
            )
        estimator = clone(estimator)
        if self.random_state is not None:
            estimator.set_params(random_state=self.random_state)
        return estimator

    def _rows(
        self,
        X: FloatArray,
        y: np.ndarray[Any, Any],
        s: FloatArray,
        labelled: BoolArray,
        classes: np.ndarray[Any, Any],
        class_weight: Any,
    ) -> PartlyLabelledRows:
        """Distinct rows that count, of the unlabelled ones no more than wanted."""
        used = np.flatnonzero(s > 0.0)
        code = np.full(len(y), UNLABELLED)
        code[labelled] = np.searchsorted(classes, y[labelled])
        of_class = np.bincount(code[labelled], s[labelled]).astype(np.float64)
        factors = np.broadcast_to(class_factors(class_weight, classes, of_class), len(classes))
        merged, weight, inverse = distinct_rows(np.column_stack([X, code])[used], s[used])
        first = np.full(len(merged), len(X))
        np.minimum.at(first, inverse, used)
        rows = PartlyLabelledRows(merged[:, :-1], code[first], weight, first, classes, factors)
        unlabelled = np.flatnonzero(~rows.labelled)
        if len(unlabelled) > self.max_unlabelled:
            kept = np.linspace(0, len(unlabelled) - 1, self.max_unlabelled).round().astype(np.intp)
            unlabelled = unlabelled[kept]
        return rows.take(np.union1d(np.flatnonzero(rows.labelled), unlabelled))

    def _learn(
        self,
        estimator: BaseSDGM,
        plan: Plan,
        rows: PartlyLabelledRows,
        dense: DenseModel,
    ) -> None:
        """The smallest model of the wrapped kind that says what the dense model says."""
        if not isinstance(estimator.init, str):
            raise ValueError(
                "init of the estimator must be a name where some rows have no label: each row is "
                "learned with frequencies of all classes; try 'kmeans'."
            )
        labelled = rows.labelled
        run = Run(verbose=estimator.verbose)
        targets = targets_of_dense(rows, dense)
        fit, tried, _ = choose(plan, targets, rows.classes, run)
        known = rows.X[labelled], rows.y[labelled], rows.weight[labelled]
        model = replace(fit.model, covariance=honest_covariance(fit.model, *known))
        training = replace(fit.training, chosen=dict(tried[0].parameters), candidates=tried)
        self._keep(estimator, model, training, rows.first_user_row)
        stop = training.stop_reason
        if stop in (Stop.MAX_ITER, Stop.NUMERICAL) and not is_interrupted(tried[0]):
            warn_user(
                f"Learning of the chosen model ended early ({stop}) after {training.n_iter} "
                "iterations; raise max_iter or tol, or give the estimator its settings.",
                ConvergenceWarning,
            )

    def _keep(
        self, estimator: BaseSDGM, model: FittedModel, training: Training, user_rows: IntArray
    ) -> None:
        """Keep a model as a fit of the wrapped classifier to the user's rows."""
        estimator.n_features_in_ = self.n_features_in_
        estimator.model_, estimator.training_ = model.at_rows(user_rows), training
        self.estimator_ = estimator


def require_dense(rows: PartlyLabelledRows) -> None:
    """Refuse rows whose dense models do not fit."""
    (N, D), C = rows.X.shape, len(rows.classes)
    n_bytes = NUMBER * MATRICES * N * n_centers(N, C) + prediction_bytes(N, N)
    n_bytes += clusters_bytes(N, D, max(MAX_CLUSTERS, C))
    what = f"What {N} rows of {D} inputs say of {C} classes"
    require_memory(n_bytes, what, ["fewer inputs", "fewer labelled rows", "a lower max_unlabelled"])


def dense_model(rows: PartlyLabelledRows, teacher: Any) -> DenseModel | None:
    """The dense model to learn from; None if there is none."""
    center, inverse_scale = center_and_inverse_scale(rows.X, rows.s)
    largest = np.abs((rows.X - center) * inverse_scale).max()
    if not largest < LARGEST_INPUT:
        raise ValueError(
            f"the inputs are too large even when standardised, up to {largest:.3g}: their squares "
            "would overflow; divide them."
        )
    teach = partial(taught_by, teacher, rows.classes) if is_given(teacher) else None
    try:
        with one_blas_thread():
            return fit_partly_labelled(rows.X, rows.y, rows.s, rows.factors, teach)
    except np.linalg.LinAlgError:
        return None


def targets_of_dense(rows: PartlyLabelledRows, dense: DenseModel) -> Targets:
    """What the dense model says at the rows, and an ensemble that has learned that in between."""
    weighted = rows.weight[:, None] * at_least(dense.P)
    ensemble = fit_ensemble(labelled_rows(rows.X, weighted)[0]).ensemble
    center, inverse_scale = center_and_inverse_scale(rows.X, rows.s)
    N, D = rows.X.shape
    Z = (rows.X - center) * inverse_scale
    X = rows_between(rows.X, Z, np.arange(D), sum(numbers_between(N)))
    sample = Sample(rows.X, dense.P, rows.weight)
    return targets_at(sample, X, ensemble.proba(X), dense.log_loss, "dense model")


def clusters_bytes(N: int, D: int, n_clusters: int) -> float:
    """To find what is near what: covariances, shaped, with a floor, factorised; and a graph."""
    return NUMBER * (4.0 * n_clusters * D**2 + 2.5 * min(N, MAX_DENSE) ** 2)


def has_label(y: np.ndarray[Any, Any]) -> BoolArray:
    """Which labels are not -1, the number: (N,)."""
    if y.dtype.kind in "US" or y.dtype == object:
        text = np.array([str(UNLABELLED) == label for label in y.tolist()], dtype=bool)
        if text.any():
            raise ValueError(
                "y holds the text '-1', and only the number -1 means unlabelled; let y be an array "
                "of dtype object with the number -1, as in np.array(['a', -1], dtype=object)."
            )
    if y.dtype == object:
        return np.array([not is_unlabelled(label) for label in y.tolist()], dtype=bool)
    return np.ones(len(y), dtype=bool) if y.dtype.kind in "USb" else y != UNLABELLED


def is_unlabelled(label: object) -> bool:
    """Whether it is the number -1."""
    return isinstance(label, Real) and not isinstance(label, bool) and float(label) == UNLABELLED
