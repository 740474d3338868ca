"""The Bernoulli distribution: 1 with probability ``p``, else 0."""

from __future__ import annotations

import math
from typing import Any

from farcall.scipy import special
from farcall.scipy.stats._common import Array, between, f, floats, inside

__all__ = ["cdf", "logpmf", "pmf", "ppf"]


def logpmf(k: Any, p: Any, loc: Any = 0) -> Array:
    """The logarithm of the probability of ``k``."""
    k, p, loc = floats("bernoulli.logpmf", k=k, p=p, loc=loc)
    x = k - loc
    value = special.xlogy(x, p) + special.xlog1py(1 - x, -p)
    is_in = f.logical_or(f.equal(x, 0), f.equal(x, 1))
    return inside(is_in, value, -math.inf)


def pmf(k: Any, p: Any, loc: Any = 0) -> Array:
    """The probability of ``k``."""
    return f.exp(logpmf(k, p, loc))


def cdf(k: Any, p: Any) -> Array:
    """The probability of at most ``k``; nan for a ``p`` outside of [0, 1]."""
    k, p = floats("bernoulli.cdf", k=k, p=p)
    value = f.where(f.less(k, 0), 0.0, f.where(f.less(k, 1), 1 - p, 1.0))
    is_in = f.logical_and(between(0, p, 1), f.logical_not(f.isnan(k)))
    return inside(is_in, f.astype(value, p.dtype), math.nan)


def ppf(q: Any, p: Any) -> Array:
    """The least ``k`` whose cdf is at least ``q``; nan outside of [0, 1]."""
    q, p = floats("bernoulli.ppf", q=q, p=p)
    is_in = f.logical_and(between(0, q, 1), between(0, p, 1))
    value = f.astype(f.greater(q, 1 - p), q.dtype)
    return inside(is_in, value, math.nan)
