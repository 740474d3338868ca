"""Shared helpers of farcall.numpy."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from farcall import _core

Array = _core.Array


def as_array(value: Any, function: str, name: str = "a") -> Array:
    """Converts ``value`` to an array; the TypeError names the argument."""
    return _core.numpy.as_array(value, f"{function}: argument {name}")


def known_values(x: Array, function: str, result: str, remedy: str = "") -> np.ndarray:
    """The values that ``result`` depends on.

    Raises ConcretizationTypeError if they are unknown; outside of jit, arrays that are
    differentiated have known values.
    """
    known = _core._with_known_values(x)
    if known is None:
        how = [text for text in (remedy, _core._how_to_know(x)) if text]
        raise _core.ConcretizationTypeError(
            f"{function}: {result} depends on the values of a traced array: "
            f"{_core._why_unknown(x)}. To fix this, {', or '.join(how)}"
        )
    return np.asarray(known)


def sortable(values: np.ndarray) -> np.ndarray:
    """The values; narrow floats as float32, because numpy does not put their NaNs last."""
    return values.astype(np.float32) if values.dtype.kind not in "biufc" else values


def committed_like(made: Any, *sources: Array) -> Array:
    """``made``, of numpy, as an Array on the devices of the first committed one of ``sources``."""
    array = _core.numpy.array_from_numpy(np.ascontiguousarray(made), False)
    for source in sources:
        if _core.devices.is_committed(source):
            return _core.devices.committed_like(array, source)
    return array


def as_arrays(values: Any, function: str, name: str = "arrays") -> list[Array]:
    """The arrays of a sequence, or the slices of an array along its first dimension."""
    if isinstance(values, Array):
        return list(values)
    return _core.numpy.as_arrays(values, f"{function}: argument {name}")


def normalize_axis(axis: Any, ndim: int, function: str, name: str = "axis") -> int:
    """The axis as a nonnegative index; raises ValueError if it is out of range."""
    index = operator.index(axis)
    if not -ndim <= index < ndim:
        raise ValueError(f"{function}: {name} {index} is out of range for an array of rank {ndim}")
    return index % ndim


def normalize_axes(axis: Any, ndim: int, function: str) -> tuple[int, ...]:
    """The axes as nonnegative indices; all axes for None."""
    if axis is None:
        return tuple(range(ndim))
    axes = (axis,) if hasattr(axis, "__index__") else tuple(axis)
    result = tuple(normalize_axis(each, ndim, function) for each in axes)
    if len(set(result)) != len(result):
        raise ValueError(f"{function}: an axis is named twice in {tuple(axes)}")
    return result


def refuse_out(out: Any, function: str) -> None:
    """Raises an error for ``out``: arrays are immutable."""
    if out is not None:
        raise NotImplementedError(f"{function}: arrays are immutable; argument out must be None")


def default_int() -> Any:
    """int32, or int64 with ``enable_x64``."""
    return _core._default_dtype(int)


def default_float() -> Any:
    """float32, or float64 with ``enable_x64``."""
    return _core._default_dtype(float)
