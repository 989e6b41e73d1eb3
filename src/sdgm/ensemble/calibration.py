"""From scores to probabilities: ``P = softmax(slope F + bias)``, by log loss of cases left out.

The loss is convex in the slope and the biases: Newton's method takes a few steps. The labels
count as slightly uncertain, as in Platt's calibration, so that the minimum is finite where all
cases are on their own side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sdgm._typing import FloatArray, IntArray

# Newton steps, so that slow convergence ends; the loss is convex
MAX_STEPS = 30
# squared Newton decrement at convergence, far below any relevant difference of log losses
TOLERANCE = 1e-7
# halvings of a step; after these it has 1e-9 of its length and rounding dominates
MAX_HALVINGS = 30
# required decrease of the loss, as a fraction of what the slope along the step predicts
LEAST_GAIN = 0.25
# number of rows that the uniform distribution of labels counts for, besides the actual ones
DOUBTFUL_ROWS = 1.0
# precision of the biases, in rows: their sum is not determined by the labels
BIAS_PRECISION = 1.0


@dataclass(frozen=True, eq=False)
class Calibration:
    """``log P = slope F + bias``, up to a constant per row.

    Attributes
    ----------
    slope : float
        Not negative.
    bias : (C,) array
    loss : float
        Mean log loss of the cases.
    """

    slope: float
    bias: FloatArray
    loss: float

    def proba(self, F: FloatArray) -> FloatArray:
        """Probabilities of the classes: (n, C)."""
        return np.exp(log_softmax(self.slope * F + self.bias))


def log_softmax(logits: FloatArray) -> FloatArray:
    """Along the last axis."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return shifted


@dataclass(frozen=True, eq=False)
class CalibrationLoss:
    """Mean log loss as a function of theta, the slope and then the biases.

    Attributes
    ----------
    F : (U, C) array
        Scores.
    T : (U, C) array
        Targets, each row of sum one.
    share : (U,) array
        Weights, of sum one.
    ridge : float
        Precision of the biases.
    """

    F: FloatArray
    T: FloatArray
    share: FloatArray
    ridge: float

    def log_proba(self, theta: FloatArray) -> FloatArray:
        """Log probabilities: (U, C)."""
        return log_softmax(theta[0] * self.F + theta[1:])

    def value(self, theta: FloatArray, log_P: FloatArray) -> float:
        """The loss, given the log probabilities of theta."""
        loss = -self.share @ np.einsum("uc,uc->u", self.T, log_P)
        return float(loss) + 0.5 * self.ridge * float(theta[1:] @ theta[1:])

    def derivatives(self, theta: FloatArray, log_P: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradient and Hessian: (C + 1,), (C + 1, C + 1)."""
        F, share, C = self.F, self.share, self.F.shape[1]
        P = np.exp(log_P)
        PF = P * F
        mean_F = PF.sum(axis=1)
        sP = share[:, None] * P
        gradient = np.empty(C + 1)
        gradient[0] = share @ (mean_F - np.einsum("uc,uc->u", self.T, F))
        gradient[1:] = sP.sum(axis=0) - share @ self.T + self.ridge * theta[1:]
        hessian = np.empty((C + 1, C + 1))
        hessian[0, 0] = share @ (np.einsum("uc,uc->u", PF, F) - mean_F**2)
        hessian[0, 1:] = hessian[1:, 0] = share @ PF - mean_F @ sP
        hessian[1:, 1:] = -(P.T @ sP)
        hessian[1:, 1:].flat[:: C + 1] += sP.sum(axis=0) + self.ridge
        # scores that are all alike leave the slope undetermined
        hessian[0, 0] += np.finfo(float).eps
        return gradient, hessian


def calibrated(
    F: FloatArray, label: IntArray, weight: FloatArray, near: Calibration | None = None
) -> Calibration:
    """The calibration of the smallest log loss.

    Parameters
    ----------
    F : (U, C) array
        Scores of the cases, each predicted without the case.
    label : (U,) integer array
    weight : (U,) array
    near : Calibration, optional
        The calibration of similar scores, as a start.
    """
    U, C = F.shape
    total = float(weight.sum())
    share = weight / total
    # scores in units of their spread, so that a slope of one is a fair start
    F = F - F.mean(axis=1, keepdims=True)
    unit = float(np.sqrt(share @ np.einsum("uc,uc->u", F, F))) or 1.0
    doubt = DOUBTFUL_ROWS / (total + DOUBTFUL_ROWS)
    T = np.full((U, C), doubt / C)
    own = np.arange(U), label
    T[own] += 1.0 - doubt
    loss = CalibrationLoss(F / unit, T, share, BIAS_PRECISION / total)
    start = np.zeros(C + 1)
    start[0] = 1.0
    if near is not None:
        start[0], start[1:] = near.slope * unit, near.bias
    theta, log_P = minimum(loss, start)
    if theta[0] < 0.0:  # worse than nothing: the frequencies of the classes
        theta = np.append(0.0, np.log(share @ T))
        log_P = loss.log_proba(theta)
    return Calibration(float(theta[0]) / unit, theta[1:], -float(share @ log_P[own]))


def minimum(loss: CalibrationLoss, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Newton's method with a line search; theta and its log probabilities."""
    log_P = loss.log_proba(theta)
    value = loss.value(theta, log_P)
    for _ in range(MAX_STEPS):
        gradient, hessian = loss.derivatives(theta, log_P)
        step = np.linalg.solve(hessian, gradient)
        decrement = float(gradient @ step)
        if decrement < TOLERANCE:
            break
        for halvings in range(MAX_HALVINGS):
            size = 0.5**halvings
            new = theta - size * step
            new_log_P = loss.log_proba(new)
            new_value = loss.value(new, new_log_P)
            if new_value <= value - LEAST_GAIN * size * decrement:
                break
        else:
            break
        theta, log_P, value = new, new_log_P, new_value
    return theta, log_P
