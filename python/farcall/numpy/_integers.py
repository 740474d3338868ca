"""Functions of whole numbers, and of the bits of numbers."""

from __future__ import annotations

from typing import Any

import ml_dtypes

from farcall import _core
from farcall._core.numpy import ldexp
from farcall.numpy._common import Array, as_array, to_inexact

__all__ = ["frexp", "gcd", "lcm"]

_f: Any = _core.numpy


def gcd(x1: Any, x2: Any) -> Array:
    """The greatest common divisor of integers, not negative.

    That of the lowest integer and itself or 0 does not fit its dtype, and is the lowest integer.

    Raises:
      ValueError: for other than integers.
    """
    return _f.gcd(x1, x2)


def lcm(x1: Any, x2: Any) -> Array:
    """The least common multiple of integers, not negative; it wraps around where it does not fit.

    Raises:
      ValueError: for other than integers.
    """
    return _f.lcm(x1, x2)


def frexp(x: Any, /) -> tuple[Array, Array]:
    """The fraction, of size from a half to one, and the power of two whose product ``x`` is."""
    x = to_inexact(as_array(x, "frexp", "x"))
    if x.dtype.kind == "c":
        raise TypeError(f"frexp: takes real numbers, got {x.dtype}")
    info = ml_dtypes.finfo(x.dtype)
    whole = f"int{info.bits}"
    tiny = _f.less(_f.abs(x), info.tiny)
    # Numbers below the normal ones are made normal first.
    scaled = _f.where(tiny, x * 2.0**info.nmant, x)
    bits = _core.lax.bitcast_convert_type(scaled, whole)
    biased = _f.bitwise_and(_f.right_shift(bits, info.nmant), (1 << info.nexp) - 1)
    bias = (1 << (info.nexp - 1)) - 2
    exponent = biased - bias - _f.where(tiny, info.nmant, 0)
    is_plain = _f.logical_and(_f.isfinite(x), _f.not_equal(x, 0))
    exponent = _f.astype(_f.where(is_plain, exponent, 0), "int32")
    # A product, which is exact and has a derivative.
    return ldexp(x, -exponent), exponent
