"""Index arrays and grids; insertion and deletion of slices."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from farcall import _core
from farcall._core.numpy import linspace
from farcall.numpy._common import Array, as_array, known_values, normalize_axis
from farcall.numpy._creation import arange, asarray, meshgrid

__all__ = ["delete", "insert", "ix_", "mgrid", "ogrid", "ravel_multi_index"]

_f: Any = _core.numpy


def ix_(*args: Any) -> tuple[Array, ...]:
    """Index arrays for all combinations of vectors; a bool vector stands for its true positions."""
    return _f._ix([asarray(arg) for arg in args])


def ravel_multi_index(
    multi_index: Any,
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: Any = None,
) -> Array:
    """Converts an index in each dimension to flat indices.

    Args:
      multi_index: an array for each dimension.
      dims: the sizes of the dimensions.
      mode: for indices out of range: "raise", which needs concrete values, "wrap" or "clip".
      order: "C" for row-major, "F" for column-major flat indices.
      dtype: the dtype of the result, int32 by default.
    """
    sizes = _core.to_sizes(dims, "ravel_multi_index: dims")
    indices = [asarray(i) for i in itertools.islice(multi_index, len(sizes) + 1)]
    if len(indices) > len(sizes):
        raise ValueError(f"ravel_multi_index: more indices for {len(sizes)} dimensions")
    return _f._ravel_multi_index(indices, sizes, mode, order, dtype)


class _Grid:
    """``grid[a:b:step, …]``: the coordinates of the points of a grid.

    An imaginary step gives the number of points, including the end point.
    """

    def __init__(self, name: str, is_sparse: bool) -> None:
        self._name = name
        self._is_sparse = is_sparse

    def __getitem__(self, key: Any) -> Any:
        slices = key if isinstance(key, tuple) else (key,)
        axes: list[Any] = []
        for part in slices:
            if isinstance(part.step, complex):
                axes.append(linspace(part.start or 0, part.stop, int(abs(part.step))))
            else:
                axes.append(arange(part.start or 0, part.stop, part.step))
        if not isinstance(key, tuple):
            return axes[0]
        grids = meshgrid(*axes, indexing="ij", sparse=self._is_sparse)
        dtype = functools.reduce(_f.add, [axis[:0] for axis in axes]).dtype
        grids = [_f.astype(grid, dtype) for grid in grids]
        return tuple(grids) if self._is_sparse else _f.stack(grids)

    def __repr__(self) -> str:
        return f"farcall.numpy.{self._name}"


mgrid, ogrid = _Grid("mgrid", False), _Grid("ogrid", True)


# ---- more or fewer elements ----------------------------------------------------------------------


def delete(
    arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Array:
    """``arr`` without the slices ``obj`` along ``axis``; None flattens ``arr`` first.

    Args:
      obj: an integer, several integers, a slice, or bools; must be concrete.
      axis: the axis of the slices.
      assume_unique_indices: accepted for compatibility with JAX; ignored.

    Raises:
      IndexError: for indices out of range.
    """
    del assume_unique_indices
    array = as_array(arr, "delete", "arr")
    return _f._delete(array, _slices(array, obj, axis, "delete"), axis)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Array:
    """``arr`` with ``values`` before the slices ``obj`` along ``axis``; see ``delete``."""
    array = as_array(arr, "insert", "arr")
    slices = _slices(array, obj, axis, "insert")
    if np.ndim(obj) == 0 and not isinstance(obj, slice) and len(slices) == 1:
        return _f._insert_block(array, slices[0], values, axis)
    return _f._insert(array, slices, values, axis)


def _slices(array: Array, obj: Any, axis: int | None, function: str) -> list[int]:
    """Converts an integer, several integers, a slice or bools to a list of indices."""
    axis = None if axis is None else normalize_axis(axis, array.ndim, function)
    size = array.size if axis is None else array.shape[axis]
    if isinstance(obj, slice):
        return list(range(*obj.indices(size)))
    given = np.atleast_1d(known_values(asarray(obj), function, "which slices are meant"))
    if given.dtype == np.bool_:
        if given.shape != (size,):
            raise ValueError(f"{function}: needs {size} bools, got an array of shape {given.shape}")
        return np.flatnonzero(given).tolist()
    if given.size and given.dtype.kind not in "iu":
        raise IndexError(f"{function}: slices are chosen by integers, got {given.dtype}")
    return given.ravel().tolist()
