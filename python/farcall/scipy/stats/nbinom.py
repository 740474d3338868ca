"""The negative binomial distribution: failures before the ``n``-th success of probability ``p``."""

from __future__ import annotations

import math
from typing import Any

from farcall.scipy import special
from farcall.scipy.stats._common import Array, f, floats, inside, lax

__all__ = ["logpmf", "pmf"]


def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Array:
    """The logarithm of the probability of ``k``."""
    k, n, p, loc = floats("nbinom.logpmf", k=k, n=n, p=p, loc=loc)
    y = k - loc
    is_in = f.greater_equal(y, 0)
    y = f.where(is_in, y, f.zeros((), y.dtype))
    ways = lax.lgamma(y + n) - lax.lgamma(n) - lax.lgamma(y + 1)
    return inside(is_in, ways + special.xlogy(n, p) + special.xlog1py(y, -p), -math.inf)


def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Array:
    """The probability of ``k``."""
    return f.exp(logpmf(k, n, p, loc))
