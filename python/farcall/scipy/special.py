"""Special functions, by scipy's names."""

from __future__ import annotations

import math
from typing import Any

from farcall import _core
from farcall.nn import log_softmax as log_softmax
from farcall.nn import logsumexp as logsumexp
from farcall.nn import softmax as softmax
from farcall.numpy._common import Array, as_array, to_inexact
from farcall.numpy._elementwise import _promoted

__all__ = [
    "beta",
    "betainc",
    "betaln",
    "boxcox",
    "boxcox1p",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfinv",
    "expit",
    "factorial",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "kl_div",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "rel_entr",
    "softmax",
    "xlog1py",
    "xlogy",
    "zeta",
]

_f, _lax = _core.numpy, _core.lax


def _float(x: Any, function: str) -> Array:
    return to_inexact(as_array(x, function, "x"))


def erf(x: Any) -> Array:
    """The error function."""
    return _lax.erf(_float(x, "erf"))


def erfc(x: Any) -> Array:
    """1 - erf(x)."""
    return _lax.erfc(_float(x, "erfc"))


def erfinv(x: Any) -> Array:
    """The inverse of erf."""
    return _lax.erf_inv(_float(x, "erfinv"))


def expit(x: Any) -> Array:
    """1 / (1 + exp(-x))."""
    return _lax.logistic(_float(x, "expit"))


def logit(x: Any) -> Array:
    """log(x / (1 - x)), the inverse of expit."""
    array = _float(x, "logit")
    return _f.log(array / (1 - array))


# ---- the gamma family ----------------------------------------------------------------------------


def gammaln(x: Any) -> Array:
    """The logarithm of the absolute value of the gamma function."""
    return _lax.lgamma(_float(x, "gammaln"))


def gamma(x: Any) -> Array:
    """The gamma function."""
    array = _float(x, "gamma")
    is_even = _f.equal(_f.remainder(_f.floor(array), 2), 0)
    sign = _f.where(_f.logical_or(_f.greater(array, 0), is_even), 1.0, -1.0)
    is_pole = _f.logical_and(_f.less(array, 0), _f.equal(array, _f.floor(array)))
    return _f.where(is_pole, math.nan, sign * _f.exp(_lax.lgamma(array)))


def factorial(n: Any, exact: bool = False) -> Array:
    """1 * 2 * ... * n; 0 below zero."""
    if exact:
        raise NotImplementedError("factorial: argument exact must be False")
    array = _float(n, "factorial")
    return _f.where(_f.less(array, 0), 0, _f.exp(_lax.lgamma(array + 1)))


def digamma(x: Any) -> Array:
    """The derivative of gammaln."""
    return _lax.digamma(_float(x, "digamma"))


def polygamma(n: Any, x: Any) -> Array:
    """The derivative of digamma of order ``n``."""
    return _lax.polygamma(*_promoted(n, x, "polygamma"))


def gammainc(a: Any, x: Any) -> Array:
    """The lower incomplete gamma function, divided by gamma(a)."""
    return _lax.igamma(*_promoted(a, x, "gammainc"))


def gammaincc(a: Any, x: Any) -> Array:
    """The upper incomplete gamma function, divided by gamma(a)."""
    return _lax.igammac(*_promoted(a, x, "gammaincc"))


def multigammaln(a: Any, d: int) -> Array:
    """The logarithm of the gamma function of dimension ``d``."""
    array = _float(a, "multigammaln")
    total = 0.25 * d * (d - 1) * math.log(math.pi) + gammaln(array)
    for i in range(1, d):
        total = total + gammaln(array - i / 2)
    return total


def betaln(a: Any, b: Any) -> Array:
    """The logarithm of the absolute value of the beta function."""
    x, y = _promoted(a, b, "betaln")
    return gammaln(x) + gammaln(y) - gammaln(x + y)


def beta(a: Any, b: Any) -> Array:
    """gamma(a) * gamma(b) / gamma(a + b)."""
    x, y = _promoted(a, b, "beta")
    return gamma(x) * gamma(y) / gamma(x + y)


def zeta(x: Any, q: Any = None) -> Array:
    """The sum of (q + k) ** -x over k from 0; ``q`` is 1 if left out."""
    return _lax.zeta(*_promoted(x, 1.0 if q is None else q, "zeta"))


# ---- Bessel functions ----------------------------------------------------------------------------


def i0e(x: Any) -> Array:
    """The modified Bessel function of order 0, times exp(-abs(x))."""
    return _lax.bessel_i0e(_float(x, "i0e"))


def i1e(x: Any) -> Array:
    """The modified Bessel function of order 1, times exp(-abs(x))."""
    return _lax.bessel_i1e(_float(x, "i1e"))


def i0(x: Any) -> Array:
    """The modified Bessel function of order 0."""
    array = _float(x, "i0")
    return _f.exp(_f.abs(array)) * _lax.bessel_i0e(array)


def i1(x: Any) -> Array:
    """The modified Bessel function of order 1."""
    array = _float(x, "i1")
    return _f.exp(_f.abs(array)) * _lax.bessel_i1e(array)


# ---- entropies -----------------------------------------------------------------------------------


def _product(x: Array, y: Array, logarithm: Any) -> Array:
    """x * log(y), 0 where x is 0."""
    is_zero = _f.equal(x, 0)
    return _f.where(is_zero, x * 0, x * logarithm(_f.where(is_zero, 1, y)))


def xlogy(x: Any, y: Any) -> Array:
    """x * log(y), 0 where x is 0."""
    return _product(*_promoted(x, y, "xlogy"), _f.log)


def xlog1py(x: Any, y: Any) -> Array:
    """x * log1p(y), 0 where x is 0."""
    return _product(*_promoted(x, y, "xlog1py"), _f.log1p)


def entr(x: Any) -> Array:
    """-x * log(x), 0 at zero, minus infinity below."""
    array = _float(x, "entr")
    return _f.where(_f.less(array, 0), -math.inf, -xlogy(array, array))


def rel_entr(p: Any, q: Any) -> Array:
    """p * log(p / q), 0 where p is 0, infinity where either is negative or q is 0."""
    x, y = _promoted(p, q, "rel_entr")
    both = _f.logical_and(_f.greater(x, 0), _f.greater(y, 0))
    safe_x, safe_y = _f.where(both, x, 1), _f.where(both, y, 1)
    value = safe_x * (_f.log(safe_x) - _f.log(safe_y))
    is_zero = _f.logical_and(_f.equal(x, 0), _f.greater_equal(y, 0))
    return _f.where(both, value, _f.where(is_zero, 0, math.inf))


def kl_div(p: Any, q: Any) -> Array:
    """p * log(p / q) - p + q."""
    x, y = _promoted(p, q, "kl_div")
    return rel_entr(x, y) - x + y


# ---- the normal distribution ---------------------------------------------------------------------


def ndtr(x: Any) -> Array:
    """The normal distribution up to x."""
    return 0.5 * _lax.erfc(-_float(x, "ndtr") * math.sqrt(0.5))


def ndtri(p: Any) -> Array:
    """The inverse of ndtr."""
    return math.sqrt(2) * _lax.erf_inv(2 * _float(p, "ndtri") - 1)


def log_ndtr(x: Any) -> Array:
    """log(ndtr(x)), also far below zero, where ndtr(x) is 0."""
    array = _float(x, "log_ndtr")
    # Far below, the first terms of the asymptotic series.
    far = _f.less(array, -8.0)
    low = _f.where(far, array, -8.0)
    inverse = 1 / _f.square(low)
    series = 1 - inverse * (1 - 3 * inverse * (1 - 5 * inverse * (1 - 7 * inverse)))
    tail = -0.5 * _f.square(low) - _f.log(-low) - 0.5 * math.log(2 * math.pi) + _f.log(series)
    # Above zero the result is near 0, and has the digits of what is left to 1.
    is_above = _f.greater(array, 0)
    middle = _f.log(ndtr(_f.where(_f.logical_or(far, is_above), 0.0, array)))
    above = _f.log1p(-ndtr(-_f.where(is_above, array, 0.0)))
    return _f.where(far, tail, _f.where(is_above, above, middle))


def betainc(a: Any, b: Any, x: Any) -> Array:
    """The incomplete beta function, regularised: the part of beta(a, b) that lies below ``x``.

    It has no derivatives with respect to ``a`` and ``b``.
    """
    a, b = _promoted(a, b, "betainc")
    a, x = _promoted(a, x, "betainc")
    b, x = _promoted(b, x, "betainc")
    a, x = _promoted(a, x, "betainc")
    return _lax.betainc(a, b, x)


def gammasgn(x: Any) -> Array:
    """The sign of the gamma function: 1 or -1, NaN where it has none."""
    x = _float(x, "gammasgn")
    whole = _f.floor(x)
    sign = 1.0 - 2.0 * _f.mod(whole, 2)
    is_pole = _f.logical_and(_f.less(x, 0), _f.equal(x, whole))
    negative = _f.where(is_pole, math.nan, sign)
    at_zero = _f.where(_f.less(1 / x, 0), -1.0, 1.0)
    return _f.astype(
        _f.where(_f.less(x, 0), negative, _f.where(_f.equal(x, 0), at_zero, 1.0)), x.dtype
    )


def boxcox(x: Any, lmbda: Any) -> Array:
    """``(x^lmbda - 1) / lmbda``, and log(x) where ``lmbda`` is 0."""
    x, lmbda = _promoted(x, lmbda, "boxcox")
    return _power_less_one(_f.log(x), lmbda)


def boxcox1p(x: Any, lmbda: Any) -> Array:
    """``boxcox(1 + x, lmbda)``."""
    x, lmbda = _promoted(x, lmbda, "boxcox1p")
    return _power_less_one(_f.log1p(x), lmbda)


def _power_less_one(log_x: Array, exponent: Array) -> Array:
    is_zero = _f.equal(exponent, 0)
    safe = _f.where(is_zero, 1.0, exponent)
    return _f.where(is_zero, log_x, _f.expm1(safe * log_x) / safe)
