"""Trees of arrays as one vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from farcall import _core, tree
from farcall._array import ShapeDtypeStruct

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: Any) -> tuple[_core.Array, Callable[[_core.Array], Any]]:
    """The elements of all arrays of a tree in one vector, and the function back.

    Args:
      pytree: arrays and numbers in any containers.

    Returns:
      The vector, of the dtype in which the leaves meet, and a function from a vector of that length
      and dtype to the tree, its leaves of their own shapes and dtypes.

    Raises:
      TypeError: for a leaf that is no array; by the function, for a vector of another dtype.
      ValueError: by the function, for a vector of another length.
    """
    leaves, structure = tree.flatten(pytree)
    arrays = [_core.numpy.as_array(leaf, "ravel_pytree") for leaf in leaves]
    vector = _core.nn.ravel_arrays(arrays)
    types = tuple(ShapeDtypeStruct(array.shape, array.dtype) for array in arrays)
    return vector, _Unravel(structure, types, vector.dtype)


class _Unravel:
    """From the vector to the tree; equal for equal trees, so that programs are reused."""

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
