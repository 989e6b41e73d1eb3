"""A fitted model as a value: all that prediction needs, and nothing of how it was learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sdgm._typing import BoolArray, FloatArray, IntArray
from sdgm.core.model.basis import Basis, positions
from sdgm.core.model.posterior import class_log_posterior, component_log_posterior
from sdgm.core.model.state import State

# numbers in a working array of prediction, 512 KB: small enough for the cache
PREDICT_NUMBERS = 1 << 16
# draws from the posterior of the weights, half of them mirrored, for averaged probabilities:
# without mirrors the standard error would be 0.044 where draws are as far apart as can be
POSTERIOR_DRAWS = 128
# inputs this many times further out than any training row are moved in: their scores would
# overflow, and nothing is known out there
FAR_AWAY = 1e30


@dataclass(frozen=True, eq=False)
class Scaler:
    """``z = clip((x - center) * inverse_scale, -reach, reach)``.

    Attributes
    ----------
    center, inverse_scale : (D,) arrays
        An inverse scale of zero leaves an input out.
    reach : float
        Largest standardised input that is taken as it is.
    """

    center: FloatArray
    inverse_scale: FloatArray
    reach: float = np.inf

    @classmethod
    def identity(cls, D: int) -> Scaler:
        """Inputs as they are."""
        return cls(np.zeros(D), np.ones(D))

    def standardized(self, X: FloatArray) -> FloatArray:
        """Rows as the columns of the design take them: (N, D)."""
        with np.errstate(over="ignore"):
            z = (X - self.center) * self.inverse_scale
        return np.clip(z, -self.reach, self.reach, out=z)

    def at_inputs(self, inputs: IntArray, n_inputs: int) -> Scaler:
        """The same, where input i is input ``inputs[i]`` of ``n_inputs``; the others are zero."""
        center, inverse_scale = np.zeros((2, n_inputs))
        center[inputs], inverse_scale[inputs] = self.center, self.inverse_scale
        return replace(self, center=center, inverse_scale=inverse_scale)

    def only_inputs(self, inputs: IntArray) -> Scaler:
        """The same of these inputs alone."""
        return replace(self, center=self.center[inputs], inverse_scale=self.inverse_scale[inputs])

    @property
    def inputs(self) -> IntArray:
        """Inputs that are not left out, in order."""
        return np.flatnonzero(self.inverse_scale)

    def reaching(self, X: FloatArray) -> Scaler:
        """The same with a reach far beyond these standardised rows."""
        return replace(self, reach=FAR_AWAY * max(1.0, float(np.abs(X).max())))


@dataclass(frozen=True, eq=False)
class FittedModel:
    """Sparse weights on columns of the standardised inputs.

    With x the inputs of a row, the scores are::

        z = clip((x - center) * inverse_scale, -reach, reach)
        score_k = offset_k + sum_j coef_kj column_j(z)
        P(c | x) = sum of exp(score_k) over the components of c / sum over all

    Attributes
    ----------
    classes : (C,) array
        Labels as the user has them.
    scaler : Scaler
    basis : Basis
        The columns in use, without the constant.
    state : State
        Weights of these columns: ``column`` 0 is the constant, j is column j - 1 of the basis.
    covariance : (n_weights, n_weights) array or None
        Posterior covariance of the weights.
    """

    classes: np.ndarray[Any, Any]
    scaler: Scaler
    basis: Basis
    state: State
    covariance: FloatArray | None = None

    @classmethod
    def from_candidates(
        cls,
        classes: np.ndarray[Any, Any],
        scaler: Scaler,
        candidates: Basis,
        state: State,
        covariance: FloatArray | None = None,
    ) -> FittedModel:
        """The model of a state that counts candidate columns, with those that it uses."""
        used = np.unique(state.column[state.column > 0])
        column = np.searchsorted(used, state.column, side="right")
        basis = candidates.take(used - 1)
        return cls(classes, scaler, basis, replace(state, column=column), covariance)

    def with_weights(self, state: State, covariance: FloatArray | None = None) -> FittedModel:
        """The model with other weights of its columns; those that have none leave."""
        return self.from_candidates(self.classes, self.scaler, self.basis, state, covariance)

    def at_rows(self, user_rows: IntArray) -> FittedModel:
        """The same model, where row i of the fit is row ``user_rows[i]`` of the user's table."""
        return replace(self, basis=self.basis.at_rows(user_rows))

    def at_inputs(self, inputs: IntArray, n_inputs: int) -> FittedModel:
        """The same model, where input i is input ``inputs[i]`` of ``n_inputs``."""
        return replace(
            self,
            scaler=self.scaler.at_inputs(inputs, n_inputs),
            basis=self.basis.at_inputs(inputs, n_inputs),
        )

    def only_inputs(self, inputs: IntArray) -> FittedModel:
        """The same model of these inputs alone, where it reads no others."""
        return replace(
            self,
            scaler=self.scaler.only_inputs(inputs),
            basis=self.basis.only_inputs(inputs, len(self.scaler.center)),
        )

    def among(self, candidates: Basis) -> State:
        """The state with its columns counted among others; weights of those not there leave."""
        place = 1 + positions(self.basis, candidates)
        column = np.concatenate([[0], np.where(place > 0, place, -1)])[self.state.column]
        return replace(self.state, column=column).keep_weights(column >= 0)

    # --- derived quantities ---

    @cached_property
    def weights(self) -> FloatArray:
        """``[intercept, coef]``, zero where a weight was pruned: (K, 1 + n)."""
        w = np.zeros((self.state.n_components, 1 + len(self.basis)))
        w[self.state.component, self.state.column] = self.state.w
        return w

    @property
    def active(self) -> BoolArray:
        """Which of ``[intercept, coef]`` were not pruned: (K, 1 + n)."""
        active = np.zeros(self.weights.shape, dtype=bool)
        active[self.state.component, self.state.column] = True
        return active

    @property
    def coef(self) -> FloatArray:
        """Weights of the columns: (K, n)."""
        return self.weights[:, 1:]

    @property
    def intercept(self) -> FloatArray:
        """Weights of the constant: (K,)."""
        return self.weights[:, 0]

    @property
    def offset(self) -> FloatArray:
        """Weight of the constant plus log mixture weight: (K,)."""
        offset: FloatArray = self.intercept + np.log(self.mixture_weights)
        return offset

    @property
    def mixture_weights(self) -> FloatArray:
        """pi: (K,)."""
        return self.state.pi

    @property
    def component_class(self) -> IntArray:
        """Class index of each component, non-decreasing: (K,)."""
        return self.state.component_class

    @property
    def n_components(self) -> IntArray:
        """Components of each class: (C,)."""
        return np.bincount(self.component_class, minlength=len(self.classes))

    @property
    def inputs_read(self) -> IntArray:
        """Inputs that the probabilities depend on, in order."""
        read = self.basis.inputs_read(len(self.scaler.center))
        return np.intersect1d(read, self.scaler.inputs)

    @property
    def n_weights(self) -> int:
        """Weights that were not pruned, including the constant's."""
        return self.state.n_weights

    # --- prediction at rows of the user's inputs ---

    def columns(self, X: FloatArray) -> FloatArray:
        """Columns at rows, the constant first: (N, 1 + n), column-major."""
        return self.basis.transform_with_constant(self.scaler.standardized(X))

    def log_proba(self, X: FloatArray) -> FloatArray:
        """Log class posterior ``ln P(c | x)`` (Eq. 1): (N, C)."""
        C = len(self.classes)
        return self._of_scores(
            X,
            C,
            lambda scores: class_log_posterior(
                component_log_posterior(scores), self.component_class, C
            ),
        )

    def component_proba(self, X: FloatArray) -> FloatArray:
        """Component posterior ``P(c, m | x)`` (Eq. 1): (N, K)."""
        K = self.state.n_components
        return self._of_scores(X, K, lambda scores: np.exp(component_log_posterior(scores)))

    def require_covariance(self) -> FloatArray:
        """The covariance of the weights, or one sentence."""
        if self.covariance is None:
            raise ValueError(
                f"the model has no covariance of its {self.n_weights} weights, because there are "
                "too many or it could not be computed; use predictive='map'."
            )
        return self.covariance

    def posterior_draws(self) -> FloatArray:
        """Weights from ``N(w, Lambda)``, the same mirrored draws in every call: (S, K, 1 + n)."""
        # a symmetric root that exists for a covariance which rounding made slightly indefinite
        eigenvalues, vectors = np.linalg.eigh(self.require_covariance())
        root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
        rng = np.random.default_rng(0)
        offsets = rng.standard_normal((POSTERIOR_DRAWS // 2, len(root))) @ root.T
        draws = np.repeat(self.weights[None], POSTERIOR_DRAWS, axis=0)
        draws[:, self.active] += np.concatenate([offsets, -offsets])
        return draws

    def averaged_proba(self, X: FloatArray, draws: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of the class posterior over `posterior_draws`: (N, C) each.

        Parameters
        ----------
        X : (N, D) array
        draws : (S, K, 1 + n) array
        """
        C = len(self.classes)
        w, log_pi = self.weights, np.log(self.mixture_weights)
        to_others = 1.0 - np.eye(C)

        def probabilities(Phi: FloatArray, weights: FloatArray) -> FloatArray:
            scores = Phi @ weights[:, 1:].T + weights[:, 0] + log_pi
            log_P_cm = component_log_posterior(np.asfortranarray(scores))
            return np.exp(class_log_posterior(log_P_cm, self.component_class, C))

        def mean_and_variance(Phi: FloatArray) -> FloatArray:
            # near one the digits are in 1 - P_c, the sum over the other classes
            near_one = probabilities(Phi, w) > 0.5
            mean, squares = np.zeros((2, len(Phi), C))
            for n_before, draw in enumerate(draws):
                P_c = probabilities(Phi, draw)
                deviation = np.where(near_one, P_c @ to_others, P_c) - mean
                # squares about the running mean: E[P^2] - E[P]^2 would cancel
                mean += deviation / (n_before + 1)
                squares += deviation**2 * (n_before / (n_before + 1))
            mean = np.where(near_one, 1.0 - mean, mean)
            return np.hstack([mean, squares / len(draws)])

        moments = self._of_columns(X, 2 * C, mean_and_variance)
        mean = np.maximum(moments[:, :C], 0.0)
        return mean / mean.sum(axis=1, keepdims=True), np.sqrt(moments[:, C:])

    def _of_scores(
        self, X: FloatArray, n_outputs: int, of_scores: Callable[[FloatArray], FloatArray]
    ) -> FloatArray:
        """A function of the component scores, over blocks of rows: (N, n_outputs)."""
        coef, offset = self.coef, self.offset

        def of_columns(Phi: FloatArray) -> FloatArray:
            scores = coef @ Phi.T  # (K, n)
            scores += offset[:, None]
            return of_scores(scores.T)

        return self._of_columns(X, n_outputs, of_columns)

    def _of_columns(
        self, X: FloatArray, n_outputs: int, of_columns: Callable[[FloatArray], FloatArray]
    ) -> FloatArray:
        """A function of the columns without the constant, over blocks of rows: (N, n_outputs)."""
        result = np.empty((len(X), n_outputs))
        size = max(PREDICT_NUMBERS // max(*self.coef.shape, 1), 64)
        for first in range(0, len(X), size):
            rows = slice(first, first + size)
            result[rows] = of_columns(self.basis.transform(self.scaler.standardized(X[rows])))
        return result
