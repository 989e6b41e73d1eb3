"""Algorithm 1 of the paper: Newton inside EM inside the evidence loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

import numpy as np

from sdgm._typing import FloatArray, LabelArray
from sdgm.core.data.rows import RowSource
from sdgm.core.inference.evidence import (
    log_evidence,
    updated_pi,
    weight_covariance,
    well_determined,
)
from sdgm.core.inference.presets import Options, Solver
from sdgm.core.inference.pruning import (
    has_few_weights,
    next_alpha,
    prune,
    relative_to_one_component,
)
from sdgm.core.inference.sharing import next_shared_alpha
from sdgm.core.model.state import Record, State, Stop
from sdgm.core.objective.derivatives import (
    Mixture,
    class_totals,
    class_weights,
    derivatives_of_rows,
    fit_of_rows,
    mean_change_of_r,
)
from sdgm.core.objective.whitening import Whitening, whiten
from sdgm.core.solvers.block_precision import BlockPrecision
from sdgm.core.solvers.newton import System, log_posterior, maximize_over_w
from sdgm.core.solvers.precision import NumericalTrouble, robust_precision_cholesky
from sdgm.core.solvers.sampled import RowsWithSample, maximize_by_sample
from sdgm.core.solvers.truncated import maximize_by_blocks

# multiplications up to which the whole Newton matrix costs little, products with it that conjugate
# gradients take, and how much less work they must be to be worth an approximate evidence, unless
# that of a sample is approximate anyway
LITTLE_WORK = 2e10
PRODUCTS = 40
BLOCKS_PAY = 4.0
# in place of ``many_steps`` where each is several, without Newton's matrix
MANY_BLOCK_STEPS = 10
# passes, and the log evidence that they must add to go on: per weight where the rows are a sample,
# since all rows decide again; per component where it is that of diagonal blocks
STALLED_PASSES = 10
SAMPLE_GAIN, BLOCKS_GAIN = 0.05, 0.01


@dataclass(frozen=True)
class Result:
    """What `learn` returns: the last state, one record per outer pass, and why it stopped."""

    state: State
    records: list[Record]
    stop: Stop


def learn(
    rows: RowSource,
    Rt: FloatArray,
    state: State,
    options: Options,
    callback: Callable[[Record], bool | None] | None = None,
    *,
    keep_states: bool = False,
    earlier: Sequence[Record] = (),
) -> Result:
    """Learn the weights, their precisions and the mixture (Algorithm 1).

    Parameters
    ----------
    rows : RowSource
        Training rows in the coordinates of the design, with the responsibilities to start from.
    Rt : (H, p) array
        Transposed right factor of the design ``Phi = Z R``.
    state : State
        Where to start.
    options : Options
    callback : callable, optional
        Called with the record of every outer pass; a true answer ends learning.
    keep_states : bool
        Whether the records carry the state after their pass.
    earlier : sequence of Record
        Passes that led to ``state``, to go on from; the same as if learning had never stopped.

    Returns
    -------
    Result
        An interrupt from the keyboard ends learning with the state so far.
    """
    records = list(earlier)
    class_share = shares(class_totals(rows, state.n_classes), options)
    begin = perf_counter()
    if records:
        rows, begin = rows.started(), begin - records[-1].seconds
    elif options.few_weights and state.n_components == 2:
        state = relative_to_one_component(state)
    try:
        for iteration in range(
            len(records) + 1, options.max_iter + 1
        ):  # while alpha has not converged
            if state.n_weights == 0:
                records.append(describe_empty(iteration, rows, Rt, state, perf_counter() - begin))
                return Result(state, records, Stop.EMPTY)
            whitening = whiten(Rt, state)
            from_start = rows.has_start
            mode, newton_steps = settle_r_and_w(rows, whitening, state, options)
            rows = rows.started()
            w = whitening.to_w(mode.theta)

            # Lambda_diag, alpha, pi
            gamma = well_determined(whitening, mode.precision)
            if options.share_columns:
                alpha, remove = next_shared_alpha(state, w, gamma, mode.gain, options)
            else:
                alpha, remove = next_alpha(state, w, gamma, mode.gain, Rt.shape[1], options)
            r_sum = mode.fit.r_sum if options.em_gradient else current_r_sum(rows, mode.mixture)
            pi = updated_pi(r_sum, state.component_class, class_share)
            if not options.learn_alpha:  # then no component leaves, however small
                pi = np.maximum(pi, options.min_share * class_share[state.component_class])

            keep = ~remove
            before, after = state.alpha[keep], alpha[keep]
            if not options.learn_alpha:  # then pi is what has to converge
                before, after = state.pi, pi
            change = log_change(before, after)
            converged = change < options.tol
            if options.alpha_tol:
                converged |= float(((after - before) ** 2).sum()) < options.alpha_tol
            size = state.n_weights, state.n_components
            state = replace(state, w=w, alpha=alpha, pi=pi).keep_weights(keep)
            if options.learn_alpha:
                state = prune(state, options)
            smaller = size != (state.n_weights, state.n_components)

            record = describe(iteration, mode, state, change, newton_steps, perf_counter() - begin)
            records.append(replace(record, state=state) if keep_states else record)
            if callback is not None and callback(records[-1]):
                return Result(state, records, Stop.CALLBACK)
            settled = mode.gain <= options.newton_tol and not from_start
            if not (options.share_columns or has_few_weights(state, options)):
                if options.is_rough and has_stalled(records, SAMPLE_GAIN * state.n_weights):
                    return Result(state, records, Stop.CONVERGED)
                is_rough = isinstance(mode.precision, BlockPrecision)
                if is_rough and has_stalled(records, BLOCKS_GAIN * state.n_components):
                    converged, smaller = True, False
            if converged and settled and not smaller:
                return Result(state, records, Stop.CONVERGED)
    except KeyboardInterrupt:
        return Result(state, records, Stop.INTERRUPTED)
    except NumericalTrouble:
        if not records:
            raise
        return Result(state, records, Stop.NUMERICAL)
    return Result(state, records, Stop.MAX_ITER if state.n_weights else Stop.EMPTY)


def has_stalled(records: Sequence[Record], least: float) -> bool:
    """Whether the log evidence rose by less than that above its lowest of the last passes.

    Of hundreds of weights some are always on their way out. It is not worth waiting for the last of
    them with the evidence of diagonal blocks, or of a sample. Evidence that only falls has stalled;
    at first it falls and rises, while the components of a class part.
    """
    last = [record.log_evidence for record in records[-1 - STALLED_PASSES :]]
    return len(last) > STALLED_PASSES and last[-1] - min(last) < least


def settle_r_and_w(
    rows: RowSource, whitening: Whitening, state: State, options: Options
) -> tuple[System, int]:
    """The middle and the innermost loop: r and w, with alpha and pi held; also counts steps.

    The first pass ever takes r from the start, whose k-means clusters tell the components of a
    class apart; an E-step from w = 0 would make them equal for ever.
    """
    theta = whitening.to_theta(state.w)
    mixture = Mixture(whitening.score_vectors(theta), np.log(state.pi), state.component_class)
    # few weights are judged at their mode, and with alpha fixed there is nothing but the mode
    to_mode = has_few_weights(state, options) or not options.learn_alpha
    # with one component per class r is known, and no information is missing
    is_mixture = state.n_components > state.component_class[-1] + 1
    if (
        isinstance(rows, RowsWithSample)
        and rows.can_direct(len(theta))
        and options.solver is not Solver.BLOCK
    ):
        return maximize_by_sample(
            rows,
            whitening,
            mixture,
            theta,
            tol=options.newton_tol,
            observed=is_mixture,
            exact=options.learn_alpha,
        )
    sizes = np.diff(whitening.starts).astype(np.float64)
    blocks = uses_blocks(len(rows), sizes, whitening.rank, options)
    maximize = maximize_by_blocks
    if not blocks:
        maximize = partial(maximize_over_w, leave_saddles=options.leave_saddles)
    max_steps = options.max_newton
    # from a start w has a long way to go, and the components of a class are to part on it
    if to_mode or (rows.has_start and (is_mixture or not blocks)):
        max_steps = max(MANY_BLOCK_STEPS if blocks else options.many_steps, max_steps)
    total_steps = 0
    for _ in range(options.max_em):  # while r has not converged
        before = mixture
        mode, steps = maximize(  # while w has not converged
            rows,
            whitening,
            mixture,
            theta,
            max_steps=max_steps,
            tol=options.newton_tol,
            r_from=None if options.em_gradient else before,
            observed=options.em_gradient and not rows.has_start and to_mode and is_mixture,
        )
        total_steps += steps
        theta, mixture = mode.theta, mode.mixture
        if options.max_em > 1 and mean_change_of_r(rows, before, mixture) < options.r_tol:
            break
        rows = rows.started()
    return mode, total_steps


def uses_blocks(n_rows: int, sizes: FloatArray, rank: int, options: Options) -> bool:
    """Whether the diagonal blocks of Newton's matrix are to do in place of the whole.

    Parameters
    ----------
    n_rows : int
    sizes : (K,) array
        Coordinates of each component.
    rank : int
        Of the design.
    options : Options
    """
    if options.solver is not Solver.AUTO:
        return options.solver is Solver.BLOCK
    m = float(sizes.sum())
    work_of_all = n_rows * m**2 + m**3
    work_of_rows = n_rows * (float(sizes @ sizes) + n_rows * m) + float(n_rows) ** 3
    work_of_blocks = n_rows * (sizes @ sizes + PRODUCTS * rank * len(sizes)) + (sizes**3).sum()
    least = min(work_of_all, work_of_rows)
    pay = 1.0 if options.is_rough else BLOCKS_PAY
    return bool(least > LITTLE_WORK and pay * work_of_blocks < least)


def describe(
    iteration: int, mode: System, state: State, change: float, newton_steps: int, seconds: float
) -> Record:
    """The record of an outer pass that ended in ``state``."""
    expected_log_posterior = log_posterior(mode.fit, mode.theta, complete=True)
    return Record(
        iteration=iteration,
        log_posterior=log_posterior(mode.fit, mode.theta, complete=False),
        log_likelihood=mode.fit.log_likelihood,
        log_evidence=log_evidence(expected_log_posterior, mode.precision),
        n_weights=state.n_weights,
        n_components=state.n_components,
        alpha_change=change,
        newton_steps=newton_steps,
        seconds=seconds,
    )


def describe_empty(
    iteration: int, rows: RowSource, Rt: FloatArray, state: State, seconds: float
) -> Record:
    """The record of a model without weights, which only knows pi."""
    V = np.zeros((Rt.shape[1], state.n_components))
    fit = fit_of_rows(rows.started(), Mixture(V, np.log(state.pi), state.component_class), None)
    return Record(
        iteration=iteration,
        log_posterior=fit.log_likelihood,
        log_likelihood=fit.log_likelihood,
        log_evidence=fit.J,
        n_weights=0,
        n_components=state.n_components,
        alpha_change=0.0,
        newton_steps=0,
        seconds=seconds,
    )


def log_change(before: FloatArray, after: FloatArray) -> float:
    """Largest relative change, on the log scale."""
    return float(np.abs(np.log(after / before)).max(initial=0.0))


def class_shares(y: LabelArray, s: FloatArray, options: Options) -> FloatArray:
    """What pi sums to within each class: the class's share of the samples, or one: (C,)."""
    return shares(class_weights(y, s), options)


def shares(total: FloatArray, options: Options) -> FloatArray:
    """`class_shares` from the summed weights of the classes."""
    return total / total.sum() if options.class_prior else np.ones(len(total))


def current_r_sum(rows: RowSource, mixture: Mixture) -> FloatArray:
    """``sum s r`` with r from the mixture itself."""
    return fit_of_rows(rows, mixture, None).r_sum


def laplace_covariance(rows: RowSource, Rt: FloatArray, state: State) -> FloatArray:
    """Posterior covariance Lambda of the weights of a state: (n_active, n_active)."""
    whitening = whiten(Rt, state)
    V = whitening.score_vectors(whitening.to_theta(state.w))
    mixture = Mixture(V, np.log(state.pi), state.component_class)
    curvature = derivatives_of_rows(rows, mixture, None, whitening).curvature
    return weight_covariance(whitening, robust_precision_cholesky(curvature))
