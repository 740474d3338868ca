"""Statistics of samples."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import farcall.numpy as fnp
from farcall.numpy._common import Array, as_array, to_inexact
from farcall.scipy.stats._common import f, lax

__all__ = ["mode", "rankdata", "sem"]


class ModeResult(NamedTuple):
    """The most frequent values and how often they come."""

    mode: Array
    count: Array  # pyright: ignore[reportIncompatibleMethodOverride]


def mode(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> Any:
    """The most frequent value along an axis, the least of several, and how often it comes.

    Args:
      a: numbers.
      axis: along which; None: of all elements.
      nan_policy: must be "propagate": nan is a value like others.
      keepdims: keep the axis, with size one.

    Raises:
      NotImplementedError: for another nan_policy.
    """
    if nan_policy != "propagate":
        raise NotImplementedError(f"mode: nan_policy must be 'propagate', got {nan_policy!r}")
    array = as_array(a, "mode")
    rank = array.ndim
    if axis is None:
        array, axis = f.ravel(array), 0
        kept = (1,) * rank
    else:
        axis = axis % rank
        kept = tuple(1 if i == axis else size for i, size in enumerate(array.shape))
    last = fnp.sort(f.moveaxis(array, axis, -1), -1)
    size = last.shape[-1]
    if size == 0:
        shape = last.shape[:-1]
        empty = f.full(shape, math.nan, to_inexact(last).dtype)
        found = ModeResult(empty, f.zeros(shape, empty.dtype))
    else:
        # In order, a value begins where it differs from the one before.
        is_same = f.equal(last[..., 1:], last[..., :-1])
        is_nan = f.not_equal(last, last)
        is_same = f.logical_or(is_same, f.logical_and(is_nan[..., 1:], is_nan[..., :-1]))
        start = f.concatenate([f.zeros((*last.shape[:-1], 1), "bool"), is_same], -1)
        place = lax.broadcasted_iota("int32", last.shape, last.ndim - 1)
        begin = lax.cummax(f.where(start, 0, place), axis=last.ndim - 1)
        counts = place - begin + 1
        best = f.expand_dims(f.argmax(counts, -1), -1)
        values, numbers = (
            f.squeeze(fnp.take_along_axis(each, best, -1), -1) for each in (last, counts)
        )
        found = ModeResult(values, numbers)
    return ModeResult(*(f.reshape(x, kept) for x in found)) if keepdims else found


def sem(
    a: Any,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Array:
    """The standard error of the mean along an axis: the standard deviation by sqrt(number).

    Args:
      a: numbers.
      axis: along which; None: of all elements.
      ddof: the divisor of the variance is the number less this.
      nan_policy: "propagate", or "omit" to leave nan out.
      keepdims: keep the axis, with size one.
    """
    array = to_inexact(as_array(a, "sem"))
    if nan_policy == "propagate":
        size = array.size if axis is None else array.shape[axis]
        return f.std(array, axis, ddof, keepdims) / math.sqrt(size)
    if nan_policy != "omit":
        raise ValueError(f"sem: nan_policy must be 'propagate' or 'omit', got {nan_policy!r}")
    count = f.sum(f.logical_not(f.isnan(array)), axis, keepdims)
    return fnp.nanstd(array, axis, ddof=ddof, keepdims=keepdims) / f.sqrt(
        f.astype(count, array.dtype)
    )


def rankdata(
    a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> Array:
    """The rank of each element, from 1 on.

    Args:
      a: numbers.
      method: what equal elements get: "average", "min", "max", "dense" (no rank is left out), or
        "ordinal" (ranks of their own, in their order).
      axis: along which; None: of all elements, in one dimension.
      nan_policy: must be "propagate".

    Raises:
      ValueError: for another method.
    """
    methods = ("average", "min", "max", "dense", "ordinal")
    if method not in methods:
        raise ValueError(f"rankdata: method must be one of {methods}, got {method!r}")
    if nan_policy != "propagate":
        raise NotImplementedError(f"rankdata: nan_policy must be 'propagate', got {nan_policy!r}")
    array = as_array(a, "rankdata")
    if axis is None:
        array, axis = f.ravel(array), 0
    axis = axis % array.ndim
    last = f.moveaxis(array, axis, -1)
    order = f.argsort(last, -1)
    back = f.argsort(order, -1)
    at = last.ndim - 1
    place = lax.broadcasted_iota("int32", last.shape, at)
    ordered = fnp.take_along_axis(last, order, -1)
    is_new = f.concatenate(
        [f.ones((*last.shape[:-1], 1), "bool"), f.not_equal(ordered[..., 1:], ordered[..., :-1])],
        -1,
    )
    size = last.shape[-1]
    first = lax.cummax(f.where(is_new, place, 0), axis=at)
    ends = f.concatenate([is_new[..., 1:], f.ones((*last.shape[:-1], 1), "bool")], -1)
    end = lax.cummin(f.where(ends, place, size), axis=at, reverse=True)
    ranks = {
        "ordinal": lambda: place + 1,
        "min": lambda: first + 1,
        "max": lambda: end + 1,
        "dense": lambda: f.cumsum(f.astype(is_new, "int32"), at),
        "average": lambda: f.astype(first + end + 2, "float32") / 2,
    }[method]()
    ranks = fnp.take_along_axis(ranks, back, -1)
    if array.dtype.kind == "f" or "float" in array.dtype.name:
        has_nan = f.any(f.isnan(last), -1, True)
        ranks = f.where(has_nan, math.nan, f.astype(ranks, "float32"))
    return f.moveaxis(ranks, -1, axis)
