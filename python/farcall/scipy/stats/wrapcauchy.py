"""The Cauchy distribution wrapped about the circle."""

from __future__ import annotations

import math
from typing import Any

from farcall.scipy.stats._common import Array, between, f, floats

__all__ = ["logpdf", "pdf"]


def logpdf(x: Any, c: Any) -> Array:
    """The logarithm of the density at the angle ``x`` in [0, 2 pi]; nan unless 0 < c < 1."""
    x, c = floats("wrapcauchy.logpdf", x=x, c=c)
    value = f.log1p(-c * c) - math.log(2 * math.pi) - f.log(1 + c * c - 2 * c * f.cos(x))
    value = f.where(between(0, x, 2 * math.pi), value, -math.inf)
    is_shape = f.logical_and(f.greater(c, 0), f.less(c, 1))
    return f.where(is_shape, value, math.nan)


def pdf(x: Any, c: Any) -> Array:
    """The density at the angle ``x``."""
    return f.exp(logpdf(x, c))
