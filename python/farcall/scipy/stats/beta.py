"""The beta distribution of shapes ``a`` and ``b`` on [loc, loc + scale]."""

from __future__ import annotations

import math
from typing import Any

from farcall.scipy import special
from farcall.scipy.stats._common import Array, between, f, floats, inside

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def _standard(function: str, x: Any, a: Any, b: Any, loc: Any, scale: Any) -> tuple[Array, ...]:
    x, a, b, loc, scale = floats(f"beta.{function}", x=x, a=a, b=b, loc=loc, scale=scale)
    return (x - loc) / scale, a, b, scale


def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the density at ``x``."""
    y, a, b, scale = _standard("logpdf", x, a, b, loc, scale)
    is_in = between(0, y, 1)
    safe = f.where(is_in, y, 0.5)
    value = special.xlogy(a - 1, safe) + special.xlog1py(b - 1, -safe) - special.betaln(a, b)
    return inside(is_in, value - f.log(scale), -math.inf)


def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density at ``x``."""
    return f.exp(logpdf(x, a, b, loc, scale))


def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most ``x``."""
    y, a, b, _ = _standard("cdf", x, a, b, loc, scale)
    return special.betainc(a, b, f.clip(y, 0, 1))


def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of cdf."""
    return f.log(cdf(x, a, b, loc, scale))


def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than ``x``."""
    y, a, b, _ = _standard("sf", x, a, b, loc, scale)
    return special.betainc(b, a, 1 - f.clip(y, 0, 1))


def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of sf."""
    return f.log(sf(x, a, b, loc, scale))
