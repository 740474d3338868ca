"""The methods of Array that numpy's arrays have too: they call functions of farcall.numpy."""

from __future__ import annotations

import importlib
import itertools
import operator
from typing import Any

import numpy as np

from farcall import _core
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
    target = np.dtype(dtype)
    if target == self.dtype:
        return self
    if self.dtype.kind == "c":
        parts = _core.numpy.stack([_core.numpy.real(self), _core.numpy.imag(self)], -1)
        return _view(_merge_last(parts, self.shape), target)
    if self.dtype.kind == "b":
        return _view(_core.numpy.astype(self, "uint8"), target)
    if target.kind == "b":
        return _core.numpy.not_equal(_view(self, np.uint8), 0)
    if target.kind == "c":
        parts = _view(self, np.dtype(f"float{4 * target.itemsize}"))
        pairs = _split_last(parts, 2, self, target)
        return _core.lax.complex(pairs[..., 0], pairs[..., 1])
    width, wanted = self.dtype.itemsize, target.itemsize
    words = _core.lax.bitcast_convert_type(self, f"uint{8 * width}")
    if wanted < width:
        if self.ndim == 0:
            raise _no_view(self, target)
        words = _merge_last(_cut(words, wanted), self.shape)
    elif wanted > width:
        words = _join(_split_last(words, wanted // width, self, target), wanted)
    return _core.lax.bitcast_convert_type(words, target)


def _cut(words: Array, width: int) -> Array:
    """Splits unsigned integers into narrower ones, lowest first, along a new last dimension."""
    old, narrow = words.dtype.itemsize, f"uint{8 * width}"
    bits = np.arange(old // width, dtype=words.dtype) * (8 * width)
    parts = _core.numpy.right_shift(_core.numpy.expand_dims(words, -1), bits)
    mask = np.array((1 << 8 * width) - 1, words.dtype)
    return _core.numpy.astype(_core.numpy.bitwise_and(parts, mask), narrow)


def _join(parts: Array, width: int) -> Array:
    """Joins unsigned integers along the last dimension, lowest first, to wider ones."""
    wide = np.dtype(f"uint{8 * width}")
    bits = np.arange(parts.shape[-1], dtype=wide) * (8 * parts.dtype.itemsize)
    shifted = _core.numpy.left_shift(_core.numpy.astype(parts, wide), bits)
    return _core.lax.reduce_or(shifted, (shifted.ndim - 1,))


def _no_view(array: Array, target: np.dtype[Any]) -> ValueError:
    return ValueError(
        f"view: the last dimension of {array.dtype.name}{list(array.shape)} does not hold a whole "
        f"number of elements of {target.name}"
    )


def _split_last(array: Array, count: int, viewed: Array, target: np.dtype[Any]) -> Array:
    """Splits the last dimension; the new last one has ``count`` elements."""
    if array.ndim == 0 or array.shape[-1] % count:
        raise _no_view(viewed, target)
    return _core.numpy.reshape(array, (*array.shape[:-1], array.shape[-1] // count, count))


def _merge_last(array: Array, before: tuple[int, ...]) -> Array:
    """Merges the last two dimensions; ``before`` is the shape without the last one."""
    if not before:
        return array
    return _core.numpy.reshape(array, (*before[:-1], before[-1] * array.shape[-1]))


def _tobytes(self: Array, order: str = "C") -> bytes:
    """The bytes of the elements in row-major (``"C"``) or column-major (``"F"``) order."""
    return np.asarray(self).tobytes(order)  # type: ignore[arg-type]


def _byteswap(self: Array) -> Array:
    """The elements with their bytes in the opposite order."""
    width = self.dtype.itemsize
    if width == 1:
        return self
    octets = _view(_core.numpy.reshape(self, (*self.shape, 1)), np.uint8)
    parts = 2 if self.dtype.kind == "c" else 1
    grouped = _core.numpy.reshape(octets, (*self.shape, parts, width // parts))
    swapped = _core.numpy.reshape(_core.numpy.flip(grouped, -1), octets.shape)
    return _core.numpy.reshape(_view(swapped, self.dtype), self.shape)


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
    known = ("2021.12", "2022.12", "2023.12", "2024.12")
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
