"""The functions of one real number."""

from __future__ import annotations

import math
from typing import Any

import farcall.numpy as fnp
import mpmath as mp
import numpy as np
import scipy.special as ss
from farcall import lax, nn
from farcall.scipy import special

from values.rows import INF, NAN, Row

BELOW_ONE = 1 - 2.0**-30
# The roots of digamma and the zeros of lgamma that lie nearest to zero.
DIGAMMA_ROOTS = (1.4616321449683623, -0.5040830082644554)


def row(name: str, exact: Any, corners: Any = None, *, call: Any = None, **options: Any) -> Row:
    found = call or getattr(fnp, name, None) or getattr(special, name, None) or getattr(lax, name)
    if corners is None:
        corners = getattr(np, name, None) or getattr(ss, name)
    if "low" in options or "high" in options:
        options["ranges"] = ((options.pop("low", -INF), options.pop("high", INF)),)
    return Row(name, found, exact, corners, **options)


def at(values: dict[Any, float], other: Any = None) -> Any:
    """A function given by its values at zeros and infinities; NaN at NaN."""

    def corner(x: float) -> float:
        if math.isnan(x):
            return NAN
        return values[x] if other is None or x in values else other(x)

    return corner


def signed_zero(value: float) -> Any:
    return lambda x: math.copysign(value, x)


def whole(x: mp.mpf, function: Any) -> Any:
    """A rounded number, whose zero has the sign of ``x``."""
    result = function(x)
    return math.copysign(0.0, x) if result == 0 else result


def half_even(x: mp.mpf) -> mp.mpf:
    return mp.nint(x)  # mpmath rounds halves to even


def half_away(x: mp.mpf) -> mp.mpf:
    return mp.sign(x) * mp.floor(abs(x) + mp.mpf(1) / 2)


def root3(x: mp.mpf) -> mp.mpf:
    return mp.sign(x) * mp.cbrt(abs(x))


def gamma(x: mp.mpf) -> Any:
    return NAN if x < 0 and x == mp.floor(x) else mp.gamma(x)


def lgamma(x: mp.mpf) -> Any:
    if x < 0 and x == mp.floor(x):
        return INF
    if x > 1000:
        return mp.loggamma(x)
    with mp.extraprec(120):  # what the zeros at one and two, and between the poles, take
        if x > -1000:
            return mp.log(abs(mp.gamma(x)))
        return mp.log(mp.pi / abs(mp.sinpi(x))) - mp.loggamma(1 - x)


def digamma(x: mp.mpf) -> Any:
    if x < 0 and x == mp.floor(x):
        return NAN
    with mp.extraprec(80):
        return mp.digamma(x)


def erf_inverse(y: mp.mpf) -> Any:
    if abs(y) >= 1:
        return NAN if abs(y) > 1 else math.copysign(INF, y)
    return mp.sign(y) * erfc_inverse(1 - abs(y), abs(y))


def erfc_inverse(q: mp.mpf, complement: Any = None) -> mp.mpf:
    """The x with erfc(x) = q, 0 < q <= 1, by Newton's steps on the logarithm or on erf."""
    if complement is not None and complement < 0.5:
        if complement < 1e-30:
            return complement * mp.sqrt(mp.pi) / 2
        x = mp.mpf(float(ss.erfinv(float(complement))))
        for _ in range(6):
            x -= (mp.erf(x) - complement) * mp.sqrt(mp.pi) / 2 * mp.exp(x * x)
        return x
    log_q = mp.log(q)
    guess = float(ss.erfcinv(float(q)))
    x = mp.mpf(guess) if math.isfinite(guess) else mp.sqrt(-log_q)
    for _ in range(12):
        value = mp.erfc(x)
        step = (mp.log(value) - log_q) * value * mp.sqrt(mp.pi) / 2 * mp.exp(x * x)
        x += step
        if abs(step) < abs(x) * mp.mpf(2) ** -140:
            break
    return x


def normal_quantile(p: mp.mpf) -> Any:
    if p < 0 or p > 1:
        return NAN
    if p == 1:
        return INF
    if p < 0.25:
        return -mp.sqrt(2) * erfc_inverse(2 * p)
    if p > 0.75:
        return mp.sqrt(2) * erfc_inverse(2 * (1 - p))
    y = 2 * p - 1
    if y == 0:
        return 0.0
    return mp.sign(y) * mp.sqrt(2) * erfc_inverse(1 - abs(y), abs(y))


def logit(x: mp.mpf) -> Any:
    return INF if x == 1 else mp.log(x / (1 - x))


def normal(x: mp.mpf) -> mp.mpf:
    return erfc(-x / mp.sqrt(2)) / 2


def log_normal(x: mp.mpf) -> mp.mpf:
    if x < -500:  # three terms of the series of Mills' ratio
        return (
            -x * x / 2
            - mp.log(-x * mp.sqrt(2 * mp.pi))
            + mp.log1p(
                -(x**-2) + 3 * x**-4 - 15 * x**-6 + 105 * x**-8 - 945 * x**-10 + 10395 * x**-12
            )
        )
    return mp.log1p(-normal(-x)) if x > 0 else mp.log(normal(x))


def sinc(x: mp.mpf) -> mp.mpf:
    return mp.sinpi(x) / (mp.pi * x)


def softplus(x: mp.mpf) -> mp.mpf:
    return x + mp.log1p(mp.exp(-x)) if x > 0 else mp.log1p(mp.exp(x))


def sigmoid(x: mp.mpf) -> mp.mpf:
    return 1 / (1 + mp.exp(-x)) if x > 0 else mp.exp(x) / (1 + mp.exp(x))


def gelu_tanh(x: mp.mpf) -> mp.mpf:
    inner = mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3)
    return x * sigmoid(2 * inner)


def scaled_bessel(order: int) -> Any:
    def value(x: mp.mpf) -> mp.mpf:
        with mp.extraprec(60):
            if abs(x) > 1e6:  # the asymptotic series
                mu, total, term = 4 * order * order, mp.mpf(1), mp.mpf(1)
                for k in range(1, 12):
                    term *= -(mu - (2 * k - 1) ** 2) / (8 * k * abs(x))
                    total += term
                sign = mp.sign(x) if order % 2 else 1
                return sign * total / mp.sqrt(2 * mp.pi * abs(x))
            return mp.besseli(order, x) * mp.exp(-abs(x))

    return value


def bessel(order: int) -> Any:
    scaled = scaled_bessel(order)
    return lambda x: scaled(x) * mp.exp(abs(x))


def squareplus(x: mp.mpf) -> mp.mpf:
    length = mp.sqrt(x * x + 4)
    return 2 / (length - x) if x < 0 else (x + length) / 2


def log_minus_expm1(x: mp.mpf) -> Any:  # log(1 - exp(-x))
    if x < 0:
        return NAN
    return mp.log1p(-mp.exp(-x)) if x > 1 else mp.log(-mp.expm1(-x))


def erfc(x: mp.mpf) -> mp.mpf:
    """mpmath's, whose range ends early."""
    if abs(x) > 1000:
        return mp.mpf(2) if x < 0 else mp.ldexp(1, -(10**6))
    return mp.erfc(x)


def factorial(x: mp.mpf) -> Any:
    return mp.mpf(0) if x < 0 and x == mp.floor(x) else mp.gamma(x + 1)


ROUNDING = [
    row("negative", lambda x: -x, ulps=0, narrow_ulps=0),
    row("positive", lambda x: x, ulps=0, narrow_ulps=0),
    row("abs", abs, np.fabs, ulps=0, narrow_ulps=0),
    row("fabs", abs, ulps=0, narrow_ulps=0),
    row("sign", mp.sign, lambda x: math.copysign(0.0, x) if x == 0 else np.sign(x), ulps=0),
    row("square", lambda x: x * x, ulps=0.5, narrow_ulps=0.5),
    row("floor", mp.floor, ulps=0, narrow_ulps=0),
    row("ceil", lambda x: whole(x, mp.ceil), ulps=0, narrow_ulps=0),
    row("trunc", lambda x: whole(x, lambda y: mp.sign(y) * mp.floor(abs(y))), ulps=0),
    row("fix", lambda x: whole(x, lambda y: mp.sign(y) * mp.floor(abs(y))), np.trunc, ulps=0),
    row("rint", lambda x: whole(x, half_even), ulps=0, points=(2.5, -3.5, 0.5)),
    row("round", lambda x: whole(x, half_even), ulps=0, points=(2.5, -3.5, 0.5)),
    row(
        "lax.round",
        lambda x: whole(x, half_away),
        np.rint,
        call=lax.round,
        ulps=0,
        points=(2.5, -3.5, 0.49999997),
    ),
    row("reciprocal", lambda x: 1 / x, ulps=0.5, narrow_ulps=0.51),
    row("integer_pow 3", lambda x: x**3, lambda x: x**3, call=lambda x: lax.integer_pow(x, 3)),
    row(
        "integer_pow -2", lambda x: x**-2, lambda x: x**-2.0, call=lambda x: lax.integer_pow(x, -2)
    ),
    row("degrees", lambda x: x * 180 / mp.pi, ulps=2, narrow_ulps=2),
    row("radians", lambda x: x * mp.pi / 180, ulps=2, narrow_ulps=2),
    row(
        "nan_to_num",
        lambda x: x,
        lambda x: 0.0 if math.isnan(x) else x,
        ulps=0,
        limits=((-1.7e308, 1.7e308),),
    ),
    row(
        "modf fraction",
        lambda x: whole(x, lambda y: y - mp.sign(y) * mp.floor(abs(y))),
        lambda x: np.modf(x)[0],
        call=lambda x: fnp.modf(x)[0],
        ulps=0,
    ),
    row(
        "frexp fraction",
        lambda x: mp.frexp(x)[0],
        lambda x: np.frexp(x)[0],
        call=lambda x: fnp.frexp(x)[0],
        ulps=0,
        narrow_ulps=0,
    ),
]

ELEMENTARY = [
    row("sqrt", mp.sqrt, ulps=0.5, narrow_ulps=0.51),
    row(
        "rsqrt",
        lambda x: 1 / mp.sqrt(x),
        at({0.0: INF, INF: 0.0, -INF: NAN}, None),
        ulps=2,
        limits=((5e-324, INF),),
    ),
    row("cbrt", root3),
    row("exp", mp.exp, low=-760, high=720),
    row("exp2", lambda x: mp.mpf(2) ** x, low=-1100, high=1100),
    row("expm1", mp.expm1, low=-760, high=720),
    row("log", mp.log, low=0),
    row("log2", lambda x: mp.log(x) / mp.log(2), low=0, points=(8.0, 0.125, 1.25, 0.99)),
    row("log10", mp.log10, low=0, points=(1000.0, 0.99)),
    row("log1p", mp.log1p, low=-1),
    row("sin", mp.sin),
    row("cos", mp.cos),
    row("tan", mp.tan),
    row("arcsin", mp.asin, low=-1, high=1),
    row("arccos", mp.acos, low=-1, high=1),
    row("arctan", mp.atan),
    row("sinh", mp.sinh, low=-720, high=720),
    row("cosh", mp.cosh, low=-720, high=720),
    row("tanh", mp.tanh, low=-30, high=30),
    row("arcsinh", mp.asinh),
    row("arccosh", mp.acosh, low=1),
    row("arctanh", mp.atanh, low=-1, high=1),
    row(
        "sinc",
        sinc,
        at({0.0: 1.0, INF: NAN, -INF: NAN}),
        low=-1e5,
        high=1e5,
        points=(1.0, 2.0, 0.999, 1e-8),
        narrow_ulps=3,
    ),
    row("logistic", sigmoid, ss.expit, low=-760, high=760),
]


def far_erfcx(x):
    """By its asymptotic series, Abramowitz and Stegun, 7.1.23."""
    return (1 - 1 / (2 * x * x) + 3 / (4 * x**4)) / (x * mp.sqrt(mp.pi))


SPECIAL = [
    row("erf", mp.erf, low=-7, high=7),
    row("erfc", erfc, low=-7, high=28),
    row(
        "erfinv",
        erf_inverse,
        low=-1,
        high=1,
        points=(BELOW_ONE, -BELOW_ONE, 1 - 2.0**-53, 2.0**-24 - 1),
    ),
    row(
        "erfcx",
        lambda x: mp.exp(x * x) * erfc(x) if abs(x) < 1000 else far_erfcx(x),
        low=-26,
        limits=((-26.0, INF),),
    ),
    row("sinpi", mp.sinpi, at({0.0: 0.0, INF: NAN, -INF: NAN}), low=-1e5, high=1e5),
    row("cospi", mp.cospi, at({0.0: 1.0, INF: NAN, -INF: NAN}), low=-1e5, high=1e5),
    row("expit", sigmoid, low=-760, high=760),
    row("logit", logit, low=0, high=1, points=(0.5, 0.50001, 0.4999, BELOW_ONE)),
    row(
        "gammaln",
        lgamma,
        at({0.0: INF, INF: INF, -INF: INF}),
        points=(0.999, 1.0001, 2.001, -2.4570247),
    ),
    row("gamma", gamma, low=-40, high=175, points=(170.5, -3.0, 34.5, 35.5, -150.3)),
    row(
        "factorial",
        factorial,
        at({0.0: 1.0, INF: INF, -INF: 0.0}),
        low=-40,
        high=172,
        points=(-1.5, -0.5, 5.0, 33.3, -1.0, 169.7),
    ),
    row(
        "digamma",
        digamma,
        at({0.0: NAN, INF: INF, -INF: NAN}),
        low=-1e4,
        points=DIGAMMA_ROOTS,
        scale=lambda x: 1.0 if x < 0 else 0.0,
    ),
    row(
        "i0",
        bessel(0),
        at({0.0: 1.0, INF: INF, -INF: INF}),
        low=-720,
        high=720,
        points=(88.9, 711.5, 713.5),
    ),
    row(
        "i1",
        bessel(1),
        at({INF: INF, -INF: -INF}, lambda x: x),
        low=-720,
        high=720,
        points=(88.9, 711.5, -713.5),
    ),
    row("i0e", scaled_bessel(0), points=(29.9, 30.1, 1e4, 1e300)),
    row("i1e", scaled_bessel(1), points=(29.9, 30.1, 1e4, -1e300)),
    row(
        "entr", lambda x: -x * mp.log(x) if x > 0 else -INF, low=0, narrow_ulps=2, zero_signs=False
    ),
    row("ndtr", normal, low=-39, high=9),
    row(
        "ndtri",
        normal_quantile,
        at({0.0: -INF, INF: NAN, -INF: NAN}),
        low=0,
        high=1,
        points=(0.5, 0.5000001, 1e-300, BELOW_ONE, 2.0, -0.5),
    ),
    row("log_ndtr", log_normal, low=-1e6, high=40, points=(-8.001, -7.99, -1e4, 0.3, 8.2, 36.0)),
    row(
        "gammasgn",
        lambda x: (
            NAN
            if x < 0 and x == mp.floor(x)
            else mp.sign(mp.gamma(x))
            if x > -1000
            else (1 if mp.floor(x) % 2 == 0 else -1)
        ),
        ulps=0,
        high=1e3,
    ),
    row(
        "i0 of numpy",
        bessel(0),
        at({0.0: 1.0, INF: INF, -INF: INF}),
        call=fnp.i0,
        low=-720,
        high=720,
    ),
]

# x times what becomes 0 at minus infinity is NaN there, as the formula says. Where that factor is
# subnormal it has fewer digits: such points of float32 are left out.
ACTIVATIONS = [
    row(
        "relu",
        lambda x: max(x, mp.mpf(0)),
        at({0.0: 0.0, INF: INF, -INF: 0.0}),
        call=nn.relu,
        ulps=0,
    ),
    row(
        "relu6",
        lambda x: min(max(x, mp.mpf(0)), mp.mpf(6)),
        at({0.0: 0.0, INF: 6.0, -INF: 0.0}),
        call=nn.relu6,
        ulps=0,
    ),
    row("sigmoid", sigmoid, ss.expit, call=nn.sigmoid, low=-760, high=760),
    row(
        "softplus",
        softplus,
        at({0.0: math.log(2), INF: INF, -INF: 0.0}),
        call=nn.softplus,
        narrow_ulps=2,
        low=-760,
    ),
    row(
        "log_sigmoid",
        lambda x: -softplus(-x),
        at({0.0: -math.log(2), INF: -0.0, -INF: -INF}),
        call=nn.log_sigmoid,
        narrow_ulps=2,
        high=760,
    ),
    row("squareplus", squareplus, at({0.0: 1.0, INF: INF, -INF: 0.0}), call=nn.squareplus),
    row(
        "soft_sign",
        lambda x: x / (abs(x) + 1),
        at({INF: NAN, -INF: NAN}, lambda x: x),
        call=nn.soft_sign,
    ),
    row(
        "silu",
        lambda x: x * sigmoid(x),
        at({INF: INF, -INF: NAN}, lambda x: x),
        call=nn.silu,
        limits=((-80.0, INF),),
        low=-80.0,
        high=760,
    ),
    row(
        "mish",
        lambda x: x * mp.tanh(softplus(x)),
        at({INF: INF, -INF: NAN}, lambda x: x),
        call=nn.mish,
        limits=((-80.0, INF),),
        low=-80.0,
        high=760,
    ),
    row(
        "gelu",
        gelu_tanh,
        at({INF: INF, -INF: NAN}, lambda x: x),
        call=nn.gelu,
        low=-40,
        high=40,
        ulps=lambda x: 4 + 8 * abs(x) + x * x * x * x / 4 if x < 0 else 4,
    ),
    row(
        "gelu erf",
        lambda x: x * normal(x),
        at({INF: INF, -INF: NAN}, lambda x: x),
        call=lambda x: nn.gelu(x, approximate=False),
        limits=((-12.5, INF),),
        low=-12.5,
        high=40,
    ),
    row(
        "elu",
        lambda x: x if x > 0 else mp.expm1(x),
        at({INF: INF, -INF: -1.0}, lambda x: x),
        call=nn.elu,
    ),
    row(
        "celu",
        lambda x: x if x > 0 else 2 * mp.expm1(x / 2),
        at({INF: INF, -INF: -2.0}, lambda x: x),
        call=lambda x: nn.celu(x, 2.0),
    ),
    row(
        "selu",
        lambda x: (
            mp.mpf("1.0507009873554804934193349852946")
            * (x if x > 0 else mp.mpf("1.6732632423543772848170429916717") * mp.expm1(x))
        ),
        at({INF: INF, -INF: -1.7580993408473766}, lambda x: x),
        call=nn.selu,
    ),
    row(
        "leaky_relu",
        lambda x: x if x > 0 else x / 100,
        at({INF: INF, -INF: -INF}, lambda x: x),
        call=nn.leaky_relu,
        ulps=2,
    ),
    row(
        "hard_tanh",
        lambda x: min(max(x, mp.mpf(-1)), mp.mpf(1)),
        at({INF: 1.0, -INF: -1.0}, lambda x: x),
        call=nn.hard_tanh,
        ulps=0,
        narrow_ulps=0,
    ),
    row(
        "hard_sigmoid",
        lambda x: min(max(x + 3, mp.mpf(0)), mp.mpf(6)) / 6,
        at({0.0: 0.5, INF: 1.0, -INF: 0.0}),
        call=nn.hard_sigmoid,
        ulps=2,
        narrow_ulps=2,
    ),
    row(
        "hard_silu",
        lambda x: x * min(max(x + 3, mp.mpf(0)), mp.mpf(6)) / 6,
        at({INF: INF, -INF: NAN}, lambda x: x),
        call=nn.hard_silu,
        ulps=2,
        narrow_ulps=2,
    ),
    row(
        "log1mexp",
        log_minus_expm1,
        at({0.0: -INF, INF: -0.0, -INF: NAN}),
        call=nn.log1mexp,
        low=0,
        high=760,
    ),
    row(
        "sparse_plus",
        lambda x: 0 if x < -1 else (x if x > 1 else (x + 1) ** 2 / 4),
        at({0.0: 0.25, INF: INF, -INF: 0.0}),
        call=nn.sparse_plus,
        narrow_ulps=3,
    ),
    row(
        "sparse_sigmoid",
        lambda x: min(max((x + 1) / 2, mp.mpf(0)), mp.mpf(1)),
        at({0.0: 0.5, INF: 1.0, -INF: 0.0}),
        call=nn.sparse_sigmoid,
        ulps=2,
    ),
]

TABLES = {
    "rounding": ROUNDING,
    "elementary": ELEMENTARY,
    "special": SPECIAL,
    "activations": ACTIVATIONS,
}
