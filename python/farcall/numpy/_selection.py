"""numpy's functions that pick elements by what they are, and pad."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from farcall import _core
from farcall.numpy._common import default_int, is_inexact, known_values

__all__ = ["argwhere", "compress", "extract", "flatnonzero", "pad", "unique", "where"]

Array = _core.Array
_functions: Any = _core.numpy


def _array(value: Any, function: str, name: str) -> Array:
    return _functions.as_array(value, f"{function}: argument {name}")


def where(
    condition: Any, x: Any = None, y: Any = None, /, *, size: Any = None, fill_value: Any = None
) -> Any:
    """``x`` where the condition holds, else ``y``; without both, the places where it holds.

    Args:
      size: how many places to give; needed where the condition is traced.
      fill_value: what fills the rest, a number or one for each dimension; 0 if left out.
    """
    if x is None and y is None:
        return _functions.nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ValueError("where: either both or neither of x and y must be given")
    return _functions.where(condition, x, y)


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The places of elements that are not zero, one in each row."""
    a = _array(a, "argwhere", "a")
    places = _functions.nonzero(a, size=size, fill_value=fill_value)
    if places:
        return _functions.stack(places, 1)
    count = int(np.count_nonzero(np.asarray(a))) if size is None else size
    return _functions.zeros((count, 0), default_int())


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The places of elements that are not zero in the flattened array."""
    flat = _functions.ravel(_array(a, "flatnonzero", "a"))
    return _functions.nonzero(flat, size=size, fill_value=fill_value)[0]


def compress(
    condition: Any,
    a: Any,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: Any = 0,
) -> Array:
    """The slices of ``a`` along the axis whose entry in ``condition`` holds.

    Args:
      axis: left out, ``a`` is flattened.
      size: how many slices to give; needed where the condition is traced.
      fill_value: the elements of slices that are missing from so many.
    """
    condition = _array(
        np.asarray(condition) if isinstance(condition, (list, tuple)) else condition,
        "compress",
        "condition",
    )
    if condition.ndim != 1:
        raise ValueError(f"compress: the condition must have one dimension, got {condition.ndim}")
    a = _array(a, "compress", "a")
    if axis is None:
        a, axis = _functions.ravel(a), 0
    length = a.shape[axis]
    if condition.size > length and builtins.bool(_functions.any(condition[length:])):
        raise ValueError(
            f"compress: the condition has {condition.size} entries, dimension {axis} has {length}"
        )
    # Beyond the end there is what fills the rest.
    outside = None if size is None else length
    (places,) = _functions.nonzero(condition[:length], size=size, fill_value=outside)
    return _functions.take(a, places, axis, mode="fill", fill_value=fill_value)


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Array:
    """The elements of ``arr`` where ``condition``, of as many elements, holds."""
    flat = _functions.ravel(_array(condition, "extract", "condition"))
    return compress(flat, arr, size=size, fill_value=fill_value)


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The distinct elements, sorted. Without ``size`` the values must be known.

    Args:
      return_index: also where each is met first.
      return_inverse: also which of them each element is.
      return_counts: also how often each is met.
      axis: left out, elements are told apart; else the slices along this axis.
      equal_nan: whether all NaNs are one.
      size: how many to give, the first ones or with ``fill_value`` after them (the smallest if left
        out). Needed where ``ar`` is traced, which must then be without ``axis``.

    Raises:
      ConcretizationTypeError: for a traced array without ``size``, or with ``axis``.
    """
    array = _array(ar, "unique", "ar")
    if array.is_traced and size is not None and axis is None:
        parts = _unique_of_traced(_functions.ravel(array), size, fill_value, equal_nan)
        parts[2] = _functions.reshape(parts[2], array.shape)
        wanted = (True, return_index, return_inverse, return_counts)
        chosen = [part for part, is_wanted in zip(parts, wanted, strict=True) if is_wanted]
        return chosen[0] if len(chosen) == 1 else tuple(chosen)
    remedy = "give size=" if axis is None else "leave axis out and give size="
    given = known_values(array, "unique", "the number of distinct elements", remedy)
    # numpy does not sort NaNs of narrow floats to the end.
    is_narrow = given.dtype.kind not in "biufc"
    comparable = given.astype(np.float32) if is_narrow else given
    made = np.unique(comparable, True, True, True, axis=axis, equal_nan=equal_nan)
    values, index, inverse, counts = made
    values = values.astype(given.dtype)
    if size is not None:
        along = 0 if axis is None else axis
        missing = builtins.max(size - values.shape[along], 0)
        kept = np.take(values, range(builtins.min(size, values.shape[along])), along)
        fill = np.take(values, [0], along) if fill_value is None and values.size else fill_value
        shape = list(values.shape)
        shape[along] = missing
        filling = np.broadcast_to(0 if fill is None else fill, shape).astype(values.dtype)
        values = np.concatenate([kept, filling], along)
        index = np.concatenate([index[:size], np.full(missing, index[0] if len(index) else 0)])
        counts = np.concatenate([counts[:size], np.zeros(missing, counts.dtype)])
    results = [_functions.array_from_numpy(values, False)]
    for wanted, part in (
        (return_index, index),
        (return_inverse, inverse),
        (return_counts, counts),
    ):
        if wanted:
            results.append(_functions.array_from_numpy(part.astype(default_int()), False))
    return results[0] if len(results) == 1 else tuple(results)


def _unique_of_traced(
    flat: Array, size: int, fill_value: Any, equal_nan: builtins.bool
) -> list[Array]:
    """The distinct elements of a vector, where they are first, which each one is, how often."""
    count = flat.shape[0]
    if count == 0:
        values = _functions.full((size,), 0 if fill_value is None else fill_value, flat.dtype)
        none = _functions.zeros((size,), "int32")
        return [values, none, _functions.zeros((0,), "int32"), none]
    order = _functions.argsort(flat)
    ordered = _functions.take(flat, order)
    before, after = ordered[:-1], ordered[1:]
    differs = _functions.not_equal(after, before)
    if equal_nan and is_inexact(flat):
        both = _functions.logical_and(_functions.isnan(after), _functions.isnan(before))
        differs = _functions.logical_and(differs, _functions.logical_not(both))
    is_first = _functions.concatenate([_functions.ones((1,), "bool"), differs], 0)
    (places,) = _functions.nonzero(is_first, size=size + 1, fill_value=count)
    starts, ends = places[:-1], places[1:]
    is_there = _functions.less(starts, count)
    fill = ordered[0] if fill_value is None else _functions.astype(fill_value, flat.dtype)
    values = _functions.where(is_there, _functions.take(ordered, starts, mode="clip"), fill)
    index = _functions.take(order, starts, mode="clip")
    index = _functions.where(is_there, index, order[0])
    numbers = _functions.cumsum(_functions.astype(is_first, "int32")) - 1
    inverse = _functions.take(numbers, _functions.argsort(order))
    return [values, _functions.astype(index, "int32"), inverse, ends - starts]


def pad(array: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Array:
    """``array`` with elements added before and after, along each axis.

    Args:
      pad_width: (before, after) for each axis, one pair for all, or one number for all.
      mode: "constant" (``constant_values``, 0), "edge", "empty", "linear_ramp" (``end_values``, 0),
        "maximum", "mean", "minimum", "reflect", "symmetric" or "wrap".

    Raises:
      ValueError: for another mode, another option, or widths that do not fit.
    """
    array = _array(array, "pad", "array")
    widths = _pairs(pad_width, array.ndim, "pad_width")
    options = {"constant": "constant_values", "linear_ramp": "end_values"}
    values = kwargs.pop(options[mode], 0) if mode in options else 0
    if kwargs:
        raise ValueError(f"pad: mode {mode!r} takes no option {', '.join(kwargs)}")
    if mode in ("constant", "empty"):
        return _pad_constant(array, widths, values)
    by_axis = {"linear_ramp": _ramp, "maximum": "max", "minimum": "min", "mean": "mean"}
    if mode not in by_axis:
        return _functions.pad_repeating(array, widths, mode)
    ends = _pairs(values, array.ndim, "end_values")
    for axis, (before, after) in enumerate(widths):
        if mode == "linear_ramp":
            low = _ramp(array, axis, before, ends[axis][0], is_before=True)
            high = _ramp(array, axis, after, ends[axis][1], is_before=False)
        else:
            low = high = getattr(_functions, by_axis[mode])(array, axis, keepdims=True)
            if mode == "mean" and array.dtype.kind in "iu":
                low = high = _functions.rint(low)
        array = _functions.concatenate(
            [
                _repeated(low, axis, before, array.dtype),
                array,
                _repeated(high, axis, after, array.dtype),
            ],
            axis,
        )
    return array


def _pairs(value: Any, rank: int, name: str) -> list[tuple[Any, Any]]:
    """(before, after) for each axis, as numpy broadcasts them."""
    value = [value] if not isinstance(value, (list, tuple, np.ndarray)) else list(value)
    if len(value) == 2 and not builtins.any(
        isinstance(v, (list, tuple, np.ndarray)) for v in value
    ):
        return [(value[0], value[1])] * rank
    pairs = [tuple(v) if isinstance(v, (list, tuple, np.ndarray)) else (v,) for v in value]
    pairs = [pair * 2 if len(pair) == 1 else pair for pair in pairs]
    if len(pairs) == 1:
        pairs *= rank
    if len(pairs) != rank or builtins.any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"pad: {name} must be a number, a pair, or a pair for each of {rank} axes")
    return pairs


def _pad_constant(array: Array, widths: list[tuple[Any, Any]], values: Any) -> Array:
    if np.ndim(values) == 0:
        return _functions.pad_constant(array, widths, values)
    for axis, (before, after) in enumerate(_pairs(values, array.ndim, "constant_values")):
        here = [(0, 0)] * array.ndim
        here[axis] = (widths[axis][0], 0)
        array = _functions.pad_constant(array, here, before)
        here[axis] = (0, widths[axis][1])
        array = _functions.pad_constant(array, here, after)
    return array


def _repeated(part: Array, axis: int, count: int, dtype: Any) -> Array:
    shape = list(part.shape)
    if shape[axis] != count:
        shape[axis] = count
        part = _functions.broadcast_to(part, shape)
    return _functions.astype(part, dtype)


def _ramp(array: Array, axis: int, count: int, end: Any, is_before: bool) -> Array:
    """``count`` elements from ``end`` to the array's edge, which is not among them."""
    index: list[Any] = [builtins.slice(None)] * array.ndim
    index[axis] = builtins.slice(0, 1) if is_before else builtins.slice(-1, None)
    edge = array[tuple(index)]
    shape = [1] * array.ndim
    shape[axis] = count
    steps = np.arange(count, dtype=np.float32) / builtins.max(count, 1)
    steps = steps if is_before else steps[::-1]
    weights = _functions.reshape(
        _functions.array_from_numpy(np.ascontiguousarray(steps), False), shape
    )
    ramp = _functions.add(end, _functions.multiply(_functions.subtract(edge, end), weights))
    return _functions.floor(ramp) if array.dtype.kind in "iu" else ramp
