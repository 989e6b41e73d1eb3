"""Smaller modules that say the same: what was pruned is gone, not zero."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdgm.nn.layer import SDGM, Mixture
from sdgm.nn.quadratic import CovarianceType
from sdgm.nn.sparse import SparseConv2d, SparseLinear
from sdgm.nn.variational import SparseModule

# stands for the factor one in a list of products
ONE = -1


class StoredWeights(nn.Module):
    """Weights stored without their zeros, where that is smaller.

    Attributes
    ----------
    values : Parameter of shape (n,)
        The weights that are not zero, or all.
    position : integer buffer of shape (n,) or None
        Where they belong in the flattened matrix; None if all are there.
    """

    values: nn.Parameter
    position: Tensor | None

    def _store(self, weight: Tensor) -> None:
        flat = weight.detach().reshape(-1)
        position = flat.nonzero()[:, 0].to(smallest_integer(flat.numel()))
        stored = len(position) * (flat.element_size() + position.element_size())
        few = stored < flat.numel() * flat.element_size()
        self.values = nn.Parameter(flat[position.long()] if few else flat.clone())
        self.register_buffer("position", position if few else None)

    def _restored(self, *shape: int) -> Tensor:
        if self.position is None:
            return self.values.reshape(shape)
        zeros = self.values.new_zeros(torch.Size(shape).numel())
        return zeros.index_copy(0, self.position.long(), self.values).reshape(shape)

    def _load_from_state_dict(
        self, state_dict: Mapping[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        """Take the sizes from the file: they depend on what was pruned."""
        for name in {*self._parameters, *self._buffers} - self._non_persistent_buffers_set:
            stored = state_dict.get(prefix + name)
            if name in self._parameters and stored is not None:
                like = self.values
                setattr(self, name, nn.Parameter(like.new_empty(stored.shape)))
            elif name in self._buffers:
                device = self.values.device
                empty = None if stored is None else torch.empty_like(stored, device=device)
                self._buffers[name] = empty
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


class CompactSDGM(Mixture, StoredWeights):
    """An `SDGM` layer without its pruned weights, unused features and dead components.

    Made by `compact`. The components of a class that have no weights are one, a constant.

    Attributes
    ----------
    values, position :
        Weights of the components on the terms, as in `StoredWeights`.
    bias : Parameter of shape (K,)
    terms : integer buffer of shape (n_terms, 2)
        Factors of each feature; -1 is the factor one.
    projection : Parameter or None
        For low rank: the rows in use. Its products come after the variables in ``terms``.
    center, inverse_scale : buffers of shape (D,), or None where the inputs are not scaled
    """

    bias: nn.Parameter
    projection: nn.Parameter | None
    terms: Tensor
    center: Tensor | None
    inverse_scale: Tensor | None

    def __init__(self, layer: SDGM) -> None:
        super().__init__()
        self.in_features, self.n_classes = layer.in_features, layer.n_classes
        weight, bias, classes = remaining_components(layer)
        used = weight.any(dim=0)
        terms = factors(layer)[used.cpu()]
        self.projection, terms = used_projection(layer, terms)
        self._store(weight[:, used])
        self.bias = nn.Parameter(bias)
        terms = terms.to(smallest_integer(int(terms.max()) + 1 if len(terms) else 1))
        self.register_buffer("terms", terms.to(weight.device))
        is_scaled = bool((layer.center != 0).any() or (layer.inverse_scale != 1).any())
        self.register_buffer("center", layer.center.clone() if is_scaled else None)
        self.register_buffer("inverse_scale", layer.inverse_scale.clone() if is_scaled else None)
        self._set_classes(classes)

    def _set_classes(self, classes: Tensor) -> None:
        counts = torch.bincount(classes.cpu(), minlength=self.n_classes).tolist()
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
        # the last column is the factor one, which is where the index -1 points
        first, second = (self.terms.long() % columns.shape[-1]).unbind(dim=1)
        return columns.index_select(-1, first) * columns.index_select(-1, second)

    def component_scores(self, x: Tensor) -> Tensor:
        """Unnormalised log posteriors of the components that are left: (..., K)."""
        if torch.is_autocast_enabled(x.device.type):
            with torch.autocast(x.device.type, enabled=False):
                return self._component_scores(x.to(self.bias.dtype))
        return self._component_scores(x)

    def _component_scores(self, x: Tensor) -> Tensor:
        weight = self._restored(len(self.bias), len(self.terms))
        return F.linear(self.features(x), weight, self.bias)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        self._set_classes(self.component_class)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, n_classes={self.n_classes}, "
            f"components={len(self.bias)}, terms={len(self.terms)}, "
            f"weights={int(self.values.count_nonzero())}"
        )


class CompactLinear(StoredWeights):
    """A `SparseLinear` layer stored without its pruned weights. Made by `compact`."""

    bias: nn.Parameter | None

    def __init__(self, layer: SparseLinear) -> None:
        super().__init__()
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self._store(layer.kept_weight())
        self.bias = copy.deepcopy(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Product with the weights."""
        return F.linear(x, self._restored(self.out_features, self.in_features), self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"weights={int(self.values.count_nonzero())}"
        )


class CompactConv2d(StoredWeights):
    """A `SparseConv2d` layer stored without its pruned weights. Made by `compact`."""

    bias: nn.Parameter | None

    def __init__(self, layer: SparseConv2d) -> None:
        super().__init__()
        self._shape = tuple(layer.weight.shape)
        self._settings = (layer.stride, layer.padding, layer.dilation, layer.groups)
        self._store(layer.kept_weight())
        self.bias = copy.deepcopy(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Convolution with the weights."""
        stride, padding, dilation, groups = self._settings
        weight = self._restored(*self._shape)
        return F.conv2d(x, weight, self.bias, stride, padding, dilation, groups)

    def extra_repr(self) -> str:
        return f"shape={self._shape}, weights={int(self.values.count_nonzero())}"


@torch.no_grad()
def compact(module: nn.Module) -> nn.Module:
    """A smaller copy of a module: what evaluation leaves out is really gone.

    In evaluation mode its outputs are those of the module, up to rounding. The state_dict of a
    compact module loads into any compact copy of the same architecture.

    Parameters
    ----------
    module : Module
        A layer of `sdgm.nn`, or a model with such layers.

    Returns
    -------
    module : Module

    Examples
    --------
    >>> head = SDGM(2, 3, n_components=2, sparse=False)
    >>> head.mask[:, 2:] = False
    >>> head.mask[0] = False
    >>> compact(head)
    CompactSDGM(in_features=2, n_classes=3, components=6, terms=2, weights=10)
    """
    made: dict[SparseModule, nn.Module] = {}

    def smaller(layer: SparseModule) -> nn.Module:
        if layer not in made:
            made[layer] = _compact_layer(layer).train(layer.training)
        return made[layer]

    result = copy.deepcopy(module)
    if isinstance(result, SparseModule):
        return smaller(result)
    for parent in list(result.modules()):
        # not named_children, which names a layer that is used twice only once
        for name, child in list(parent._modules.items()):
            if isinstance(child, SparseModule):
                setattr(parent, name, smaller(child))
    return result


def _compact_layer(layer: SparseModule) -> nn.Module:
    match layer:
        case SDGM():
            return CompactSDGM(layer)
        case SparseLinear():
            return CompactLinear(layer)
        case SparseConv2d():
            return CompactConv2d(layer)
    raise TypeError(f"compact does not know layers of type {type(layer).__name__}.")


def smallest_integer(n: int) -> torch.dtype:
    """The smallest signed integer type that holds the indices of n entries."""
    for dtype in (torch.int8, torch.int16, torch.int32):
        if n <= torch.iinfo(dtype).max:
            return dtype
    return torch.int64


def remaining_components(layer: SDGM) -> tuple[Tensor, Tensor, Tensor]:
    """Weights, biases and classes of the components that are left.

    Components of one class without weights are put together: the log-sum-exp of constants is one.
    """
    weight = layer.kept_weight().detach()
    bias = weight.new_zeros(len(weight)) if layer.bias is None else layer.bias.detach()
    has_weights = (weight != 0).any(dim=1)
    rows, biases, classes = [], [], []
    for c in range(layer.n_classes):
        own = layer.alive & (layer.component_class == c)
        with_weights = own & has_weights
        constant = own & ~has_weights
        rows.append(weight[with_weights])
        biases.append(bias[with_weights])
        if constant.any():
            rows.append(weight.new_zeros(1, weight.shape[1]))
            biases.append(bias[constant].logsumexp(dim=0, keepdim=True))
        classes += [c] * (int(with_weights.sum()) + int(constant.any()))
    component_class = torch.tensor(classes, device=weight.device)
    return torch.cat(rows), torch.cat(biases), component_class


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
