"""Conversion of pytrees of arrays to one vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from farcall import _core, tree
from farcall._array import ShapeDtypeStruct

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: Any) -> tuple[_core.Array, Callable[[_core.Array], Any]]:
    """Concatenates all arrays of a pytree to one vector; also returns the inverse function.

    Args:
      pytree: a pytree of arrays and numbers.

    Returns:
      The vector, with the promoted dtype of the leaves, and a function from a vector of that length
      and dtype to the pytree, whose leaves have their original shapes and dtypes.

    Raises:
      TypeError: for a leaf that is not an array; from the function, for a vector of another dtype.
      ValueError: from the function, for a vector of another length.
    """
    leaves, structure = tree.flatten(pytree)
    arrays = [_core.numpy.as_array(leaf, "ravel_pytree") for leaf in leaves]
    vector = _core.nn.ravel_arrays(arrays)
    types = tuple(ShapeDtypeStruct(array.shape, array.dtype) for array in arrays)
    return vector, _Unravel(structure, types, vector.dtype)


class _Unravel:
    """Maps the vector to the pytree; equal for equal structures, so that programs are reused."""

    def __init__(self, structure: Any, types: tuple[Any, ...], dtype: Any) -> None:
        self._key = (structure, types, dtype)

    def __call__(self, vector: Any) -> Any:
        structure, types, dtype = self._key
        array = _core.numpy.as_array(vector, "unravel: the vector")
        return structure.unflatten(_core.nn.unravel_array(array, list(types), dtype))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unravel) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)
