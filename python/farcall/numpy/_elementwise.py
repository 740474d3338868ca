"""Elementwise functions made of others."""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

import ml_dtypes
import numpy as np

from farcall import _core
from farcall.numpy._common import Array, as_array, is_float, is_inexact, refuse_out, to_inexact

__all__ = [
    "allclose",
    "angle",
    "around",
    "array_equal",
    "array_equiv",
    "bitwise_count",
    "copysign",
    "deg2rad",
    "degrees",
    "divmod",
    "fabs",
    "fix",
    "float_power",
    "fmax",
    "fmin",
    "fmod",
    "heaviside",
    "hypot",
    "i0",
    "isclose",
    "iscomplex",
    "iscomplexobj",
    "isneginf",
    "isposinf",
    "isreal",
    "isrealobj",
    "isscalar",
    "ldexp",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "modf",
    "nan_to_num",
    "nextafter",
    "rad2deg",
    "radians",
    "reciprocal",
    "round",
    "select",
    "signbit",
    "sinc",
    "trunc",
]

_f = _core.numpy


def _promoted(x: Any, y: Any, function: str) -> tuple[Array, Array]:
    """Both in one floating dtype and shape."""
    a, b = as_array(x, function, "x1"), as_array(y, function, "x2")
    zero = to_inexact(_f.add(_f.multiply(a, 0), _f.multiply(b, 0)))
    a, b = _f.astype(a, zero.dtype), _f.astype(b, zero.dtype)
    return _f.broadcast_to(a, zero.shape), _f.broadcast_to(b, zero.shape)


def _refuse_complex(x: Array, function: str) -> None:
    if x.dtype.kind == "c":
        raise ValueError(f"{function}: is not defined for complex numbers, got {x.dtype}")


# ---- rounding ------------------------------------------------------------------------------------


def round(a: Any, decimals: int = 0, out: None = None) -> Array:
    """``a`` rounded to so many decimals, halves to even.

    Raises:
      NotImplementedError: for integers with negative ``decimals``.
      ValueError: where ten to the power of ``decimals`` leaves the range of the dtype.
    """
    refuse_out(out, "round")
    array = as_array(a, "round")
    decimals = operator.index(decimals)
    if not is_inexact(array):
        if decimals < 0:
            raise NotImplementedError("round: integers cannot be rounded to tens; divide them")
        return array
    if decimals == 0:
        return _f.rint(array)
    # Powers of ten leave the range of half precision early.
    wide = _f.astype(array, "float32") if array.dtype.itemsize < 4 else array
    most = int(math.log10(ml_dtypes.finfo(_f.real(wide).dtype).max))
    if builtins.abs(decimals) > most:
        raise ValueError(
            f"round: decimals must lie in [-{most}, {most}] for {array.dtype}, got {decimals}"
        )
    factor = _f.astype(float(10 ** builtins.abs(decimals)), _f.real(wide).dtype)
    if decimals > 0:
        return _f.astype(_f.rint(wide * factor) / factor, array.dtype)
    return _f.astype(_f.rint(wide / factor) * factor, array.dtype)


around = round


def trunc(x: Any) -> Array:
    """The whole part, toward zero."""
    array = as_array(x, "trunc", "x")
    if not is_inexact(array):
        return array
    return _f.where(_f.less(array, 0), _f.ceil(array), _f.floor(array))


def fix(x: Any, out: None = None) -> Array:
    """The whole part, toward zero."""
    refuse_out(out, "fix")
    return trunc(to_inexact(as_array(x, "fix", "x")))


def modf(x: Any, /, out: None = None) -> tuple[Array, Array]:
    """The fractional and the whole part, both with the sign of ``x``."""
    refuse_out(out, "modf")
    array = to_inexact(as_array(x, "modf", "x"))
    whole = trunc(array)
    fraction = _f.where(_f.isinf(array), 0, array - whole)
    return copysign(fraction, array), whole


def divmod(x1: Any, x2: Any, /) -> tuple[Array, Array]:
    """The quotient rounded down and the remainder with the sign of the divisor."""
    return _f.floor_divide(x1, x2), _f.remainder(x1, x2)


def fmod(x1: Any, x2: Any, /) -> Array:
    """The remainder with the sign of the dividend."""
    a, b = as_array(x1, "fmod", "x1"), as_array(x2, "fmod", "x2")
    zero = _f.add(_f.multiply(a, 0), _f.multiply(b, 0))
    a, b = (_f.broadcast_to(_f.astype(each, zero.dtype), zero.shape) for each in (a, b))
    if not is_inexact(b):  # by zero, integers leave zero, as in numpy
        b = _f.where(_f.equal(b, 0), 1, b)
    return _core.lax.rem(a, b)


# ---- arithmetic ----------------------------------------------------------------------------------


def reciprocal(x: Any, /) -> Array:
    """1 / x."""
    return _f.divide(1, x)


def float_power(x: Any, y: Any, /) -> Array:
    """``x ** y`` in floats."""
    return _f.power(*_promoted(x, y, "float_power"))


def fabs(x: Any, /) -> Array:
    """The absolute value, a float."""
    return _f.abs(to_inexact(as_array(x, "fabs", "x")))


def hypot(x1: Any, x2: Any, /) -> Array:
    """sqrt(x1 ** 2 + x2 ** 2), without overflow on the way; not of complex numbers."""
    return _f.hypot(x1, x2)


def fmax(x1: Any, x2: Any) -> Array:
    """The larger one; the other where one is NaN."""
    return _f.where(_f.logical_or(_f.greater(x1, x2), _f.isnan(x2)), x1, x2)


def fmin(x1: Any, x2: Any) -> Array:
    """The smaller one; the other where one is NaN."""
    return _f.where(_f.logical_or(_f.less(x1, x2), _f.isnan(x2)), x1, x2)


def heaviside(x1: Any, x2: Any, /) -> Array:
    """0 below zero, 1 above, ``x2`` at zero."""
    x, at_zero = _promoted(x1, x2, "heaviside")
    step = _f.where(_f.less(x, 0), 0, _f.where(_f.greater(x, 0), 1, at_zero))
    return _f.where(_f.isnan(x), x, _f.astype(step, x.dtype))


# ---- exponentials and logarithms -----------------------------------------------------------------


def log2(x: Any, /) -> Array:
    """The logarithm to base 2."""
    return _f.log2(x)


def log10(x: Any, /) -> Array:
    """The logarithm to base 10."""
    return _f.log10(x)


def _per(x: Array, unit: float) -> Array:
    """``x`` in units of a number; the parts of a complex one each."""
    if x.dtype.kind != "c":
        return x / unit
    return _core.lax.complex(_f.real(x) / unit, _f.imag(x) / unit)


def logaddexp(x1: Any, x2: Any, /) -> Array:
    """log(exp(x1) + exp(x2)), without overflow on the way."""
    return _f.logaddexp(x1, x2)


def logaddexp2(x1: Any, x2: Any, /) -> Array:
    """log2(2 ** x1 + 2 ** x2), without overflow on the way."""
    return _f.logaddexp2(x1, x2)


def ldexp(x1: Any, x2: Any, /) -> Array:
    """x1 * 2 ** x2."""
    x = to_inexact(as_array(x1, "ldexp", "x1"))
    power = _f.astype(as_array(x2, "ldexp", "x2"), x.dtype)
    # In two steps, so that neither leaves the range where the product does not.
    half = _f.floor(power / 2)
    return x * _f.exp2(half) * _f.exp2(power - half)


def sinc(x: Any, /) -> Array:
    """sin(pi x) / (pi x), 1 at zero."""
    return _f.sinc(x)


def i0(x: Any) -> Array:
    """The modified Bessel function of the first kind and order zero."""
    return _core.special.i0(x)


# ---- angles --------------------------------------------------------------------------------------


def degrees(x: Any, /) -> Array:
    """Radians in degrees."""
    return to_inexact(as_array(x, "degrees", "x")) * (180 / math.pi)


def radians(x: Any, /) -> Array:
    """Degrees in radians."""
    return to_inexact(as_array(x, "radians", "x")) * (math.pi / 180)


rad2deg, deg2rad = degrees, radians


def angle(z: Any, deg: builtins.bool = False) -> Array:
    """The angle of a complex number in its plane."""
    number = to_inexact(as_array(z, "angle", "z"))
    result = _f.arctan2(_f.imag(number), _f.real(number))
    return degrees(result) if deg else result


# ---- signs and bits ------------------------------------------------------------------------------


def signbit(x: Any, /) -> Array:
    """Whether the sign bit is set: below zero, -0.0, and NaNs that have it."""
    array = as_array(x, "signbit", "x")
    _refuse_complex(array, "signbit")
    if not is_float(array):
        return _f.less(array, 0)
    bits = _core.lax.bitcast_convert_type(array, f"int{8 * array.dtype.itemsize}")
    return _f.less(bits, 0)


def copysign(x1: Any, x2: Any, /) -> Array:
    """``x1`` with the sign of ``x2``."""
    a, b = _promoted(x1, x2, "copysign")
    return _f.where(signbit(b), -_f.abs(a), _f.abs(a))


def nextafter(x: Any, y: Any, /) -> Array:
    """The float next to ``x`` in the direction of ``y``."""
    return _core.lax.nextafter(*_promoted(x, y, "nextafter"))


def bitwise_count(x: Any, /) -> Array:
    """The number of ones in the binary form of the absolute value, uint8."""
    array = as_array(x, "bitwise_count", "x")
    if array.dtype.kind == "b":
        return _f.astype(array, "uint8")
    array = _f.abs(array) if array.dtype.kind == "i" else array
    return _f.astype(_core.lax.population_count(array), "uint8")


# ---- tests ---------------------------------------------------------------------------------------


def isposinf(x: Any, /, out: None = None) -> Array:
    """Whether an element is infinity."""
    refuse_out(out, "isposinf")
    _refuse_complex(as_array(x, "isposinf", "x"), "isposinf")
    return _f.logical_and(_f.isinf(x), _f.greater(x, 0))


def isneginf(x: Any, /, out: None = None) -> Array:
    """Whether an element is minus infinity."""
    refuse_out(out, "isneginf")
    _refuse_complex(as_array(x, "isneginf", "x"), "isneginf")
    return _f.logical_and(_f.isinf(x), _f.less(x, 0))


def isreal(x: Any) -> Array:
    """Whether an element's imaginary part is zero."""
    return _f.equal(_f.imag(x), 0)


def iscomplex(x: Any) -> Array:
    """Whether an element's imaginary part is not zero."""
    return _f.not_equal(_f.imag(x), 0)


def iscomplexobj(x: Any) -> builtins.bool:
    """Whether the dtype is complex."""
    return as_array(x, "iscomplexobj", "x").dtype.kind == "c"


def isrealobj(x: Any) -> builtins.bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


def isscalar(element: Any) -> builtins.bool:
    """Whether this is a number, or an array of rank 0."""
    return np.isscalar(element) or (hasattr(element, "ndim") and element.ndim == 0)


def isclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: builtins.bool = False
) -> Array:
    """Whether elements agree within ``atol + rtol * abs(b)``."""
    x, y = _promoted(a, b, "isclose")
    close = _f.less_equal(_f.abs(x - y), atol + rtol * _f.abs(y))
    close = _f.logical_and(close, _f.logical_and(_f.isfinite(x), _f.isfinite(y)))
    close = _f.logical_or(close, _f.equal(x, y))
    if equal_nan:
        close = _f.logical_or(close, _f.logical_and(_f.isnan(x), _f.isnan(y)))
    return close


def allclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: builtins.bool = False
) -> Array:
    """Whether all elements agree within ``atol + rtol * abs(b)``."""
    return _f.all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: builtins.bool = False) -> Array:
    """Whether shapes and elements are equal."""
    a, b = as_array(a1, "array_equal", "a1"), as_array(a2, "array_equal", "a2")
    if a.shape != b.shape:
        return _f.astype(False, "bool")
    same = _f.equal(a, b)
    if equal_nan:
        same = _f.logical_or(same, _f.logical_and(_f.isnan(a), _f.isnan(b)))
    return _f.all(same)


def array_equiv(a1: Any, a2: Any) -> Array:
    """Whether elements are equal once both arrays are broadcast to one shape."""
    a, b = as_array(a1, "array_equiv", "a1"), as_array(a2, "array_equiv", "a2")
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return _f.astype(False, "bool")
    return _f.all(_f.equal(a, b))


# ---- choosing ------------------------------------------------------------------------------------


def nan_to_num(
    x: Any, copy: builtins.bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Array:
    """``x`` with numbers for NaN, infinity (the highest value) and minus infinity (the lowest)."""
    array = as_array(x, "nan_to_num", "x")
    if not is_inexact(array):
        return array
    if array.dtype.kind == "c":
        parts = (_f.real(array), _f.imag(array))
        return _core.lax.complex(*(nan_to_num(p, copy, nan, posinf, neginf) for p in parts))
    limits = ml_dtypes.finfo(array.dtype)
    highest = float(limits.max) if posinf is None else posinf
    lowest = float(limits.min) if neginf is None else neginf
    array = _f.where(_f.isnan(array), _f.astype(nan, array.dtype), array)
    array = _f.where(isposinf(array), _f.astype(highest, array.dtype), array)
    return _f.where(isneginf(array), _f.astype(lowest, array.dtype), array)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Array:
    """From the first choice whose condition holds, else ``default``."""
    if len(condlist) != len(choicelist) or len(condlist) == 0:
        raise ValueError(
            f"select: needs as many conditions as choices, got {len(condlist)} and "
            f"{len(choicelist)}"
        )
    result = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        result = _f.where(condition, choice, result)
    return result
