"""The Gumbel distribution of the greatest of many values."""

from __future__ import annotations

from typing import Any

from farcall.scipy.stats._common import Array, f, floats

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _standard(function: str, x: Any, loc: Any, scale: Any) -> tuple[Array, Array]:
    x, loc, scale = floats(f"gumbel_r.{function}", x=x, loc=loc, scale=scale)
    return (x - loc) / scale, scale


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the density at ``x``."""
    y, scale = _standard("logpdf", x, loc, scale)
    return -(y + f.exp(-y)) - f.log(scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density at ``x``."""
    return f.exp(logpdf(x, loc, scale))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of cdf."""
    return -f.exp(-_standard("logcdf", x, loc, scale)[0])


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most ``x``."""
    return f.exp(logcdf(x, loc, scale))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than ``x``."""
    return -f.expm1(logcdf(x, loc, scale))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of sf."""
    return f.log(sf(x, loc, scale))


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The inverse of cdf."""
    q, loc, scale = floats("gumbel_r.ppf", q=q, loc=loc, scale=scale)
    return loc - scale * f.log(-f.log(q))
