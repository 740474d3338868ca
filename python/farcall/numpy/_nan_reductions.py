"""Reductions that pass over NaNs; their arguments are those of the functions without nan."""

from __future__ import annotations

import builtins
import math
from typing import Any

from farcall import _core
from farcall.numpy._common import Array, as_array, is_float, is_inexact, like, refuse_out
from farcall.numpy._reductions import max, mean, min, prod, std, sum, var

__all__ = [
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]

_functions = _core.numpy


def _without_nans(a: Any, value: Any, function: str) -> tuple[Array, Array]:
    """The array with ``value`` in the place of NaNs, and where these are."""
    array = as_array(a, function)
    is_nan = _functions.isnan(array)
    if not is_inexact(array):
        return array, is_nan
    return _functions.where(is_nan, like(array, value), array), is_nan


def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Array:
    """``sum`` of the elements that are not NaN."""
    return sum(_without_nans(a, 0, "nansum")[0], axis, dtype, out, keepdims, initial, where)


def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Array:
    """``prod`` of the elements that are not NaN."""
    return prod(_without_nans(a, 1, "nanprod")[0], axis, dtype, out, keepdims, initial, where)


def _nan_extreme(extreme: Any, worst: float, name: str, a: Any, options: tuple[Any, ...]) -> Array:
    array, is_nan = _without_nans(a, worst, name)
    axis, keepdims, initial, where = options
    result = extreme(array, axis, None, keepdims, initial, where)
    if initial is not None or not is_float(array):
        return result
    # Nothing but NaNs has no extreme.
    return _functions.where(_functions.all(is_nan, axis, keepdims), math.nan, result)


def nanmax(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Array:
    """``max`` of the elements that are not NaN; NaN where all are."""
    refuse_out(out, "nanmax")
    return _nan_extreme(max, -math.inf, "nanmax", a, (axis, keepdims, initial, where))


def nanmin(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Array:
    """``min`` of the elements that are not NaN; NaN where all are."""
    refuse_out(out, "nanmin")
    return _nan_extreme(min, math.inf, "nanmin", a, (axis, keepdims, initial, where))


def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    where: Any = None,
) -> Array:
    """``mean`` of the elements that are not NaN."""
    array = as_array(a, "nanmean")
    if not is_inexact(array):
        return mean(array, axis, dtype, out, keepdims, where=where)
    counted = _counted(array, where)
    return mean(array, axis, dtype, out, keepdims, where=counted)


def _counted(array: Array, where: Any) -> Array:
    is_number = _functions.logical_not(_functions.isnan(array))
    return is_number if where is None else _functions.logical_and(is_number, where)


def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: builtins.bool = False,
    where: Any = None,
) -> Array:
    """``var`` of the elements that are not NaN; NaN where there are no more than ``ddof``."""
    return _nan_spread(var, "nanvar", a, axis, dtype, out, ddof, keepdims, where)


def _nan_spread(
    spread: Any,
    name: str,
    a: Any,
    axis: Any,
    dtype: Any,
    out: None,
    ddof: float,
    keepdims: builtins.bool,
    where: Any,
) -> Array:
    array = as_array(a, name)
    if not is_inexact(array):
        return spread(array, axis, dtype, out, ddof, keepdims, where=where)
    counted = _counted(array, where)
    result = spread(array, axis, dtype, out, ddof, keepdims, where=counted)
    enough = _functions.greater(_functions.sum(counted, axis, keepdims), ddof)
    return _functions.where(enough, result, math.nan)


def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: builtins.bool = False,
    where: Any = None,
) -> Array:
    """The square root of ``nanvar``."""
    return _nan_spread(std, "nanstd", a, axis, dtype, out, ddof, keepdims, where)


def _nan_position(position: Any, worst: float, name: str, a: Any, options: Any) -> Array:
    array, is_nan = _without_nans(a, worst, name)
    result = position(array, *options)
    return _functions.where(_functions.all(is_nan, *options), -1, result)


def nanargmax(
    a: Any, axis: int | None = None, out: None = None, keepdims: builtins.bool = False
) -> Array:
    """``argmax`` of the elements that are not NaN; -1 where all are."""
    refuse_out(out, "nanargmax")
    return _nan_position(_functions.argmax, -math.inf, "nanargmax", a, (axis, keepdims))


def nanargmin(
    a: Any, axis: int | None = None, out: None = None, keepdims: builtins.bool = False
) -> Array:
    """``argmin`` of the elements that are not NaN; -1 where all are."""
    refuse_out(out, "nanargmin")
    return _nan_position(_functions.argmin, math.inf, "nanargmin", a, (axis, keepdims))
