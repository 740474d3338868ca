"""Segment reductions: row i of an array belongs to segment ``segment_ids[i]``."""

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
      segment_ids: integers, one for each row; rows with ids outside [0, num_segments) are ignored.
      num_segments: the size of the first dimension of the result. Default: the greatest id + 1,
        which needs concrete ids.
      indices_are_sorted, unique_indices: promises about segment_ids.
      bucket_size: reduce rows in groups of this size first, then the groups, which reduces rounding
        errors.
      mode: the treatment of ids out of range, as for ``Array.at``.

    Returns:
      An array of shape (num_segments, …) with the other dimensions and the dtype of ``data``. A
      segment without rows is 0.

    Raises:
      TypeError: for ids that are not integers.
      ValueError: if the ids are not a vector with one entry for each row, or if ``num_segments`` is
        negative.
      ConcretizationTypeError: if ``num_segments`` is missing and the ids are traced.
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
    """The product of the rows of each segment; 1 without rows. See segment_sum."""
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
    """The maximum of each segment's rows; without rows the lowest number. See segment_sum."""
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
    """The minimum of each segment's rows; without rows the highest number. See segment_sum."""
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
