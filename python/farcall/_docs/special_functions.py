"""The docstrings of the functions that farcall.scipy.special has from the core."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_DOCS = {
    "erf": "The error function.",
    "erfc": "1 - erf(x).",
    "erfinv": "The inverse of erf.",
    "expit": "1 / (1 + exp(-x)).",
    "logit": "log(x / (1 - x)), the inverse of expit.",
    "gammaln": "The logarithm of the absolute value of the gamma function.",
    "gamma": "The gamma function.",
    "factorial": "1 * 2 * ... * n, and gamma(n + 1) between the integers; 0 at negative integers.",
    "digamma": "The derivative of gammaln.",
    "polygamma": "The derivative of digamma of order ``n``.",
    "gammainc": "The lower incomplete gamma function, divided by gamma(a).",
    "gammaincc": "The upper incomplete gamma function, divided by gamma(a).",
    "multigammaln": "The logarithm of the gamma function of dimension ``d``.",
    "betaln": "The logarithm of the absolute value of the beta function.",
    "beta": "gamma(a) * gamma(b) / gamma(a + b).",
    "zeta": "The sum of (q + k) ** -x over k from 0; ``q`` is 1 if left out.",
    "i0e": "The modified Bessel function of order 0, times exp(-abs(x)).",
    "i1e": "The modified Bessel function of order 1, times exp(-abs(x)).",
    "i0": "The modified Bessel function of order 0.",
    "i1": "The modified Bessel function of order 1.",
    "xlogy": "x * log(y), 0 where x is 0, unless y is NaN.",
    "xlog1py": "x * log1p(y), 0 where x is 0, unless y is NaN.",
    "entr": "-x * log(x), 0 at zero, minus infinity below.",
    "rel_entr": "p * log(p / q), 0 where p is 0, infinity where either is negative or q is 0.",
    "kl_div": "p * log(p / q) - p + q.",
    "ndtr": "The normal distribution up to x.",
    "ndtri": "The inverse of ndtr.",
    "log_ndtr": "log(ndtr(x)), also far below zero, where ndtr(x) is 0.",
    "betainc": """The part of beta(a, b) below ``x``: the regularised incomplete beta function.

        It has no derivatives with respect to ``a`` and ``b``.
        """,
    "gammasgn": "The sign of the gamma function: 1 or -1, NaN where it has none.",
    "boxcox": "``(x^lmbda - 1) / lmbda``, and log(x) where ``lmbda`` is 0.",
    "boxcox1p": "``boxcox(1 + x, lmbda)``.",
}

document(_core.special, "farcall.scipy.special", _DOCS)
