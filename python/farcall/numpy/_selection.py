"""Functions that select elements by value, and pad."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from farcall import _core
from farcall.numpy._apply import apply_along_axis
from farcall.numpy._common import committed_like, default_int, known_values, sortable

__all__ = ["pad", "unique", "where"]

Array = _core.Array
_functions: Any = _core.numpy


def _array(value: Any, function: str, name: str) -> Array:
    return _functions.as_array(value, f"{function}: argument {name}")


def where(
    condition: Any, x: Any = None, y: Any = None, /, *, size: Any = None, fill_value: Any = None
) -> Any:
    """``x`` where the condition is true, else ``y``; without both, the indices where it is true.

    Args:
      size: the number of indices; required if the condition is traced.
      fill_value: pads the indices, a number or one for each dimension; 0 by default.
    """
    if x is None and y is None:
        return _functions.nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ValueError("where: either both or neither of x and y must be given")
    if size is not None or fill_value is not None:
        raise ValueError("where: size and fill_value are for indices; leave them out with x and y")
    return _functions.where(condition, x, y)


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
    sorted: bool = True,
) -> Any:
    """The distinct elements, sorted. Without ``size``, needs concrete values.

    Args:
      return_index: also return the index of the first occurrence of each.
      return_inverse: also return, for each element, its index in the result.
      return_counts: also return the count of each.
      axis: compare the slices along this axis; by default, compare elements.
      equal_nan: whether all NaNs are equal.
      size: the number of elements to return: the first ones, padded with ``fill_value`` (by default
        the smallest). Required if ``ar`` is traced, which excludes ``axis``.
      sorted: ignored; the elements are always sorted.

    Raises:
      ConcretizationTypeError: for a traced array without ``size``, or with ``axis``.
    """
    del sorted
    array = _array(ar, "unique", "ar")
    if array.is_traced and size is not None and axis is None:
        parts = _functions._unique(array, size, fill_value, equal_nan)
        wanted = (True, return_index, return_inverse, return_counts)
        chosen = [part for part, is_wanted in zip(parts, wanted, strict=True) if is_wanted]
        return chosen[0] if len(chosen) == 1 else tuple(chosen)
    remedy = "pass size=" if axis is None else "leave axis out and pass size="
    given = known_values(array, "unique", "the number of distinct elements", remedy)
    made = np.unique(sortable(given), True, True, True, axis=axis, equal_nan=equal_nan)
    _, index, inverse, counts = made
    values = chosen_along(array, index, axis, size, fill_value)
    if size is not None:
        missing = builtins.max(size - len(index), 0)
        index = np.concatenate([index[:size], np.full(missing, index[0] if len(index) else 0)])
        counts = np.concatenate([counts[:size], np.zeros(missing, counts.dtype)])
    results = [values]
    for wanted, part in (
        (return_index, index),
        (return_inverse, inverse),
        (return_counts, counts),
    ):
        if wanted:
            results.append(committed_like(part.astype(default_int()), array))
    return results[0] if len(results) == 1 else tuple(results)


def chosen_along(
    array: Array, index: np.ndarray, axis: int | None, size: int | None, fill_value: Any
) -> Array:
    """The slices at these indices along ``axis``, or elements for None.

    With ``size``, these are cut, or padded with ``fill_value``, by default the first one.
    """
    along = 0 if axis is None else axis
    whole = _functions.ravel(array) if axis is None else array
    kept = _functions.take(whole, index[:size].astype(default_int()), axis=along)
    missing = 0 if size is None else size - len(index)
    if missing <= 0:
        return kept
    if fill_value is None:
        fill_value = _functions.take(kept, np.zeros(1, np.int32), axis=along) if len(index) else 0
    shape = list(kept.shape)
    shape[along] = missing
    filling = _functions.astype(_functions.broadcast_to(fill_value, shape), kept.dtype)
    return _functions.concatenate([kept, filling], axis=along)


def pad(
    array: Any, pad_width: Any, mode: str | Callable[..., Any] = "constant", **kwargs: Any
) -> Array:
    """Pads ``array`` before and after, along each axis.

    Args:
      pad_width: (before, after) for each axis, one pair for all, or one number for all.
      mode: "constant" (``constant_values``, 0), "edge", "empty", "linear_ramp" (``end_values``, 0),
        "maximum", "mean" and "minimum" (of ``stat_length`` elements at either end, all by default),
        "reflect", "symmetric" or "wrap". Or a function, which is called along one axis after the
        other: ``mode(vector, (before, after), axis, kwargs)`` returns the vector, padded with
        zeros until then, with its padding filled in.

    Raises:
      ValueError: for an unknown mode or option, and for invalid widths.
    """
    array = _array(array, "pad", "array")
    widths = _pairs(pad_width, array.ndim, "pad_width")
    if callable(mode):
        padded = pad(array, pad_width)
        for axis, width in enumerate(widths):
            padded = apply_along_axis(mode, axis, padded, width, axis, kwargs)
        return padded
    values: Any = _pairs(0, array.ndim, "values")
    lengths: Any = []
    if mode in ("constant", "linear_ramp"):
        name = "constant_values" if mode == "constant" else "end_values"
        values = _pairs(kwargs.pop(name, 0), array.ndim, name)
    elif mode in ("maximum", "mean", "minimum"):
        given = kwargs.pop("stat_length", None)
        lengths = [] if given is None else _pairs(given, array.ndim, "stat_length")
    if kwargs:
        raise ValueError(f"pad: mode {mode!r} takes no option {', '.join(kwargs)}")
    return _functions._pad(array, widths, "constant" if mode == "empty" else mode, values, lengths)


def _pairs(value: Any, rank: int, name: str) -> list[tuple[Any, Any]]:
    """Broadcasts a value to (before, after) for each axis, as numpy does."""
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
