"""The generalized normal distribution of shape ``beta``."""

from __future__ import annotations

from typing import Any

from farcall.scipy import special
from farcall.scipy.stats._common import Array, f, floats, lax

__all__ = ["cdf", "logpdf", "pdf"]


def logpdf(x: Any, beta: Any) -> Array:
    """The logarithm of the density at ``x``."""
    x, beta = floats("gennorm.logpdf", x=x, beta=beta)
    return f.log(beta / 2) - lax.lgamma(1 / beta) - f.power(f.abs(x), beta)


def pdf(x: Any, beta: Any) -> Array:
    """The density at ``x``."""
    return f.exp(logpdf(x, beta))


def cdf(x: Any, beta: Any) -> Array:
    """The probability of at most ``x``."""
    x, beta = floats("gennorm.cdf", x=x, beta=beta)
    return 0.5 * (1 + f.sign(x) * special.gammainc(1 / beta, f.power(f.abs(x), beta)))
