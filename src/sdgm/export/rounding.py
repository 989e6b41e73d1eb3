"""Models whose weights are whole numbers of few bits, for the smallest headers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sdgm._typing import FloatArray
from sdgm.core.model.features import SQUARED_NORM, Monomials
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.model.kernels import KernelBasis
from sdgm.export.model import ExportModel, only_what_is_read

FEWEST_BITS, MOST_BITS = 2, 24


def rounded(model: Any, bits: int = 8) -> ExportModel:
    """The model with weights that are whole numbers of few bits, times a power of two.

    Headers in fixed point store them as such: a byte per weight with 8 bits. Relevance vectors are
    rounded likewise. Scales of inputs become powers of two, and the weights of monomials take up
    the difference, so that no more than rounding changes the probabilities. Weights that round to
    zero leave. Check the error on your own rows before you use it.

    Parameters
    ----------
    model : fitted classifier, TableModel or ExportModel
    bits : int, default=8
        Of a weight, with its sign.

    Returns
    -------
    ExportModel
        For `to_c` and the other exports; ``model.log_proba`` of it predicts.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sdgm import SDGMClassifier
    >>> from sdgm.export import to_c
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = SDGMClassifier(random_state=0).fit(X, y)
    >>> small = rounded(classifier)
    >>> bool(np.mean(small.model.log_proba(X).argmax(axis=1) == classifier.predict(X)) > 0.97)
    True
    >>> to_c(small, precision="fixed").flash_bytes < to_c(classifier, precision="fixed").flash_bytes
    True
    """
    if not FEWEST_BITS <= bits <= MOST_BITS:
        raise ValueError(f"bits must be from {FEWEST_BITS} to {MOST_BITS}, got {bits}.")
    numbers = only_what_is_read(model)
    return ExportModel(numbers.inputs, rounded_model(numbers.model, bits))


def rounded_model(model: FittedModel, bits: int) -> FittedModel:
    """The same of a fitted model; its posterior covariance leaves."""
    model = replace(model, covariance=None)
    if isinstance(model.basis, Monomials):
        model = with_scales_of_two(model)
    elif isinstance(model.basis, KernelBasis):
        vectors = to_steps(model.basis.vectors, bits)
        model = replace(model, basis=replace(model.basis, vectors=vectors))
    state = model.state
    w, is_weight = state.w.copy(), state.column > 0
    w[is_weight] = to_steps(w[is_weight], bits)
    return model.with_weights(replace(state, w=w).keep_weights(~is_weight | (w != 0.0)))


def to_steps(values: FloatArray, bits: int) -> FloatArray:
    """To whole numbers with so many bits, sign included, times one power of two."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return values
    exponent = np.ceil(np.log2(largest / (2.0 ** (bits - 1) - 1.0)))
    return np.rint(values / 2.0**exponent) * 2.0**exponent


def with_scales_of_two(model: FittedModel) -> FittedModel:
    """The same probabilities with scales that are powers of two; a squared norm needs its own."""
    basis, state, scaler = model.basis, model.state, model.scaler
    assert isinstance(basis, Monomials)
    if np.any(basis.first == SQUARED_NORM):
        return model
    left_out = scaler.inverse_scale == 0.0
    inverse_scale = np.exp2(np.rint(np.log2(np.where(left_out, 1.0, scaler.inverse_scale))))
    # the last is the constant's; columns of the state count from one
    factor = np.append(np.where(left_out, 1.0, scaler.inverse_scale / inverse_scale), 1.0)
    of_column = np.append(1.0, factor[basis.first] * factor[basis.second])
    return replace(
        model,
        scaler=replace(scaler, inverse_scale=np.where(left_out, 0.0, inverse_scale)),
        state=replace(state, w=state.w * of_column[state.column]),
    )
