"""Forward selection of inputs by the variance of a teacher's logits that their terms explain.

The softmax is linearised around the teacher (`screening`): its logits are regressed on monomials of
the inputs. An input adds its linear term, its square and its products with the inputs chosen before
it; the input whose terms explain most of the remaining variance is chosen next. A step is a Schur
complement, so that no regression is fitted twice.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sdgm._typing import FloatArray, IntArray
from sdgm.core.model.features import CovarianceType, Monomials, monomials, n_monomials
from sdgm.core.selection.screening import Linearised

# terms up to which there are products of inputs, as for up to 30 inputs: the regression takes a
# tenth of a second; beyond there are squares only
MOST_TERMS = 500
# number of inputs above which only those that explain most by themselves are considered
MOST_INPUTS = 1_000
# prior precision of the weights of columns of unit mean square, weak compared with the rows
RIDGE = 1.0


def inputs_in_order(X: FloatArray, rows: Linearised, n_inputs: int) -> IntArray:
    """Inputs in the order of forward selection: (n_inputs,).

    Parameters
    ----------
    X : (N, D) array
        Standardised inputs.
    rows : Linearised
    n_inputs : int
        How many to choose.
    """
    weight = rows.weight.mean(axis=1)
    some = np.arange(X.shape[1])
    if len(some) > max(MOST_INPUTS, n_inputs):
        alone = ((X * weight[:, None]).T @ rows.f) ** 2
        gain = alone.sum(axis=1) / (weight @ X**2 + RIDGE)
        some = np.sort(np.argsort(-gain, kind="stable")[: max(MOST_INPUTS, n_inputs)])
    D = len(some)
    is_small = n_monomials(D) <= MOST_TERMS
    terms = monomials(D, CovarianceType.FULL if is_small else CovarianceType.DIAG)
    Phi = terms.transform(X[:, some])
    norms = np.sqrt((Phi**2).mean(axis=0))
    Phi /= np.where(norms > 0.0, norms, 1.0)
    A = (Phi * weight[:, None]).T @ Phi
    A[np.diag_indices(len(A))] += RIDGE
    b = (Phi * weight[:, None]).T @ rows.f
    return some[forward_order(terms, A, b, n_inputs)]


def forward_order(terms: Monomials, A: FloatArray, b: FloatArray, n_inputs: int) -> IntArray:
    """Forward selection of inputs in a ridge regression on monomials.

    Parameters
    ----------
    terms : Monomials
        The constant first.
    A : (H, H) array
        Weighted products of terms, and the ridge.
    b : (H, Q) array
        Weighted products of terms and responses.
    n_inputs : int
    """
    A, b = A.copy(), b.copy()
    remove(np.array([0]), A, b)
    chosen: list[int] = []
    left = list(range(int(terms.first.max(initial=-1)) + 1))
    while len(chosen) < n_inputs:
        groups = [terms_with(terms, j, chosen) for j in left]
        gains = [float((b[g] * solved(A[np.ix_(g, g)], b[g])).sum()) for g in groups]
        best = int(np.argmax(gains))
        remove(groups[best], A, b)
        chosen.append(left.pop(best))
    return np.array(chosen, dtype=np.intp)


def terms_with(terms: Monomials, j: int, chosen: list[int]) -> IntArray:
    """Terms that an input adds to those of the inputs chosen so far."""
    known = np.array([-1, j, *chosen])
    has = (terms.first == j) | (terms.second == j)
    return np.flatnonzero(has & np.isin(terms.first, known) & np.isin(terms.second, known))


def remove(g: IntArray, A: FloatArray, b: FloatArray) -> None:
    """Remove what some terms explain from all others and from the responses, in place."""
    across = A[:, g].copy()
    b -= across @ solved(A[np.ix_(g, g)], b[g])
    A -= across @ solved(A[np.ix_(g, g)], across.T)
    # what is explained has no products left; a one keeps its block invertible
    A[g], A[:, g] = 0.0, 0.0
    A[g, g] = 1.0


def solved(A: FloatArray, b: FloatArray) -> FloatArray:
    """``A^-1 b`` of a positive definite A."""
    solution: FloatArray = cho_solve(cho_factor(A), b)
    return solution
