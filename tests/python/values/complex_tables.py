"""The functions of complex numbers."""

from __future__ import annotations

import cmath
import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Any

import farcall.numpy as fnp
import mpmath as mp
import numpy as np
from farcall import lax

from values import floats
from values.rows import INF, PRECISION, Comparison, Miss

PARTS = {"complex64": "float32", "complex128": "float64"}


@dataclasses.dataclass(frozen=True)
class ComplexRow:
    """A function of complex numbers.

    Attributes:
      name: of the function.
      call: the function on arrays.
      exact: its value at finite numbers, on mpmath's.
      corners: the value where a part is a zero, an infinity or NaN, on Python's numbers; None
        leaves infinities and NaN out, and zeros with a sign.
      ulps: how many units of the last place each part may be off.
      of_both: whether these units are those of the absolute value.
      size: of the parts of random points.
      limit: parts beyond it are left out.
      points: further points.
    """

    name: str
    call: Callable[..., Any]
    exact: Callable[..., Any]
    corners: Callable[..., Any] | None = None
    ulps: float = 4
    of_both: bool = False
    size: float = 20.0
    limit: float = INF
    points: tuple[Any, ...] = ()
    arity: int = 1
    unsettled: Callable[[complex], bool] = lambda z: False  # what versions of C disagree on

    def points_of(self, kind: floats.Format, seed: int, count: int) -> list[tuple[complex, ...]]:
        generator = np.random.default_rng(seed)
        few = [*floats.SPECIAL, 1.0, -1.0, 2.0, -0.5]
        extreme = floats.extreme_points(kind)
        columns = []
        for _ in range(self.arity):
            parts = list(itertools.product(few, few))
            parts += list(zip(extreme, generator.permutation(extreme).tolist(), strict=True))
            drawn = generator.uniform(-self.size, self.size, (count, 2))
            small = 2.0 ** generator.uniform(-30, 8, (count, 2)) * generator.choice(
                [-1, 1], (count, 2)
            )
            drawn = np.concatenate([drawn, small]).astype(kind.dtype).astype(np.float64)
            parts += [tuple(pair) for pair in drawn.tolist()]
            column = [complex(*p) for p in parts]
            columns.append(column if self.arity == 1 else generator.permutation(column).tolist())
        points = list(zip(*columns, strict=True))
        points += [p if isinstance(p, tuple) else (p,) for p in self.points]
        points = [tuple(complex(np.complex128(_rounded(z, kind))) for z in p) for p in points]
        return [p for p in points if all(self._takes(z) for z in p)]

    def _takes(self, z: complex) -> bool:
        if self.unsettled(z):
            return False
        if self.corners is None and not (math.isfinite(z.real) and math.isfinite(z.imag)):
            return False
        return all(abs(part) <= self.limit or not math.isfinite(part) for part in (z.real, z.imag))

    def value(self, point: tuple[complex, ...]) -> tuple[Any, Any]:
        """Both parts; those of Python have zeros with signs."""
        parts = [part for z in point for part in (z.real, z.imag)]
        if self.corners is not None and any(p == 0 or not math.isfinite(p) for p in parts):
            want = self.corners(*point)
            return want.real, want.imag
        if any(p == 0 and math.copysign(1, p) < 0 for p in parts):
            raise ValueError  # mpmath has no such zero
        with mp.workprec(PRECISION):
            want = mp.mpc(self.exact(*(mp.mpc(z.real, z.imag) for z in point)))
            return want.real, want.imag


def _rounded(z: complex, kind: floats.Format) -> complex:
    with np.errstate(over="ignore"):
        return complex(*(float(np.float64(part).astype(kind.dtype)) for part in (z.real, z.imag)))


def compare(row: ComplexRow, count: int, seed: int) -> Comparison:
    """Compares both parts with their exact values."""
    done = Comparison()
    for name, part in PARTS.items():
        kind = floats.FORMATS[part]
        points = row.points_of(kind, seed, count)
        columns = [np.array(c, dtype=name) for c in zip(*points, strict=True)]
        result = np.asarray(row.call(*(fnp.asarray(c, dtype=name) for c in columns)))
        for point, got in zip(points, result.astype(np.complex128).tolist(), strict=True):
            try:
                wants = row.value(point)
            except (ValueError, ZeroDivisionError):
                continue  # a pole of the oracle
            with mp.workprec(PRECISION):
                finite = [abs(w) for w in wants if mp.isfinite(w)]
                least = max(finite, default=0) if row.of_both else 0
                parts = (got.real, got.imag)
                if not all(cmath.isfinite(z) for z in point):
                    # There C leaves the signs of many zeros and infinities open.
                    parts, wants = ([abs(p) for p in pair] for pair in (parts, wants))
                pairs = zip(parts, wants, strict=True)
                ulps = max(kind.distance(g, w, least) for g, w in pairs)
            done.add(Miss(name, point, got, wants, ulps), row.ulps)
    return done


def annex_g(function: Any) -> Any:
    """A function of Python's cmath, which has C99's values at corners."""

    def corner(z: complex) -> complex:
        try:
            return function(z)
        except OverflowError:
            raise ValueError from None

    return corner


def row(
    name: str, exact: Any, corners: Any = None, *, call: Any = None, **options: Any
) -> ComplexRow:
    return ComplexRow(name, call or getattr(fnp, name), exact, corners, **options)


def standard(name: str, exact: Any, **options: Any) -> ComplexRow:
    short = name.replace("arc", "a")
    return row(name, exact, annex_g(getattr(cmath, short)), **options)


def wide(function: Any) -> Any:
    """With the digits that parts of very different size take, beside each other and beside one."""

    def value(*z: mp.mpc) -> mp.mpc:
        sizes = [0] + [mp.mag(part) for w in z for part in (w.real, w.imag) if part]
        with mp.extraprec(2 * (max(sizes) - min(sizes)) + 64):
            return function(*z)

    return value


def expm1_corner(z: complex) -> complex:
    if z.imag == 0 and math.isfinite(z.real):
        return complex(math.expm1(z.real), z.imag)
    e = cmath.exp(z)
    return complex(e.real - 1, e.imag)


def square_corner(z: complex) -> complex:
    x, y = z.real, z.imag
    if abs(x) == abs(y) < INF:
        return complex(0.0, x * y + x * y)
    return complex((x - y) * (x + y), x * y + x * y)


def log1p_corner(z: complex) -> complex:
    if z.imag == 0 and z.real > -1 and z.real != 0 and math.isfinite(z.real):
        return complex(math.log1p(z.real), z.imag)
    return cmath.log(complex(1 + z.real, z.imag))


ELEMENTARY = [
    standard("sqrt", mp.sqrt),
    standard("exp", mp.exp),
    standard("log", wide(mp.log), points=(1 + 1e-9j, 0.6 + 0.8j, 1e300 + 1e300j)),
    standard("sin", mp.sin),
    standard("cos", mp.cos),
    standard("tan", wide(mp.tan), ulps=6, unsettled=lambda z: z.imag == 0 and math.isnan(z.real)),
    standard("sinh", mp.sinh),
    standard("cosh", mp.cosh),
    standard("tanh", wide(mp.tanh), ulps=6, unsettled=lambda z: z.real == 0 and math.isnan(z.imag)),
    standard("arcsin", wide(mp.asin)),
    standard("arccos", wide(mp.acos)),
    standard("arctan", wide(mp.atan)),
    standard("arcsinh", wide(mp.asinh)),
    standard("arccosh", wide(mp.acosh), unsettled=lambda z: z.real == 0 and math.isnan(z.imag)),
    standard("arctanh", wide(mp.atanh)),
]

OTHERS = [
    row(
        "expm1",
        wide(lambda z: mp.exp(z) - 1),
        annex_g(expm1_corner),
        of_both=True,
        points=(1e-12 + 1e-12j, 711 + 1e-5j),
    ),
    row(
        "log1p",
        wide(lambda z: mp.log(1 + z)),
        annex_g(log1p_corner),
        of_both=True,
        points=(-1 + 1j, 1e-12 + 1e-12j),
    ),
    row("exp2", lambda z: mp.exp(z * mp.log(2)), limit=2000.0, points=(710j, 3 + 0.5j)),
    row("log2", lambda z: mp.log(z) / mp.log(2), of_both=True),
    row("log10", lambda z: mp.log(z) / mp.log(10), of_both=True),
    row("rsqrt", lambda z: 1 / mp.sqrt(z), call=lax.rsqrt, of_both=True),
    row("logistic", lambda z: 1 / (1 + mp.exp(-z)), call=lax.logistic, of_both=True, limit=700.0),
    row("square", wide(lambda z: z * z), square_corner, points=(1e200 + INF * 1j, 1e19 + 1e19j)),
    row("reciprocal", lambda z: 1 / z, of_both=True),
    row("sign", lambda z: z / mp.fabs(z) if z else z, of_both=True, points=(1e308 + 1e308j,)),
    row("negative", lambda z: -z, lambda z: -z, ulps=0),
    row("conj", mp.conj, lambda z: z.conjugate(), ulps=0),
    row(
        "abs",
        lambda z: mp.mpf(abs(z)),
        lambda z: complex(math.hypot(z.real, z.imag)),
        ulps=1,
        call=lambda z: fnp.abs(z) + 0j * 0,
    ),
    row("add", lambda z, w: z + w, ulps=0.5, arity=2),
    row("subtract", lambda z, w: z - w, ulps=0.5, arity=2),
    row("multiply", lambda z, w: z * w, of_both=True, arity=2, limit=1e15),
    row("divide", lambda z, w: z / w, of_both=True, arity=2, limit=1e15),
    row(
        "power",
        lambda z, w: mp.exp(w * mp.log(z)),
        of_both=True,
        arity=2,
        size=5.0,
        limit=40.0,
        points=((1e200 + 0j, 1 + 0j), (2 + 3j, -1.5 + 0.5j)),
    ),
]

TABLES = {"elementary": ELEMENTARY, "others": OTHERS}
