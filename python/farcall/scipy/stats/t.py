"""Student's distribution of ``df`` degrees of freedom."""

from __future__ import annotations

import math
from typing import Any

from farcall.scipy.stats._common import Array, f, floats, lax

__all__ = ["logpdf", "pdf"]


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the density at ``x``."""
    x, df, loc, scale = floats("t.logpdf", x=x, df=df, loc=loc, scale=scale)
    y = (x - loc) / scale
    half = (df + 1) / 2
    constant = lax.lgamma(half) - lax.lgamma(df / 2) - f.log(df * math.pi) / 2
    return constant - f.log(scale) - half * f.log1p(y * y / df)


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density at ``x``."""
    return f.exp(logpdf(x, df, loc, scale))
