"""Class probabilities averaged over normal scores, by quadrature."""

from __future__ import annotations

import numpy as np
import torch
from scipy.special import ndtri
from torch import Tensor

# numbers that a block of rows may take: 16 MiB in single precision
BLOCK = 1 << 22
# points of the quadrature: with twice as many the log loss of images changed by less than 1%
N_POINTS = 64


def averaged_log_prob(scores: Tensor, variances: Tensor, points: Tensor) -> Tensor:
    """Log of the components' probabilities averaged over independent normal scores: (..., K).

    The mean of the softmax of normal scores has no closed form. It is taken over the points of
    `normal_points`, the same for all rows and in every call, so that the result is a function of
    the scores and of their variances.

    Approximations in closed form, component against component (MacKay's, whose log odds are those
    of the means over ``sqrt(1 + pi / 8 v)``), are good where classes are in doubt. Where they are
    not, which is what the log loss of a good network is made of, they are far too unsure: at a
    difference of 16 with a variance of 4 the odds are exp(10) instead of exp(14).

    Parameters
    ----------
    scores, variances : (..., K) tensors
    points : (n, K) tensor

    Examples
    --------
    >>> scores, points = torch.tensor([[2.0, 0.0]]), normal_points(2)
    >>> averaged_log_prob(scores, torch.zeros(1, 2), points).exp()
    tensor([[0.8808, 0.1192]])
    >>> averaged_log_prob(scores, torch.full((1, 2), 2.0), points).exp()
    tensor([[0.7740, 0.2260]])
    """
    K = scores.shape[-1]
    points = points.to(scores)
    variances = variances.clamp_min(torch.finfo(variances.dtype).tiny)  # for the root's gradient
    means, stds = scores.reshape(-1, K), variances.sqrt().reshape(-1, K)
    size = max(1, BLOCK // points.numel())
    if torch.compiler.is_compiling() or len(means) <= size:  # a graph is for any number of rows
        return _over_points(means, stds, points).reshape(scores.shape)
    blocks = zip(torch.split(means, size), torch.split(stds, size), strict=True)
    return torch.cat([_over_points(*each, points) for each in blocks]).reshape(scores.shape)


def _over_points(means: Tensor, stds: Tensor, points: Tensor) -> Tensor:
    """Log of the components' mean probabilities: (N, K)."""
    scores = means[:, None, :] + stds[:, None, :] * points  # (N, points, K)
    return scores.log_softmax(dim=2).logsumexp(dim=1).log_softmax(dim=1)


def normal_points(n_dimensions: int) -> Tensor:
    """Points that are spread as independent standard normal variables are: (64, n_dimensions).

    A Latin hypercube: in each dimension the same quantiles, in a random order that does not depend
    on the number of dimensions.

    Examples
    --------
    >>> normal_points(3).shape
    torch.Size([64, 3])
    >>> torch.equal(normal_points(5)[:, :3], normal_points(3))
    True
    """
    quantiles = ndtri((np.arange(N_POINTS) + 0.5) / N_POINTS)
    quantiles /= np.sqrt(np.mean(quantiles**2))
    order = np.random.default_rng(0).random((n_dimensions, N_POINTS)).argsort(axis=1)
    return torch.as_tensor(quantiles[order].T, dtype=torch.float32).contiguous()
