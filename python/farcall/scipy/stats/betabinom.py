"""The beta-binomial distribution: a binomial one whose probability has a beta distribution."""

from __future__ import annotations

import math
from typing import Any

from farcall.scipy import special
from farcall.scipy.stats._common import Array, between, f, floats, inside

__all__ = ["logpmf", "pmf"]


def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Array:
    """The logarithm of the probability of ``k``."""
    k, n, a, b, loc = floats("betabinom.logpmf", k=k, n=n, a=a, b=b, loc=loc)
    whole = f.floor(k - loc)
    is_in = between(0, whole, n)
    y = f.where(is_in, whole, f.zeros((), k.dtype))
    ways = -f.log1p(n) - special.betaln(n - y + 1, y + 1)
    return inside(is_in, ways + special.betaln(y + a, n - y + b) - special.betaln(a, b), -math.inf)


def pmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Array:
    """The probability of ``k``."""
    return f.exp(logpmf(k, n, a, b, loc))
