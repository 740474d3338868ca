"""Set operations. Except for ``isin``, they need ``size`` to be traced."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from farcall import _core
from farcall._core.numpy import concatenate
from farcall.dtypes import result_type
from farcall.numpy._common import Array, committed_like, default_int, known_values, sortable
from farcall.numpy._creation import asarray
from farcall.numpy._selection import chosen_along, unique

__all__ = [
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]

_f: Any = _core.numpy


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Array:
    """Whether each element is in ``test_elements``; with ``invert``, whether it is not."""
    del assume_unique, method
    return _f._isin(asarray(element), asarray(test_elements), invert)


def _are_traced(*arrays: Any) -> bool:
    return any(asarray(each).is_traced for each in arrays)


class _Pair:
    """Two arrays of one dtype, for an operation on their sets of elements.

    Their values must be known. The operation finds which elements of both, joined, it returns.
    """

    def __init__(self, ar1: Any, ar2: Any, function: str, assume_unique: bool) -> None:
        given = [_f.ravel(asarray(each)) for each in (ar1, ar2)]
        dtype = result_type(*given)
        self._arrays = [_f.astype(each, dtype) for each in given]
        values = [
            sortable(known_values(each, function, "the number of elements")) for each in given
        ]
        self.values = [each.astype(sortable(np.empty(0, dtype)).dtype) for each in values]
        self.places = [np.arange(each.size) for each in values]
        if not assume_unique:
            found = [np.unique(each, return_index=True) for each in self.values]
            self.values, self.places = ([each[i] for each in found] for i in (0, 1))

    def chosen(self, places: np.ndarray, size: int | None, fill_value: Any) -> Array:
        """``size`` of the elements at these places, padded with ``fill_value``."""
        return chosen_along(_f.concatenate(self._arrays), places, None, size, fill_value)

    def indices(self, places: np.ndarray, which: int, size: int | None) -> Array:
        """``size`` of the places in one of the arrays, padded with its size."""
        array = self._arrays[which]
        missing = 0 if size is None else max(size - places.size, 0)
        padded = np.concatenate([places[:size], np.full(missing, array.size)])
        return committed_like(padded.astype(default_int()), *self._arrays)


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The sorted union; ``size`` elements, padded with ``fill_value``.

    ``size`` is required if an array is traced.
    """
    both = concatenate([_f.ravel(asarray(ar1)), _f.ravel(asarray(ar2))])
    if size is None:
        known_values(both, "union1d", "the number of elements", "pass size=")
    return unique(both, size=size, fill_value=fill_value)


def setdiff1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Array:
    """The sorted elements of ``ar1`` that are not in ``ar2``; see union1d."""
    if size is not None and _are_traced(ar1, ar2):
        return _f._setdiff1d(asarray(ar1), asarray(ar2), size, fill_value, assume_unique)
    pair = _Pair(ar1, ar2, "setdiff1d", assume_unique)
    places = pair.places[0][~np.isin(pair.values[0], pair.values[1])]
    if size is not None and fill_value is None:
        fill_value = 0
    return chosen_along(asarray(ar1), places, None, size, fill_value)


def setxor1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Array:
    """The sorted elements in exactly one of both arrays; see union1d."""
    if size is not None and _are_traced(ar1, ar2):
        return _f._setxor1d(asarray(ar1), asarray(ar2), size, fill_value, assume_unique)
    pair = _Pair(ar1, ar2, "setxor1d", assume_unique)
    values = np.concatenate(pair.values)
    places = np.concatenate([pair.places[0], pair.places[1] + np.size(ar1)])
    order = np.argsort(values, kind="stable")
    differs = values[order][1:] != values[order][:-1]
    is_alone = np.append(True, differs) & np.append(differs, True) if order.size else order > 0
    return pair.chosen(places[order[is_alone]], size, fill_value)


def intersect1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The sorted intersection; see union1d.

    With ``return_indices``, also the index of the first occurrence in ``ar1`` and in ``ar2``.
    """
    if size is not None and _are_traced(ar1, ar2):
        found = _f._intersect1d(asarray(ar1), asarray(ar2), size, fill_value)
        return found if return_indices else found[0]
    pair = _Pair(ar1, ar2, "intersect1d", assume_unique)
    _, first, second = np.intersect1d(*pair.values, assume_unique=True, return_indices=True)
    first, second = pair.places[0][first], pair.places[1][second]
    result = pair.chosen(first, size, fill_value)
    if not return_indices:
        return result
    return result, pair.indices(first, 0, size), pair.indices(second, 1, size)


class UniqueAllResult(NamedTuple):
    """The result of unique_all."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """The result of unique_counts."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """The result of unique_inverse."""

    values: Array
    inverse_indices: Array


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueAllResult:
    """``unique`` with all its results; NaNs are distinct."""
    options: Any = {"equal_nan": False, "size": size, "fill_value": fill_value}
    values, indices, inverse, counts = unique(x, True, True, True, **options)
    return UniqueAllResult(values, indices, _f.reshape(inverse, np.shape(x)), counts)


def unique_counts(
    x: Any, /, *, size: int | None = None, fill_value: Any = None
) -> UniqueCountsResult:
    """The distinct elements and their counts; NaNs are distinct."""
    every = unique_all(x, size=size, fill_value=fill_value)
    return UniqueCountsResult(every.values, every.counts)


def unique_inverse(
    x: Any, /, *, size: int | None = None, fill_value: Any = None
) -> UniqueInverseResult:
    """The distinct elements, and the index in them of each element; NaNs are distinct."""
    every = unique_all(x, size=size, fill_value=fill_value)
    return UniqueInverseResult(every.values, every.inverse_indices)


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The distinct elements; NaNs are distinct."""
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)
