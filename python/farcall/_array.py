"""Array and the descriptions of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from farcall import _core
from farcall._at import IndexUpdateHelper

Array = _core.Array
ShapeDtypeStruct = _core.ShapeDtypeStruct


def block_until_ready(x: Any) -> Any:
    """Returns ``x``: results are there when a call returns. For programs written for JAX."""
    return x


def _rebuild(value: np.ndarray, weak_type: bool) -> Array:
    """An array with memory of its own: a copy, or what was pickled as ``value``."""
    array = _core.numpy.array_from_numpy(value, False)
    return _core.with_weak_type(array, True) if weak_type else array


def _install_methods() -> None:
    """What Array has besides the functions of farcall.numpy, which farcall.numpy._methods adds."""
    functions = _core.numpy

    def copy(self: Array) -> Array:
        """An array with memory of its own."""
        return self if self.is_traced else _rebuild(np.asarray(self), self.weak_type)

    def tolist(self: Array) -> Any:
        """The elements as nested lists of Python numbers."""
        return np.asarray(self).tolist()

    def ready(self: Array) -> Array:
        """This array: its values are there already."""
        return self

    for function in (copy, tolist):
        setattr(Array, function.__name__, function)
    Array.block_until_ready = ready

    def matrix_transpose(self: Array) -> Array:
        """Each matrix transposed."""
        return functions.swapaxes(self, -1, -2)

    def aval(self: Array) -> ShapeDtypeStruct:
        """Shape and dtype."""
        return ShapeDtypeStruct(self.shape, self.dtype, weak_type=self.weak_type)

    properties = {
        "T": property(functions.transpose, doc="The dimensions in the opposite order."),
        "mT": property(matrix_transpose),
        "real": property(functions.real, doc="The real part."),
        "imag": property(functions.imag, doc="The imaginary part."),
        "aval": property(aval),
        "at": property(IndexUpdateHelper, doc="Updates: x.at[index].set(values) and the like."),
    }
    for name, made in properties.items():
        setattr(Array, name, made)


_install_methods()
