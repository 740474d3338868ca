"""Functions on shapes; functions that join and split arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from farcall import _core
from farcall.numpy._common import (
    Array,
    as_array,
    normalize_axes,
)

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block",
    "broadcast_arrays",
    "broadcast_shapes",
    "dsplit",
    "hsplit",
    "matrix_transpose",
    "ndim",
    "shape",
    "size",
    "unstack",
    "vsplit",
]

_f = _core.numpy


def shape(a: Any) -> tuple[int, ...]:
    """The shape of ``a``."""
    if hasattr(a, "__jax_array__"):
        a = as_array(a, "shape")
    return np.shape(a) if not isinstance(a, Array) else a.shape


def ndim(a: Any) -> int:
    """The number of dimensions of ``a``."""
    return len(shape(a))


def size(a: Any, axis: Any = None) -> int:
    """The number of elements, or the size along the axes."""
    sizes = shape(a)
    return int(np.prod([sizes[i] for i in normalize_axes(axis, len(sizes), "size")]))


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The broadcast shape of all ``shapes``; raises ValueError if they do not broadcast."""
    return np.broadcast_shapes(*shapes)


def broadcast_arrays(*args: Any) -> list[Array]:
    """Broadcasts all arrays to one shape."""
    return _f._broadcast_arrays(
        [as_array(arg, "broadcast_arrays", f"args[{i}]") for i, arg in enumerate(args)]
    )


def matrix_transpose(x: Any, /) -> Array:
    """Transposes each matrix."""
    return _f._matrix_transpose(x)


# ---- putting together ----------------------------------------------------------------------------


def block(arrays: Any) -> Array:
    """Joins nested lists of arrays to one array.

    The innermost lists are joined along the last axis, the next level along the axis before, and so
    on.
    """

    def depth(part: Any) -> int:
        if not isinstance(part, list):
            return 0
        if not part:
            raise ValueError("block: a list must not be empty")
        depths = {depth(each) for each in part}
        if len(depths) > 1:
            raise ValueError("block: all arrays must be nested in lists equally deep")
        return depths.pop() + 1

    def leaves(part: Any) -> list[Array]:
        if isinstance(part, list):
            return [leaf for each in part for leaf in leaves(each)]
        return [as_array(part, "block", "arrays")]

    levels = depth(arrays)
    rank = max(levels, *(leaf.ndim for leaf in leaves(arrays)), 0)

    def joined(part: Any, level: int) -> Array:
        if level:
            return _f.concatenate([joined(each, level - 1) for each in part], -level)
        array = as_array(part, "block", "arrays")
        return _f.reshape(array, (1,) * (rank - array.ndim) + array.shape)

    return joined(arrays, levels)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The slices along ``axis``."""
    return tuple(_f._unstack(x, axis))


def _at_least(function: str, widen: Any, arrays: tuple[Any, ...]) -> Any:
    results = [widen(as_array(each, function, f"arys[{i}]")) for i, each in enumerate(arrays)]
    return results[0] if len(results) == 1 else results


def atleast_1d(*arys: Any) -> Any:
    """Converts scalars to vectors; other arrays stay unchanged."""
    return _at_least("atleast_1d", _f._atleast_1d, arys)


def atleast_2d(*arys: Any) -> Any:
    """Converts scalars and vectors to rows of a matrix; other arrays stay unchanged."""
    return _at_least("atleast_2d", _f._atleast_2d, arys)


def atleast_3d(*arys: Any) -> Any:
    """Adds dimensions of size 1: a first one to vectors, a last one to vectors and matrices."""
    return _at_least("atleast_3d", _f._atleast_3d, arys)


# ---- taking apart --------------------------------------------------------------------------------


def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """``split`` along the first dimension."""
    return _f.split(ary, indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """``split`` along the second dimension; vectors are split along their only dimension."""
    array = as_array(ary, "hsplit", "ary")
    return _f.split(array, indices_or_sections, 0 if array.ndim == 1 else 1)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """``split`` along the third dimension."""
    return _f.split(ary, indices_or_sections, 2)
