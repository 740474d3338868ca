"""Window functions of signal processing."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from farcall import _core
from farcall.numpy._common import Array, as_array, default_float, to_inexact
from farcall.numpy._elementwise import i0

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]

_f: Any = _core.numpy


def _positions(m: int) -> tuple[Array, int]:
    """0, 1, …, and the last of them, 1 where that would be 0."""
    size = max(operator.index(m), 0)
    return _f.array_from_numpy(np.arange(size, dtype=default_float()), False), max(size - 1, 1)


def _cosines(m: int, *weights: float) -> Array:
    """The sum of cosines of 0, 1, … periods with these weights; 1 for one point."""
    position, last = _positions(m)
    if position.shape[0] == 1:
        return _f.ones((1,))
    result = _f.full(position.shape, weights[0])
    for i, weight in enumerate(weights[1:], 1):
        result = result + weight * _f.cos(position * (2 * math.pi * i / last))
    return result


def bartlett(M: int) -> Array:  # noqa: N803
    """A triangle of ``M`` points that ends in zeros."""
    position, last = _positions(M)
    if position.shape[0] == 1:
        return _f.ones((1,))
    return 1 - _f.abs(2 * position - last) / last


def blackman(M: int) -> Array:  # noqa: N803
    """The window of Blackman with ``M`` points, a sum of three cosines."""
    return _cosines(M, 0.42, -0.5, 0.08)


def hamming(M: int) -> Array:  # noqa: N803
    """The window of Hamming with ``M`` points, a raised cosine that does not end in zeros."""
    return _cosines(M, 0.54, -0.46)


def hanning(M: int) -> Array:  # noqa: N803
    """The window of von Hann with ``M`` points, a raised cosine that ends in zeros."""
    return _cosines(M, 0.5, -0.5)


def kaiser(M: int, beta: Any) -> Array:  # noqa: N803
    """The window of Kaiser with ``M`` points; the larger ``beta``, the narrower."""
    position, last = _positions(M)
    if position.shape[0] == 1:
        return _f.ones((1,))
    beta = to_inexact(as_array(beta, "kaiser", "beta"))
    ratio = 2 * position / last - 1
    return i0(beta * _f.sqrt(_f.maximum(1 - ratio * ratio, 0))) / i0(beta)
