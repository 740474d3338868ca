"""A row of a table of functions: how one is called, what is exact, how far results may be."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

import farcall.numpy as fnp
import mpmath
import numpy as np

from values import floats

INF, NAN = math.inf, math.nan
PRECISION = 160  # bits in which exact values are worked out


@dataclasses.dataclass(frozen=True)
class Row:
    """A function of real numbers.

    Attributes:
      name: of the function.
      call: the function on arrays.
      exact: its value at finite numbers other than zero, given as mpmath's. A complex value, or an
        error that mpmath raises at a pole or outside of the domain, stands for NaN.
      corners: the value where an argument is a zero, an infinity or NaN, on Python's floats.
      ulps: how many units of the last place float32 and float64 may be off; a number, or a function
        of the arguments.
      narrow_ulps: the same for float16 and bfloat16, which are computed in float32.
      ranges: where random points lie, for each argument.
      points: further points, tuples for more than one argument.
      limits: points outside of these ranges are left out.
      formats: of the arguments.
      scale: of the arguments: the size of what is added up, where that may cancel. Errors count in
        units of its last place when it is larger than the result.
      zero_signs: whether zeros must have the right sign.
    """

    name: str
    call: Callable[..., Any]
    exact: Callable[..., Any]
    corners: Callable[..., Any]
    ulps: float | Callable[..., float] = 4
    narrow_ulps: float = 1
    ranges: tuple[tuple[float, float], ...] = ((-INF, INF),)
    points: tuple[Any, ...] = ()
    limits: tuple[tuple[float, float], ...] | None = None
    formats: tuple[str, ...] = ("float16", "bfloat16", "float32", "float64")
    scale: Callable[..., float] | None = None
    zero_signs: bool = True

    @property
    def arity(self) -> int:
        return len(self.ranges)

    def tolerance(self, kind: floats.Format, point: tuple[float, ...]) -> float:
        if kind.name not in ("float32", "float64"):
            return self.narrow_ulps
        return self.ulps(*point) if callable(self.ulps) else self.ulps

    def least(self, point: tuple[float, ...]) -> float:
        if self.scale is None or not all(math.isfinite(x) for x in point):
            return 0.0
        return float(self.scale(*point))

    def points_of(
        self, kind: floats.Format, generator: np.random.Generator, count: int
    ) -> list[tuple[float, ...]]:
        """The points of this format at which the function is compared."""
        special = [*floats.SPECIAL, *floats.extreme_points(kind)]
        if self.arity == 1:
            points = [(x,) for x in special]
        elif self.arity == 2:
            # All pairs of special ones, and extreme ones with few others.
            few = [*floats.SPECIAL, 1.0, -1.0, 2.0, 0.5, -3.0]
            points = list(itertools.product(few, few))
            points += [pair for x in special[5:] for y in few[5:] for pair in ((x, y), (y, x))]
            points += list(zip(special, special[::-1], strict=True))
        else:
            few = [0.0, 1.0, INF, NAN, 0.5, -1.0]
            points = list(itertools.product(*[few] * self.arity))
        for extra in self.points:
            extra = extra if isinstance(extra, tuple) else (extra,)
            with np.errstate(over="ignore"):
                points.append(tuple(float(np.float64(x).astype(kind.dtype)) for x in extra))
        columns = []
        for low, high in self.ranges:
            column: list[float] = []
            while len(column) < count:
                column += floats.random_points(kind, generator, count, low, high)
            columns.append(generator.permutation(column)[:count].tolist())
        points += list(zip(*columns, strict=True))
        limits = self.limits or ((-INF, INF),) * self.arity
        return [
            point
            for point in dict.fromkeys(points)
            if all(
                math.isnan(x) or low <= x <= high
                for x, (low, high) in zip(point, limits, strict=True)
            )
        ]

    def value(self, point: tuple[float, ...]) -> Any:
        """The exact value: mpmath's number, or a float, whose zero has a sign."""
        if any(x == 0 or math.isinf(x) or math.isnan(x) for x in point):
            with np.errstate(all="ignore"):
                want = self.corners(*(np.float64(x) for x in point))
            return want if isinstance(want, mpmath.mpf) else float(want)
        with mpmath.workprec(PRECISION):
            try:
                want = self.exact(*(mpmath.mpf(x) for x in point))
            except (ValueError, ZeroDivisionError):
                return NAN
        return NAN if isinstance(want, mpmath.mpc) else want


@dataclasses.dataclass(frozen=True)
class Miss:
    """A result that is too far from the exact value."""

    kind: str
    point: tuple[Any, ...]
    got: Any
    want: Any
    ulps: float

    def __str__(self) -> str:
        want = mpmath.nstr(self.want, 20) if isinstance(self.want, mpmath.mpf) else self.want
        return f"{self.kind}{self.point}: {self.got!r}, exact {want}, {self.ulps:.3g} ulp"


@dataclasses.dataclass
class Comparison:
    """What came of comparing a function with its exact values."""

    count: int = 0
    worst: dict[str, tuple[float, Any]] = dataclasses.field(default_factory=dict)
    misses: list[Miss] = dataclasses.field(default_factory=list)

    def add(self, miss: Miss, tolerance: float) -> None:
        self.count += 1
        if miss.ulps > self.worst.get(miss.kind, (-1.0, None))[0]:
            self.worst[miss.kind] = (miss.ulps, miss.point)
        if miss.ulps > tolerance:
            self.misses.append(miss)

    def check(self) -> None:
        lines = [str(miss) for miss in self.misses[:12]]
        assert not self.misses, f"{len(self.misses)} of {self.count}:\n" + "\n".join(lines)


def compare(row: Row, count: int, seed: int, names: Iterable[str] | None = None) -> Comparison:
    """Compares a function with its exact values at special and ``count`` random points."""
    done = Comparison()
    for name in row.formats if names is None else names:
        kind = floats.FORMATS[name]
        points = row.points_of(kind, np.random.default_rng(seed), count)
        columns = [np.array(c).astype(kind.dtype) for c in zip(*points, strict=True)]
        result = row.call(*(fnp.asarray(c, dtype=name) for c in columns))
        assert result.dtype == kind.dtype, f"{row.name}: {result.dtype}, not {name}"
        got = np.asarray(result).astype(np.float64)
        for point, one in zip(points, got.tolist(), strict=True):
            want = row.value(point)
            with mpmath.workprec(PRECISION):
                want = mpmath.mpf(0) if want == 0 and not row.zero_signs else want
                ulps = kind.distance(one, want, row.least(point))
            done.add(Miss(name, point, one, want, ulps), row.tolerance(kind, point))
    return done
