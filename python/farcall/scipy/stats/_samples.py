"""Statistics of samples."""

from __future__ import annotations

from typing import Any, NamedTuple

from farcall import _core
from farcall._core import Array
from farcall._core.stats import rankdata, sem

__all__ = ["mode", "rankdata", "sem"]


class ModeResult(NamedTuple):
    """The most frequent values and their counts."""

    mode: Array
    count: Array  # pyright: ignore[reportIncompatibleMethodOverride]


def mode(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> Any:
    """The most frequent value along an axis, and its count; the least of equally frequent ones.

    Args:
      a: an array.
      axis: the axis; None for all elements.
      nan_policy: must be "propagate": NaN counts as a value.
      keepdims: whether the axis stays, with size 1.

    Raises:
      NotImplementedError: for other values of nan_policy.
    """
    return ModeResult(*_core.stats._mode(a, axis, nan_policy, keepdims))
