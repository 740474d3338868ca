"""The methods that Array shares with numpy's arrays: functions of farcall.numpy on this array."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from farcall import _core
from farcall.numpy import _elementwise, _linear, _order, _reductions, _shapes
from farcall.numpy._common import Array

_FAMILIES = {
    _reductions: "sum prod max min any all mean var std ptp",
    _order: "cumsum cumprod searchsorted argpartition",
    _elementwise: "round",
    _linear: "dot trace",
    _shapes: "ravel repeat",
    _core.numpy: "argmax argmin argsort astype clip conj conjugate diagonal sort squeeze "
    "swapaxes take nonzero",
}


def _method(name: str, function: Any) -> Any:
    def call(self: Array, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    call.__name__ = name
    call.__doc__ = f"farcall.numpy.{name} of this array."
    return call


def _reshape(self: Array, *shape: Any, order: str = "C") -> Array:
    """This array in another shape; one size may be -1."""
    return _shapes.reshape(self, shape[0] if len(shape) == 1 else shape, order)


def _transpose(self: Array, *axes: Any) -> Array:
    """This array with its dimensions permuted, turned round without axes."""
    if not axes:
        return _core.numpy.transpose(self, None)
    return _core.numpy.transpose(self, axes[0] if len(axes) == 1 else axes)


def _flatten(self: Array, order: str = "C") -> Array:
    """The elements in one dimension."""
    return _shapes.ravel(self, order)


_only_item = Array.item


def _item(self: Array, *args: Any) -> Any:
    """The one element as a Python number, or the one at this index."""
    if not args:
        return _only_item(self)
    index: Any = args[0] if len(args) == 1 else args
    if hasattr(index, "__index__"):
        position = operator.index(index)
        if not -self.size <= position < self.size:
            raise IndexError(f"item: index {position} is out of range for {self.size} elements")
        index = np.unravel_index(position % self.size, self.shape)
    return _only_item(self[tuple(int(i) for i in index)])


for _family, _names in _FAMILIES.items():
    for _name in _names.split():
        setattr(Array, _name, _method(_name, getattr(_family, _name)))
for _function in (_reshape, _transpose, _flatten, _item):
    _function.__name__ = _function.__name__[1:]
    setattr(Array, _function.__name__, _function)
