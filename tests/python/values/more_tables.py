"""The functions of two and three real numbers."""

from __future__ import annotations

import math
from typing import Any

import farcall.numpy as fnp
import mpmath as mp
import numpy as np
import scipy.special as ss
from farcall import lax
from farcall.scipy import special

from values.rows import INF, NAN, Row

ANY = (-INF, INF)
POSITIVE = (0.0, INF)


def row(name: str, exact: Any, corners: Any = None, *, call: Any = None, **options: Any) -> Row:
    found = call or getattr(fnp, name, None) or getattr(special, name, None) or getattr(lax, name)
    if corners is None:
        corners = getattr(np, name, None) or getattr(ss, name)
    options.setdefault("ranges", (ANY, ANY))
    return Row(name, found, exact, corners, **options)


def remainder(x: mp.mpf, y: mp.mpf) -> Any:
    with mp.workprec(4300):
        rest = x - y * mp.floor(x / y)
    return math.copysign(0.0, y) if rest == 0 else rest


def truncated(x: mp.mpf, y: mp.mpf) -> Any:
    with mp.workprec(4300):
        quotient = x / y
        rest = x - y * mp.sign(quotient) * mp.floor(abs(quotient))
    return math.copysign(0.0, x) if rest == 0 else rest


def floor_divide(x: mp.mpf, y: mp.mpf) -> Any:
    with mp.workprec(4300):
        return mp.floor(x / y)


def power(x: mp.mpf, y: mp.mpf) -> Any:
    if x < 0:
        if y != mp.floor(y):
            return NAN
        sign = -1 if mp.fmod(y, 2) != 0 else 1
        return sign * mp.exp(y * mp.log(-x))
    return mp.exp(y * mp.log(x))


def pow_corner(x: float, y: float) -> float:
    """C's pow."""
    try:
        return math.pow(x, y)
    except OverflowError:
        return INF
    except ValueError:  # zero to a negative power, or no real number
        if x != 0:
            return NAN
        return math.copysign(INF, x) if y == math.floor(y) and y % 2 == 1 else INF


def log_add(x: mp.mpf, y: mp.mpf) -> mp.mpf:
    return max(x, y) + mp.log1p(mp.exp(-abs(x - y)))


def log2_add(x: mp.mpf, y: mp.mpf) -> mp.mpf:
    return max(x, y) + mp.log1p(mp.mpf(2) ** -abs(x - y)) / mp.log(2)


def atan2(y: mp.mpf, x: mp.mpf) -> mp.mpf:
    return mp.atan2(y, x)


def heaviside(x: mp.mpf, y: mp.mpf) -> Any:
    return 0.0 if x < 0 else 1.0


def rel_entr(x: mp.mpf, y: mp.mpf) -> Any:
    return x * mp.log(x / y) if x > 0 and y > 0 else INF


def kl_div(x: mp.mpf, y: mp.mpf) -> Any:
    return x * mp.log(x / y) - x + y if x > 0 and y > 0 else INF


def beta(a: mp.mpf, b: mp.mpf) -> Any:
    if any(x < 0 and x == mp.floor(x) for x in (a, b)):
        return NAN
    if a > 0 and b > 0:
        return mp.exp(log_beta(a, b))
    return mp.beta(a, b)


def log_beta(a: mp.mpf, b: mp.mpf) -> Any:
    if any(x < 0 and x == mp.floor(x) for x in (a, b)):
        return INF
    if a < 0 or b < 0:
        with mp.extraprec(1200):
            value = abs(mp.beta(a, b))
            return mp.log(value) if value else -INF
    small, large = min(a, b), max(a, b)
    if small < 1e-60:  # but for parts of this size
        return mp.log((a + b) / (a * b))
    # What cancels has as many digits as the arguments are apart.
    digits = int(max(mp.log(large, 2), 0) + max(-mp.log(small, 2), 0)) + 60
    with mp.extraprec(min(digits, 2300)):
        return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def polygamma(n: mp.mpf, x: mp.mpf) -> Any:
    if n < 0 or n != mp.floor(n):
        return NAN
    if x < 0 and x == mp.floor(x):
        return NAN if mp.fmod(n, 2) == 0 else INF
    with mp.extraprec(120):
        if x < 0:  # by the sum: mpmath's reflection loses digits
            k = int(mp.ceil(-x))
            s = int(n) + 1
            total = sum((x + i) ** -s for i in range(k)) + mp.zeta(s, x + k)
            return (-1) ** s * mp.factorial(n) * total
        return (-1) ** (int(n) + 1) * mp.factorial(n) * hurwitz(n + 1, x)


def hurwitz(s: mp.mpf, q: mp.mpf) -> Any:
    """Euler and Maclaurin's formula with many terms; mpmath's own loses digits for large q."""
    with mp.extraprec(60):
        total, count = mp.mpf(0), 0 if q > 60 + 2 * s else int(60 + 2 * s)
        for i in range(count):
            total += (q + i) ** -s
        q = q + count
        last = q**-s
        total += last * (q / (s - 1) + mp.mpf(1) / 2)
        factor = last * s / q
        for k in range(1, 40):
            term = mp.bernoulli(2 * k) / mp.factorial(2 * k) * factor
            total += term
            if abs(term) < total * mp.mpf(2) ** -200:
                break
            factor *= (s + 2 * k - 1) * (s + 2 * k) / q**2
        return total


def zeta(s: mp.mpf, q: mp.mpf) -> Any:
    if s < 1:
        return NAN
    if s == 1:
        return INF
    if q < 0:
        if q == mp.floor(q):
            return INF
        if s != mp.floor(s):
            return NAN
        if q < -1000:
            above, below = q - mp.floor(q), mp.ceil(q) - q
            sign = 1 if mp.fmod(s, 2) == 0 else -1
            return hurwitz(s, above) + sign * (hurwitz(s, below) - hurwitz(s, 1 - q))
        count = int(mp.ceil(-q))
        return sum((q + i) ** -s for i in range(count)) + hurwitz(s, q + count)
    return hurwitz(s, q)


def lower_gamma(a: mp.mpf, x: mp.mpf) -> Any:
    if a < 0 or x < 0:
        return NAN
    return 1 - a * mp.e1(x) if a < 1e-60 else mp.gammainc(a, 0, x, regularized=True)


def upper_gamma(a: mp.mpf, x: mp.mpf) -> Any:
    if a < 0 or x < 0:
        return NAN
    if a < 1e-60:
        return a * mp.e1(x)
    if x < a:  # faster
        return 1 - lower_gamma(a, x)
    return mp.gammainc(a, x, mp.inf, regularized=True)


def slope_of_gamma(a: mp.mpf, x: mp.mpf) -> Any:
    if a < 0 or x < 0:
        return NAN
    if a < 1e-60:
        return -mp.e1(x)
    with mp.extraprec(160):
        h = a * mp.mpf(2) ** -80
        return (lower_gamma(a + h, x) - lower_gamma(a - h, x)) / (2 * h)


def slope_of_gamma_corner(a: float, x: float) -> float:
    if math.isnan(a) or math.isnan(x) or a <= 0 or x < 0:
        return NAN
    return 0.0


def incomplete_beta(a: mp.mpf, b: mp.mpf, x: mp.mpf) -> Any:
    if a < 0 or b < 0 or x < 0 or x > 1:
        return NAN
    return mp.betainc(a, b, 0, x, regularized=True)


def incomplete_beta_corner(a: float, b: float, x: float) -> float:
    is_outside = any(math.isnan(v) for v in (a, b, x)) or not 0 <= x <= 1
    if is_outside or min(a, b) < 0 or a == b == 0:
        return NAN
    if x in (0, 1):
        return float(x)
    if 0 in (a, b):
        return 1.0 if a == 0 else 0.0
    return NAN if a == b == INF else (0.0 if a == INF else 1.0)


def gamma_corner(lower: bool) -> Any:
    def corner(a: float, x: float) -> float:
        if math.isnan(a) or math.isnan(x) or a < 0 or x < 0 or a == x == 0:
            return NAN
        if a == 0:
            return 1.0 if lower else 0.0
        if x == 0:
            return 0.0 if lower else 1.0
        if x == INF:
            return NAN if a == INF else (1.0 if lower else 0.0)
        return 0.0 if lower else 1.0  # a is infinite

    return corner


def beta_corner(a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b) or -INF in (a, b):
        return NAN
    if INF in (a, b):
        return NAN if min(a, b) <= 0 else 0.0
    zero, other = (a, b) if a == 0 else (b, a)
    if other == 0:
        return math.copysign(INF, a) if math.copysign(1, a) == math.copysign(1, b) else NAN
    return NAN if other < 0 and other == math.floor(other) else math.copysign(INF, zero)


def log_beta_corner(a: float, b: float) -> float:
    return NAN if math.isnan(a) or math.isnan(b) else INF


def zeta_corner(s: float, q: float) -> float:
    return NAN if math.isnan(s) or math.isnan(q) or s < 1 else INF


def unless_nan(function: Any) -> Any:
    return lambda x: NAN if math.isnan(x) else function(x)


SMALL = ((0.01, 200.0), (0.01, 200.0))

ARITHMETIC = [
    row("add", lambda x, y: x + y, ulps=0.5, narrow_ulps=0.51),
    row("subtract", lambda x, y: x - y, ulps=0.5, narrow_ulps=0.51),
    row("multiply", lambda x, y: x * y, ulps=0.5, narrow_ulps=0.51),
    row("divide", lambda x, y: x / y, ulps=0.5, narrow_ulps=0.51),
    row("maximum", max, ulps=0, narrow_ulps=0),
    row("minimum", min, ulps=0, narrow_ulps=0),
    row("fmax", max, ulps=0, narrow_ulps=0),
    row("fmin", min, ulps=0, narrow_ulps=0),
    row("remainder", remainder, ulps=0.5, narrow_ulps=0.51, zero_signs=False),
    row("fmod", truncated, ulps=0, narrow_ulps=0),
    row("rem", truncated, np.fmod, ulps=0, narrow_ulps=0),
    row(
        "floor_divide",
        floor_divide,
        ulps=2,
        ranges=((-1e3, 1e3), (-1e3, 1e3)),
        limits=((-1e15, 1e15), (-1e15, 1e15)),
        formats=("float32", "float64"),
        zero_signs=False,
    ),
    row("copysign", lambda x, y: abs(x) * mp.sign(y), ulps=0, narrow_ulps=0),
    row("heaviside", heaviside, ulps=0, narrow_ulps=0),
    row("hypot", mp.hypot, ulps=2, narrow_ulps=2),
    row("arctan2", atan2),
    row(
        "power",
        power,
        pow_corner,
        ranges=((0.0, 50.0), (-40.0, 40.0)),
        points=((-2.0, 3.0), (-2.0, 0.5)),
    ),
    row("float_power", power, pow_corner, ranges=((0.0, 50.0), (-40.0, 40.0))),
    row("logaddexp", log_add, narrow_ulps=2, scale=lambda x, y: max(abs(x), abs(y))),
    row("logaddexp2", log2_add, narrow_ulps=2, scale=lambda x, y: max(abs(x), abs(y))),
]

SPECIAL = [
    row("beta", beta, beta_corner, ranges=SMALL, points=((1e20, 2.0), (-2.5, 1.3), (1e-5, 1e10))),
    row(
        "betaln",
        log_beta,
        log_beta_corner,
        ranges=SMALL,
        points=((1e20, 2.0), (1e10, 1e10), (-2.5, 1.3), (1e-5, 1e10)),
        limits=((-40.0, 1e300), (-40.0, 1e300)),
        scale=lambda a, b: 1e-3,
    ),
    row(
        "xlogy", lambda x, y: x * mp.log(y), ranges=(ANY, POSITIVE), narrow_ulps=2, zero_signs=False
    ),
    row(
        "xlog1py",
        lambda x, y: x * mp.log1p(y),
        ranges=(ANY, (-1.0, INF)),
        narrow_ulps=2,
        zero_signs=False,
    ),
    row(
        "rel_entr",
        rel_entr,
        ranges=(POSITIVE, POSITIVE),
        points=((1.0, 1.000001), (3.0, 2.99)),
        ulps=8,
        narrow_ulps=8,
        scale=lambda x, y: x if 0 < x < 2 * y < 4 * x else 0,
    ),
    row(
        "kl_div",
        kl_div,
        ranges=((0.0, 1e3), (0.0, 1e3)),
        ulps=8,
        narrow_ulps=8,
        limits=((-1e30, 1e30), (-1e30, 1e30)),
        scale=lambda x, y: max(
            abs(x), abs(y), abs(x * (math.log(x) - math.log(y))) if x > 0 and y > 0 else 0
        ),
    ),
    row(
        "boxcox",
        lambda x, p: mp.expm1(p * mp.log(x)) / p if x > 0 else NAN,
        ranges=((0.0, 1e3), (-20.0, 20.0)),
        limits=((1e-300, 1e15), (-8.0, 8.0)),
        ulps=lambda x, p: 8 + 2 * abs(p * math.log(x)) if x > 0 else 0,
        formats=("float32", "float64"),
    ),
    row(
        "boxcox1p",
        lambda x, p: mp.expm1(p * mp.log1p(x)) / p if x > -1 else NAN,
        ranges=((-1.0, 1e3), (-20.0, 20.0)),
        limits=((-0.99, 1e15), (-8.0, 8.0)),
        ulps=lambda x, p: 8 + 2 * abs(p * math.log1p(x)) if x > -1 else 0,
        formats=("float32", "float64"),
    ),
    row(
        "polygamma 1",
        lambda x: polygamma(mp.mpf(1), x),
        lambda x: ss.polygamma(1, x),
        call=lambda x: special.polygamma(1, x),
        ranges=((-30.0, 1e3),),
    ),
    row(
        "polygamma 2",
        lambda x: polygamma(mp.mpf(2), x),
        unless_nan(lambda x: NAN if x <= 0 else -0.0),
        call=lambda x: special.polygamma(2, x),
        ranges=((-30.0, 1e3),),
        limits=((-1e4, INF),),
        scale=lambda x: 1.0 if x < 0 else 0,
    ),
    row(
        "polygamma 5",
        lambda x: polygamma(mp.mpf(5), x),
        unless_nan(lambda x: INF if x <= 0 else 0.0),
        call=lambda x: special.polygamma(5, x),
        ranges=((-30.0, 1e3),),
        limits=((-1e4, INF),),
    ),
    row(
        "zeta",
        zeta,
        zeta_corner,
        ranges=((1.0, 60.0), (0.0, 1e3)),
        points=((2.0, -1.5), (3.0, -7.25), (1.001, 0.3)),
        limits=((-1e4, 200.0), (-1e5, 1e300)),
    ),
    row(
        "gammainc", lower_gamma, gamma_corner(True), ranges=SMALL, limits=((-1.0, 1e3), (-1.0, 1e3))
    ),
    row(
        "gammaincc",
        upper_gamma,
        gamma_corner(False),
        ranges=SMALL,
        limits=((-1.0, 1e3), (-1.0, 1e3)),
    ),
    row(
        "igamma_grad_a",
        slope_of_gamma,
        slope_of_gamma_corner,
        ranges=((0.1, 50.0), (0.1, 50.0)),
        limits=((-1.0, 1e3), (-1.0, 1e3)),
        ulps=64,
        narrow_ulps=2,
    ),
    row(
        "betainc",
        incomplete_beta,
        incomplete_beta_corner,
        ranges=((0.05, 60.0), (0.05, 60.0), (0.0, 1.0)),
        limits=((-1.0, 1e3), (-1.0, 1e3), (-1.0, 2.0)),
    ),
]

TABLES = {"arithmetic": ARITHMETIC, "special": SPECIAL}
