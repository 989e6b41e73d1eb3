"""Students of many classes and many rows: thousands of shared columns, fitted to the labels.

Where all columns are shared, no weight is judged, so that a teacher is not needed to judge them
well; and of many rows the labels know more than it does. Kernels at thousands of centres are a
ridge regression on the labels, in closed form from sums over rows:

    F = K (K' S K + ridge R)^-1 K' S (Y - y),    log P = slope F + bias + const

with R the kernel matrix of the centres and y the shares of the classes. Rows held out decide on
ridge, slope and bias.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sdgm._typing import FloatArray, IntArray
from sdgm.core.data.rows import block_size
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.model.kernels import KernelBasis, KernelName
from sdgm.core.model.state import Record, State, Stop
from sdgm.ensemble.calibration import Calibration, calibrated
from sdgm.estimators.kernel_form import KernelForm
from sdgm.estimators.plan import Plan
from sdgm.estimators.problem import Problem, Sample
from sdgm.estimators.run import Run, print_line
from sdgm.estimators.training import Fit, Training
from sdgm.scale.memory import require_memory
from sdgm.scale.threads import one_blas_thread

# of so many rows one is a centre; at least and at most so many are. On 15,000 rows of letter (26
# classes) 1,000, 2,000, 3,000 and 4,000 centres have an error of 6.4, 4.1, 3.5 and 2.9%
ROWS_PER_CENTER, LEAST_CENTERS, MAX_CENTERS = 2, 2_000, 4_000
# ridges that are compared, and of how many rows one is held out
RIDGES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
HELD_OUT = 10
# added to the diagonal: centres that lie close are alike up to rounding
JITTER = 1e-10
# matrices of all centres at the same time
COPIES = 4


def n_centers(shape: tuple[int, int], plan: Plan) -> int:
    """Centres for so many rows and classes; zero where fewer columns are better chosen."""
    (n_rows, n_classes), form = shape, plan.form
    # other kernels have few explicit features
    is_rbf = isinstance(form, KernelForm) and form.kernel == KernelName.RBF
    n = min(n_rows // ROWS_PER_CENTER, MAX_CENTERS)
    has_rows = n_rows >= form.rows_per_shared_weight * n * n_classes
    return n if is_rbf and has_rows and n >= LEAST_CENTERS else 0


def label_ridge(
    problem: Problem, basis: KernelBasis, labels: IntArray, plan: Plan, run: Run
) -> Fit:
    """A model with one component per class and all columns, without a covariance.

    Parameters
    ----------
    problem : Problem
        Its first rows have the labels.
    basis : KernelBasis
    labels : (N,) array
        Class indices.
    plan : Plan
    run : Run
    """
    begin, m, C = perf_counter(), len(basis), len(problem.classes)
    require_memory(8.0 * COPIES * m**2, f"A ridge regression on {m} columns", ["fewer rows"])
    rows, share = labelled(problem, labels)
    with one_blas_thread():
        W, calibration = ridge_regression(rows, basis, share)
    W *= calibration.slope
    # pi is the share of each class
    weights = np.vstack([calibration.bias - np.log(share), W])  # (1 + m, C)
    alpha = weights.size / float((weights**2).sum())
    state = State(
        w=weights.T.ravel(),
        alpha=np.full(weights.size, alpha),
        component=np.repeat(np.arange(C), 1 + m),
        column=np.tile(np.arange(1 + m), C),
        pi=share,
        component_class=np.arange(C),
    )
    log_likelihood = -calibration.loss * float(rows.s.sum())
    log_posterior = log_likelihood - 0.5 * weights.size
    record = Record(
        iteration=1,
        log_posterior=log_posterior,
        log_likelihood=log_likelihood,
        log_evidence=log_posterior,
        n_weights=state.n_weights,
        n_components=C,
        alpha_change=0.0,
        newton_steps=0,
        seconds=perf_counter() - begin,
        state=state if plan.record_states else None,
    )
    if run.verbose:
        print_line(record)
    model = FittedModel.from_candidates(problem.classes, problem.scaler, basis, state)
    if problem.inputs is not None:
        model = model.at_inputs(problem.inputs, problem.X_user.shape[1])
    training = Training(
        history=[record],
        log_evidence=log_posterior,
        start_log_evidences=np.array([log_posterior]),
        n_initial_weights=state.n_weights,
        converged=True,
        stop_reason=Stop.CONVERGED.value,
        settings=plan.key(basis),
    )
    return Fit(model, training)


def labelled(problem: Problem, labels: IntArray) -> tuple[Sample, FloatArray]:
    """The first rows with labels, which count once on average, and the shares of the classes."""
    N = len(labels)
    s = problem.s[:N] / problem.s[:N].mean()
    share = np.bincount(labels, s, minlength=len(problem.classes)) / s.sum()
    return Sample(problem.X[:N], labels, s), share


def ridge_regression(
    rows: Sample, basis: KernelBasis, share: FloatArray
) -> tuple[FloatArray, Calibration]:
    """Weights of the columns, and how scores become probabilities: (m, C)."""
    is_held_out = np.arange(len(rows.s)) % HELD_OUT == 0
    held_out = some_rows(rows, is_held_out)
    A, b = sums_of(some_rows(rows, ~is_held_out), basis, share)
    R = basis.transform(basis.vectors)

    def solution(ridge: float) -> FloatArray:
        system = A + ridge * R
        system.flat[:: len(A) + 1] *= 1.0 + JITTER
        factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        return cho_solve(factor, b, check_finite=False)

    def calibration_of(W: FloatArray) -> Calibration:
        F = np.concatenate([K @ W for _, K in blocks_of(held_out, basis)])
        return calibrated(F, held_out.y, held_out.s)

    calibrations = [calibration_of(solution(ridge)) for ridge in RIDGES]
    best = int(np.argmin([calibration.loss for calibration in calibrations]))
    more = sums_of(held_out, basis, share)
    A += more[0]
    b += more[1]
    return solution(RIDGES[best]), calibrations[best]


def some_rows(rows: Sample, which: IntArray) -> Sample:
    """Those rows."""
    return Sample(rows.X[which], rows.y[which], rows.s[which])


def blocks_of(rows: Sample, basis: KernelBasis) -> Iterator[tuple[slice, FloatArray]]:
    """Rows, and the values of their columns."""
    size = block_size(len(basis))
    for start in range(0, len(rows.s), size):
        block = slice(start, start + size)
        yield block, basis.transform(rows.X[block])


def sums_of(rows: Sample, basis: KernelBasis, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``K' S K`` and ``K' S (Y - y)``: (m, m), (m, C)."""
    m, C = len(basis), len(share)
    A, b = np.zeros((m, m)), np.zeros((m, C))
    for block, K in blocks_of(rows, basis):
        b += K.T @ (rows.s[block, None] * (np.eye(C)[rows.y[block]] - share))
        K *= np.sqrt(rows.s[block])[:, None]
        A += K.T @ K
    return A, b
