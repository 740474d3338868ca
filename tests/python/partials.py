"""Partial derivatives of functions of numbers: by every mix of forward and reverse mode, and exact.

A function of n numbers is given as one of n arrays that works element by element, so that one call
differentiates it at many points.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import mpmath
import numpy as np

Function = Callable[..., Any]
Modes = dict[int, tuple[str, ...]]  # by order

# What is done to a function, from the inside out: F for jvp, R for grad.
ALL_MODES: Modes = {n: tuple(map("".join, itertools.product("FR", repeat=n))) for n in (1, 2, 3)}
FEW_MODES: Modes = {1: ("F", "R"), 2: ("FR", "RF", "RR"), 3: ("RFF", "FRR")}


def derivative(m: Any, f: Function, argument: int, mode: str) -> Function:
    """The derivative of ``f`` by one of its arguments."""

    def forward(*args: Any) -> Any:
        def of_one(x: Any) -> Any:
            return f(*args[:argument], x, *args[argument + 1 :])

        x = args[argument]
        return m.root.jvp(of_one, (x,), (m.np.ones_like(x),))[1]

    def reverse(*args: Any) -> Any:
        return m.root.grad(lambda *xs: m.np.sum(f(*xs)), argument)(*args)

    return forward if mode == "F" else reverse


def partials(
    m: Any, f: Function, points: np.ndarray, modes: Modes, order: int
) -> Iterator[tuple[str, tuple[int, ...], np.ndarray]]:
    """Every partial derivative up to ``order`` at ``points``, one in each row.

    Yields the mode, the arguments in the order in which they were differentiated by, and values.
    """
    args = [m.np.asarray(column, dtype=points.dtype.name) for column in points.T]
    for n in range(1, order + 1):
        for arguments in itertools.product(range(len(args)), repeat=n):
            for mode in modes[n]:
                g = f
                for argument, step in zip(arguments, mode, strict=True):
                    g = derivative(m, g, argument, step)
                yield mode, arguments, np.asarray(g(*args))


def exact(f: Function, point: Sequence[float], arguments: Sequence[int]) -> float:
    """The same at one point, by differences in many digits; ``f`` takes mpmath's numbers."""
    sizes = [abs(float(x)) for x in point if x] or [1.0]
    # Steps fit the least of the numbers, and must not vanish beside the largest one, nor beside 1.
    digits = 30 + round(np.log10(max(1.0, *sizes)) - np.log10(min(sizes)))
    counts = [list(arguments).count(i) for i in range(len(point))]
    with mpmath.workdps(digits):
        numbers = [mpmath.mpf(float(x)) for x in point]
        step = mpmath.mpf(min(sizes)) * mpmath.mpf(10) ** -30
        found = mpmath.diff(f, tuple(numbers), tuple(counts), h=step)
        return float(mpmath.re(found))
