"""Functions of shapes, and those that put arrays together and take them apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from farcall import _core
from farcall.numpy._common import (
    Array,
    as_array,
    normalize_axes,
    normalize_axis,
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
    "repeat",
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
    arrays = [as_array(arg, "broadcast_arrays", f"args[{i}]") for i, arg in enumerate(args)]
    common = np.broadcast_shapes(*(array.shape for array in arrays))
    return [_f.broadcast_to(array, common) for array in arrays]


def matrix_transpose(x: Any, /) -> Array:
    """Each matrix transposed."""
    array = as_array(x, "matrix_transpose", "x")
    if array.ndim < 2:
        raise ValueError(f"matrix_transpose: needs two dimensions, the shape is {array.shape}")
    return _f.swapaxes(array, -1, -2)


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
    array = as_array(x, "unstack", "x")
    if array.ndim == 0:
        raise ValueError("unstack: a scalar has no dimension to take apart")
    return tuple(_f.squeeze(part, axis) for part in _f.split(array, array.shape[axis], axis))


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


def repeat(
    a: Any, repeats: Any, axis: int | None = None, *, total_repeat_length: int | None = None
) -> Array:
    """Each element ``repeats`` times along ``axis``; of the flattened array without one.

    Args:
      repeats: a number, or one for each element along the axis.
      total_repeat_length: the size of the result along the axis: what is longer is cut, what is
        shorter ends with copies of the last element. Needed where ``repeats`` is traced.
    """
    array = as_array(a, "repeat")
    if axis is None:
        array, axis = _f.ravel(array), 0
    axis = normalize_axis(axis, array.ndim, "repeat")
    counts = np.asarray(repeats) if not isinstance(repeats, Array) else repeats
    if isinstance(counts, Array) and counts.is_traced and total_repeat_length is None:
        raise _core.ConcretizationTypeError(
            f"repeat: how long the result is depends on repeats, a traced array: "
            f"{_core._why_unknown(counts)}. To mend it, give total_repeat_length=, or "
            f"{_core._how_to_know(counts)}"
        )
    if counts.size == 1 and total_repeat_length is None:
        return _f._repeat(array, int(counts.reshape(()).item()), axis)
    if isinstance(counts, Array) and counts.is_traced and total_repeat_length is not None:
        return _repeat_traced(array, counts, axis, total_repeat_length)
    length = array.shape[axis]
    try:
        positions = np.repeat(np.arange(length), np.broadcast_to(np.asarray(counts), (length,)))
    except ValueError as error:
        raise ValueError(f"repeat: {error}") from None
    if total_repeat_length is not None:
        missing = max(total_repeat_length - positions.size, 0)
        positions = np.concatenate([positions, np.full(missing, length - 1)])
        positions = positions[:total_repeat_length].astype(np.int64)
    return array[(slice(None),) * axis + (positions,)]


def _repeat_traced(array: Array, counts: Array, axis: int, total: int) -> Array:
    ends = _f.cumsum(_f.broadcast_to(counts, (array.shape[axis],)))
    places = _core.lax.broadcasted_iota("int32", (total, 1), 0)
    passed = _f.sum(_f.less_equal(_f.astype(ends, "int32"), places), -1)
    positions = _f.minimum(passed, array.shape[axis] - 1)
    return array[(slice(None),) * axis + (positions,)]
