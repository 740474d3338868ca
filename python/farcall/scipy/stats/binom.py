"""The binomial distribution: successes among ``n`` trials of probability ``p``."""

from __future__ import annotations

import math
from typing import Any

from farcall.scipy import special
from farcall.scipy.stats._common import Array, between, f, floats, inside, lax

__all__ = ["logpmf", "pmf"]


def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Array:
    """The logarithm of the probability of ``k``."""
    k, n, p, loc = floats("binom.logpmf", k=k, n=n, p=p, loc=loc)
    y = k - loc
    is_in = between(0, y, n)
    y = f.where(is_in, y, f.zeros((), y.dtype))
    ways = lax.lgamma(n + 1) - lax.lgamma(y + 1) - lax.lgamma(n - y + 1)
    return inside(is_in, ways + special.xlogy(y, p) + special.xlog1py(n - y, -p), -math.inf)


def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Array:
    """The probability of ``k``."""
    return f.exp(logpmf(k, n, p, loc))
