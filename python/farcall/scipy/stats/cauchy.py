"""The Cauchy distribution about ``loc``."""

from __future__ import annotations

import math
from typing import Any

from farcall.scipy.stats._common import Array, f, floats

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _standard(function: str, x: Any, loc: Any, scale: Any) -> tuple[Array, Array]:
    x, loc, scale = floats(f"cauchy.{function}", x=x, loc=loc, scale=scale)
    return (x - loc) / scale, scale


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the density at ``x``."""
    y, scale = _standard("logpdf", x, loc, scale)
    return -(math.log(math.pi) + f.log(scale) + f.log1p(y * y))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density at ``x``."""
    return f.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most ``x``."""
    y, _ = _standard("cdf", x, loc, scale)
    return 0.5 + f.arctan(y) / math.pi


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of cdf."""
    return f.log(cdf(x, loc, scale))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than ``x``."""
    y, _ = _standard("sf", x, loc, scale)
    return 0.5 - f.arctan(y) / math.pi


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of sf."""
    return f.log(sf(x, loc, scale))


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The inverse of cdf."""
    q, loc, scale = floats("cauchy.ppf", q=q, loc=loc, scale=scale)
    return f.tan(math.pi * q - math.pi / 2) * scale + loc


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The inverse of sf."""
    q, loc, scale = floats("cauchy.isf", q=q, loc=loc, scale=scale)
    return f.tan(math.pi / 2 - math.pi * q) * scale + loc
