"""The primitives as functions: strict about dtypes and shapes, as JAX's lax."""

from __future__ import annotations

import enum
from typing import Any

from farcall import _core
from farcall._control_flow import all_gather as all_gather
from farcall._control_flow import all_to_all as all_to_all
from farcall._control_flow import associative_scan as associative_scan
from farcall._control_flow import axis_index as axis_index
from farcall._control_flow import axis_size as axis_size
from farcall._control_flow import cond as cond
from farcall._control_flow import fori_loop as fori_loop
from farcall._control_flow import map as map
from farcall._control_flow import pmax as pmax
from farcall._control_flow import pmean as pmean
from farcall._control_flow import pmin as pmin
from farcall._control_flow import ppermute as ppermute
from farcall._control_flow import psum as psum
from farcall._control_flow import scan as scan
from farcall._control_flow import switch as switch
from farcall._control_flow import while_loop as while_loop
from farcall._core.lax import *  # noqa: F403

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
