"""The Gumbel distribution of the least of many values: that of the greatest, mirrored."""

from __future__ import annotations

from typing import Any

from farcall.scipy.stats import gumbel_r
from farcall.scipy.stats._common import Array, f, floats

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _mirrored(function: str, x: Any, loc: Any, scale: Any) -> tuple[Array, Array, Array]:
    x, loc, scale = floats(f"gumbel_l.{function}", x=x, loc=loc, scale=scale)
    return -x, -loc, scale


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the density at ``x``."""
    return gumbel_r.logpdf(*_mirrored("logpdf", x, loc, scale))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density at ``x``."""
    return f.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most ``x``."""
    return gumbel_r.sf(*_mirrored("cdf", x, loc, scale))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of cdf."""
    return f.log(cdf(x, loc, scale))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than ``x``."""
    return gumbel_r.cdf(*_mirrored("sf", x, loc, scale))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of sf."""
    return gumbel_r.logcdf(*_mirrored("logsf", x, loc, scale))


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The inverse of cdf."""
    q, loc, scale = floats("gumbel_l.ppf", q=q, loc=loc, scale=scale)
    return loc + scale * f.log(-f.log1p(-q))
