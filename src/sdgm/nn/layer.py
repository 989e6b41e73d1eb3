"""SDGM as a layer: class scores from a mixture of Gaussians per class."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdgm._choice import choice
from sdgm.nn.averaging import averaged_log_prob, normal_points
from sdgm.nn.quadratic import CovarianceType, features, n_features
from sdgm.nn.variational import SparseModule, at_least_single, without_autocast

# more weights than this are a mistake: half a gigabyte, and several times as much in training
MAX_WEIGHTS = 1 << 27
# how far apart the components of a class start, as a share of the weights they have in common
START_APART = 0.1
# size of the noise on quadratic weights, which start at zero, as a share of that on linear ones
START_QUADRATIC = 0.1
# dimensions of the subspace of the quadratic terms with low_rank: 36 products
DEFAULT_RANK = 8


class Mixture(nn.Module):
    """From scores of components to scores of classes; shared by `SDGM` and its compact form."""

    in_features: int
    num_classes: int
    component_class: Tensor
    class_index: Tensor | None
    points: Tensor | None

    def _set_components(self, counts: Sequence[int], device: torch.device) -> None:
        """Remember how many components each class has; they are in the order of the classes."""
        classes = torch.arange(self.num_classes).repeat_interleave(torch.tensor(counts))
        self._keep_buffer("component_class", classes.to(device))
        self._per_class = counts[0] if len(set(counts)) == 1 else None
        index = None
        if self._per_class is None:
            # the components of each class, padded with the index of a column that counts nothing
            own = [(classes == c).nonzero()[:, 0] for c in range(self.num_classes)]
            index = nn.utils.rnn.pad_sequence(own, batch_first=True, padding_value=len(classes))
            index = index.to(device)
        self._keep_buffer("class_index", index, persistent=False)

    def _set_points(self, points: Tensor | None, device: torch.device) -> None:
        """Set where the average over the noise is taken."""
        points = None if points is None else points.to(device, self._dtype)
        self._keep_buffer("points", points, persistent=False)

    def _keep_buffer(self, name: str, value: Tensor | None, *, persistent: bool = True) -> None:
        """Set a buffer; in place if there is one like it, since others may hold on to it."""
        old = getattr(self, name, None)
        if old is None or value is None or (old.shape, old.device) != (value.shape, value.device):
            self.register_buffer(name, value, persistent=persistent)
        else:
            old.copy_(value)

    def component_scores(self, x: Tensor) -> Tensor:
        """Unnormalised log posteriors of the components: (..., K)."""
        raise NotImplementedError

    def _scores_and_variances(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        """Scores of the components in evaluation, and the variances that their noise gives them."""
        raise NotImplementedError

    @property
    def _averages(self) -> bool:
        """Whether the forward pass averages over the noise."""
        raise NotImplementedError

    @property
    def _dtype(self) -> torch.dtype:
        """Precision of the weights."""
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Logits (..., C) of feature vectors (..., D): log-sum-exp over the components.

        In evaluation mode, log probabilities averaged over the noise, if there is any.
        """
        if self._averages:
            return self.averaged_log_prob(x)
        return self._over_classes(self.component_scores(x))

    def averaged_log_prob(self, x: Tensor) -> Tensor:
        """``log P(c | x)`` averaged over the noise of the weights: (..., C).

        Given x, the noise makes the score of a component normally distributed. The average uses 64
        fixed points, without random numbers; see `sdgm.nn.averaging.averaged_log_prob`. Pruned
        weights have no noise.
        """
        self._check_width(x)
        return without_autocast(self._averaged_log_prob, x, self._dtype)

    def _averaged_log_prob(self, x: Tensor) -> Tensor:
        scores, variances = self._scores_and_variances(x)
        if variances is None or self.points is None:
            return self._over_classes(scores).log_softmax(dim=-1)
        return self._over_classes(averaged_log_prob(scores, variances, self.points))

    def _over_classes(self, scores: Tensor) -> Tensor:
        if self._per_class == 1:
            return scores
        if self._per_class is not None:
            by_class = scores.reshape(*scores.shape[:-1], self.num_classes, self._per_class)
            return by_class.logsumexp(dim=-1)
        assert self.class_index is not None
        padded = F.pad(scores, (0, 1), value=torch.finfo(scores.dtype).min)
        return padded[..., self.class_index].logsumexp(dim=-1)

    def component_log_prob(self, x: Tensor) -> Tensor:
        """Component posterior ``log P(c, m | x)`` (Eq. 1) of the mean weights: (..., K)."""
        return self.component_scores(x).log_softmax(dim=-1)

    def log_prob(self, x: Tensor) -> Tensor:
        """Class posterior ``log P(c | x)`` (Eq. 1): (..., C)."""
        scores: Tensor = self(x)  # not forward: hooks see this call too
        return scores.log_softmax(dim=-1)

    def _check_width(self, x: Tensor) -> None:
        if x.shape[-1] != self.in_features:
            raise ValueError(
                f"feature vectors have length {x.shape[-1]}, but the layer was made for "
                f"in_features={self.in_features}."
            )


class SDGM(Mixture, SparseModule):
    """Sparse discriminative Gaussian mixture as the last layer of a network.

    The score of a component is a weighted sum of quadratic features of x, and the score of a class
    is the log-sum-exp over its components. The scores are logits, which can be trained with
    `F.cross_entropy`. With ``sparse=True`` the weights have noise (sparse variational dropout), and
    `ELBOLoss` adds the KL divergence that makes unnecessary weights prunable. Biases have no noise,
    because they represent the class prior.

    Parameters
    ----------
    in_features, num_classes : int
        D, the length of a feature vector, and the number of classes.
    n_components : int or sequence of int, default=1
        Number of components per class, or one number for each class.
    covariance_type : {"full", "diag", "tied", "low_rank"}, default="full"
        Quadratic features: all products; squares; none, which makes the scores linear; or all
        products in a learned subspace of ``rank`` dimensions that the components share.
    sparse : bool, default=True
        Whether the weights have noise; without it the layer is a discriminative GMM.
    bias : bool, default=True
        Whether each component has a constant.
    rank : int, optional
        For ``low_rank``; by default the smaller of 8 and D.
    device, dtype :
        As in `torch.nn.Linear`.

    Attributes
    ----------
    weight, log_sigma2 : Parameters of shape (K, H)
        K components in the order of the classes; features in the order of Eq. 2.
    bias, projection : Parameters of shape (K,) and (rank, D), or None
    mask, alive : boolean buffers of shape (K, H) and (K,)
        False for pruned weights and components.
    center, inverse_scale : buffers of shape (D,)
        Quadratic features are computed from ``(x - center) * inverse_scale``.
    scales_itself : bool
        Whether the next training batch sets ``inverse_scale``, as in a new layer: features with a
        root mean square above one are scaled down to about one, by a power of two.
    component_class : buffer of shape (K,)
    averages_noise : bool, default=True
        Whether evaluation averages over the noise of the weights, with which they were trained,
        or uses their means.

    References
    ----------
    H. Hayashi and S. Uchida, "A Discriminative Gaussian Mixture Model with Sparsity", ICLR 2021.

    Examples
    --------
    >>> head = SDGM(64, 10, n_components=2)
    >>> head(torch.zeros(32, 64)).shape
    torch.Size([32, 10])
    >>> SDGM(2, 3, n_components=[1, 2, 1], sparse=False)
    SDGM(in_features=2, num_classes=3, n_components=[1, 2, 1], covariance_type=full, sparse=False)
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        n_components: int | Sequence[int] = 1,
        covariance_type: str = "full",
        sparse: bool = True,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        rank: int | None = None,
    ) -> None:
        super().__init__()
        self.in_features = _at_least("in_features", in_features, 1)
        self.num_classes = _at_least("num_classes", num_classes, 2)
        self.n_components = _per_class(n_components, self.num_classes)
        self.covariance_type = str(choice("covariance_type", covariance_type, CovarianceType))
        low_rank = self.covariance_type == CovarianceType.LOW_RANK
        if rank is None:
            rank = min(self.in_features, DEFAULT_RANK)
        self.rank = _at_least("rank", rank, 1) if low_rank else 0
        K = sum(self.n_components)
        H = n_features(self.in_features, covariance_type, self.rank)
        if K * H > MAX_WEIGHTS:
            raise ValueError(
                f"covariance_type={self.covariance_type!r} with {in_features} features and {K} "
                f"components has {K * H:,} weights, more than {MAX_WEIGHTS:,}; use covariance_type"
                "='low_rank' or 'diag', or a linear layer to fewer features in front."
            )
        self.averages_noise = True
        self._add_weight(K, H, sparse=sparse, device=device, dtype=dtype)
        like = self.weight
        self.bias = nn.Parameter(like.new_empty(K)) if bias else None
        D = self.in_features
        self.projection = nn.Parameter(like.new_empty(self.rank, D)) if low_rank else None
        self.register_buffer("alive", like.new_ones(K, dtype=torch.bool))
        self.register_buffer("center", like.new_zeros(D))
        self.register_buffer("inverse_scale", like.new_ones(D))
        self.reset_parameters()

    bias: nn.Parameter | None
    projection: nn.Parameter | None
    alive: Tensor
    scales_itself: bool
    center: Tensor
    inverse_scale: Tensor

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Initialise like a linear layer.

        The components of a class get the same weights and bias, drawn as in `torch.nn.Linear`, up
        to small differences. Quadratic weights are zero, and the noise of all weights is
        proportional to their expected size.
        """
        D, H = self.in_features, self.weight.shape[1]
        self._restore_components()
        bound = D**-0.5
        of_class = self.weight.new_empty(self.num_classes, D + 1).uniform_(-bound, bound)
        linear, bias = torch.split(of_class[self.component_class], [D, 1], dim=1)
        apart = torch.empty_like(linear).uniform_(-bound, bound)
        self.weight[:, :D] = linear + START_APART * apart
        std = self.weight.new_full((H,), bound / math.sqrt(3.0))  # of a uniform weight
        self.weight[:, D:] = 0.0
        std[D:] = START_QUADRATIC / math.sqrt(3.0 * max(H - D, 1))
        self.reset_noise(std)
        if self.bias is not None:
            # M equal components together have the score of one
            counts = self.bias.new_tensor(self.n_components)[self.component_class]
            self.bias.copy_(bias[:, 0] - counts.log())
        if self.projection is not None:
            self.projection.normal_(0.0, D**-0.5)
        self.alive.fill_(True)
        self.center.zero_()
        self.inverse_scale.fill_(1.0)
        self.scales_itself = True

    @torch.no_grad()
    def scale_to(self, x: Tensor) -> None:
        """Set the input scale from the root mean square of these feature vectors, if above one.

        The first training batch does this automatically, because large features, for example of a
        trained backbone, would make quadratic terms huge. The scale is one constant for all
        features: the nearest power of two, so that the processes of data-parallel training agree.

        Parameters
        ----------
        x : (..., D) tensor
        """
        self._check_width(x)
        if x.numel():
            size = at_least_single(x).square().mean().sqrt()
            exponent = torch.where(size.isfinite(), size, 1.0).clamp_min(1.0).log2().round()
            self.inverse_scale.copy_(torch.exp2(-exponent))
            self.scales_itself = False

    def features(self, x: Tensor) -> Tensor:
        """Quadratic features of scaled inputs, without the constant: (..., H)."""
        scaled = (x - self.center) * self.inverse_scale
        return features(scaled, self.covariance_type, self.projection)

    def component_scores(self, x: Tensor) -> Tensor:
        """Unnormalised log posteriors of the components: (..., K).

        In training mode they have noise. Under autocast they are computed in the precision of the
        weights, because squared features can overflow half precision.
        """
        if self.training and self.scales_itself:
            self.scale_to(x)
        self._check_width(x)
        return without_autocast(self._component_scores, x, self.weight.dtype)

    def _component_scores(self, x: Tensor) -> Tensor:
        scores = self._noisy_or_kept(self.features(x), self.bias)
        return scores.masked_fill(~self.alive, torch.finfo(scores.dtype).min)

    @property
    def _averages(self) -> bool:
        return self.averages_noise and not self.training and self.log_sigma2 is not None

    @property
    def _dtype(self) -> torch.dtype:
        return self.weight.dtype

    def _scores_and_variances(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        phi, kept = self.features(x), self.kept
        scores = F.linear(phi, self.weight * kept, self.bias)
        scores = scores.masked_fill(~self.alive, torch.finfo(scores.dtype).min)
        if self.log_sigma2 is None:
            return scores, None
        variance = self.noisy_weight()[1] * kept
        return scores, F.linear(at_least_single(phi).square(), variance).to(scores.dtype)

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *args: Any) -> None:
        """Refuse other numbers of components per class: their weights can have the same shape."""
        classes = state_dict.get(f"{prefix}component_class")
        if classes is not None and not classes.is_meta:
            counts = tuple(torch.bincount(classes.cpu()).tolist())
            if counts != self.n_components:
                args[-1].append(  # the error messages
                    f"{prefix}component_class has {list(counts)} components per class, but the "
                    f"layer {list(self.n_components)}; make it with the num_classes and "
                    "n_components of the file."
                )
                return
        super()._load_from_state_dict(state_dict, prefix, *args)
        self.scales_itself = False
        self._restore_components()

    def _restore_components(self) -> None:
        """Set the buffers that follow from the numbers of components."""
        points = None if self.log_sigma2 is None else normal_points(len(self.weight))
        self._set_points(points, self.weight.device)
        self._set_components(self.n_components, self.weight.device)

    def extra_repr(self) -> str:
        numbers = self.n_components
        n_components = numbers[0] if len(set(numbers)) == 1 else list(numbers)
        text = (
            f"in_features={self.in_features}, num_classes={self.num_classes}, "
            f"n_components={n_components}, covariance_type={self.covariance_type}"
        )
        if self.rank:
            text += f", rank={self.rank}"
        if self.log_sigma2 is None:
            text += ", sparse=False"
        return text if self.bias is not None else f"{text}, bias=False"


def _at_least(name: str, value: int, smallest: int) -> int:
    try:
        number = operator.index(value)  # numpy's integers too
    except TypeError:
        number = smallest - 1
    if isinstance(value, bool) or number < smallest:
        raise ValueError(f"{name} must be an integer of at least {smallest}, got {value!r}.")
    return number


def _per_class(n_components: int | Sequence[int], num_classes: int) -> tuple[int, ...]:
    """The number of components of every class."""
    if np.ndim(n_components) == 0:
        return (_at_least("n_components", n_components, 1),) * num_classes  # type: ignore[arg-type]
    numbers = tuple(_at_least("n_components", each, 1) for each in n_components)  # type: ignore[union-attr]
    if len(numbers) != num_classes:
        raise ValueError(
            f"n_components has {len(numbers)} numbers for {num_classes} classes; "
            "pass one number, or one per class."
        )
    return numbers
