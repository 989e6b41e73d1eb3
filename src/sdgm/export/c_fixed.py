"""Whole numbers in place of a model's numbers, and how far its probabilities can be off.

Every quantity is a whole number of 32 bits with a power of two as its unit, chosen from a bound of
what it can be; products have 64 bits. The error of every step is bounded along with it, from the
inputs to the probabilities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sdgm._typing import FloatArray, IntArray
from sdgm.core.model.features import ABSENT, SQUARED_NORM, Monomials
from sdgm.core.model.fitted_model import FAR_AWAY
from sdgm.core.model.kernels import KernelBasis, LinearKernel, PolynomialKernel, RBFKernel
from sdgm.export.c_plan import Plan
from sdgm.tables.inputs import Number

# of a number beside its sign: one less than 32 bits have, so that the sum of two fits
BITS = 30
# of the upper half of a product of two numbers of 32 bits, which processors have in a register
HALF_BITS = 32
# of a sum of products beside its sign: the difference of two sums fits into 64 bits
SUM_BITS = 61
# features may use so many bits less than 32 have before each is shifted by a number of its own:
# products of two then still have the 24 bits of a float
MAX_SLACK = 4
# bits that an input of a rounded model may lose for the unit of the others: 20 are left, many more
# than its weights have
MAX_COARSER = 10
# behind the point of scores, exponents and probabilities: 2^-24 is the rounding error of a float
SCORE_BITS = 24
# times 2^SCORE_BITS it is 2^60: the difference of two such scores fits into 64 bits
LARGEST_FIXED_SCORE = 2.0**36
# 2^-t in units of 2^-BITS is zero from here on
FAR_EXPONENT = 32
# furthest that a number of 64 bits is shifted
MAX_SHIFT = 62
# standardised inputs are moved in beyond this, or beyond the furthest training row: of a normal
# input, one in 10^15 is further out
LEAST_RANGE = 8.0
# behind the point of features that are zero or one: BITS, less room for the center
FLAG_BITS = 28
# of the polynomial for 2^-f, f from 0 to 1, as whole numbers compute it; measured, and doubled
EXP_ERROR = 2.0**-27
# a larger bound says nothing about probabilities that matter
LARGEST_BOUND = 0.05
# for products of errors, which the bound leaves out
HIGHER_ORDER = 1.001


@dataclass(frozen=True)
class Steps:
    """Units of a kernel value's steps."""

    vectors: IntArray
    vector_shift: int  # bits that they lack of the unit of standardised inputs
    term_shift: int  # bits that each term of the sum over inputs loses, so that the sum fits
    sum_bits: int  # behind the point of the sum
    factor: int = 0  # what the sum is multiplied by, with its bits behind the point
    factor_bits: int = 0
    constant: int = 0  # what is added then
    powers: tuple[int, ...] = ()  # bits behind the point of the first power, the second, ...


@dataclass(frozen=True)
class Scaled:
    """Inputs that all have one unit: z = ((feature - center) * scale) >> shift."""

    z_bits: int
    scale: IntArray  # (n_used,)
    shift: IntArray
    norm_shift: int  # the squared norm is divided by two to this power
    weight_bits: int
    column_bits: int
    kernel: Steps | None


@dataclass(frozen=True)
class Fixed:
    """The numbers of a header in fixed point; "bits" are those behind the point."""

    range: float  # largest standardised input, a power of two
    input_bits: IntArray  # (n_inputs,); negative for large units
    feature_bits: IntArray
    center: IntArray  # (n_used,)
    one: int  # the factor one of monomials
    weight: IntArray  # (n_components, n_columns)
    offset: IntArray  # (n_components,)
    score_bits: int
    error: float  # the most that a probability can be off, for inputs within the range
    scaled: Scaled | None = None  # None: z = (feature - center) << shift, weights take the rest
    shift: IntArray | int = 0  # (n_used,), or the same for all


def fixed_point(plan: Plan) -> Fixed:
    """Choose units, round, and bound the error; refused where it is too large."""
    basis = plan.basis
    is_plain = isinstance(basis, Monomials) and not np.any(basis.first == SQUARED_NORM)
    fixed = (_folded if is_plain else _standardized)(plan, _input_range(plan))
    error = fixed.error
    _require(plan, error <= LARGEST_BOUND, f"probabilities could be off by {error:.2g}")
    return fixed


def _folded(plan: Plan, r: float) -> Fixed:
    """Monomials of inputs in units of their own, whose scales are in the weights.

    A column is the upper half of a product; half a unit, which is cut off on average, is in the
    offset. The sum of weighted columns is a score.
    """
    basis = plan.basis
    assert isinstance(basis, Monomials)
    feature_bits, shift, one = _units(plan, r)
    units = plan.inverse_scale * 2.0 ** -(feature_bits + shift)  # of z, standardised
    unit = np.append(units, 1.0 / one)
    most = np.append(np.full(len(units), 2.0 ** (BITS + 1)), one) * unit
    bound = np.append(np.full(len(plan.used), r), 1.0)
    # an input and its center are rounded, and it may be clipped just before the range ends
    e_z = np.append(2.0 * plan.inverse_scale * 2.0**-feature_bits, 0.0)
    a, b = basis.first, basis.second
    step = unit[a] * unit[b] * 2.0**HALF_BITS
    columns = bound[a] * bound[b]
    e_columns = bound[a] * e_z[b] + bound[b] * e_z[a] + e_z[a] * e_z[b] + 0.5 * step
    weights = np.abs(plan.coef)
    largest = float((np.abs(plan.offset) + weights @ (most[a] * most[b] + step)).max())
    _require(plan, largest < LARGEST_FIXED_SCORE, "its scores are large")
    bits = min(
        SUM_BITS - _log2(largest),
        BITS - _log2(max(float((weights * step).max(initial=0.0)), 2.0**-BITS)),
    )
    _require(plan, bits >= SCORE_BITS, "its weights are too large")
    weight, bits, e_weights = _whole_weights(plan.coef * step, bits, SCORE_BITS)
    e_scores = weights @ e_columns + e_weights @ ((columns + e_columns) / step)
    return Fixed(
        range=r,
        input_bits=_bits_of_inputs(plan, feature_bits).astype(np.int16),
        feature_bits=feature_bits,
        center=_whole(plan.center, feature_bits).astype(np.int32),
        one=one,
        weight=weight,
        offset=_whole(plan.offset, bits) + weight.sum(axis=1, dtype=np.int64) // 2,
        score_bits=bits,
        error=_error_of_probabilities(float(e_scores.max()) + 2.0**-bits, len(plan.offset)),
        shift=shift,
    )


def _standardized(plan: Plan, r: float) -> Fixed:
    """Standardised inputs, which kernels and the squared norm need, in one unit."""
    z_bits = BITS - _log2(r)
    feature_bits = _bits_of_features(plan, r)
    scale_bits = np.array([BITS - _log2(value) for value in plan.inverse_scale], dtype=np.int64)
    shift = feature_bits + scale_bits - z_bits
    _require(plan, np.all((shift >= 0) & (shift <= MAX_SHIFT)), "an input is far from zero")
    # what the input was rounded by, and its center; the scale; the result
    e_z = (
        plan.inverse_scale * 2.0**-feature_bits
        + r / plan.inverse_scale * 2.0 ** -(scale_bits + 1.0)
        + 2.0 ** -(z_bits + 1)
    )
    norm_shift, kernel = 0, None
    if isinstance(plan.basis, Monomials):
        norm_shift = _log2(r) + _log2(max(len(plan.used), 1))
        columns, e_columns, bits = _monomials(plan.basis, r, e_z, norm_shift)
        coef = plan.coef * np.where(plan.basis.first == SQUARED_NORM, 2.0**norm_shift, 1.0)
    else:
        kernel, columns, e_columns, bits = _kernel(plan, plan.basis, r, e_z)
        coef = plan.coef
    weight_bits = BITS - _log2(max(float(np.abs(coef).max(initial=0.0)), 2.0**-BITS))
    weight_bits = min(weight_bits, MAX_SHIFT + SCORE_BITS - bits)
    _require(plan, weight_bits + bits >= SCORE_BITS, "its weights are too large")
    weights, used = np.abs(coef), coef != 0.0
    largest = (np.abs(plan.offset) + weights @ columns).max()
    _require(plan, largest < LARGEST_FIXED_SCORE, "its scores are large")
    weight, weight_bits, e_weights = _whole_weights(coef, weight_bits, SCORE_BITS - bits)
    e_scores = weights @ e_columns + e_weights @ (columns + e_columns)
    e_scores += (used.sum(axis=1) + 1) * 2.0 ** -(SCORE_BITS + 1)
    scale = _whole(plan.inverse_scale, scale_bits).astype(np.int32)
    return Fixed(
        range=r,
        input_bits=_bits_of_inputs(plan, feature_bits).astype(np.int16),
        feature_bits=feature_bits,
        center=_whole(plan.center, feature_bits).astype(np.int32),
        one=2**z_bits,
        weight=weight,
        offset=_whole(plan.offset, SCORE_BITS),
        score_bits=SCORE_BITS,
        error=_error_of_probabilities(float(e_scores.max()), len(plan.offset)),
        scaled=Scaled(z_bits, scale, shift, norm_shift, weight_bits, bits, kernel),
    )


def _require(plan: Plan, holds: bool | np.bool_, reason: str) -> None:
    if not holds:
        raise ValueError(
            f"the model does not fit into fixed point: {reason}; use precision='float'."
        )


def _log2(value: float) -> int:
    """The least power of two that is not below the value."""
    mantissa, exponent = math.frexp(value)
    return exponent - (mantissa == 0.5)


def term_shift(n_terms: int) -> int:
    """Bits that each product of two numbers loses, so that the sum of n_terms fits into 64 bits."""
    return max(0, _log2(n_terms) - 2) if n_terms else 0


def sum_shift(n_components: int) -> int:
    """Bits that a sum of exponentials loses, so that twice what is left fits into 32 bits."""
    return max(0, _log2(n_components) - 1)


def _whole(values: FloatArray, bits: IntArray | int) -> IntArray:
    """The nearest whole numbers of units of 2^-bits."""
    return np.rint(np.ldexp(values, bits)).astype(np.int64)


def _input_range(plan: Plan) -> float:
    """A power of two that no standardised training row exceeds."""
    furthest = max(LEAST_RANGE, plan.model_reach / FAR_AWAY)
    if isinstance(plan.basis, KernelBasis):
        furthest = max(furthest, float(np.abs(plan.basis.vectors).max(initial=0.0)))
    return 2.0 ** _log2(furthest)


def _bits_of_features(plan: Plan, r: float) -> IntArray:
    """Bits behind the point of the features that are used."""
    largest = np.abs(plan.center) + r / plan.inverse_scale
    is_number = [
        isinstance(i, Number) and k == 0 for i in plan.inputs for k in range(len(i.features))
    ]
    bits = np.full(len(plan.used), FLAG_BITS, dtype=np.int64)
    for at in np.flatnonzero(np.array(is_number)[plan.used]):
        bits[at] = BITS - _log2(largest[at])
    return bits


def _bits_of_inputs(plan: Plan, feature_bits: IntArray) -> IntArray:
    """Bits behind the point of inputs: zero of categories, and of what is not used."""
    position = {feature: i for i, feature in enumerate(plan.used.tolist())}
    bits = np.zeros(len(plan.inputs), dtype=np.int64)
    feature = 0
    for i, column in enumerate(plan.inputs):
        if isinstance(column, Number) and feature in position:
            bits[i] = feature_bits[position[feature]]
        feature += len(column.features)
    return bits


def _to_one_unit(inverse_scale: FloatArray, feature_bits: IntArray) -> IntArray | None:
    """Fewer bits, so that standardised features have one unit, where scales are powers of two."""
    mantissa, exponent = np.frexp(inverse_scale)
    z_bits = feature_bits - exponent
    if not len(z_bits) or not np.all(mantissa == 0.5) or np.ptp(z_bits) > MAX_COARSER:
        return None
    return feature_bits - (z_bits - z_bits.min())


def _units(plan: Plan, r: float) -> tuple[IntArray, IntArray | int, int]:
    """Bits of features, what they are shifted by to fill 32 bits, and the factor one.

    Features have few bits more or less to spare, and are shifted alike then. Where scales are
    powers of two, they have one unit, which is that of the factor one too.
    """
    feature_bits, one = _bits_of_features(plan, r), 2**BITS
    coarser = _to_one_unit(plan.inverse_scale, feature_bits)
    if coarser is not None:
        feature_bits = coarser
    furthest = np.ldexp(r / plan.inverse_scale, feature_bits)
    shifts = BITS + 1 - np.array([_log2(value) for value in furthest], dtype=np.int64)
    _require(plan, np.all(shifts <= BITS), "an input is far from zero")
    fewest = int(shifts.min(initial=BITS))
    if coarser is not None:
        one = round(2.0 ** (feature_bits[0] + fewest) / plan.inverse_scale[0])
    elif shifts.max(initial=0) > fewest + MAX_SLACK:
        return feature_bits, shifts, one
    return feature_bits, fewest, one


def _whole_weights(coef: FloatArray, bits: int, fewest: int) -> tuple[IntArray, int, FloatArray]:
    """Weights as whole numbers, their bits, and what rounding changed.

    Weights that were rounded before leave the zeros at their ends, down to the fewest bits.
    """
    weight = _whole(coef, bits)
    error = np.abs(np.ldexp(weight, -bits) - coef)
    if not error.any():
        spare = min(_trailing_zeros(weight), bits - fewest)
        bits, weight = bits - spare, weight >> spare
    return _in_fewest_bytes(weight), bits, error


def _trailing_zeros(values: IntArray) -> int:
    """Bits that are zero at the end of all."""
    together = int(np.bitwise_or.reduce(np.abs(values), axis=None))
    return (together & -together).bit_length() - 1 if together else 0


def _in_fewest_bytes(values: IntArray) -> IntArray:
    """In the smallest type of up to 32 bits that holds all."""
    for dtype in np.int8, np.int16:
        if np.abs(values).max(initial=0) <= np.iinfo(dtype).max:
            return values.astype(dtype)
    return values.astype(np.int32)


def _monomials(
    basis: Monomials, r: float, e_z: FloatArray, norm_shift: int
) -> tuple[FloatArray, FloatArray, int]:
    """Bounds and errors of products of two factors, and their unit."""
    z_bits, D = BITS - _log2(r), len(e_z)
    terms = (2.0 * r * e_z + e_z**2).sum() + D * 2.0 ** -(2 * z_bits - term_shift(D) + 1)
    e_norm = terms * 2.0**-norm_shift + 2.0 ** -(z_bits + 1)
    bound = np.append(np.full(D, r), [r, 1.0])  # the last two: norm, constant
    error = np.append(e_z, [e_norm, 0.0])
    assert (SQUARED_NORM, ABSENT) == (-2, -1)
    a, b = basis.first, basis.second
    bits = BITS - 2 * _log2(r)
    errors = bound[a] * error[b] + bound[b] * error[a] + error[a] * error[b]
    return bound[a] * bound[b], errors + 2.0 ** -(bits + 1), bits


def _kernel(
    plan: Plan, basis: KernelBasis, r: float, e_z: FloatArray
) -> tuple[Steps, FloatArray, FloatArray, int]:
    """Steps of a kernel, bounds and errors of its values, and their unit."""
    kernel, vectors, D = basis.kernel, np.abs(basis.vectors), len(e_z)
    z_bits = BITS - _log2(r)
    e_v = 2.0 ** -(z_bits + 1)
    whole = _whole(basis.vectors, z_bits)
    spare = 0
    if np.array_equal(np.ldexp(whole, -z_bits), basis.vectors):  # rounded before
        spare, e_v = _trailing_zeros(whole), 0.0
    whole = _in_fewest_bytes(whole >> spare)
    if isinstance(kernel, RBFKernel):
        bound = D * (2.0 * r) ** 2
        bits = BITS - _log2(bound)
        e_d = e_z + e_v
        e_sum = float((4.0 * r * e_d + e_d**2).sum()) + 2.0 ** -(bits + 1)
        e_sum += D * 2.0 ** -(2 * z_bits - term_shift(4 * D) + 1)
        rate = kernel.gamma / math.log(2.0)
        rate_bits = BITS - _log2(rate)
        _require(plan, bits + rate_bits >= SCORE_BITS, "gamma is too large")
        # in FAR_EXPONENT and beyond, the kernel is zero either way
        e_t = rate * e_sum + min(bound, FAR_EXPONENT / rate) * 2.0 ** -(rate_bits + 1)
        e_t += 2.0 ** -(SCORE_BITS + 1)
        error = math.log(2.0) * e_t + EXP_ERROR + 2.0**-BITS
        factor = int(_whole(np.array(rate), rate_bits))
        steps = Steps(whole, spare, term_shift(4 * D), bits, factor, rate_bits)
        n = len(vectors)
        return steps, np.ones(n), np.full(n, error), BITS
    bound = r * vectors.sum(axis=1)
    lost = term_shift(D)
    bits = min(BITS - _log2(float(bound.max())), 2 * z_bits - lost)
    error = vectors @ e_z + (r + e_z).sum() * e_v + 2.0 ** -(bits + 1)
    error = error + D * 2.0 ** -(2 * z_bits - lost + 1)
    steps = Steps(whole, spare, lost, bits)
    if isinstance(kernel, LinearKernel):
        return steps, bound, error, bits
    assert isinstance(kernel, PolynomialKernel)
    return _polynomial(plan, kernel, steps, bound, error)


def _polynomial(
    plan: Plan, kernel: PolynomialKernel, steps: Steps, bound: FloatArray, error: FloatArray
) -> tuple[Steps, FloatArray, FloatArray, int]:
    """Powers of ``gamma x'z + coef0``, each in a unit of its own."""
    factor_bits = BITS - _log2(kernel.gamma)
    base = kernel.gamma * bound + kernel.coef0
    bits = [BITS - _log2(float(base.max()))]
    fits = 0 <= factor_bits + steps.sum_bits - bits[0] <= MAX_SHIFT
    _require(plan, fits, "gamma or coef0 is too large")
    e_base = kernel.gamma * error + (bound + error) * 2.0 ** -(factor_bits + 1) + 2.0 ** -bits[0]
    power, e_power = base, e_base
    for _ in range(1, kernel.degree):
        e_power = power * e_base + base * e_power + e_power * e_base
        power = power * base
        bits.append(BITS - _log2(float(power.max())))
        e_power = e_power + 2.0 ** -(bits[-1] + 1)
    steps = replace(
        steps,
        factor=int(_whole(np.array(kernel.gamma), factor_bits)),
        factor_bits=factor_bits,
        constant=int(_whole(np.array(kernel.coef0), bits[0])),
        powers=tuple(bits),
    )
    return steps, power, e_power, bits[-1]


def _error_of_probabilities(e_score: float, n_components: int) -> float:
    """Bound for class probabilities from a bound for scores.

    Scores off by e move the odds of a class by a factor of at most exp(2 e), which moves its
    probability by at most tanh(e / 2). Then come the exponentials, each of a difference of scores
    that is rounded once more, in sum and total, and the rounding of both and of the quotient.
    """
    e_exp = EXP_ERROR + 2.0**-BITS + 2.0**-SCORE_BITS
    error = math.tanh(e_score / 2.0) + 2.0 * n_components * e_exp + 2.0**-SCORE_BITS
    error += 2.0 ** (sum_shift(n_components) + 1 - BITS)
    error *= HIGHER_ORDER
    unit = 10.0 ** (math.floor(math.log10(error)) - 1)
    return float(f"{math.ceil(error / unit) * unit:.1e}")  # two digits, rounded up
