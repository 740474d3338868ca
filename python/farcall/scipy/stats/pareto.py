"""The Pareto distribution of shape ``b``, from loc + scale on."""

from __future__ import annotations

import math
from typing import Any

from farcall.scipy.stats._common import Array, between, f, floats, inside

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _standard(function: str, x: Any, b: Any, loc: Any, scale: Any) -> tuple[Array, Array, Array]:
    x, b, loc, scale = floats(f"pareto.{function}", x=x, b=b, loc=loc, scale=scale)
    return (x - loc) / scale, b, scale


def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the density at ``x``."""
    y, b, scale = _standard("logpdf", x, b, loc, scale)
    is_in = f.greater_equal(y, 1)
    value = f.log(b) - f.log(scale) - (b + 1) * f.log(f.where(is_in, y, 1.0))
    return inside(is_in, value, -math.inf)


def pdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density at ``x``."""
    return f.exp(logpdf(x, b, loc, scale))


def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of sf."""
    y, b, _ = _standard("logsf", x, b, loc, scale)
    return -b * f.log(f.maximum(y, 1))


def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than ``x``."""
    return f.exp(logsf(x, b, loc, scale))


def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most ``x``."""
    return -f.expm1(logsf(x, b, loc, scale))


def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of cdf."""
    return f.log(cdf(x, b, loc, scale))


def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The inverse of cdf; nan outside of [0, 1]."""
    q, b, loc, scale = floats("pareto.ppf", q=q, b=b, loc=loc, scale=scale)
    return inside(between(0, q, 1), loc + scale * f.exp(-f.log1p(-q) / b), math.nan)
