"""Class probabilities averaged over normal scores, in closed form."""

from __future__ import annotations

import math

import torch
from torch import Tensor

# numbers that a block of rows may take: 16 MiB in single precision
BLOCK = 1 << 22


def averaged_log_prob(
    scores: Tensor, variances: Tensor, component_class: Tensor, num_classes: int
) -> Tensor:
    """Log of class probabilities averaged over independent normal scores of components: (..., C).

    The mean of the softmax of normal scores has no closed form. For two components MacKay's
    approximation is good to one percent; for more it is used pair by pair: with means s and
    variances v,

        P(k) ~ 1 / sum_j exp(-(s_k - s_j) / sqrt(1 + pi / 8 (v_k + v_j)))

    up to the factor that makes the sum one. The probability of a class is the sum over its
    components.

    Parameters
    ----------
    scores, variances : (..., K) tensors
    component_class : (K,) integer tensor
    num_classes : int

    References
    ----------
    D. MacKay, "The Evidence Framework Applied to Classification Networks", Neural Computation 1992.
    Z. Lu, E. Ie and F. Sha, "Mean-Field Approximation to Gaussian-Softmax Integral", 2020.

    Examples
    --------
    >>> scores, two = torch.tensor([[2.0, 0.0]]), torch.tensor([0, 1])
    >>> averaged_log_prob(scores, torch.zeros(1, 2), two, 2).exp()
    tensor([[0.8808, 0.1192]])
    >>> averaged_log_prob(scores, torch.full((1, 2), 2.0), two, 2).exp()
    tensor([[0.7768, 0.2232]])
    """
    K = scores.shape[-1]
    size = max(1, BLOCK // K**2)
    parts = (torch.split(each.reshape(-1, K), size) for each in (scores, variances))
    blocks = zip(*parts, strict=True)
    log_P = torch.cat([_by_pairs(s, v) for s, v in blocks])
    largest = log_P.amax(dim=1, keepdim=True)
    P = torch.zeros_like(log_P[:, :1]).expand(-1, num_classes)
    P = P.index_add(1, component_class, (log_P - largest).exp())
    tiny = torch.finfo(P.dtype).tiny
    return (P.clamp_min(tiny).log() + largest).reshape(*scores.shape[:-1], num_classes)


def _by_pairs(scores: Tensor, variances: Tensor) -> Tensor:
    """Log probabilities of components: (N, K)."""
    spread = (1.0 + math.pi / 8.0 * (variances[:, :, None] + variances[:, None, :])).sqrt()
    log_odds = (scores[:, None, :] - scores[:, :, None]) / spread  # of j against k
    return (-log_odds.logsumexp(dim=2)).log_softmax(dim=1)
