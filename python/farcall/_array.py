"""Array and the descriptions of arrays."""

from __future__ import annotations

import inspect
from typing import Any, cast

import numpy as np

from farcall import _core
from farcall._at import IndexUpdateHelper
from farcall._layout import Format
from farcall._mesh import get_mesh
from farcall._partition_spec import PartitionSpec
from farcall._sharding import NamedSharding, Sharding

Array = _core.Array
ShapeDtypeStruct = _core.ShapeDtypeStruct


def _rebuild(value: np.ndarray, weak_type: bool) -> Array:
    """Creates an array with its own memory, to unpickle."""
    array = _core.numpy.array_from_numpy(value, False)
    return _core.with_weak_type(array, True) if weak_type else array


def _install_methods() -> None:
    """Adds the methods of Array that are not functions of farcall.numpy.

    Those are added by farcall.numpy._methods.
    """
    functions = _core.numpy

    def copy(self: Array) -> Array:
        """A copy with its own memory, on the same devices."""
        return functions._copy(self)

    def tolist(self: Array) -> Any:
        """The elements as nested lists of Python numbers."""
        return np.asarray(self).tolist()

    def same(self: Array, memo: Any = None) -> Array:
        """Returns this array: arrays are immutable."""
        del memo
        return self

    for function in (copy, tolist):
        setattr(Array, function.__name__, function)
    for name in ("__copy__", "__deepcopy__"):
        setattr(Array, name, same)

    def matrix_transpose(self: Array) -> Array:
        """Each matrix transposed."""
        return functions.swapaxes(self, -1, -2)

    def aval(self: Array) -> ShapeDtypeStruct:
        """The shape and dtype."""
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


def _install_type_attributes() -> None:
    """Adds the attributes of ShapeDtypeStruct besides shape, dtype and weak type."""

    def like(x: Any) -> ShapeDtypeStruct:
        """The shape, dtype and weak type of an array, a number, or an object with these attributes.

        The sharding of a committed array is kept too.

        Raises:
          TypeError: for anything else.
        """
        if isinstance(x, ShapeDtypeStruct):
            return x
        if isinstance(x, (bool, int, float, complex)):
            x = _core.as_array(x)
        if not (hasattr(x, "shape") and hasattr(x, "dtype")):
            raise TypeError(
                "ShapeDtypeStruct.like: expected an array, a number, or an object with shape and "
                f"dtype, got {x!r} of type {type(x).__name__}"
            )
        is_committed = isinstance(x, Array) and not x.is_traced and x.committed
        return ShapeDtypeStruct(
            x.shape,
            x.dtype,
            sharding=x.sharding if is_committed else None,
            weak_type=bool(getattr(x, "weak_type", False)),
        )

    def update(self: ShapeDtypeStruct, **changes: Any) -> ShapeDtypeStruct:
        """A copy with other values of ``shape``, ``dtype``, ``sharding``, ``weak_type`` and so on.

        Raises:
          TypeError: for a name that the constructor does not take.
        """
        mine = {
            "shape": self.shape,
            "dtype": self.dtype,
            "sharding": given(self),
            "weak_type": self.weak_type,
        }
        return type(self)(**{**mine, **changes})

    def given(self: ShapeDtypeStruct) -> Any:
        return getattr(self, "_sharding", None)

    def sharding(self: ShapeDtypeStruct) -> Sharding | None:
        spec = given(self)
        if not isinstance(spec, PartitionSpec):
            return spec
        if get_mesh().empty:
            raise TypeError(
                f"ShapeDtypeStruct: sharding {spec} needs a mesh; use it inside set_mesh(mesh), or "
                "pass NamedSharding(mesh, spec)"
            )
        return NamedSharding(get_mesh(), spec)

    def length(self: ShapeDtypeStruct) -> int:
        """The size of the first dimension."""
        if not self.shape:
            raise TypeError("the ShapeDtypeStruct of a scalar has no len()")
        return self.shape[0]

    def parameters(
        shape: Any,
        dtype: Any,
        *,
        sharding: Any = None,
        weak_type: bool = False,
        manual_axis_type: Any = None,
        is_ref: bool = False,
    ) -> None: ...

    # Classes of the core have no signature of their own.
    cast(Any, ShapeDtypeStruct).__signature__ = inspect.signature(parameters)
    ShapeDtypeStruct.like = staticmethod(like)
    ShapeDtypeStruct.update = update
    ShapeDtypeStruct.__len__ = length
    properties = {
        "sharding": (sharding, "The sharding that it was made with, or None."),
        "format": (lambda self: Format(None, self.sharding), "The sharding; no layout."),
        "is_ref": (lambda _: False, "False: farcall has no mutable arrays."),
        "manual_axis_type": (lambda _: None, "None: types do not record it."),
    }
    for name, (get, doc) in properties.items():
        setattr(ShapeDtypeStruct, name, property(get, doc=doc))


_install_methods()
_install_type_attributes()
