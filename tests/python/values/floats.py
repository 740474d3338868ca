"""The formats of floats: distances in units of the last place, special and random points."""

from __future__ import annotations

import dataclasses
import math

import ml_dtypes
import mpmath
import numpy as np

INF, NAN = math.inf, math.nan
SPECIAL = (0.0, -0.0, INF, -INF, NAN)


@dataclasses.dataclass(frozen=True)
class Format:
    """A binary floating-point format: the digits of its significand, the range of its exponents."""

    name: str
    dtype: np.dtype
    digits: int
    least_exponent: int  # of the smallest normal number, 2 ** least_exponent
    most_exponent: int  # all numbers are below 2 ** most_exponent

    def unit(self, x: mpmath.mpf) -> mpmath.mpf:
        """The distance of neighbouring numbers of this format at ``x``."""
        exponent = self.least_exponent if x == 0 else mpmath.frexp(x)[1] - 1
        return mpmath.ldexp(1, max(exponent, self.least_exponent) - self.digits + 1)

    def distance(self, got: float, want: mpmath.mpf | float, least: float = 0) -> float:
        """How far ``got`` is from the exact ``want``, in units of the last place of ``want``.

        They are those of ``least`` where ``want`` is smaller.
        NaN is at 0 from NaN and infinitely far from numbers. Infinity counts as the power of two
        above the largest number. A zero of the wrong sign is infinitely far.
        """
        if math.isnan(got) or mpmath.isnan(want):
            return 0.0 if math.isnan(got) and mpmath.isnan(want) else INF
        top = mpmath.ldexp(1, self.most_exponent)
        if abs(want) >= top or math.isinf(got):
            want = min(max(mpmath.mpf(want), -top), top)
            if math.isinf(got):
                got = math.copysign(1, got) * top
            return float(abs(got - want) / mpmath.ldexp(1, self.most_exponent - self.digits))
        if got == 0 and isinstance(want, float) and math.copysign(1, want) != math.copysign(1, got):
            return INF
        ratio = abs(got - want) / max(self.unit(mpmath.mpf(want)), self.unit(mpmath.mpf(least)))
        # What rounds to zero has a sign too.
        if (
            got == 0
            and least == 0
            and 0 < ratio <= 0.5
            and (want < 0) != (math.copysign(1, got) < 0)
        ):
            return INF
        return float(min(ratio, 1e300)) if ratio > 1e-30 else 0.0

    def holds(self, x: float) -> bool:
        """Whether ``x`` is a number of this format."""
        return math.isnan(x) or float(np.float64(x).astype(self.dtype)) == x


def _format(name: str) -> Format:
    info = ml_dtypes.finfo(name)
    return Format(
        name, np.dtype(info.dtype), int(info.nmant) + 1, int(info.minexp), int(info.maxexp)
    )


FORMATS = {name: _format(name) for name in ("float16", "bfloat16", "float32", "float64")}


def extreme_points(kind: Format) -> list[float]:
    """The ends of the range, both sides of the normal ones, and neighbours of one."""
    info = ml_dtypes.finfo(kind.dtype)
    tiny, least = float(info.tiny), float(info.smallest_subnormal)
    eps = float(info.eps)
    magnitudes = [least, 3 * least, tiny - least, tiny, 2 * tiny, float(info.max), eps]
    magnitudes += [1 - eps / 2, 1 + eps, math.sqrt(tiny), math.sqrt(float(info.max))]
    magnitudes += [0.5, 1.0, 1.5, 2.0, 3.0, 10.0]
    rounded = [float(np.float64(m).astype(kind.dtype)) for m in magnitudes]
    return [sign * m for m in rounded for sign in (1.0, -1.0)]


def random_points(
    kind: Format, generator: np.random.Generator, count: int, low: float, high: float
) -> list[float]:
    """Numbers from ``low`` to ``high``: half of them spread evenly, half by their exponents."""
    limit = float(ml_dtypes.finfo(kind.dtype).max)
    low, high = max(low, -limit), min(high, limit)
    near = generator.uniform(max(low, -1e3), min(high, 1e3), count - count // 2)
    exponents = generator.uniform(kind.least_exponent - 2, kind.most_exponent, count // 2)
    far = generator.choice([-1.0, 1.0], count // 2) * 2.0**exponents
    with np.errstate(over="ignore"):
        points = np.concatenate([near, far]).astype(kind.dtype).astype(np.float64)
    return [float(p) for p in points if low <= p <= high]
