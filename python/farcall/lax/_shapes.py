"""Arrays in other shapes, put together and taken apart; products of matrices."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from farcall import _core
from farcall.lax._precision import canonicalize_precision
from farcall.numpy._shapes import broadcast_shapes as broadcast_shapes

__all__ = [
    "batch_matmul",
    "broadcast",
    "broadcast_shapes",
    "broadcast_to_rank",
    "collapse",
    "dot",
    "dtype",
    "empty",
    "full",
    "full_like",
    "index_take",
    "reciprocal",
    "split",
    "stack",
    "tile",
    "unstack",
]

_f: Any = _core.numpy
_lax: Any = _core.lax


def _array(value: Any, function: str, name: str) -> _core.Array:
    return _f.as_array(value, f"{function}: argument {name}")


def broadcast(operand: Any, sizes: Sequence[int]) -> _core.Array:
    """The operand, repeated along new dimensions of these sizes in front."""
    operand = _array(operand, "broadcast", "operand")
    return _f.broadcast_to(operand, (*sizes, *operand.shape))


def broadcast_to_rank(x: Any, rank: int) -> _core.Array:
    """``x`` with dimensions of size one in front, so that there are ``rank``."""
    x = _array(x, "broadcast_to_rank", "x")
    if rank < x.ndim:
        raise ValueError(f"broadcast_to_rank: {x.aval} has more than {rank} dimensions")
    return _f.reshape(x, (1,) * (rank - x.ndim) + x.shape)


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> _core.Array:
    """The operand with the dimensions from one up to another made into one."""
    operand = _array(operand, "collapse", "operand")
    first, last, _ = builtins.slice(start_dimension, stop_dimension).indices(operand.ndim)
    if last < first:
        raise ValueError(
            f"collapse: from dimension {start_dimension} to {stop_dimension} there is none"
        )
    shape = operand.shape
    return _f.reshape(operand, (*shape[:first], math.prod(shape[first:last]), *shape[last:]))


def full(shape: Any, fill_value: Any, dtype: Any = None) -> _core.Array:
    """An array that holds one scalar everywhere."""
    return _f.full(shape, fill_value, dtype)


def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> _core.Array:
    """An array of the shape and dtype of ``x``, or of others, that holds one scalar everywhere."""
    if not (hasattr(x, "shape") and hasattr(x, "dtype")):
        x = _array(x, "full_like", "x")
    wanted = x.shape if shape is None else shape
    return _f.full(wanted, fill_value, x.dtype if dtype is None else dtype)


def empty(shape: Any, dtype: Any) -> _core.Array:
    """An array of zeros, whose elements are not to be relied on."""
    return _f.zeros(shape, dtype)


def dtype(x: Any) -> np.dtype[Any]:
    """The dtype of an array or number."""
    return _array(x, "dtype", "x").dtype


def reciprocal(x: Any) -> _core.Array:
    """``1 / x``."""
    return _lax.integer_pow(x, -1)


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> _core.Array:
    """Products of matrices stacked along the same dimensions in front."""
    canonicalize_precision(precision)
    lhs, rhs = _array(lhs, "batch_matmul", "lhs"), _array(rhs, "batch_matmul", "rhs")
    if min(lhs.ndim, rhs.ndim) < 2 or lhs.ndim != rhs.ndim:
        raise ValueError(
            f"batch_matmul: needs stacked matrices of one rank, got {lhs.aval} and {rhs.aval}"
        )
    batch = list(range(lhs.ndim - 2))
    numbers = (([lhs.ndim - 1], [rhs.ndim - 2]), (batch, batch))
    return _lax.dot_general(lhs, rhs, dimension_numbers=numbers)


def dot(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> _core.Array:
    """The product of vectors and matrices, or ``dot_general`` where dimensions are given.

    ``precision`` is checked and has no effect on the CPU; ``preferred_element_type`` is
    as for ``dot_general``.
    """
    lhs, rhs = _array(lhs, "dot", "lhs"), _array(rhs, "dot", "rhs")
    if dimension_numbers is None:
        if not (1 <= lhs.ndim <= 2 and 1 <= rhs.ndim <= 2):
            raise TypeError(f"dot: takes vectors and matrices, got {lhs.aval} and {rhs.aval}")
        dimension_numbers = (([lhs.ndim - 1], [0]), ([], []))
    return _lax.dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)


def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> list[_core.Array]:
    """Consecutive parts of these sizes along the axis; together they must be all of it."""
    operand = _array(operand, "split", "operand")
    sizes = _core.to_sizes(sizes, "split: sizes")
    if sum(sizes) != operand.shape[axis]:
        raise ValueError(f"split: sizes {sizes} do not add up to {operand.shape[axis]}")
    return list(_f.split(operand, [int(end) for end in np.cumsum(sizes)[:-1]], axis))


def stack(operands: Sequence[Any], axis: int = 0) -> _core.Array:
    """Arrays of one type along a new dimension."""
    return _f.stack(list(operands), axis)


def unstack(x: Any, axis: int = 0) -> tuple[_core.Array, ...]:
    """The slices along the axis, which they do not have."""
    x = _array(x, "unstack", "x")
    return tuple(_f.moveaxis(x, axis, 0))


def tile(operand: Any, reps: Sequence[int]) -> _core.Array:
    """The operand repeated along each dimension."""
    operand = _array(operand, "tile", "operand")
    if len(reps) != operand.ndim:
        raise ValueError(f"tile: {len(reps)} repetitions for {operand.ndim} dimensions")
    return _f.tile(operand, tuple(reps))


def index_take(src: Any, idxs: Any, axes: Sequence[int]) -> _core.Array:
    """The slices of ``src`` at the vectors ``idxs``, one index for each of ``axes``."""
    src = _array(src, "index_take", "src")
    rest = [i for i in range(src.ndim) if i not in axes]
    ordered = _f.transpose(src, (*axes, *rest))
    return ordered[tuple(idxs)]
