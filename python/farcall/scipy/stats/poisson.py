"""The Poisson distribution of mean ``mu``."""

from __future__ import annotations

import math
from typing import Any

from farcall.scipy import special
from farcall.scipy.stats._common import Array, f, floats, inside, lax

__all__ = ["cdf", "logpmf", "pmf"]


def logpmf(k: Any, mu: Any, loc: Any = 0) -> Array:
    """The logarithm of the probability of ``k``; that of what is no whole number is 0."""
    k, mu, loc = floats("poisson.logpmf", k=k, mu=mu, loc=loc)
    y = k - loc
    is_in = f.logical_and(f.greater_equal(y, 0), f.equal(y, f.rint(y)))
    y = f.where(is_in, y, f.zeros((), y.dtype))
    return inside(is_in, special.xlogy(y, mu) - lax.lgamma(y + 1) - mu, -math.inf)


def pmf(k: Any, mu: Any, loc: Any = 0) -> Array:
    """The probability of ``k``."""
    return f.exp(logpmf(k, mu, loc))


def cdf(k: Any, mu: Any, loc: Any = 0) -> Array:
    """The probability of at most ``k``."""
    k, mu, loc = floats("poisson.cdf", k=k, mu=mu, loc=loc)
    y = k - loc
    is_in = f.greater_equal(y, 0)
    value = special.gammaincc(f.floor(f.maximum(y, 0)) + 1, mu)
    return inside(is_in, value, 0)
