"""Small random problems in every form, and what the model says about them, computed densely.

The dense quantities use the design matrix Phi and the weights w as the paper writes them: no
factors of the design, no whitening, no blocks of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from sdgm._typing import FloatArray, IntArray
from sdgm.core.data.rows import Rows
from sdgm.core.model.design import Design, feature_design, kernel_design
from sdgm.core.model.features import monomials
from sdgm.core.model.kernels import CallableKernel, Kernel, PolynomialKernel, RBFKernel
from sdgm.core.model.state import State
from sdgm.core.objective.derivatives import Mixture
from sdgm.core.objective.whitening import Whitening, whiten


def lopsided(X: FloatArray, Z: FloatArray) -> FloatArray:
    """A kernel that is neither symmetric nor positive."""
    return np.sin(X[:, :1] - 0.5 * Z[:, :1].T) + X @ Z.T


KERNELS: dict[str, Kernel] = {
    "poly": PolynomialKernel(),
    "rbf": RBFKernel(0.5),
    "callable": CallableKernel(lopsided),
}
FORMS = ["full", "diag", "tied", *KERNELS]


@dataclass(frozen=True)
class Problem:
    """Rows, a design in both its forms, and a state with random weights."""

    Phi: FloatArray  # (N, H)
    rows: Rows
    Rt: FloatArray  # (H, p)
    state: State

    @property
    def whitening(self) -> Whitening:
        return whiten(self.Rt, self.state)

    @property
    def theta(self) -> FloatArray:
        return self.whitening.to_theta(self.state.w)

    def mixture(self, theta: FloatArray | None = None) -> Mixture:
        """The model at whitened weights, those of the state unless others are given."""
        whitening = self.whitening
        V = whitening.score_vectors(self.theta if theta is None else theta)
        return Mixture(V, np.log(self.state.pi), self.state.component_class)

    # --- dense, in w ---

    def scores(self, w: FloatArray) -> FloatArray:
        """log pi_k + w_k' phi(x_n): (N, K)."""
        dense = np.zeros((self.state.n_components, self.Phi.shape[1]))
        dense[self.state.component, self.state.column] = w
        return np.log(self.state.pi) + self.Phi @ dense.T

    def P_cm(self, w: FloatArray) -> FloatArray:
        a = self.scores(w)
        return np.exp(a - logsumexp(a, axis=1, keepdims=True))

    def own(self) -> np.ndarray:
        """Which components belong to the class of each row: (N, K)."""
        return self.state.component_class == self.rows.y[:, None]

    def r(self, w: FloatArray) -> FloatArray:
        a = np.where(self.own(), self.scores(w), -np.inf)
        return np.exp(a - logsumexp(a, axis=1, keepdims=True))

    def log_likelihood(self, w: FloatArray) -> float:
        a = self.scores(w)
        log_P_own = logsumexp(np.where(self.own(), a, -np.inf), axis=1) - logsumexp(a, axis=1)
        return float(self.rows.s @ log_P_own)

    def J(self, w: FloatArray, r: FloatArray) -> float:
        a = self.scores(w)
        return float(self.rows.s @ (r * (a - logsumexp(a, axis=1, keepdims=True))).sum(axis=1))

    def grad_J(self, w: FloatArray, r: FloatArray) -> FloatArray:
        """dJ/dw of the active weights: (n_active,)."""
        grad = (self.rows.s[:, None] * (r - self.P_cm(w))).T @ self.Phi  # (K, H)
        return grad[self.state.component, self.state.column]

    def curvature(self, P: FloatArray) -> FloatArray:
        """sum_n s_n P_nk (delta_kl - P_nl) phi_nh phi_ni of the active weights: square."""
        k = self.state.component
        phi, s = self.Phi[:, self.state.column], self.rows.s[:, None]
        same_component = k[:, None] == k
        return same_component * ((s * P[:, k] * phi).T @ phi) - (s * P[:, k] * phi).T @ (
            P[:, k] * phi
        )

    def precision(self, w: FloatArray) -> FloatArray:
        """Minus the Hessian of J - w'Aw / 2: (n_active, n_active)."""
        return self.curvature(self.P_cm(w)) + np.diag(self.state.alpha)


def random_rows(
    rng: np.random.Generator, N: int, C: int, D: int = 2
) -> tuple[FloatArray, IntArray]:
    """Inputs from overlapping blobs, two per class, and class indices; every class occurs."""
    y = np.arange(N) % C
    centers = rng.normal(size=(C, 2, D))
    X = centers[y, rng.integers(2, size=N)] + 0.7 * rng.normal(size=(N, D))
    return X, y


def design_of(form: str, X: FloatArray) -> tuple[FloatArray, Design]:
    """Phi as the form defines it, and its factors."""
    if form in KERNELS:
        kernel = KERNELS[form]
        return np.column_stack([np.ones(len(X)), kernel.gram(X, X)]), kernel_design(kernel, X)
    Phi = monomials(X.shape[1], form).transform(X)
    return Phi, feature_design(Phi)


def random_responsibilities(
    rng: np.random.Generator, y: IntArray, n_components: tuple[int, ...]
) -> FloatArray:
    """Positive in the own class, zero elsewhere, summing to one: (N, K), column-major."""
    component_class = np.repeat(np.arange(len(n_components)), n_components)
    r = rng.random((len(y), len(component_class))) * (component_class == y[:, None])
    return np.asfortranarray(r / r.sum(axis=1, keepdims=True))


def random_problem(
    seed: int,
    form: str = "full",
    *,
    N: int = 24,
    D: int = 2,
    n_components: tuple[int, ...] = (2, 1, 3),
    weighted: bool = True,
    kept: float = 0.7,
    size: float = 0.5,
) -> Problem:
    """A problem whose weights are at random, about a share ``kept`` of them active.

    Parameters
    ----------
    weighted : bool
        Sample weights between 0.2 and 3, else all one.
    kept : float
        Share of active weights; the second component has none as soon as it is less than one.
    size : float
        Deviation of the scores that the weights of one component make.
    """
    rng = np.random.default_rng(seed)
    X, y = random_rows(rng, N, len(n_components), D)
    Phi, design = design_of(form, X)
    K, H = sum(n_components), Phi.shape[1]
    active = rng.random((K, H)) < kept
    active[0, 0] = True
    if kept < 1:
        active[1] = False
    component, column = np.nonzero(active)
    spread = np.linalg.norm(Phi, axis=0) / np.sqrt(N)
    share = rng.uniform(0.5, 1.5, size=K)
    state = State(
        w=size * rng.normal(size=len(column)) / spread[column] / np.sqrt(kept * H),
        alpha=rng.uniform(0.3, 3.0, size=len(column)) * spread[column] ** 2,
        component=component,
        column=column,
        pi=share / share.sum(),
        component_class=np.repeat(np.arange(len(n_components)), n_components),
    )
    s = rng.uniform(0.2, 3.0, size=N) if weighted else np.ones(N)
    return Problem(Phi, Rows(design.Z, y, s), design.Rt, state)


def dense_weights(state: State, n_columns: int) -> FloatArray:
    """The weights of a state as one row per component, zeros included: (K, n_columns)."""
    dense = np.zeros((state.n_components, n_columns))
    dense[state.component, state.column] = state.w
    return dense
