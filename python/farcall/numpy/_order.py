"""Sorting, searching, quantiles; cumulative functions and differences."""

from __future__ import annotations

import builtins
import operator
from typing import Any

from farcall import _core
from farcall.numpy._common import (
    Array,
    as_array,
    as_arrays,
    default_int,
    normalize_axis,
    refuse_out,
    to_inexact,
)

__all__ = [
    "argpartition",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "digitize",
    "ediff1d",
    "interp",
    "lexsort",
    "median",
    "nancumprod",
    "nancumsum",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "partition",
    "percentile",
    "quantile",
    "searchsorted",
    "trapezoid",
]

_f = _core.numpy


# ---- order ---------------------------------------------------------------------------------------


def lexsort(keys: Any, axis: int = -1) -> Array:
    """The positions that sort by the last of ``keys``, then by the one before it, and so on."""
    arrays = as_arrays(keys, "lexsort", "keys")
    if not arrays:
        raise TypeError("lexsort: needs at least one key")
    axis = normalize_axis(axis, arrays[0].ndim or 1, "lexsort")
    if arrays[0].ndim == 0:
        return _f.zeros((), default_int())
    positions = _core.lax.broadcasted_iota(default_int(), arrays[0].shape, axis)
    operands = [*reversed(arrays), positions]
    return _core.lax._sort_operands(operands, axis, True, len(arrays))[-1]


def partition(a: Any, kth: int, axis: int = -1) -> Array:
    """``a`` with element ``kth`` where it is when sorted, the smaller ones before it."""
    _check_kth(a, kth, axis, "partition")
    return _f.sort(a, axis)


def argpartition(a: Any, kth: int, axis: int = -1) -> Array:
    """The positions that ``partition`` takes the elements from."""
    _check_kth(a, kth, axis, "argpartition")
    return _f.argsort(a, axis)


def _check_kth(a: Any, kth: int, axis: int, function: str) -> None:
    shape = as_array(a, function).shape
    size = shape[normalize_axis(axis, len(shape), function)]
    if not -size <= operator.index(kth) < size:
        raise ValueError(f"{function}: kth {kth} is out of range for {size} elements")


def searchsorted(
    a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "sort"
) -> Array:
    """Where elements of ``v`` would have to be inserted into the sorted ``a``, int32.

    Args:
      a: a vector, sorted.
      v: what to look for; the result has its shape.
      side: before (``left``) or after (``right``) the elements that are equal.
      sorter: positions that sort ``a``, if it is not.
      method: of JAX; one serves for all.
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}")
    if method not in ("scan", "scan_unrolled", "sort", "compare_all"):
        raise ValueError(
            "searchsorted: method must be 'scan', 'scan_unrolled', 'sort' or 'compare_all', got "
            f"{method!r}"
        )
    if sorter is not None:
        a = as_array(a, "searchsorted")[sorter]
    return _f._searchsorted(a, v, side == "right")


def digitize(x: Any, bins: Any, right: builtins.bool = False) -> Array:
    """The number of the bin, between rising or falling edges, that each element lies in."""
    edges = as_array(bins, "digitize", "bins")
    if edges.ndim != 1:
        raise ValueError(f"digitize: bins must be a vector, its shape is {edges.shape}")
    if edges.shape[0] == 0:
        return _f.zeros(as_array(x, "digitize", "x").shape, "int32")
    side = "left" if right else "right"
    rising = searchsorted(edges, x, side)
    turned = searchsorted(_f.flip(edges), x, side)
    return _f.where(edges[-1] >= edges[0], rising, edges.shape[0] - turned)


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None
) -> Array:
    """The values at ``x`` of the line through the points (``xp``, ``fp``), ``xp`` rising.

    Args:
      left, right: the values before the first and after the last point; that point's by default.
      period: of ``xp``, which then need not rise.
    """
    return _f._interp(x, xp, fp, left, right, period)


# ---- quantiles -----------------------------------------------------------------------------------


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: builtins.bool = False,
    method: str = "linear",
    keepdims: builtins.bool = False,
) -> Array:
    """The values below which the parts ``q`` (0 to 1) of the elements along the axes lie.

    Args:
      a: an array; a NaN makes the result NaN.
      q: a scalar or a vector, whose dimension then is the first of the result.
      axis: one axis or several; all of them if left out.
      out: not supported.
      overwrite_input: without effect.
      method: ``linear``, ``lower``, ``higher``, ``midpoint`` or ``nearest``: what is taken where
        the part ends between two elements.
      keepdims: keep the axes, with size one.
    """
    refuse_out(out, "quantile")
    return _f._quantile(a, q, axis, method, keepdims)


def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: builtins.bool = False,
    method: str = "linear",
    keepdims: builtins.bool = False,
) -> Array:
    """``quantile`` of the elements that are not NaN."""
    refuse_out(out, "nanquantile")
    return _f._nanquantile(a, q, axis, method, keepdims)


def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: builtins.bool = False,
    method: str = "linear",
    keepdims: builtins.bool = False,
) -> Array:
    """``quantile`` with ``q`` from 0 to 100."""
    refuse_out(out, "percentile")
    return _f._percentile(a, q, axis, method, keepdims)


def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: builtins.bool = False,
    method: str = "linear",
    keepdims: builtins.bool = False,
) -> Array:
    """``percentile`` of the elements that are not NaN."""
    refuse_out(out, "nanpercentile")
    return _f._nanpercentile(a, q, axis, method, keepdims)


def median(
    a: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: builtins.bool = False,
    keepdims: builtins.bool = False,
) -> Array:
    """The middle element along the axes, or the mean of the middle two."""
    refuse_out(out, "median")
    return _f._median(a, axis, keepdims)


def nanmedian(
    a: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: builtins.bool = False,
    keepdims: builtins.bool = False,
) -> Array:
    """``median`` of the elements that are not NaN."""
    refuse_out(out, "nanmedian")
    return _f._nanmedian(a, axis, keepdims)


# ---- running along -------------------------------------------------------------------------------


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Array:
    """Sums of the elements up to each one along an axis; of the flattened array without one."""
    refuse_out(out, "cumsum")
    return _f.cumsum(a, axis, dtype)


def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Array:
    """Products of the elements up to each one along an axis."""
    refuse_out(out, "cumprod")
    return _f.cumprod(a, axis, dtype)


def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Array:
    """``cumsum`` with 0 for NaNs."""
    array = as_array(a, "nancumsum")
    return cumsum(_f.where(_f.isnan(array), _f.astype(0, array.dtype), array), axis, dtype, out)


def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Array:
    """``cumprod`` with 1 for NaNs."""
    array = as_array(a, "nancumprod")
    return cumprod(_f.where(_f.isnan(array), _f.astype(1, array.dtype), array), axis, dtype, out)


def _cumulative(
    function: Any, first: int, name: str, x: Any, axis: int | None, dtype: Any, with_first: Any
) -> Array:
    array = as_array(x, name, "x")
    if axis is None:
        if array.ndim > 1:
            raise ValueError(f"{name}: axis must be given for an array of rank {array.ndim}")
        axis = 0
    result = function(array, axis, dtype)
    if not with_first:
        return result
    shape = list(result.shape)
    shape[normalize_axis(axis, result.ndim, name)] = 1
    return _f.concatenate([_f.full(shape, first, result.dtype), result], axis)


def cumulative_sum(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: builtins.bool = False,
) -> Array:
    """``cumsum``, with the empty sum before it if ``include_initial``."""
    if dtype is None:  # unlike cumsum in the dtype of sums, as the array API has it
        dtype = _f.sum(_f.zeros((0,), as_array(x, "cumulative_sum", "x").dtype)).dtype
    return _cumulative(_f.cumsum, 0, "cumulative_sum", x, axis, dtype, include_initial)


def cumulative_prod(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: builtins.bool = False,
) -> Array:
    """``cumprod``, with the empty product before it if ``include_initial``."""
    return _cumulative(_f.cumprod, 1, "cumulative_prod", x, axis, dtype, include_initial)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Array:
    """Differences of neighbours along an axis, ``n`` times over.

    Args:
      n: how often; more often than there are elements leaves none.
      prepend, append: a number or an array that is put before or behind first.

    Raises:
      ValueError: for a scalar, and for ``n`` below 0 or above the largest 32-bit integer.
    """
    array = as_array(a, "diff")
    n = operator.index(n)
    if not 0 <= n < 2**31:
        raise ValueError(f"diff: n must lie in [0, 2147483647], got {n}")
    if array.ndim == 0:
        raise ValueError("diff: needs at least one dimension, got a scalar")
    if n == 0:
        return array
    axis = normalize_axis(axis, array.ndim, "diff")
    edge = [1 if i == axis else size for i, size in enumerate(array.shape)]
    parts = [array]
    for extra, where in ((prepend, 0), (append, len(parts))):
        if extra is not None:
            extra = as_array(extra, "diff", "prepend" if where == 0 else "append")
            extra = _f.broadcast_to(extra, edge) if extra.ndim == 0 else extra
            parts.insert(0 if where == 0 else len(parts), extra)
    array = _f.concatenate(parts, axis)
    before = tuple(slice(None, -1) if i == axis else slice(None) for i in range(array.ndim))
    behind = tuple(slice(1, None) if i == axis else slice(None) for i in range(array.ndim))
    subtract = _f.not_equal if array.dtype == bool else _f.subtract
    for _ in range(builtins.min(n, array.shape[axis])):
        array = subtract(array[behind], array[before])
    return array


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Array:
    """Differences of neighbours of the flattened array, with these before and behind."""
    array = _f.ravel(ary)
    parts = [] if to_begin is None else [_f.ravel(to_begin)]
    parts.append(array[1:] - array[:-1])
    if to_end is not None:
        parts.append(_f.ravel(to_end))
    return _f.concatenate([_f.astype(part, array.dtype) for part in parts])


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Array:
    """The area under lines through ``y`` at ``x``, or at steps of ``dx``."""
    values = _f.moveaxis(to_inexact(as_array(y, "trapezoid", "y")), axis, -1)
    if x is not None:
        at = as_array(x, "trapezoid", "x")
        at = at if at.ndim == 1 else _f.moveaxis(at, axis, -1)
        dx = at[..., 1:] - at[..., :-1]
    area = dx * (values[..., 1:] + values[..., :-1])
    return 0.5 * _f.sum(area, -1)
