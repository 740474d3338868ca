"""Special functions, by scipy's names."""

from __future__ import annotations

import operator
from typing import Any

from farcall import _core
from farcall.nn import log_softmax as log_softmax
from farcall.nn import logsumexp as logsumexp
from farcall.nn import softmax as softmax
from farcall.numpy._common import Array, as_array, to_inexact

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

_f, _special = _core.numpy, _core.special


def _float(x: Any, function: str) -> Array:
    return to_inexact(as_array(x, function, "x"))


def erf(x: Any) -> Array:
    """The error function."""
    return _special.erf(x)


def erfc(x: Any) -> Array:
    """1 - erf(x)."""
    return _special.erfc(x)


def erfinv(x: Any) -> Array:
    """The inverse of erf."""
    return _special.erfinv(x)


def expit(x: Any) -> Array:
    """1 / (1 + exp(-x))."""
    return _special.expit(x)


def logit(x: Any) -> Array:
    """log(x / (1 - x)), the inverse of expit."""
    return _special.logit(x)


# ---- the gamma family ----------------------------------------------------------------------------


def gammaln(x: Any) -> Array:
    """The logarithm of the absolute value of the gamma function."""
    return _special.gammaln(x)


def gamma(x: Any) -> Array:
    """The gamma function."""
    return _special.gamma(x)


def factorial(n: Any, exact: bool = False) -> Array:
    """1 * 2 * ... * n, and gamma(n + 1) between the integers; 0 at negative integers."""
    if exact:
        raise NotImplementedError("factorial: argument exact must be False")
    return _special.factorial(n)


def digamma(x: Any) -> Array:
    """The derivative of gammaln."""
    return _special.digamma(x)


def polygamma(n: Any, x: Any) -> Array:
    """The derivative of digamma of order ``n``."""
    return _special.polygamma(n, x)


def gammainc(a: Any, x: Any) -> Array:
    """The lower incomplete gamma function, divided by gamma(a)."""
    return _special.gammainc(a, x)


def gammaincc(a: Any, x: Any) -> Array:
    """The upper incomplete gamma function, divided by gamma(a)."""
    return _special.gammaincc(a, x)


def multigammaln(a: Any, d: int) -> Array:
    """The logarithm of the gamma function of dimension ``d``."""
    return _special.multigammaln(a, operator.index(d))


def betaln(a: Any, b: Any) -> Array:
    """The logarithm of the absolute value of the beta function."""
    return _special.betaln(a, b)


def beta(a: Any, b: Any) -> Array:
    """gamma(a) * gamma(b) / gamma(a + b)."""
    return _special.beta(a, b)


def zeta(x: Any, q: Any = None) -> Array:
    """The sum of (q + k) ** -x over k from 0; ``q`` is 1 if left out."""
    return _special.zeta(x, 1.0 if q is None else q)


# ---- Bessel functions ----------------------------------------------------------------------------


def i0e(x: Any) -> Array:
    """The modified Bessel function of order 0, times exp(-abs(x))."""
    return _special.i0e(x)


def i1e(x: Any) -> Array:
    """The modified Bessel function of order 1, times exp(-abs(x))."""
    return _special.i1e(x)


def i0(x: Any) -> Array:
    """The modified Bessel function of order 0."""
    return _special.i0(x)


def i1(x: Any) -> Array:
    """The modified Bessel function of order 1."""
    return _special.i1(x)


# ---- entropies -----------------------------------------------------------------------------------


def xlogy(x: Any, y: Any) -> Array:
    """x * log(y), 0 where x is 0, unless y is NaN."""
    return _special.xlogy(x, y)


def xlog1py(x: Any, y: Any) -> Array:
    """x * log1p(y), 0 where x is 0, unless y is NaN."""
    return _special.xlog1py(x, y)


def entr(x: Any) -> Array:
    """-x * log(x), 0 at zero, minus infinity below."""
    return _special.entr(x)


def rel_entr(p: Any, q: Any) -> Array:
    """p * log(p / q), 0 where p is 0, infinity where either is negative or q is 0."""
    return _special.rel_entr(p, q)


def kl_div(p: Any, q: Any) -> Array:
    """p * log(p / q) - p + q."""
    return _special.kl_div(p, q)


# ---- the normal distribution ---------------------------------------------------------------------


def ndtr(x: Any) -> Array:
    """The normal distribution up to x."""
    return _special.ndtr(x)


def ndtri(p: Any) -> Array:
    """The inverse of ndtr."""
    return _special.ndtri(p)


def log_ndtr(x: Any) -> Array:
    """log(ndtr(x)), also far below zero, where ndtr(x) is 0."""
    return _special.log_ndtr(x)


def betainc(a: Any, b: Any, x: Any) -> Array:
    """The incomplete beta function, regularised: the part of beta(a, b) that lies below ``x``.

    It has no derivatives with respect to ``a`` and ``b``.
    """
    return _special.betainc(a, b, x)


def gammasgn(x: Any) -> Array:
    """The sign of the gamma function: 1 or -1, NaN where it has none."""
    return _special.gammasgn(x)


def boxcox(x: Any, lmbda: Any) -> Array:
    """``(x^lmbda - 1) / lmbda``, and log(x) where ``lmbda`` is 0."""
    return _special.boxcox(x, lmbda)


def boxcox1p(x: Any, lmbda: Any) -> Array:
    """``boxcox(1 + x, lmbda)``."""
    return _special.boxcox1p(x, lmbda)
