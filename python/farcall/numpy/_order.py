"""Sorting, searching, quantiles; cumulative functions and differences."""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

from farcall import _core
from farcall.numpy._common import (
    Array,
    as_array,
    as_arrays,
    iota_like,
    normalize_axes,
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
        return _f.zeros((), "int32")
    positions = _core.lax.broadcasted_iota("int32", arrays[0].shape, axis)
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
    sorted_values, wanted = as_array(a, "searchsorted"), as_array(v, "searchsorted", "v")
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}")
    if method not in ("scan", "scan_unrolled", "sort", "compare_all"):
        raise ValueError(
            "searchsorted: method must be 'scan', 'scan_unrolled', 'sort' or 'compare_all', got "
            f"{method!r}"
        )
    if sorted_values.ndim != 1:
        raise ValueError(f"searchsorted: a must be a vector, its shape is {sorted_values.shape}")
    if sorter is not None:
        sorted_values = sorted_values[sorter]
    shape, size, count = wanted.shape, sorted_values.shape[0], wanted.size
    # Both are sorted together; how many of `a` come before is then a sum that runs along. Equal
    # elements keep their order, so that who stands first decides the side.
    flat = _f.ravel(wanted)
    wanted_first = side == "left"
    joined = _f.concatenate([flat, sorted_values] if wanted_first else [sorted_values, flat])
    start = 0 if wanted_first else size
    positions = _core.lax.broadcasted_iota("int32", (size + count,), 0)
    _, positions = _core.lax._sort_operands([joined, positions], 0, True, 1)
    is_wanted = _f.logical_and(
        _f.greater_equal(positions, start), _f.less(positions, start + count)
    )
    counts = _f.cumsum(_f.logical_not(is_wanted))
    _, counts = _core.lax._sort_operands([positions, counts], 0, True, 1)
    return _f.reshape(counts[start : start + count], shape)


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
    points, values = as_array(xp, "interp", "xp"), as_array(fp, "interp", "fp")
    if points.ndim != 1 or points.shape != values.shape:
        raise ValueError(
            f"interp: xp and fp must be vectors of one size; got {points.shape} and {values.shape}"
        )
    at = to_inexact(as_array(x, "interp", "x"))
    points, values = to_inexact(points), to_inexact(values)
    if period is not None:
        period = builtins.abs(period)
        at = _f.remainder(at, period)
        points, values = _core.lax._sort_operands(
            [_f.remainder(points, period), values], 0, True, 1
        )
        points = _f.concatenate([points[-1:] - period, points, points[:1] + period])
        values = _f.concatenate([values[-1:], values, values[:1]])
    after = _f.clip(searchsorted(points, at, side="right"), 1, max(points.shape[0] - 1, 1))
    rise = values[after] - values[after - 1]
    width = points[after] - points[after - 1]
    # Points that coincide have no line between them.
    is_flat = _f.equal(width, 0)
    offset = (at - points[after - 1]) / _f.where(is_flat, 1, width)
    result = _f.where(is_flat, values[after], values[after - 1] + offset * rise)
    if period is None:
        before_first = values[0] if left is None else left
        behind_last = values[-1] if right is None else right
        result = _f.where(_f.less(at, points[0]), before_first, result)
        result = _f.where(_f.greater(at, points[-1]), behind_last, result)
    return result


# ---- quantiles -----------------------------------------------------------------------------------

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


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
    return _quantile(a, q, axis, method, keepdims, "quantile", False)


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
    return _quantile(a, q, axis, method, keepdims, "nanquantile", True)


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
    return _quantile(a, _hundredth(q), axis, method, keepdims, "percentile", False)


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
    return _quantile(a, _hundredth(q), axis, method, keepdims, "nanpercentile", True)


def median(
    a: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: builtins.bool = False,
    keepdims: builtins.bool = False,
) -> Array:
    """The middle element along the axes, or the mean of the middle two."""
    refuse_out(out, "median")
    return _quantile(a, 0.5, axis, "midpoint", keepdims, "median", False)


def nanmedian(
    a: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: builtins.bool = False,
    keepdims: builtins.bool = False,
) -> Array:
    """``median`` of the elements that are not NaN."""
    refuse_out(out, "nanmedian")
    return _quantile(a, 0.5, axis, "midpoint", keepdims, "nanmedian", True)


def _hundredth(q: Any) -> Any:
    return to_inexact(as_array(q, "percentile", "q")) / 100


def _quantile(
    a: Any,
    q: Any,
    axis: Any,
    method: str,
    keepdims: builtins.bool,
    function: str,
    passes_nans: builtins.bool,
) -> Array:
    if method not in _METHODS:
        raise ValueError(f"{function}: method must be one of {_METHODS}, got {method!r}")
    array, part = to_inexact(as_array(a, function)), as_array(q, function, "q")
    if part.ndim > 1:
        raise ValueError(f"{function}: q must be a scalar or a vector, its shape is {part.shape}")
    if array.dtype.kind == "c":
        raise ValueError(f"{function}: complex numbers have no order")
    axes = normalize_axes(axis, array.ndim, function)
    kept = [i for i in range(array.ndim) if i not in axes]
    shape = tuple(array.shape[i] for i in kept)
    if _size(array, axes) == 0:
        raise ValueError(f"{function}: an array of shape {array.shape} has no elements to choose")
    lanes = _f.reshape(_f.transpose(array, [*kept, *axes]), (*shape, _size(array, axes)))
    ordered = _f.sort(lanes, -1)
    is_nan = _f.isnan(ordered)
    if passes_nans:
        count = _f.sum(_f.logical_not(is_nan), -1)
        empty = _f.equal(count, 0)
    else:
        count = _f.zeros(shape, "int32") + ordered.shape[-1]
        empty = _f.any(is_nan, -1)
    dtype = array.dtype if array.dtype.itemsize >= 4 else "float32"
    results = [
        _f.where(empty, math.nan, _at_part(ordered, count, each, method, dtype))
        for each in ([part] if part.ndim == 0 else part)
    ]
    result = results[0] if part.ndim == 0 else _f.stack(results, 0)
    result = _f.astype(result, array.dtype)
    if keepdims:
        ones = tuple(1 if i in axes else array.shape[i] for i in range(array.ndim))
        result = _f.reshape(result, part.shape + ones)
    return result


def _size(array: Array, axes: tuple[int, ...]) -> int:
    return math.prod(array.shape[i] for i in axes)


def _at_part(ordered: Array, count: Array, part: Array, method: str, dtype: Any) -> Array:
    """The element at this part of the first ``count`` ones along the last axis."""
    place = _f.astype(part, dtype) * (_f.astype(count, dtype) - 1)
    low, high = _f.floor(place), _f.ceil(place)
    last = _f.astype(count, dtype) - 1
    low, high = (_f.clip(each, 0, _f.maximum(last, 0)) for each in (low, high))
    below, above = _element(ordered, low), _element(ordered, high)
    if method == "lower":
        return below
    if method == "higher":
        return above
    if method == "midpoint":
        return (below + above) / 2
    if method == "nearest":
        return _f.where(_f.less_equal(place - low, 0.5), below, above)
    weight = place - low
    return below * (1 - weight) + above * weight


def _element(ordered: Array, position: Array) -> Array:
    """One element of each lane; the others are not touched, be they infinite."""
    here = _f.equal(
        iota_like(ordered, ordered.ndim - 1), _f.expand_dims(_f.astype(position, "int32"), -1)
    )
    return _f.sum(_f.where(here, ordered, 0), -1)


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
      prepend, append: a number or an array that is put before or behind first.
    """
    array = as_array(a, "diff")
    if n < 0:
        raise ValueError(f"diff: n must not be negative, got {n}")
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
    for _ in range(n):
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
