"""Last layers to compare with: softmax with L1, large-margin softmax and L-GM."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from sdgm.nn.variational import without_autocast

# of L1-regularised weights: below this they count as zero when they are pruned
SMALL_WEIGHT = 1e-3
# lambda of large-margin softmax at the start: next to no margin
BLEND_START = 1000.0


class L1Softmax(nn.Module):
    """Linear layer whose weights are penalised by their absolute values.

    Parameters
    ----------
    in_features, n_classes : int
    l1 : float, default=1e-4
        Factor of the sum of absolute weights in the loss.

    Examples
    --------
    >>> L1Softmax(2, 10)(torch.zeros(3, 2)).shape
    torch.Size([3, 10])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        l1: float = 1e-4,
    ) -> None:
        super().__init__()
        self.l1 = _not_negative("l1", l1)
        self.linear = nn.Linear(in_features, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Class scores: (..., C)."""
        return self.linear(x)

    def penalty(self, scores: Tensor, y: Tensor) -> Tensor:
        """``l1 * sum |w|``."""
        return self.l1 * self.linear.weight.abs().sum()

    @torch.no_grad()
    def prune(self, smallest: float = SMALL_WEIGHT) -> None:
        """Set weights to zero that gradient descent has left close to it."""
        self.linear.weight.mul_(self.linear.weight.abs() >= smallest)

    def extra_repr(self) -> str:
        return f"l1={self.l1:g}"


class LargeMarginSoftmax(nn.Module):
    """Large-margin softmax (L-Softmax): the angle to the own class's weights counts m times.

    In training, with labels, the own class's score ``|w| |x| cos(a)`` becomes
    ``|w| |x| (lambda cos(a) + psi(a)) / (lambda + 1)`` with ``psi(a) = (-1)^k cos(m a) - 2k`` for
    a in ``[k pi / m, (k + 1) pi / m]``. Lambda falls from 1000 by equal factors per step, since
    training does not start with the full margin.

    Parameters
    ----------
    in_features, n_classes : int
    margin : int, default=2
        The m above; 1 is the softmax without bias.
    warmup : int, default=1000
        Training steps until lambda has fallen to ``blend``.
    blend : float, default=0.1
        Last value of lambda.

    References
    ----------
    W. Liu, Y. Wen, Z. Yu and M. Yang, "Large-Margin Softmax Loss for Convolutional Neural
    Networks", ICML 2016.

    Examples
    --------
    >>> head = LargeMarginSoftmax(2, 10, margin=4)
    >>> head(torch.zeros(3, 2), torch.tensor([0, 1, 2])).shape
    torch.Size([3, 10])
    """

    step: Tensor

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        margin: int = 2,
        warmup: int = 1000,
        blend: float = 0.1,
    ) -> None:
        super().__init__()
        if margin < 1 or margin != int(margin):
            raise ValueError(
                f"margin must be a positive integer, got {margin!r}; 2 to 4 are usual."
            )
        if not blend > 0.0:
            raise ValueError(f"blend must be positive, got {blend!r}; 0.1 is nearly all margin.")
        self.margin = int(margin)
        self.warmup = int(_not_negative("warmup", warmup))
        self.blend = blend
        self.linear = nn.Linear(in_features, n_classes, bias=False)
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        """Class scores: (..., C); with the margin if in training mode and given labels."""
        scores: Tensor = self.linear(x)
        if y is None or not self.training:
            return scores
        _check_indices(self, y)
        blend = self._lambda()
        self.step += 1
        own = scores.gather(-1, y[..., None])  # (..., 1)
        length = self.linear.weight.norm(dim=-1)[y][..., None] * x.norm(dim=-1, keepdim=True)
        cosine = (own / length.clamp_min(1e-12)).clamp(-1.0, 1.0)
        with_margin = (blend * own + length * self._psi(cosine)) / (blend + 1.0)
        return scores.scatter(-1, y[..., None], with_margin)

    def _lambda(self) -> Tensor:
        share = (self.step / max(self.warmup, 1)).clamp(max=1.0)
        return BLEND_START * (self.blend / BLEND_START) ** share

    def _psi(self, cosine: Tensor) -> Tensor:
        """``(-1)^k cos(m a) - 2k`` from cos(a), by Chebyshev's recursion."""
        before, multiple = torch.ones_like(cosine), cosine
        for _ in range(self.margin - 1):
            before, multiple = multiple, 2.0 * cosine * multiple - before
        edges = [math.cos(math.pi * j / self.margin) for j in range(1, self.margin)]
        k = sum((cosine < edge).to(cosine.dtype) for edge in edges)
        return multiple if isinstance(k, int) else (1.0 - 2.0 * (k % 2)) * multiple - 2.0 * k

    def extra_repr(self) -> str:
        return f"margin={self.margin}, warmup={self.warmup}, blend={self.blend:g}"


class LGM(nn.Module):
    """Gaussian-mixture head with a margin and a likelihood term (L-GM).

    One Gaussian per class with diagonal covariance; the scores are log densities. In training, with
    labels, the distance to the own class counts ``1 + margin`` times, and the loss has
    ``likelihood`` times the mean negative log density of the own class (without its constant).

    Parameters
    ----------
    in_features, n_classes : int
    margin : float, default=0.3
    likelihood : float, default=0.1
    covariance : {"identity", "diag"}, default="identity"

    References
    ----------
    W. Wan, Y. Zhong, T. Li and J. Chen, "Rethinking Feature Distribution for Loss Functions in
    Image Classification", CVPR 2018.

    Examples
    --------
    >>> LGM(2, 10)(torch.zeros(3, 2)).shape
    torch.Size([3, 10])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        margin: float = 0.3,
        likelihood: float = 0.1,
        covariance: str = "identity",
    ) -> None:
        super().__init__()
        if covariance not in ("identity", "diag"):
            raise ValueError(f"covariance must be 'identity' or 'diag', got {covariance!r}.")
        self.margin = _not_negative("margin", margin)
        self.likelihood = _not_negative("likelihood", likelihood)
        # whether the scores of the last pass in training mode had it
        self._has_margin = True
        mean = torch.empty(n_classes, in_features)
        self.mean = nn.Parameter(nn.init.xavier_uniform_(mean, gain=math.sqrt(2.0)))
        self.log_variance = nn.Parameter(torch.zeros_like(mean)) if covariance == "diag" else None

    log_variance: nn.Parameter | None

    def _precision(self) -> Tensor:
        """Inverse variances: (C, D)."""
        if self.log_variance is None:
            return torch.ones_like(self.mean)
        return (-self.log_variance).exp()

    def _half_log_det(self) -> Tensor:
        """Half the log determinants of the covariances: (C,)."""
        if self.log_variance is None:
            return self.mean.new_zeros(len(self.mean))
        return 0.5 * self.log_variance.sum(dim=-1)

    def forward(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        """Class scores: (..., C); with the margin if in training mode and given labels.

        Under autocast they are computed in the precision of the means.
        """
        if self.training:
            self._has_margin = y is not None
        distance = without_autocast(self._distance, x, self.mean.dtype)
        if y is not None and self.training:
            _check_indices(self, y)
            factor = torch.ones_like(distance).scatter(-1, y[..., None], 1.0 + self.margin)
            distance = distance * factor
        return -distance - self._half_log_det()

    def _distance(self, x: Tensor) -> Tensor:
        """Half the squared distances to the means: (..., C)."""
        precision = self._precision()
        # |x - mean|^2 multiplied out: no tensor of rows x classes x features
        return 0.5 * (
            x.square() @ precision.T
            - 2.0 * (x @ (self.mean * precision).T)
            + (self.mean.square() * precision).sum(dim=-1)
        )

    def penalty(self, scores: Tensor, y: Tensor) -> Tensor:
        """``likelihood`` times the mean negative log density of the own class, from its score."""
        _check_indices(self, y)
        half_log_det = self._half_log_det()[y]
        distance = -scores.gather(-1, y[..., None])[..., 0] - half_log_det
        if self.training and self._has_margin:
            distance = distance / (1.0 + self.margin)
        return self.likelihood * (distance + half_log_det).mean()

    def extra_repr(self) -> str:
        covariance = "identity" if self.log_variance is None else "diag"
        n_classes, in_features = self.mean.shape
        return (
            f"in_features={in_features}, n_classes={n_classes}, margin={self.margin:g}, "
            f"likelihood={self.likelihood:g}, covariance={covariance}"
        )


def _not_negative(name: str, value: float) -> float:
    if not 0.0 <= value < math.inf:
        raise ValueError(f"{name} must be a number of at least 0, got {value!r}.")
    return value


def _check_indices(head: nn.Module, y: Tensor) -> None:
    if y.is_floating_point():
        raise ValueError(
            f"{type(head).__name__} needs the index of each sample's class, got labels of type "
            f"{y.dtype}; class probabilities are for heads without a margin."
        )
