"""What the distributions share."""

from __future__ import annotations

from typing import Any

from farcall import _core
from farcall.numpy._common import Array as Array
from farcall.numpy._common import as_array, to_inexact

f: Any = _core.numpy
lax: Any = _core.lax


def floats(function: str, **values: Any) -> list[Array]:
    """The arguments as arrays of one floating dtype; TypeError naming one that is no array."""
    arrays = [as_array(value, function, name) for name, value in values.items()]
    dtype = _core.promoted_dtype([array.aval for array in arrays])
    if dtype.kind in "biu":
        dtype = to_inexact(f.zeros((), dtype)).dtype
    return [f.astype(array, dtype) for array in arrays]


def inside(condition: Array, value: Array, otherwise: Any) -> Array:
    """``value`` where the condition holds."""
    return f.where(condition, value, f.astype(otherwise, value.dtype))


def between(low: Any, x: Array, high: Any) -> Array:
    """low <= x <= high."""
    return f.logical_and(f.greater_equal(x, low), f.less_equal(x, high))
