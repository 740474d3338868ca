"""Set operations. Only ``isin``, and ``union1d`` and ``unique_*`` with ``size``, can be traced."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from farcall import _core
from farcall._core.numpy import concatenate
from farcall.numpy._common import Array, committed_like, default_int, known_values
from farcall.numpy._creation import asarray
from farcall.numpy._selection import unique

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


class _Pair:
    """Two arrays, which must be concrete, for an operation on their sets of elements."""

    def __init__(self, ar1: Any, ar2: Any, function: str) -> None:
        result = "the number of elements"
        self._arrays = asarray(ar1), asarray(ar2)
        self.first, self.second = (
            known_values(each, function, result).ravel() for each in self._arrays
        )

    def sized(self, values: np.ndarray, size: int | None, fill_value: Any) -> Array:
        """``size`` of the sorted values, padded with ``fill_value`` (by default the least value).

        The result is where the arrays are.
        """
        if size is not None:
            fill = fill_value if fill_value is not None else values[0] if values.size else 0
            rest = np.full(max(size - values.size, 0), fill, values.dtype)
            values = np.concatenate([values[:size], rest])
        return committed_like(values, *self._arrays)


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The sorted union; ``size`` elements, padded with ``fill_value``.

    ``size`` is required if an array is traced.
    """
    a, b = asarray(ar1), asarray(ar2)
    if size is not None and (a.is_traced or b.is_traced):
        both = concatenate([_f.ravel(a), _f.ravel(b)])
        return unique(both, size=size, fill_value=fill_value)
    pair = _Pair(a, b, "union1d")
    return pair.sized(np.union1d(pair.first, pair.second), size, fill_value)


def setdiff1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Array:
    """The sorted elements of ``ar1`` that are not in ``ar2``, for concrete arrays; see union1d."""
    pair = _Pair(ar1, ar2, "setdiff1d")
    values = np.setdiff1d(pair.first, pair.second, assume_unique)
    return pair.sized(values, size, fill_value)


def setxor1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Array:
    """The sorted elements in exactly one of both arrays, which are concrete; see union1d."""
    pair = _Pair(ar1, ar2, "setxor1d")
    values = np.setxor1d(pair.first, pair.second, assume_unique)
    return pair.sized(values, size, fill_value)


def intersect1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The sorted intersection of concrete arrays; see union1d.

    With ``return_indices``, also the index of the first occurrence in ``ar1`` and in ``ar2``.
    """
    pair = _Pair(ar1, ar2, "intersect1d")
    a, b = pair.first, pair.second
    values, first, second = np.intersect1d(a, b, assume_unique, return_indices=True)
    result = pair.sized(values, size, fill_value)
    if not return_indices:
        return result
    return (
        result,
        pair.sized(first.astype(default_int()), size, a.size),
        pair.sized(second.astype(default_int()), size, b.size),
    )


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
