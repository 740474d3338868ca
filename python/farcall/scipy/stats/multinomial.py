"""The multinomial distribution: how often each outcome comes in ``n`` trials."""

from __future__ import annotations

import math
from typing import Any

from farcall.numpy._common import as_array
from farcall.scipy import special
from farcall.scipy.stats._common import Array, f, floats, inside, lax

__all__ = ["logpmf", "pmf"]


def logpmf(x: Any, n: Any, p: Any) -> Array:
    """The logarithm of the probability of the counts ``x`` along the last dimension."""
    (p,) = floats("multinomial.logpmf", p=p)
    counts = as_array(x, "multinomial.logpmf", "x")
    trials = as_array(n, "multinomial.logpmf", "n")
    k, total = f.astype(counts, p.dtype), f.astype(trials, p.dtype)
    value = lax.lgamma(total + 1) + f.sum(special.xlogy(k, p) - lax.lgamma(k + 1), -1)
    return inside(f.equal(f.sum(counts, -1), trials), value, -math.inf)


def pmf(x: Any, n: Any, p: Any) -> Array:
    """The probability of the counts ``x``."""
    return f.exp(logpmf(x, n, p))
