"""Statistics of samples."""

from __future__ import annotations

from typing import Any, NamedTuple

from farcall import _core
from farcall._core import Array
from farcall._core.stats import rankdata, sem

__all__ = ["mode", "rankdata", "sem"]


class ModeResult(NamedTuple):
    """The most frequent values and how often they come."""

    mode: Array
    count: Array  # pyright: ignore[reportIncompatibleMethodOverride]


def mode(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> Any:
    """The most frequent value along an axis, the least of several, and how often it comes.

    Args:
      a: numbers.
      axis: along which; None: of all elements.
      nan_policy: must be "propagate": nan is a value like others.
      keepdims: keep the axis, with size one.

    Raises:
      NotImplementedError: for another nan_policy.
    """
    return ModeResult(*_core.stats._mode(a, axis, nan_policy, keepdims))
