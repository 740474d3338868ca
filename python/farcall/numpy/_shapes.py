"""Functions of shapes, and those that put arrays together and take them apart."""

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
    return np.shape(a) if not isinstance(a, Array) else a.shape


def ndim(a: Any) -> int:
    """The number of dimensions of ``a``."""
    return len(shape(a))


def size(a: Any, axis: Any = None) -> int:
    """The number of elements, or the size along the axes."""
    sizes = shape(a)
    return int(np.prod([sizes[i] for i in normalize_axes(axis, len(sizes), "size")]))


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that all ``shapes`` broadcast to; ValueError when they do not."""
    return np.broadcast_shapes(*shapes)


def broadcast_arrays(*args: Any) -> list[Array]:
    """All arrays in the one shape that they broadcast to."""
    return _f._broadcast_arrays(
        [as_array(arg, "broadcast_arrays", f"args[{i}]") for i, arg in enumerate(args)]
    )


def matrix_transpose(x: Any, /) -> Array:
    """Each matrix transposed."""
    return _f._matrix_transpose(x)


# ---- putting together ----------------------------------------------------------------------------


def block(arrays: Any) -> Array:
    """Nested lists of arrays as one array.

    The innermost lists are put together along the last axis, those around along the one before.
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
    """Scalars as vectors; others as they are."""
    return _at_least("atleast_1d", _f._atleast_1d, arys)


def atleast_2d(*arys: Any) -> Any:
    """Vectors as rows; matrices as they are."""
    return _at_least("atleast_2d", _f._atleast_2d, arys)


def atleast_3d(*arys: Any) -> Any:
    """With a first dimension (vectors) and a last one (vectors, matrices) of size one added."""
    return _at_least("atleast_3d", _f._atleast_3d, arys)


# ---- taking apart --------------------------------------------------------------------------------


def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """``split`` along the first dimension."""
    return _f.split(ary, indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """``split`` along the second dimension, of a vector along its only one."""
    array = as_array(ary, "hsplit", "ary")
    return _f.split(array, indices_or_sections, 0 if array.ndim == 1 else 1)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """``split`` along the third dimension."""
    return _f.split(ary, indices_or_sections, 2)
