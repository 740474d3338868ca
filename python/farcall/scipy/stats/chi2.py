"""The chi-squared distribution of ``df`` degrees of freedom."""

from __future__ import annotations

from typing import Any

from farcall.scipy.stats import gamma
from farcall.scipy.stats._common import Array, f, floats

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def _as_gamma(function: str, x: Any, df: Any, loc: Any, scale: Any) -> tuple[Array, ...]:
    x, df, loc, scale = floats(f"chi2.{function}", x=x, df=df, loc=loc, scale=scale)
    return x, df / 2, loc, 2 * scale


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the density at ``x``."""
    return gamma.logpdf(*_as_gamma("logpdf", x, df, loc, scale))


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density at ``x``."""
    return f.exp(logpdf(x, df, loc, scale))


def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most ``x``."""
    return gamma.cdf(*_as_gamma("cdf", x, df, loc, scale))


def logcdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of cdf."""
    return f.log(cdf(x, df, loc, scale))


def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than ``x``."""
    return gamma.sf(*_as_gamma("sf", x, df, loc, scale))


def logsf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of sf."""
    return f.log(sf(x, df, loc, scale))
