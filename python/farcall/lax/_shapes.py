"""Arrays of one value, products and stacking, as in ``jax.lax``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from farcall import _core
from farcall.numpy._shapes import broadcast_shapes as broadcast_shapes

__all__ = [
    "broadcast_like",
    "broadcast_shapes",
    "dot",
    "dtype",
    "empty",
    "full",
    "full_like",
    "reciprocal",
    "shape_as_value",
    "stack",
    "unstack",
]

_f: Any = _core.numpy
_lax: Any = _core.lax


def _array(value: Any, function: str, name: str) -> _core.Array:
    return _f.as_array(value, f"{function}: argument {name}")


def broadcast_like(arr: Any, like_arr: Any) -> _core.Array:
    """``arr``, broadcast to the shape of ``like_arr`` and put where that is committed to be."""
    like = _array(like_arr, "broadcast_like", "like_arr")
    made = _f.broadcast_to(_array(arr, "broadcast_like", "arr"), like.shape)
    return _core.devices.committed_like(made, like) if _core.devices.is_committed(like) else made


def shape_as_value(shape: Any) -> np.ndarray:
    """The sizes of a shape as a numpy array of int32."""
    return np.asarray(shape, np.int32)


def full(shape: Any, fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> _core.Array:
    """An array filled with a scalar; ``sharding`` is as for ``device_put``."""
    return _f.full(shape, fill_value, dtype, device=sharding)


def full_like(
    x: Any, fill_value: Any, dtype: Any = None, shape: Any = None, sharding: Any = None
) -> _core.Array:
    """An array filled with a scalar, by default with the shape and dtype of ``x``.

    ``sharding`` is as for ``device_put``.
    """
    if not (hasattr(x, "shape") and hasattr(x, "dtype")):
        x = _array(x, "full_like", "x")
    wanted = x.shape if shape is None else shape
    return _f.full(wanted, fill_value, x.dtype if dtype is None else dtype, device=sharding)


def empty(shape: Any, dtype: Any) -> _core.Array:
    """An array with unspecified elements (currently zeros)."""
    return _f.zeros(shape, dtype)


def dtype(x: Any) -> np.dtype[Any]:
    """The dtype of an array or number."""
    return _array(x, "dtype", "x").dtype


def reciprocal(x: Any) -> _core.Array:
    """``1 / x``."""
    return _lax.integer_pow(x, -1)


def dot(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> _core.Array:
    """The product of vectors and matrices, or ``dot_general`` with ``dimension_numbers``.

    ``precision`` is for devices that offer a choice; ``preferred_element_type`` is as for
    ``dot_general``.
    """
    if dimension_numbers is None:
        return _lax._dot(lhs, rhs, precision, preferred_element_type)
    return _lax.dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)


def stack(operands: Sequence[Any], axis: int = 0) -> _core.Array:
    """Joins arrays of one dtype and shape along a new dimension."""
    return _f.stack(list(operands), axis)


def unstack(x: Any, axis: int = 0) -> tuple[_core.Array, ...]:
    """The slices along the axis; the slices lack that axis."""
    return tuple(_f._unstack(x, axis))
