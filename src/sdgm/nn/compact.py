"""Smaller modules with the same outputs: what was pruned is gone, not zero."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdgm.nn.averaging import normal_points
from sdgm.nn.layer import SDGM, Mixture
from sdgm.nn.quadratic import CovarianceType
from sdgm.nn.sparse import SparseConv2d, SparseLinear
from sdgm.nn.stored import StoredWeights, in_range, position_faults, smallest_integer
from sdgm.nn.variational import SparseModule, at_least_single, without_autocast

# stands for the factor one in a list of products
ONE = -1


class CompactSDGM(Mixture, StoredWeights):
    """An `SDGM` layer without its pruned weights, unused features and dead components.

    Made by `compact`. The components of a class without weights are merged into one constant.

    Attributes
    ----------
    values, position, bias :
        Weights of the components on the terms, as in `StoredWeights`, and their constants.
    terms : integer buffer of shape (n_terms, 2)
        Factors of each feature; -1 is the factor one.
    projection : Parameter or None
        For low rank: the rows in use. Its products come after the variables in ``terms``.
    center, inverse_scale : buffers of shape (D,), or None where the inputs are not scaled
    variance, origin : buffers of the shapes of ``values`` and (K,), or None
        Where the layer averages over its noise: the variances of the weights, and which components
        of the layer these were.
    """

    bias: nn.Parameter
    projection: nn.Parameter | None
    terms: Tensor
    center: Tensor | None
    inverse_scale: Tensor | None
    variance: Tensor | None
    origin: Tensor | None

    _sized = ("values", "bias", "terms", "component_class")
    _optional = ("position", "projection", "center", "inverse_scale", "variance", "origin")

    def __init__(self, layer: SDGM) -> None:
        super().__init__()
        self.in_features, self.num_classes = layer.in_features, layer.num_classes
        weight, bias, classes, origin = remaining_components(layer)
        used = weight.any(dim=0)
        terms = factors(layer)[used.cpu()]
        projection, terms = used_projection(layer, terms)
        self.register_parameter("projection", projection)
        self._store(weight[:, used])
        self._store_noise(layer, origin, used)
        self.bias = nn.Parameter(bias)
        terms = terms.to(smallest_integer(int(terms.max()) + 1 if len(terms) else 1))
        self.register_buffer("terms", terms.to(weight.device))
        is_scaled = bool((layer.center != 0).any() or (layer.inverse_scale != 1).any())
        self.register_buffer("center", layer.center.clone() if is_scaled else None)
        self.register_buffer("inverse_scale", layer.inverse_scale.clone() if is_scaled else None)
        self._set_classes(classes)

    def _store_noise(self, layer: SDGM, origin: Tensor, used: Tensor) -> None:
        variance = None
        if layer.averages_noise and layer.log_sigma2 is not None:
            noise = (layer.noisy_weight()[1] * layer.kept).to(self.values)
            flat = noise[origin][:, used].reshape(-1)
            variance = flat if self.position is None else flat[self.position.long()]
        self.register_buffer("variance", variance)
        origin = origin.to(smallest_integer(len(layer.weight)))
        self.register_buffer("origin", None if variance is None else origin)

    def _set_classes(self, classes: Tensor) -> None:
        points = None
        if self.origin is not None:
            origin = self.origin.long().cpu()
            points = normal_points(int(origin.max()) + 1)[:, origin]
        self._set_points(points, classes.device)
        counts = torch.bincount(classes.cpu(), minlength=self.num_classes).tolist()
        self._set_components(counts, classes.device)

    def features(self, x: Tensor) -> Tensor:
        """The features in use: (..., n_terms)."""
        if self.center is not None and self.inverse_scale is not None:
            x = (x - self.center) * self.inverse_scale
        parts = [x]
        if self.projection is not None:
            parts.append(x @ self.projection.T)
        parts.append(torch.ones_like(x[..., :1]))
        columns = torch.cat(parts, dim=-1)
        terms = self.terms.long()
        first, second = terms.where(terms != ONE, columns.shape[-1] - 1).unbind(dim=1)
        return columns.index_select(-1, first) * columns.index_select(-1, second)

    def component_scores(self, x: Tensor) -> Tensor:
        """Unnormalised log posteriors of the components that are left: (..., K)."""
        self._check_width(x)
        return without_autocast(self._component_scores, x, self._dtype)

    def _component_scores(self, x: Tensor) -> Tensor:
        if not len(self.terms):
            return x.new_zeros(*x.shape[:-1], 1) + self.bias
        return F.linear(self.features(x), self._restored(self.values, *self._shape), self.bias)

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.bias), len(self.terms)

    @property
    def _averages(self) -> bool:
        return self.variance is not None and not self.training

    @property
    def _dtype(self) -> torch.dtype:
        return self.bias.dtype

    def _scores_and_variances(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        scores = self._component_scores(x)
        if self.variance is None or not len(self.terms):
            return scores, None
        variance = at_least_single(self._restored(self.variance, *self._shape))
        squares = at_least_single(self.features(x)).square()
        return scores, F.linear(squares, variance).to(scores.dtype)

    def _architecture(self) -> tuple[int, ...]:
        return self.in_features, self.num_classes

    def _faults(self, stored: Mapping[str, Tensor]) -> Iterator[str]:
        bias, terms, classes = (stored[name] for name in ("bias", "terms", "component_class"))
        projection, D = stored.get("projection"), self.in_features
        counts = torch.bincount(classes.cpu())
        if len(counts) != self.num_classes or len(classes) != len(bias) or not counts.all():
            yield f"is of {len(counts)} classes where the layer has {self.num_classes}"
        n_columns = D + (0 if projection is None else len(projection))
        widths = {len(stored[name]) for name in ("center", "inverse_scale") if name in stored}
        widths |= set() if projection is None else {projection.shape[1]}
        if widths - {D} or not in_range(terms, ONE, n_columns):
            yield f"is of other features than the {D} of the layer"
        yield from position_faults(stored, len(bias) * len(terms))

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        if not self.component_class.is_meta:
            self._set_classes(self.component_class)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, num_classes={self.num_classes}, "
            f"components={len(self.bias)}, terms={len(self.terms)}, "
            f"weights={int(self.values.count_nonzero())}"
        )


class CompactLayer(StoredWeights):
    """A layer stored without its pruned weights."""

    bias: nn.Parameter | None

    def __init__(self, layer: SparseLinear | SparseConv2d) -> None:
        super().__init__()
        self._shape = tuple(layer.weight.shape)
        self._store(layer.kept_weight())
        self.bias = copy.deepcopy(layer.bias)

    def _architecture(self) -> tuple[int, ...]:
        return self._shape

    def _faults(self, stored: Mapping[str, Tensor]) -> Iterator[str]:
        return position_faults(stored, math.prod(self._shape))

    def _sizes(self) -> str:
        return f"shape={self._shape}"

    def extra_repr(self) -> str:
        return f"{self._sizes()}, weights={int(self.values.count_nonzero())}"


class CompactLinear(CompactLayer):
    """A `SparseLinear` layer stored without its pruned weights. Made by `compact`."""

    def __init__(self, layer: SparseLinear) -> None:
        super().__init__(layer)
        self.in_features, self.out_features = layer.in_features, layer.out_features

    def _architecture(self) -> tuple[int, ...]:
        return self.in_features, self.out_features

    def forward(self, x: Tensor) -> Tensor:
        """Product with the weights."""
        return F.linear(x, self._restored(self.values, *self._shape), self.bias)

    def _sizes(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}"


class CompactConv2d(CompactLayer):
    """A `SparseConv2d` layer stored without its pruned weights. Made by `compact`."""

    def __init__(self, layer: SparseConv2d) -> None:
        super().__init__(layer)
        self._settings: Any = (layer.stride, layer.padding, layer.dilation, layer.groups)

    def forward(self, x: Tensor) -> Tensor:
        """Convolution with the weights."""
        return F.conv2d(x, self._restored(self.values, *self._shape), self.bias, *self._settings)


@torch.no_grad()
def compact(module: nn.Module) -> nn.Module:
    """A smaller copy of a module without pruned weights.

    In evaluation mode the copy has the same outputs as the module, up to rounding. The state_dict
    of a compact module loads into any compact copy of the same architecture.

    Parameters
    ----------
    module : Module
        A layer of `sdgm.nn`, or a model with such layers.

    Returns
    -------
    smaller : Module
        The copy; the module itself is not changed.

    Examples
    --------
    >>> head = SDGM(2, 3, n_components=2, sparse=False)
    >>> head.mask[:, 2:] = False
    >>> head.mask[0] = False
    >>> compact(head)
    CompactSDGM(in_features=2, num_classes=3, components=6, terms=2, weights=10)
    """
    result = copy.deepcopy(module)
    if isinstance(result, SparseModule):
        return _compact_layer(result)
    made: dict[nn.Module, nn.Module] = {}
    # with duplicates: a layer that is used twice has two names
    for name, layer in list(result.named_modules(remove_duplicate=False)):
        if isinstance(layer, SparseModule):
            if layer not in made:
                made[layer] = _compact_layer(layer)
            parent, _, own = name.rpartition(".")
            setattr(result.get_submodule(parent), own, made[layer])
    return result


def _compact_layer(layer: SparseModule) -> nn.Module:
    kinds = {SDGM: CompactSDGM, SparseLinear: CompactLinear, SparseConv2d: CompactConv2d}
    for kind, compact_kind in kinds.items():
        if isinstance(layer, kind):
            return compact_kind(layer).train(layer.training)
    raise TypeError(f"compact does not know layers of type {type(layer).__name__}.")


def remaining_components(layer: SDGM) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Weights, biases, classes and indices of the components that are left.

    Components of one class without weights are put together: the log-sum-exp of constants is one.
    """
    weight = layer.kept_weight().detach()
    bias = weight.new_zeros(len(weight)) if layer.bias is None else layer.bias.detach()
    has_weights = (weight != 0).any(dim=1)
    rows, biases, classes, origin = [], [], [], []
    for c in range(layer.num_classes):
        own = layer.alive & (layer.component_class == c)
        with_weights = own & has_weights
        constant = own & ~has_weights
        rows.append(weight[with_weights])
        biases.append(bias[with_weights])
        origin.append(with_weights.nonzero()[:, 0])
        if constant.any():
            rows.append(weight.new_zeros(1, weight.shape[1]))
            biases.append(bias[constant].logsumexp(dim=0, keepdim=True))
            origin.append(constant.nonzero()[:1, 0])
        classes += [c] * (int(with_weights.sum()) + int(constant.any()))
    component_class = torch.tensor(classes, device=weight.device)
    return torch.cat(rows), torch.cat(biases), component_class, torch.cat(origin)


def factors(layer: SDGM) -> Tensor:
    """The two factors of each feature: indices of variables, then of projections; (H, 2)."""
    D = layer.in_features
    linear = torch.stack([torch.arange(D), torch.full((D,), ONE)], dim=1)
    match CovarianceType(layer.covariance_type):
        case CovarianceType.FULL:
            pairs = torch.triu_indices(D, D).T
        case CovarianceType.DIAG:
            pairs = torch.arange(D)[:, None].expand(D, 2)
        case CovarianceType.TIED:
            return linear
        case CovarianceType.LOW_RANK:
            pairs = D + torch.triu_indices(layer.rank, layer.rank).T
    return torch.cat([linear, pairs])


def used_projection(layer: SDGM, terms: Tensor) -> tuple[nn.Parameter | None, Tensor]:
    """The rows of the projection that the terms use, and the terms counted in these rows."""
    if layer.projection is None:
        return None, terms
    D = layer.in_features
    rows = torch.bincount(terms[terms >= D]).nonzero()[:, 0]
    if not len(rows):
        return None, terms
    position = D + torch.searchsorted(rows, terms.contiguous())
    terms = torch.where(terms >= D, position, terms)
    return nn.Parameter(layer.projection.detach()[(rows - D).to(layer.projection.device)]), terms
