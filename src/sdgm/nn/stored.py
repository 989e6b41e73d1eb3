"""Weights stored without their zeros, whose sizes come from the file that is loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

# where a state_dict says which architecture it is of
ARCHITECTURE = "architecture"


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

    # what depends on pruning: always there, and there or None
    _sized: tuple[str, ...] = ("values",)
    _optional: tuple[str, ...] = ("position",)

    def _store(self, weight: Tensor) -> None:
        flat = weight.detach().reshape(-1)
        position = flat.nonzero()[:, 0].to(smallest_integer(flat.numel()))
        stored = len(position) * (flat.element_size() + position.element_size())
        few = stored < flat.numel() * flat.element_size()
        self.values = nn.Parameter(flat[position.long()] if few else flat.clone())
        self.register_buffer("position", position if few else None)

    def _restored(self, values: Tensor, *shape: int) -> Tensor:
        """The matrix that has these values in their positions."""
        if self.position is None:
            return values.reshape(shape)
        zeros = values.new_zeros(torch.Size(shape).numel())
        return zeros.index_copy(0, self.position.long(), values).reshape(shape)

    def _architecture(self) -> tuple[int, ...]:
        """What a file must agree on."""
        raise NotImplementedError

    def _faults(self, stored: Mapping[str, Tensor]) -> Iterator[str]:
        """What in a file does not fit this module."""
        raise NotImplementedError

    def _save_to_state_dict(
        self, destination: dict[str, Any], prefix: str, keep_vars: bool
    ) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        metadata = getattr(destination, "_metadata", {})
        if prefix[:-1] in metadata:
            metadata[prefix[:-1]][ARCHITECTURE] = self._architecture()

    def _load_from_state_dict(
        self, state_dict: Mapping[str, Any], prefix: str, local_metadata: dict[str, Any], *args: Any
    ) -> None:
        """Take the sizes from the file: they depend on what was pruned."""
        names = (*self._sized, *self._optional)
        stored = {name: state_dict.get(prefix + name) for name in names}
        if all(stored[name] is not None for name in self._sized):
            found = {name: value for name, value in stored.items() if value is not None}
            of, ours = local_metadata.get(ARCHITECTURE), self._architecture()
            faults = [] if of is None or tuple(of) == ours else [f"is of {of}, not of {ours}"]
            if not any(value.is_meta for value in found.values()):
                faults = faults or list(self._faults(found))
            if faults:
                kind = type(self).__name__
                args[-1].append(  # the error messages
                    f"{prefix}values {'; '.join(faults)}: load it into a {kind} of the same "
                    "architecture."
                )
                return
            for name in names:
                self._make_room(name, stored[name])
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    def _make_room(self, name: str, stored: Tensor | None) -> None:
        """Give a parameter or buffer the shape that is stored; as it is where it has it."""
        is_parameter = name in self._parameters
        old = self._parameters[name] if is_parameter else self._buffers[name]
        if stored is None:
            setattr(self, name, None)
        elif is_parameter and (old is None or old.shape != stored.shape):
            needs_gradient = self.values.requires_grad if old is None else old.requires_grad
            new = self.values.new_empty(stored.shape)
            setattr(self, name, nn.Parameter(new, requires_grad=needs_gradient))
        elif not is_parameter:
            # indices of the stored width, numbers of the module's precision
            dtype = self.values.dtype if stored.is_floating_point() else stored.dtype
            if old is None or (old.shape, old.dtype) != (stored.shape, dtype):
                device = self.values.device
                setattr(self, name, torch.empty(stored.shape, dtype=dtype, device=device))


def position_faults(stored: Mapping[str, Tensor], n: int) -> Iterator[str]:
    """What does not fit in the values of a matrix of n entries and their positions."""
    values, position = stored["values"], stored.get("position")
    if (variance := stored.get("variance")) is not None and variance.shape != values.shape:
        yield f"has {values.numel()} weights with {variance.numel()} variances"
    if position is None and values.numel() != n:
        yield f"has {values.numel()} weights where the layer has {n}"
    elif position is not None and values.shape != position.shape:
        yield f"has {values.numel()} weights at {position.numel()} positions"
    elif position is not None and not in_range(position, 0, n):
        yield f"has weights beyond the {n} of the layer"


def in_range(indices: Tensor, low: int, high: int) -> bool:
    """Whether indices are at least ``low`` and below ``high``."""
    return not indices.numel() or bool(indices.min() >= low and indices.max() < high)


def smallest_integer(n: int) -> torch.dtype:
    """The smallest signed integer type that holds the indices of n entries."""
    for dtype in (torch.int8, torch.int16, torch.int32):
        if n <= torch.iinfo(dtype).max:
            return dtype
    return torch.int64
