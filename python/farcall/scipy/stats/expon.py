"""The exponential distribution from ``loc`` on, of mean ``scale`` above it."""

from __future__ import annotations

import math
from typing import Any

from farcall.scipy.stats._common import Array, between, f, floats, inside

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _standard(function: str, x: Any, loc: Any, scale: Any) -> tuple[Array, Array]:
    x, loc, scale = floats(f"expon.{function}", x=x, loc=loc, scale=scale)
    return (x - loc) / scale, scale


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the density at ``x``."""
    y, scale = _standard("logpdf", x, loc, scale)
    return inside(f.greater_equal(y, 0), -y - f.log(scale), -math.inf)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density at ``x``."""
    return f.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most ``x``."""
    y, _ = _standard("cdf", x, loc, scale)
    return inside(f.greater_equal(y, 0), -f.expm1(-y), 0)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of cdf."""
    y, _ = _standard("logcdf", x, loc, scale)
    positive = f.maximum(y, 0)
    return inside(f.greater_equal(y, 0), f.log1p(-f.exp(-positive)), -math.inf)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than ``x``."""
    return f.exp(logsf(x, loc, scale))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of sf."""
    y, _ = _standard("logsf", x, loc, scale)
    return inside(f.greater_equal(y, 0), -y, 0)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The inverse of cdf; nan outside of [0, 1]."""
    q, loc, scale = floats("expon.ppf", q=q, loc=loc, scale=scale)
    return inside(between(0, q, 1), loc - scale * f.log1p(-q), math.nan)
