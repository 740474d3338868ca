"""``x.at[index]``: updates that return a new array, since arrays are immutable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from farcall import _core
from farcall._repeated import repeated

Array = _core.Array
_functions: Any = _core.numpy


class IndexUpdateHelper:
    """The value of ``x.at``, to be indexed with brackets."""

    __slots__ = ("_array",)

    def __init__(self, array: Array) -> None:
        self._array = array

    def __getitem__(self, index: Any) -> IndexUpdateRef:
        return IndexUpdateRef(self._array, index)

    def __repr__(self) -> str:
        return f"IndexUpdateHelper({self._array!r})"


class IndexUpdateRef:
    """The value of ``x.at[index]``.

    The methods share these options:
      indices_are_sorted, unique_indices: optional promises about the indices.
      mode: treatment of indices out of range. "drop" (also "fill", the default) drops their
        updates, "clip" uses the nearest valid index, "promise_in_bounds" promises that there are
        none.
      wrap_negative_indices: whether negative indices count from the end.
    """

    __slots__ = ("_array", "_index")

    def __init__(self, array: Array, index: Any) -> None:
        self._array = array
        self._index = index

    def __repr__(self) -> str:
        return f"IndexUpdateRef({self._array!r}, {self._index!r})"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """``x[index]``. Indices out of range are clamped, or give ``fill_value`` with mode "fill".

        Its default is NaN, the lowest signed integer, the highest unsigned one, or True.
        """
        return _functions.index_get(
            self._array,
            self._index,
            mode,
            fill_value,
            unique_indices,
            indices_are_sorted,
            wrap_negative_indices,
        )

    def _update(
        self,
        function: Callable[..., Array],
        array: Any,
        values: Any,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        return function(
            array,
            self._index,
            values,
            mode,
            unique_indices,
            indices_are_sorted,
            wrap_negative_indices,
        )

    def set(self, values: Any, **options: Any) -> Array:
        """The array after ``x[index] = values``."""
        return self._update(_functions.index_set, self._array, values, **options)

    def add(self, values: Any, **options: Any) -> Array:
        """The array after ``x[index] += values``; repeated indices add repeatedly."""
        return self._update(_functions.index_add, self._array, values, **options)

    def subtract(self, values: Any, **options: Any) -> Array:
        """The array after ``x[index] -= values``; repeated indices subtract repeatedly."""
        return self._update(_functions.index_subtract, self._array, values, **options)

    def multiply(self, values: Any, **options: Any) -> Array:
        """The array after ``x[index] *= values``; repeated indices multiply repeatedly."""
        return self._update(_functions.index_multiply, self._array, values, **options)

    mul = multiply

    def divide(self, values: Any, **options: Any) -> Array:
        """The array after ``x[index] /= values``; repeated indices divide repeatedly."""
        return _functions.divide(self._array, self._product(values, options))

    def power(self, values: Any, **options: Any) -> Array:
        """The array after ``x[index] **= values``; repeated indices raise repeatedly."""
        return _functions.power(self._array, self._product(values, options))

    def _product(self, values: Any, options: dict[str, Any]) -> Array:
        """For each element, the product of the values at its indices; 1 without any."""
        ones = _functions.ones(self._array.shape, self._array.dtype)
        return self._update(_functions.index_multiply, ones, values, **options)

    def min(self, values: Any, **options: Any) -> Array:
        """The array after ``x[index] = minimum(x[index], values)``."""
        return self._update(_functions.index_min, self._array, values, **options)

    def max(self, values: Any, **options: Any) -> Array:
        """The array after ``x[index] = maximum(x[index], values)``."""
        return self._update(_functions.index_max, self._array, values, **options)

    def apply(self, func: Callable[[Array], Array], **options: Any) -> Array:
        """The array after ``x[index] = func(x[index])``; repeated indices apply it repeatedly.

        Reverse-mode differentiation needs concrete indices, or the promise that they are unique.
        """
        values = self.get(**options)
        counts = self._counts(options)
        applied = func(values) if counts is None else repeated(func, values, counts)
        return self.set(applied, **options)

    def _counts(self, options: dict[str, Any]) -> Any:
        """The number of times each element of ``x[index]`` is indexed; None if all are unique."""
        parts: tuple[Any, ...] = self._index if isinstance(self._index, tuple) else (self._index,)
        plain = (int, slice, type(None), type(Ellipsis), np.integer)
        if options.get("unique_indices") or all(isinstance(part, plain) for part in parts):
            return None
        if not any(getattr(part, "is_traced", False) for part in parts):
            index: Any = tuple(p if isinstance(p, plain) else np.asarray(p) for p in parts)
            counts = np.zeros(self._array.shape, np.int32)
            try:
                np.add.at(counts, index, 1)
            except IndexError:  # an index is out of range, which numpy cannot skip
                pass
            else:
                return counts[index] if counts.max(initial=0) > 1 else None
        counts = _functions.zeros(self._array.shape, np.int32)
        counts = IndexUpdateRef(counts, self._index).add(1, **options)
        return IndexUpdateRef(counts, self._index).get(**options)
