"""Array functions with numpy's names and meaning.

Explicit dtypes are honoured; Python numbers take the dtype of the array that they meet. The
defaults are float32 and int32.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from farcall import _core
from farcall._array import Array
from farcall._core.numpy import *  # noqa: F403
from farcall.dtypes import *  # noqa: F403
from farcall.dtypes import bool_ as bool_
from farcall.numpy import linalg as linalg

_functions = _core.numpy

pi, e, inf, nan = np.pi, np.e, np.inf, np.nan
newaxis = None
ndarray = Array


# What numpy makes of Python's numbers, and what they are here.
_DEFAULTS = {"float64": "float32", "int64": "int32", "complex128": "complex64"}


def _has_only_python_numbers(value: Any) -> builtins.bool:
    if isinstance(value, (list, tuple)):
        return builtins.all(_has_only_python_numbers(item) for item in value)
    return type(value) in (builtins.bool, int, float, complex)


def array(object: Any, dtype: Any = None, copy: builtins.bool = True, ndmin: int = 0) -> Array:
    """An array of its own memory, from arrays, numbers and nested lists of them.

    Args:
      object: what ``numpy.asarray`` accepts, or an Array, traced ones included.
      dtype: left out, the dtype of the values; float32, int32 or complex64 for Python's numbers.
      copy: False shares memory where that can be done.
      ndmin: dimensions of size 1 are put before until there are so many.

    Raises:
      TypeError: for values that are no numbers, or lists of unequal lengths.
    """
    result = _make(object, dtype, not copy)
    if result.ndim < ndmin:
        result = _functions.reshape(result, (1,) * (ndmin - result.ndim) + result.shape)
    return result


def asarray(a: Any, dtype: Any = None, copy: builtins.bool | None = None) -> Array:
    """An array of the values of ``a``; shares memory where alignment (64 bytes) and layout allow.

    Args and errors are those of ``array``.
    """
    return _make(a, dtype, not copy)


def _make(value: Any, dtype: Any, share: builtins.bool) -> Array:
    if isinstance(value, Array):
        return value if dtype is None else _functions.astype(value, dtype)
    if isinstance(value, (list, tuple)):
        return _from_sequence(value, dtype)
    if isinstance(value, np.ndarray):
        result = _functions.array_from_numpy(value, share)
    else:
        result = _functions.as_array(value, "array: argument object")
        if not share and hasattr(value, "__dlpack__"):
            result = result.copy()
    return result if dtype is None else _functions.astype(result, dtype)


def _from_sequence(value: list[Any] | tuple[Any, ...], dtype: Any) -> Array:
    if _holds_arrays(value):
        result = _functions.stack([_make(item, None, True) for item in value], 0)
        return result if dtype is None else _functions.astype(result, dtype)
    try:
        made = np.asarray(value, dtype=dtype)
    except ValueError as error:
        raise TypeError(f"array: {error}") from None
    if dtype is None and _has_only_python_numbers(value):
        made = made.astype(_default_for(made))
    return _functions.array_from_numpy(made, True)


def _default_for(made: np.ndarray) -> Any:
    """The dtype for Python's numbers, of which numpy made ``made``; int64 where they need it."""
    if made.dtype == np.int64 and made.size > 0:
        limits = np.iinfo(np.int32)
        if made.min() < limits.min or made.max() > limits.max:
            return made.dtype
    return _DEFAULTS.get(made.dtype.name, made.dtype)


def _holds_arrays(value: Any) -> builtins.bool:
    if isinstance(value, (list, tuple)):
        return builtins.any(_holds_arrays(item) for item in value)
    return isinstance(value, Array)


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Array:
    """Values from ``start`` (0 if left out) to below ``stop`` in steps of ``step``."""
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    made = np.arange(start, stop, step)
    return _make(made, _default_for(made) if dtype is None else dtype, True)


def linspace(start: float, stop: float, num: int = 50, dtype: Any = None) -> Array:
    """``num`` evenly spaced values from ``start`` to ``stop``, both included."""
    return _make(np.linspace(start, stop, num).astype(dtype or np.float32), None, True)


def zeros_like(a: Any, dtype: Any = None) -> Array:
    """Zeros in the shape and dtype of ``a``."""
    a = asarray(a)
    return _functions.zeros(a.shape, a.dtype if dtype is None else dtype)


def ones_like(a: Any, dtype: Any = None) -> Array:
    """Ones in the shape and dtype of ``a``."""
    a = asarray(a)
    return _functions.ones(a.shape, a.dtype if dtype is None else dtype)


def full_like(a: Any, fill_value: Any, dtype: Any = None) -> Array:
    """``fill_value`` in the shape and dtype of ``a``."""
    a = asarray(a)
    return _functions.full(a.shape, fill_value, a.dtype if dtype is None else dtype)


def empty(shape: Any, dtype: Any = None) -> Array:
    """Zeros: arrays are immutable, so there is nothing to fill."""
    return _functions.zeros(shape, dtype)


def shape(a: Any) -> tuple[int, ...]:
    """The shape of ``a``."""
    return asarray(a).shape


def ndim(a: Any) -> int:
    """The number of dimensions of ``a``."""
    return asarray(a).ndim


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that all ``shapes`` broadcast to; ValueError when they do not."""
    return np.broadcast_shapes(*shapes)


def from_dlpack(x: Any, *, copy: builtins.bool | None = None) -> Array:
    """An array from anything with ``__dlpack__``, sharing memory where alignment allows."""
    return _core.from_dlpack(x, copy)


def allclose(
    a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: builtins.bool = False
) -> Array:
    """Whether all values agree within ``atol + rtol * abs(b)``."""
    a, b = asarray(a), asarray(b)
    close = _functions.less_equal(
        _functions.abs(_functions.subtract(a, b)), atol + rtol * _functions.abs(b)
    )
    close = _functions.logical_or(close, _functions.equal(a, b))
    if equal_nan:
        both = _functions.logical_and(_functions.isnan(a), _functions.isnan(b))
        close = _functions.logical_or(close, both)
    return _functions.all(close)


def array_equal(a: Any, b: Any) -> Array:
    """Whether shapes and values are equal."""
    a, b = asarray(a), asarray(b)
    return _functions.all(_functions.equal(a, b)) if a.shape == b.shape else array(False)
