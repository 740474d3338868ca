"""The normal distribution of mean ``loc`` and standard deviation ``scale``."""

from __future__ import annotations

import math
from typing import Any

from farcall.scipy import special
from farcall.scipy.stats._common import Array, f, floats

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the density at ``x``."""
    x, loc, scale = floats("norm.logpdf", x=x, loc=loc, scale=scale)
    return -(math.log(2 * math.pi) + f.square((x - loc) / scale)) / 2 - f.log(scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density at ``x``."""
    return f.exp(logpdf(x, loc, scale))


def _standard(function: str, x: Any, loc: Any, scale: Any) -> Array:
    x, loc, scale = floats(f"norm.{function}", x=x, loc=loc, scale=scale)
    return (x - loc) / scale


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most ``x``."""
    return special.ndtr(_standard("cdf", x, loc, scale))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of cdf, without underflow on the way."""
    return special.log_ndtr(_standard("logcdf", x, loc, scale))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than ``x``."""
    return special.ndtr(-_standard("sf", x, loc, scale))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of sf, without underflow on the way."""
    return special.log_ndtr(-_standard("logsf", x, loc, scale))


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The inverse of cdf."""
    q, loc, scale = floats("norm.ppf", q=q, loc=loc, scale=scale)
    return special.ndtri(q) * scale + loc


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The inverse of sf."""
    q, loc, scale = floats("norm.isf", q=q, loc=loc, scale=scale)
    return loc - special.ndtri(q) * scale
