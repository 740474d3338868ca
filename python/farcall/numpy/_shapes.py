"""Functions of shapes, and those that put arrays together and take them apart."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from farcall import _core
from farcall.numpy._common import (
    Array,
    as_array,
    as_arrays,
    normalize_axes,
    normalize_axis,
)

__all__ = [
    "append",
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block",
    "broadcast_arrays",
    "broadcast_shapes",
    "column_stack",
    "concat",
    "concatenate",
    "dsplit",
    "dstack",
    "fliplr",
    "flipud",
    "hsplit",
    "hstack",
    "matrix_transpose",
    "moveaxis",
    "ndim",
    "permute_dims",
    "ravel",
    "repeat",
    "reshape",
    "rollaxis",
    "rot90",
    "shape",
    "size",
    "stack",
    "unstack",
    "vsplit",
    "vstack",
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


# ---- order of dimensions -------------------------------------------------------------------------


def _row_major(order: str, function: str) -> bool:
    if order not in ("C", "F"):
        raise NotImplementedError(f"{function}: order must be 'C' or 'F', got {order!r}")
    return order == "C"


def reshape(a: Any, shape: Any, order: str = "C", *, copy: bool | None = None) -> Array:
    """The elements in another shape, of which one size may be -1.

    Args:
      order: ``C``: elements are taken and put with the last index running fastest; ``F``: with the
        first.
      copy: without effect.
    """
    if _row_major(order, "reshape"):
        return _f.reshape(a, shape)
    sizes = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    return _f.transpose(_f.reshape(_f.transpose(a), sizes[::-1]))


def ravel(a: Any, order: str = "C") -> Array:
    """The elements in one dimension; ``order`` as for ``reshape``."""
    return _f.ravel(a if _row_major(order, "ravel") else _f.transpose(a))


def moveaxis(a: Any, source: Any, destination: Any) -> Array:
    """Dimensions ``source`` at the positions ``destination``, the others in their order."""
    array = as_array(a, "moveaxis")
    sources = normalize_axes(source, array.ndim, "moveaxis")
    targets = normalize_axes(destination, array.ndim, "moveaxis")
    if len(sources) != len(targets):
        raise ValueError(
            f"moveaxis: source and destination differ in number: {source} and {destination}"
        )
    order = [i for i in range(array.ndim) if i not in sources]
    for target, origin in sorted(zip(targets, sources, strict=True)):
        order.insert(target, origin)
    return _f.transpose(array, order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Array:
    """Dimension ``axis`` before dimension ``start``."""
    array = as_array(a, "rollaxis")
    axis = normalize_axis(axis, array.ndim, "rollaxis")
    start = normalize_axis(start, array.ndim + 1, "rollaxis", "start")
    return _f.moveaxis(array, axis, start - (axis < start))


def permute_dims(a: Any, /, axes: Any) -> Array:
    """``transpose`` with axes."""
    return _f.transpose(a, axes)


def matrix_transpose(x: Any, /) -> Array:
    """Each matrix transposed."""
    array = as_array(x, "matrix_transpose", "x")
    if array.ndim < 2:
        raise ValueError(f"matrix_transpose: needs two dimensions, the shape is {array.shape}")
    return _f.swapaxes(array, -1, -2)


def flipud(m: Any) -> Array:
    """The order of rows turned round."""
    return _f.flip(m, 0)


def fliplr(m: Any) -> Array:
    """The order of columns turned round."""
    return _f.flip(m, 1)


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """Turned by 90 degrees ``k`` times in the plane of ``axes``, from the first to the second."""
    array = as_array(m, "rot90", "m")
    first, second = normalize_axes(axes, array.ndim, "rot90")
    if k % 4 == 0:
        return array
    if k % 4 == 1:
        return _f.swapaxes(_f.flip(array, second), first, second)
    if k % 4 == 2:
        return _f.flip(array, (first, second))
    return _f.flip(_f.swapaxes(array, first, second), second)


# ---- putting together ----------------------------------------------------------------------------


def _converted(array: Array, dtype: Any) -> Array:
    return array if dtype is None else _f.astype(array, dtype)


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Array:
    """The arrays one after the other along ``axis``; flattened first where it is None."""
    arrays = as_arrays(arrays, "concatenate")
    if axis is None:
        arrays, axis = [_f.ravel(each) for each in arrays], 0
    return _converted(_f.concatenate(arrays, axis), dtype)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Array:
    """``concatenate``, by the name of the array API."""
    return concatenate(arrays, axis)


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
            return concatenate([joined(each, level - 1) for each in part], -level)
        array = as_array(part, "block", "arrays")
        return _f.reshape(array, (1,) * (rank - array.ndim) + array.shape)

    return joined(arrays, levels)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Array:
    """The arrays, of one shape, along a new dimension at ``axis``."""
    return _converted(_f.stack(as_arrays(arrays, "stack"), axis), dtype)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The slices along ``axis``."""
    array = as_array(x, "unstack", "x")
    if array.ndim == 0:
        raise ValueError("unstack: a scalar has no dimension to take apart")
    return tuple(_f.squeeze(part, axis) for part in _f.split(array, array.shape[axis], axis))


def vstack(tup: Any, dtype: Any = None) -> Array:
    """Rows, or arrays along their first dimension, one below the other."""
    return concatenate([atleast_2d(each) for each in as_arrays(tup, "vstack", "tup")], 0, dtype)


def hstack(tup: Any, dtype: Any = None) -> Array:
    """Arrays side by side: along the second dimension, vectors along their only one."""
    arrays = [atleast_1d(each) for each in as_arrays(tup, "hstack", "tup")]
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1, dtype)


def dstack(tup: Any, dtype: Any = None) -> Array:
    """Arrays along their third dimension."""
    return concatenate([atleast_3d(each) for each in as_arrays(tup, "dstack", "tup")], 2, dtype)


def column_stack(tup: Any) -> Array:
    """Vectors as columns, and matrices as they are, side by side."""
    arrays = [
        _f.transpose(atleast_2d(each)) if each.ndim < 2 else each
        for each in as_arrays(tup, "column_stack", "tup")
    ]
    return concatenate(arrays, 1)


def append(arr: Any, values: Any, axis: int | None = None) -> Array:
    """``values`` behind ``arr``; both flattened without an axis."""
    return concatenate([arr, values], axis)


def _at_least(function: str, widen: Any, arrays: tuple[Any, ...]) -> Any:
    results = [widen(as_array(each, function, f"arys[{i}]")) for i, each in enumerate(arrays)]
    return results[0] if len(results) == 1 else results


def atleast_1d(*arys: Any) -> Any:
    """Scalars as vectors; others as they are."""
    return _at_least("atleast_1d", lambda x: x if x.ndim >= 1 else _f.reshape(x, (1,)), arys)


def atleast_2d(*arys: Any) -> Any:
    """Vectors as rows; matrices as they are."""
    return _at_least("atleast_2d", lambda x: x if x.ndim >= 2 else _f.reshape(x, (1, -1)), arys)


def atleast_3d(*arys: Any) -> Any:
    """With a first dimension (vectors) and a last one (vectors, matrices) of size one added."""

    def widen(x: Array) -> Array:
        if x.ndim >= 3:
            return x
        return _f.expand_dims(x, 2) if x.ndim == 2 else _f.reshape(x, (1, -1, 1))

    return _at_least("atleast_3d", widen, arys)


# ---- taking apart --------------------------------------------------------------------------------


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """``split``, with parts that may differ in size by one."""
    array = as_array(ary, "array_split", "ary")
    if not hasattr(indices_or_sections, "__index__"):
        return _f.split(array, indices_or_sections, axis)
    sections = operator.index(indices_or_sections)
    if sections < 1:
        raise ValueError(f"array_split: the number of parts must be positive, got {sections}")
    length = array.shape[normalize_axis(axis, array.ndim, "array_split")]
    small, num_large = divmod(length, sections)
    ends = (i * small + min(i, num_large) for i in range(1, sections))
    return _f.split(array, ends, axis)


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
