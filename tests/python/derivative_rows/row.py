"""What a row of the table says, and what several rows are made of."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp
import numpy as np

# A function of modules (both.Modules) that gives a function of arrays.
Build = Callable[[Any], Callable[..., Any]]


@dataclasses.dataclass(frozen=True)
class Row:
    """A function and one of mpmath's numbers that equals it around ``points``.

    At a kink ``exact`` is the side, or the mean of sides, that farcall chooses.
    """

    name: str
    build: Build
    exact: Callable[..., Any]
    points: Sequence[Any]
    order: int = 3
    rtol: float = 1e-9
    atol: float = 1e-12


@dataclasses.dataclass(frozen=True)
class Limit:
    """The first derivatives at a point where they are infinite."""

    function: str
    build: Build
    point: float
    expected: tuple[float, ...]
    rtol: float = 0.0
    atol: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.function} at {self.point}"

    @property
    def points(self) -> list[float]:
        return [self.point]

    @property
    def order(self) -> int:
        return len(self.expected)


INF = math.inf
SMALL, LARGE = 1e-200, 1e200


def stacked(m: Any, *columns: Any) -> Any:
    return m.np.stack(columns, -1)


def of_vector(function: Callable[[Any, Any], Any]) -> Build:
    """A function of a vector's elements: ``function(modules, vectors)`` reduces the last axis."""
    return lambda m: lambda *columns: function(m, stacked(m, *columns))


def of_matrix(size: int, function: Callable[[Any, Any], Any]) -> Build:
    """The same of the elements of a square matrix, row by row."""

    def build(m: Any) -> Callable[..., Any]:
        def apply(*columns: Any) -> Any:
            stack = stacked(m, *columns)
            return function(m, m.np.reshape(stack, (*stack.shape[:-1], size, size)))

        return apply

    return build


def weighted(result: Any) -> Any:
    """One number of the elements along the last axis."""
    return (result * np.arange(1.0, result.shape[-1] + 1).astype(result.dtype)).sum(-1)


def with_exponent(y: float) -> Build:
    return lambda m: lambda x: m.np.power(x, m.np.full_like(x, y))


TIES = [(0.0, 0.0), (1.0, 1.0), (-2.5, -2.5)]
THREE = [(0.0, 0.0, 0.0), (1.0, 1.0, 0.5), (700.0, 700.0, 1.0), (-2.0, 3.0, 3.0)]
REAL = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-3, SMALL]


def zero(x: Any) -> Any:
    return 0 * x


def same(x: Any) -> Any:
    return x


def half(x: Any, y: Any) -> Any:
    return (x + y) / 2


def m_log_add(*xs: Any) -> Any:
    return mp.log(mp.fsum(map(mp.exp, xs)))


def m_hypot(*xs: Any) -> Any:
    return mp.sqrt(mp.fsum(x * x for x in xs))


def m_weighted(values: Sequence[Any]) -> Any:
    return mp.fsum((i + 1) * x for i, x in enumerate(values))


def m_ndtr(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2
