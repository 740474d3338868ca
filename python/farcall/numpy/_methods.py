"""The methods of Array that numpy's arrays have too: they call functions of farcall.numpy."""

from __future__ import annotations

import importlib
import itertools
import operator
from typing import Any

import numpy as np

from farcall import _core
from farcall.numpy._array_api import VERSION
from farcall.numpy._common import Array, refuse_out

_FUNCTIONS = (
    "argmax argmin argsort astype choose clip conj conjugate diagonal sort squeeze swapaxes take "
    "nonzero sum prod max min any all mean var std ptp dot trace cumsum cumprod searchsorted "
    "argpartition repeat round ravel"
)


def _method(name: str, function: Any) -> Any:
    def call(self: Array, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method: Any = call
    method.__name__ = name
    method.__wrapped__ = function  # for inspect.signature
    method.__doc__ = f"farcall.numpy.{name} of this array."
    return method


def _reshape(self: Array, *shape: Any, order: str = "C") -> Array:
    """This array in another shape; one size may be -1."""
    return _core.numpy.reshape(self, shape[0] if len(shape) == 1 else shape, order)


def _transpose(self: Array, *axes: Any) -> Array:
    """This array with its dimensions permuted; without axes, in reversed order."""
    if not axes:
        return _core.numpy.transpose(self, None)
    return _core.numpy.transpose(self, axes[0] if len(axes) == 1 else axes)


def _flatten(self: Array, order: str = "C") -> Array:
    """The flattened array."""
    return _core.numpy.ravel(self, order)


_only_item = Array.item


def _item(self: Array, *args: Any) -> Any:
    """The only element, or the element at an index, as a Python number."""
    if not args:
        return _only_item(self)
    index: Any = args[0] if len(args) == 1 else args
    if hasattr(index, "__index__"):
        position = operator.index(index)
        if not -self.size <= position < self.size:
            raise IndexError(f"item: index {position} is out of range for {self.size} elements")
        index = np.unravel_index(position % self.size, self.shape)
    # At most ndim + 1 indices are needed to detect too many.
    places = itertools.islice(index, self.ndim + 1)
    return _only_item(self[tuple(int(i) for i in places)])


def _view(self: Array, dtype: Any = None, type: None = None) -> Array:
    """Reinterprets the bits as another dtype; the last dimension shrinks or grows accordingly.

    Args:
      dtype: by default this array unchanged.
      type: must be None: there is only one class of arrays.

    Raises:
      ValueError: if the bytes of the last dimension are not a multiple of the new element size.
    """
    if type is not None:
        raise NotImplementedError("view: argument type must be None")
    if dtype is None:
        return self
    return _core.numpy._view(self, np.dtype(dtype))


def _tobytes(self: Array, order: str = "C") -> bytes:
    """The bytes of the elements in row-major (``"C"``) or column-major (``"F"``) order."""
    return np.asarray(self).tobytes(order)  # type: ignore[arg-type]


def _byteswap(self: Array) -> Array:
    """The elements with their bytes in the opposite order."""
    return _core.numpy._byteswap(self)


def _compress(
    self: Array,
    condition: Any,
    axis: int | None = None,
    *,
    out: None = None,
    size: int | None = None,
    fill_value: Any = 0,
) -> Array:
    """The slices along ``axis`` where ``condition`` is true; see farcall.numpy.compress."""
    refuse_out(out, "compress")
    return _core.numpy.compress(condition, self, axis, size=size, fill_value=fill_value)


def _round_to(self: Array, ndigits: int | None = None) -> Array:
    """Implements Python's round(): to ``ndigits`` decimals, or to int32 without ``ndigits``."""
    rounded = _core.numpy.round(self, 0 if ndigits is None else ndigits)
    return rounded if ndigits is not None else _core.numpy.astype(rounded, "int32")


def _contains(self: Array, value: Any) -> bool:
    """Whether an element is equal to ``value``."""
    return bool(_core.numpy.any(_core.numpy.equal(self, value)))


def _array_namespace(self: Array, *, api_version: str | None = None) -> Any:
    """The functions of the array API standard: farcall.numpy."""
    del self
    known = ("2021.12", "2022.12", "2023.12", VERSION)
    if api_version not in (None, *known):
        raise ValueError(
            f"__array_namespace__: api_version must be one of {', '.join(known)}, got "
            f"{api_version!r}"
        )
    return importlib.import_module("farcall.numpy")


_PROTOCOLS = {
    "__round__": _round_to,
    "__contains__": _contains,
    "__array_namespace__": _array_namespace,
}
for _name, _function in _PROTOCOLS.items():
    _function.__name__ = _name
    setattr(Array, _name, _function)
for _name in _FUNCTIONS.split():
    setattr(Array, _name, _method(_name, getattr(_core.numpy, _name)))
_OWN = (_reshape, _transpose, _flatten, _item, _view, _tobytes, _byteswap, _compress)
for _function in _OWN:
    _function.__name__ = _function.__name__[1:]
    setattr(Array, _function.__name__, _function)
