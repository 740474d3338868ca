"""The Laplace distribution of mean ``loc``."""

from __future__ import annotations

import math
from typing import Any

from farcall.scipy.stats._common import Array, f, floats

__all__ = ["cdf", "logpdf", "pdf"]


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the density at ``x``."""
    x, loc, scale = floats("laplace.logpdf", x=x, loc=loc, scale=scale)
    return -(f.abs((x - loc) / scale) + math.log(2) + f.log(scale))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density at ``x``."""
    return f.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most ``x``."""
    x, loc, scale = floats("laplace.cdf", x=x, loc=loc, scale=scale)
    y = (x - loc) / scale
    tail = 0.5 * f.exp(-f.abs(y))
    return f.where(f.less_equal(y, 0), tail, 1 - tail)
