"""The primitives as functions: strict about dtypes and shapes, as JAX's lax."""

from __future__ import annotations

import enum
from typing import Any

from farcall import _core
from farcall._core.lax import *  # noqa: F403
from farcall.lax import linalg as linalg

_functions = _core.lax


class RoundingMethod(enum.IntEnum):
    """How ``round`` treats halves."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def select(pred: Any, on_true: Any, on_false: Any) -> _core.Array:
    """``on_true`` where ``pred`` holds, else ``on_false``."""
    return _functions.select_n(pred, on_false, on_true)


def iota(dtype: Any, size: int) -> _core.Array:
    """The vector 0, 1, …, size - 1."""
    return _functions.broadcasted_iota(dtype, (size,), 0)
