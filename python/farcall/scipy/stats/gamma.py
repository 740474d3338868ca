"""The gamma distribution of shape ``a``."""

from __future__ import annotations

import math
from typing import Any

from farcall.scipy import special
from farcall.scipy.stats._common import Array, f, floats, inside, lax

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def _standard(function: str, x: Any, a: Any, loc: Any, scale: Any) -> tuple[Array, Array, Array]:
    x, a, loc, scale = floats(f"gamma.{function}", x=x, a=a, loc=loc, scale=scale)
    return (x - loc) / scale, a, scale


def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the density at ``x``."""
    y, a, scale = _standard("logpdf", x, a, loc, scale)
    is_in = f.greater_equal(y, 0)
    safe = f.where(is_in, y, 1.0)
    value = special.xlogy(a - 1, safe) - safe - lax.lgamma(a) - f.log(scale)
    return inside(is_in, value, -math.inf)


def pdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density at ``x``."""
    return f.exp(logpdf(x, a, loc, scale))


def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most ``x``."""
    y, a, _ = _standard("cdf", x, a, loc, scale)
    return special.gammainc(a, f.maximum(y, 0))


def logcdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of cdf."""
    return f.log(cdf(x, a, loc, scale))


def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than ``x``."""
    y, a, _ = _standard("sf", x, a, loc, scale)
    return special.gammaincc(a, f.maximum(y, 0))


def logsf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of sf."""
    return f.log(sf(x, a, loc, scale))
