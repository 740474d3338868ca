"""Functions of integers, and of the bits of numbers."""

from __future__ import annotations

from typing import Any

from farcall import _core
from farcall.numpy._common import Array

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
    return _f._frexp(x)
