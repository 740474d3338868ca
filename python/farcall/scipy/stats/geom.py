"""The geometric distribution: trials of probability ``p`` up to the first success."""

from __future__ import annotations

import math
from typing import Any

from farcall.scipy import special
from farcall.scipy.stats._common import Array, f, floats, inside

__all__ = ["logpmf", "pmf"]


def logpmf(k: Any, p: Any, loc: Any = 0) -> Array:
    """The logarithm of the probability of ``k``."""
    k, p, loc = floats("geom.logpmf", k=k, p=p, loc=loc)
    y = k - loc
    is_in = f.greater(y, 0)
    value = special.xlog1py(f.where(is_in, y, 1.0) - 1, -p) + f.log(p)
    return inside(is_in, value, -math.inf)


def pmf(k: Any, p: Any, loc: Any = 0) -> Array:
    """The probability of ``k``."""
    return f.exp(logpmf(k, p, loc))
