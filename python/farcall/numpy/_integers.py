"""Functions of integers, and of the bits of numbers."""

from __future__ import annotations

from typing import Any

import ml_dtypes

from farcall import _core
from farcall._core.numpy import ldexp
from farcall.numpy._common import Array, as_array, to_inexact

__all__ = ["frexp", "gcd", "lcm"]

_f: Any = _core.numpy


def gcd(x1: Any, x2: Any) -> Array:
    """The nonnegative greatest common divisor of integers.

    For the lowest integer of a dtype and itself or 0, the divisor is not representable; the result
    is the lowest integer.

    Raises:
      ValueError: for other dtypes.
    """
    return _f.gcd(x1, x2)


def lcm(x1: Any, x2: Any) -> Array:
    """The nonnegative least common multiple of integers; it wraps around on overflow.

    Raises:
      ValueError: for other dtypes.
    """
    return _f.lcm(x1, x2)


def frexp(x: Any, /) -> tuple[Array, Array]:
    """Splits ``x`` into a fraction with absolute value in [0.5, 1) and a power of two."""
    x = to_inexact(as_array(x, "frexp", "x"))
    if x.dtype.kind == "c":
        raise TypeError(f"frexp: takes real numbers, got {x.dtype}")
    info = ml_dtypes.finfo(x.dtype)
    whole = f"int{info.bits}"
    tiny = _f.less(_f.abs(x), info.tiny)
    # Scale subnormal numbers to normal ones first.
    scaled = _f.where(tiny, x * 2.0**info.nmant, x)
    bits = _core.lax.bitcast_convert_type(scaled, whole)
    biased = _f.bitwise_and(_f.right_shift(bits, info.nmant), (1 << info.nexp) - 1)
    bias = (1 << (info.nexp - 1)) - 2
    exponent = biased - bias - _f.where(tiny, info.nmant, 0)
    is_plain = _f.logical_and(_f.isfinite(x), _f.not_equal(x, 0))
    exponent = _f.astype(_f.where(is_plain, exponent, 0), "int32")
    # ldexp is an exact product and differentiable.
    return ldexp(x, -exponent), exponent
