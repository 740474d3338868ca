"""The uniform distribution on [loc, loc + scale]."""

from __future__ import annotations

import math
from typing import Any

from farcall.scipy.stats._common import Array, between, f, floats, inside

__all__ = ["cdf", "logpdf", "pdf", "ppf"]


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the density at ``x``."""
    x, loc, scale = floats("uniform.logpdf", x=x, loc=loc, scale=scale)
    return inside(between(loc, x, loc + scale), -f.log(scale), -math.inf)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density at ``x``."""
    return f.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most ``x``."""
    x, loc, scale = floats("uniform.cdf", x=x, loc=loc, scale=scale)
    return f.clip((x - loc) / scale, 0, 1)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The inverse of cdf; nan outside of [0, 1]."""
    q, loc, scale = floats("uniform.ppf", q=q, loc=loc, scale=scale)
    return inside(between(0, q, 1), q * scale + loc, math.nan)
