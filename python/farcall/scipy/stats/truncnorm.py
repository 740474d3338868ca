"""The standard normal distribution cut off below ``a`` and above ``b``, scaled and moved."""

from __future__ import annotations

import math
from typing import Any

from farcall.nn import log1mexp
from farcall.scipy import special
from farcall.scipy.stats import norm
from farcall.scipy.stats._common import Array, between, f, floats

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def _log_difference(larger: Array, smaller: Array) -> Array:
    """log(exp(larger) - exp(smaller))."""
    gap = larger - smaller
    is_empty = f.logical_or(f.equal(gap, 0), f.isnan(gap))
    safe = f.where(is_empty, 1.0, gap)
    return f.where(is_empty, -math.inf, larger + log1mexp(safe))


def _log_mass(a: Array, b: Array) -> Array:
    """The logarithm of the standard normal's probability of [a, b]."""
    # Each tail is computed on its own side, where it is exact.
    is_left, is_right = f.less_equal(b, 0), f.greater(a, 0)
    low = f.where(is_right, -b, a)
    high = f.where(is_right, -a, b)
    tail = _log_difference(special.log_ndtr(high), special.log_ndtr(low))
    centre = f.log1p(-special.ndtr(a) - special.ndtr(-b))
    return f.where(f.logical_or(is_left, is_right), tail, centre)


def _standard(
    function: str, x: Any, a: Any, b: Any, loc: Any, scale: Any
) -> tuple[Array, Array, Array, Array]:
    x, a, b, loc, scale = floats(f"truncnorm.{function}", x=x, a=a, b=b, loc=loc, scale=scale)
    y, a, b = (x - loc) / scale, a + 0 * x, b + 0 * x
    return y, a, b, scale


def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the density at ``x``; nan unless a < b."""
    y, a, b, scale = _standard("logpdf", x, a, b, loc, scale)
    value = norm.logpdf(y) - f.log(scale) - _log_mass(a, b)
    value = f.where(between(a, y, b), value, -math.inf)
    return f.where(f.greater_equal(a, b), math.nan, value)


def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density at ``x``."""
    return f.exp(logpdf(x, a, b, loc, scale))


def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of cdf."""
    y, a, b, _ = _standard("logcdf", x, a, b, loc, scale)
    inner = f.clip(y, a, b)
    value = _log_mass(a, inner) - _log_mass(a, b)
    value = f.where(f.greater_equal(y, b), 0.0, f.where(f.less_equal(y, a), -math.inf, value))
    return f.where(f.greater_equal(a, b), math.nan, value)


def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most ``x``."""
    return f.exp(logcdf(x, a, b, loc, scale))


def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of sf."""
    y, a, b, _ = _standard("logsf", x, a, b, loc, scale)
    inner = f.clip(y, a, b)
    value = _log_mass(inner, b) - _log_mass(a, b)
    value = f.where(f.greater_equal(y, b), -math.inf, f.where(f.less_equal(y, a), 0.0, value))
    return f.where(f.greater_equal(a, b), math.nan, value)


def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than ``x``."""
    return f.exp(logsf(x, a, b, loc, scale))
