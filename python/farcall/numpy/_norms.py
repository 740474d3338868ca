"""Norms of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from farcall import _core
from farcall._core import Array

_linalg = _core.linalg
_numpy: Any = _core.numpy


def _to_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    axes = range(ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return tuple(a + ndim if a < 0 else a for a in axes)


def _euclidean(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    return _numpy.sqrt(_numpy.sum(_numpy.real(x * _numpy.conj(x)), axes, keepdims))


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """The norm of vectors along ``axis``, all axes if left out.

    Args:
      x: the array.
      axis: a number or several.
      keepdims: whether the axes stay, with size 1.
      ord: a number p for the pth root of the sum of pth powers; ±inf for the extreme modulus; 0
        for the number of elements that are not zero.
    """
    x = _linalg.promote_inexact(x)[0]
    axes = _to_axes(axis, x.ndim)
    if ord in (None, 2):
        return _euclidean(x, axes, keepdims)
    if isinstance(ord, str):
        raise ValueError(f"norm: a vector has no norm {ord!r}; ord must be a number")
    size = _numpy.abs(x)
    if ord == np.inf:
        return _numpy.max(size, axes, keepdims)
    if ord == -np.inf:
        return _numpy.min(size, axes, keepdims)
    if ord == 0:
        return _numpy.sum(_numpy.not_equal(x, 0).astype(size.dtype), axes, keepdims)
    if ord == 1:
        return _numpy.sum(size, axes, keepdims)
    return _numpy.power(_numpy.sum(_numpy.power(size, ord), axes, keepdims), 1 / ord)


def _norm_of_matrices(x: Array, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Array:
    row, column = axes
    if ord in (None, "fro", "f"):
        return _euclidean(x, axes, keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        summed, kept = (row, column) if abs(ord) == 1 else (column, row)
        sums = _numpy.sum(_numpy.abs(x), summed, True)
        result = (_numpy.max if ord > 0 else _numpy.min)(sums, kept, True)
    elif ord in (2, -2, "nuc"):
        rest = [axis for axis in range(x.ndim) if axis not in axes]
        s = _linalg.singular_values(_numpy.transpose(x, (*rest, row, column)))
        reduce = _numpy.sum if ord == "nuc" else _numpy.max if ord == 2 else _numpy.min
        result = _numpy.expand_dims(reduce(s, -1), tuple(sorted(axes)))
    else:
        raise ValueError(
            f'norm: a matrix has the norms "fro", "nuc", 1, 2, inf and the last three negative; '
            f"got {ord!r}"
        )
    return result if keepdims else _numpy.squeeze(result, axes)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The norm of the matrices in the last two dimensions; ``ord`` as for ``norm``."""
    x = _linalg.promote_inexact(x)[0]
    return _norm_of_matrices(x, ord, (x.ndim - 2, x.ndim - 1), keepdims)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """The norm of vectors (one axis) or matrices (two axes).

    Args:
      x: the array; without ``axis`` and ``ord`` it counts as one vector.
      ord: for vectors as for ``vector_norm``; for matrices "fro", "nuc" (sum of singular values),
        ±1 and ±inf (extreme column and row sum), ±2 (extreme singular value).
      axis: a number, or two.
      keepdims: whether the axes stay, with size 1.
    """
    x = _linalg.promote_inexact(x)[0]
    if axis is None and ord is None:
        return vector_norm(x, keepdims=keepdims)
    axes = _to_axes(axis, x.ndim)
    if len(axes) == 1:
        return vector_norm(x, axis=axes, keepdims=keepdims, ord=ord)
    if len(axes) == 2:
        return _norm_of_matrices(x, ord, axes, keepdims)
    raise ValueError(f"norm: takes one axis or two, got {axes}")
