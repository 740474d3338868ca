"""Functions of whole numbers, and of the bits of numbers."""

from __future__ import annotations

from typing import Any

import ml_dtypes

from farcall import _control_flow, _core
from farcall.numpy._common import Array, as_array, to_inexact
from farcall.numpy._elementwise import ldexp

__all__ = ["frexp", "gcd", "lcm"]

_f: Any = _core.numpy


def _whole_numbers(x1: Any, x2: Any, function: str) -> tuple[Array, Array]:
    a, b = as_array(x1, function, "x1"), as_array(x2, function, "x2")
    zero = _f.add(_f.multiply(a, 0), _f.multiply(b, 0))
    if zero.dtype.kind not in "iu" or a.dtype.kind == b.dtype.kind == "b":
        raise ValueError(f"{function}: takes integers, got {a.dtype} and {b.dtype}")
    a, b = _f.astype(a, zero.dtype), _f.astype(b, zero.dtype)
    return _f.broadcast_to(a, zero.shape), _f.broadcast_to(b, zero.shape)


def gcd(x1: Any, x2: Any) -> Array:
    """The greatest common divisor, not negative."""
    a, b = _whole_numbers(x1, x2, "gcd")

    def step(pair: tuple[Array, Array]) -> tuple[Array, Array]:
        a, b = pair
        rest = _core.lax.rem(a, _f.where(_f.equal(b, 0), _f.astype(1, b.dtype), b))
        return _f.where(_f.equal(b, 0), a, b), _f.where(_f.equal(b, 0), b, rest)

    start = (_f.abs(a), _f.abs(b))
    return _control_flow.while_loop(lambda pair: _f.any(_f.not_equal(pair[1], 0)), step, start)[0]


def lcm(x1: Any, x2: Any) -> Array:
    """The least common multiple, not negative."""
    a, b = _whole_numbers(x1, x2, "lcm")
    a, b = _f.abs(a), _f.abs(b)
    divisor = gcd(a, b)
    return _f.multiply(_f.floor_divide(a, _f.maximum(divisor, 1)), b)


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
