"""Reductions of the rows of an array by segments: row i counts for segment ``segment_ids[i]``."""

from __future__ import annotations

import operator
from typing import Any

from farcall import _core
from farcall.lax import GatherScatterMode

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]

Array = _core.Array


def _reduce(
    name: str,
    data: Any,
    segment_ids: Any,
    num_segments: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
    bucket_size: Any,
    mode: Any,
) -> Array:
    if isinstance(mode, GatherScatterMode):
        mode = mode.value
    numbers = {"num_segments": num_segments, "bucket_size": bucket_size}
    for key, value in numbers.items():
        if value is None:
            continue
        try:
            numbers[key] = operator.index(value)
        except TypeError:
            raise TypeError(f"{name}: {key} must be an int, got {value!r}") from None
    return getattr(_core.nn, name)(
        data,
        segment_ids,
        numbers["num_segments"],
        bool(indices_are_sorted),
        bool(unique_indices),
        numbers["bucket_size"],
        mode,
    )


def segment_sum(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
) -> Array:
    """The sum of the rows of each segment.

    Args:
      data: an array of at least one dimension.
      segment_ids: integers, one for each row; those outside of [0, num_segments) count nowhere.
      num_segments: the size of the first dimension of the result. Left out: one more than the
        greatest id, which must then be known: not inside a function that is recorded.
      indices_are_sorted, unique_indices: promises about segment_ids.
      bucket_size: rows are reduced in groups of so many and then the groups, which keeps rounding
        errors down.
      mode: what becomes of ids outside, as for ``Array.at``.

    Returns:
      An array of shape (num_segments, …) with the other dimensions of data and its dtype. A segment
      without rows is 0.

    Raises:
      TypeError: for ids that are no integers.
      ValueError: for ids that are no vector of the length of data, for a negative number of
        segments, and without one where ids are traced.
    """
    return _reduce(
        "segment_sum",
        data,
        segment_ids,
        num_segments,
        indices_are_sorted,
        unique_indices,
        bucket_size,
        mode,
    )


def segment_prod(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
) -> Array:
    """The product of the rows of each segment, 1 without rows; see segment_sum."""
    return _reduce(
        "segment_prod",
        data,
        segment_ids,
        num_segments,
        indices_are_sorted,
        unique_indices,
        bucket_size,
        mode,
    )


def segment_max(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
) -> Array:
    """The greatest row of each segment, the dtype's least number without rows; see segment_sum."""
    return _reduce(
        "segment_max",
        data,
        segment_ids,
        num_segments,
        indices_are_sorted,
        unique_indices,
        bucket_size,
        mode,
    )


def segment_min(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
) -> Array:
    """The least row of each segment, the dtype's greatest number without rows; see segment_sum."""
    return _reduce(
        "segment_min",
        data,
        segment_ids,
        num_segments,
        indices_are_sorted,
        unique_indices,
        bucket_size,
        mode,
    )
