"""Repeated application of a function, with a count for each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from farcall import _control_flow, _core

_f: Any = _core.numpy


def repeated(func: Callable[[Any], Any], values: Any, counts: Any) -> Any:
    """``func(func(… values))``, ``counts`` times for each element, and at least once.

    If the counts are a numpy array, reverse mode can differentiate this.
    """
    values = func(values)
    if isinstance(counts, np.ndarray):
        for i in range(1, int(counts.max(initial=1))):
            values = _f.where(counts > i, func(values), values)
        return values
    most = _f.max(_f._pad(_f.ravel(counts), [(0, 1)], "constant", [(1, 1)], []))

    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        i, current = state
        return i + 1, _f.where(_f.greater(counts, i), func(current), current)

    start = (_f.astype(1, "int32"), values)
    return _control_flow.while_loop(lambda state: _f.less(state[0], most), step, start)[1]
