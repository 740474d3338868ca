"""Places in arrays: indices, grids, and arrays with elements replaced, added or left out."""

from __future__ import annotations

import builtins
import functools
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from farcall import _core
from farcall._core.numpy import linspace, tril_indices, triu_indices
from farcall.numpy._common import Array, as_array, normalize_axis
from farcall.numpy._creation import arange, asarray, meshgrid
from farcall.numpy._shapes import broadcast_arrays

__all__ = [
    "choose",
    "delete",
    "diag_indices",
    "diag_indices_from",
    "fill_diagonal",
    "insert",
    "ix_",
    "mgrid",
    "ogrid",
    "place",
    "put",
    "ravel_multi_index",
    "resize",
    "tril_indices_from",
    "triu_indices_from",
    "unravel_index",
]

_f: Any = _core.numpy


# ---- indices -------------------------------------------------------------------------------------


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """The places on the diagonal of an array of ``ndim`` dimensions of size ``n``."""
    return (arange(operator.index(n)),) * operator.index(ndim)


def diag_indices_from(arr: Any) -> tuple[Array, ...]:
    """The places on the diagonal of an array whose dimensions have one size."""
    arr = as_array(arr, "diag_indices_from", "arr")
    if arr.ndim < 2 or len(set(arr.shape)) != 1:
        raise ValueError(f"diag_indices_from: needs dimensions of one size, got {arr.aval}")
    return diag_indices(arr.shape[0], arr.ndim)


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Array, Array]:
    """The places on and below the diagonal ``k`` of a matrix."""
    rows, columns = np.shape(arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Array, Array]:
    """The places on and above the diagonal ``k`` of a matrix."""
    rows, columns = np.shape(arr)
    return triu_indices(rows, k, columns)


def ix_(*args: Any) -> tuple[Array, ...]:
    """Vectors as indices of all their combinations; bools stand for the places where they hold."""
    result = []
    for i, arg in enumerate(args):
        array = asarray(arg)
        if array.ndim != 1:
            raise ValueError(f"ix_: argument {i} must have one dimension, got {array.ndim}")
        if array.dtype == np.bool_:
            (array,) = _f.nonzero(array)
        shape = [1] * len(args)
        shape[i] = -1
        result.append(_f.reshape(array, shape))
    return tuple(result)


def unravel_index(indices: Any, shape: Any) -> tuple[Array, ...]:
    """The index in each dimension of elements numbered in row-major order.

    Numbers outside are moved inside.
    """
    rest = as_array(indices, "unravel_index", "indices")
    sizes = tuple(map(operator.index, shape)) if hasattr(shape, "__iter__") else (shape,)
    total = math.prod(sizes)
    rest = _f.clip(_f.where(_f.less(rest, 0), rest + total, rest), 0, builtins.max(total - 1, 0))
    found = []
    for size in reversed(sizes):
        found.append(_f.remainder(rest, size))
        rest = _f.floor_divide(rest, size)
    return tuple(reversed(found))


def ravel_multi_index(
    multi_index: Any,
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: Any = None,
) -> Array:
    """The number of elements, given by their index in each dimension.

    Args:
      multi_index: an array for each dimension.
      dims: the sizes of the dimensions.
      mode: of indices outside: "raise", for which they must be known, "wrap" or "clip".
      order: "C", the last dimension varies fastest, or "F", the first one.
      dtype: of the result, int32 if left out.
    """
    sizes = _core.to_sizes(dims, "ravel_multi_index: dims")
    indices = [asarray(i) for i in itertools.islice(multi_index, len(sizes) + 1)]
    if len(indices) != len(sizes):
        found = "more" if len(indices) > len(sizes) else len(indices)
        raise ValueError(f"ravel_multi_index: {found} indices for {len(sizes)} dimensions")
    if mode not in ("raise", "wrap", "clip") or order not in ("C", "F"):
        raise ValueError(
            f'ravel_multi_index: mode must be "raise", "wrap" or "clip" and order "C" or "F", got '
            f"{mode!r} and {order!r}"
        )
    result = _f.zeros((), dtype or "int32")
    pairs = list(zip(indices, sizes, strict=True))
    for index, size in pairs if order == "C" else reversed(pairs):
        if mode == "raise":
            values = np.asarray(index)
            if (values < 0).any() or (values >= size).any():
                raise ValueError("ravel_multi_index: an index is outside; give another mode")
        index = _f.mod(index, size) if mode == "wrap" else _f.clip(index, 0, size - 1)
        result = result * size + _f.astype(index, result.dtype)
    return result


class _Grid:
    """``grid[a:b:step, …]``: the coordinates of the points of a grid.

    A step that is imaginary is how many points there are, the last one being among them.
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


# ---- choosing, replacing -------------------------------------------------------------------------


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Array:
    """Each element from the one of ``choices`` that ``a`` numbers.

    Args:
      a: whole numbers.
      choices: arrays, broadcast against ``a``.
      out: not supported.
      mode: of numbers outside: "raise", for which they must be known, "wrap" or "clip".
    """
    if out is not None:
        raise NotImplementedError("choose: arrays are immutable; argument out must be None")
    index, *values = broadcast_arrays(a, *choices)
    if mode == "raise":
        known = np.asarray(index)
        if (known < 0).any() or (known >= len(values)).any():
            raise ValueError("choose: a number is outside of the choices; give another mode")
    elif mode not in ("wrap", "clip"):
        raise ValueError(f'choose: mode must be "raise", "wrap" or "clip", got {mode!r}')
    count = len(values)
    index = _f.mod(index, count) if mode == "wrap" else _f.clip(index, 0, count - 1)
    return _f.take_along_axis(_f.stack(values), index[None], 0)[0]


def _refuse_in_place(function: str, inplace: bool) -> None:
    if inplace:
        raise ValueError(f"{function}: arrays are immutable; call it with inplace=False")


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Array:
    """``a`` with ``val`` on its diagonal. ``inplace`` must be False, as arrays are immutable.

    ``wrap`` begins another diagonal below a square, where a matrix is higher than wide.
    """
    _refuse_in_place("fill_diagonal", inplace)
    a = as_array(a, "fill_diagonal")
    if a.ndim < 2 or (a.ndim > 2 and len(set(a.shape)) != 1):
        raise ValueError(f"fill_diagonal: needs a matrix, or dimensions of one size, got {a.aval}")
    columns = a.shape[-1]
    step = 1 + sum(math.prod(a.shape[i:]) for i in builtins.range(1, a.ndim))
    end = a.size if wrap or a.ndim > 2 else columns * columns
    places = np.arange(0, builtins.min(end, a.size), step)
    values = _f.ravel(asarray(val))
    values = _f.take(values, np.arange(places.size) % values.shape[0])
    return _f.reshape(_f.ravel(a).at[places].set(values), a.shape)


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Array:
    """``arr`` with ``vals``, over and over, where the mask holds. ``inplace`` must be False."""
    _refuse_in_place("place", inplace)
    arr, mask = as_array(arr, "place", "arr"), as_array(mask, "place", "mask")
    values = _f.ravel(asarray(vals))
    holds = _f.ravel(_f.astype(mask, "bool"))
    number = _f.remainder(_f.cumsum(_f.astype(holds, "int32"), 0) - 1, values.shape[0])
    chosen = _f.astype(_f.take(values, number), arr.dtype)
    return _f.reshape(_f.where(holds, chosen, _f.ravel(arr)), arr.shape)


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Array:
    """``a`` with ``v``, over and over, at places in row-major order. ``inplace`` must be False.

    ``mode`` is of places outside: "clip" moves them inside, "wrap" counts on, None leaves them out.
    """
    _refuse_in_place("put", inplace)
    if mode not in (None, "clip", "wrap"):
        raise ValueError(f'put: mode must be "clip", "wrap" or None, got {mode!r}')
    a, places = as_array(a, "put"), _f.ravel(asarray(ind))
    values = _f.ravel(asarray(v))
    values = _f.take(values, np.arange(places.shape[0]) % values.shape[0])
    if mode == "wrap":
        places = _f.mod(places, a.size)
    elif mode == "clip":
        places = _f.clip(places, 0, a.size - 1)
    return _f.reshape(_f.ravel(a).at[places].set(values, mode="drop"), a.shape)


# ---- more or fewer elements ----------------------------------------------------------------------


def delete(
    arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Array:
    """``arr`` without the slices ``obj`` along ``axis``; flattened first where that is None.

    Args:
      obj: a whole number, several of them, a slice, or bools. Their values must be known.
      axis: along which slices are left out.
      assume_unique_indices: for programs written for JAX; without effect.
    """
    del assume_unique_indices
    arr, axis = _along(arr, axis, "delete")
    if not isinstance(obj, slice):
        obj = np.asarray(obj)
    return _f.take(arr, np.delete(np.arange(arr.shape[axis]), obj), axis)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Array:
    """``arr`` with ``values`` before the slices ``obj`` along ``axis``; see ``delete``."""
    arr, axis = _along(arr, axis, "insert")
    values = asarray(values)
    size = arr.shape[axis]
    is_one = np.ndim(obj) == 0 and not isinstance(obj, slice)
    if isinstance(obj, slice):
        obj = np.arange(size)[obj]
    wanted = np.atleast_1d(np.asarray(obj))
    wanted = np.flatnonzero(wanted) if wanted.dtype == np.bool_ else wanted
    if ((wanted < -size) | (wanted > size)).any():
        raise ValueError(f"insert: an index is outside of dimension {axis}, which has {size}")
    if is_one and values.ndim > 0:
        # Several values at one place.
        values = (
            _f.moveaxis(values, 0, axis) if values.ndim == arr.ndim and arr.ndim > 1 else values
        )
        count = values.shape[axis] if values.ndim == arr.ndim else 1
        wanted = np.repeat(wanted, count)
    before = np.where(wanted < 0, wanted + size, wanted)
    order = np.argsort(before, kind="stable")
    places = before[order] + np.arange(before.size)
    shape = list(arr.shape)
    shape[axis] = before.size
    block = _f.astype(_f.broadcast_to(values, shape), arr.dtype)
    total = size + before.size
    source = np.empty(total, np.int32)
    old = np.setdiff1d(np.arange(total), places)
    source[old] = np.arange(size)
    source[places] = size + order
    return _f.take(_f.concatenate([arr, block], axis), source, axis)


def _along(arr: Any, axis: int | None, function: str) -> tuple[Array, int]:
    arr = as_array(arr, function, "arr")
    if axis is None:
        return _f.ravel(arr), 0
    return arr, normalize_axis(axis, arr.ndim, function)


def resize(a: Any, new_shape: Any) -> Array:
    """The elements of ``a`` in row-major order, over and over, in another shape."""
    shape = tuple(new_shape) if hasattr(new_shape, "__iter__") else (new_shape,)
    flat = _f.ravel(as_array(a, "resize"))
    size = math.prod(shape)
    if size and not flat.shape[0]:
        return _f.zeros(shape, flat.dtype)
    return _f.reshape(_f.take(flat, np.arange(size) % builtins.max(flat.shape[0], 1)), shape)
