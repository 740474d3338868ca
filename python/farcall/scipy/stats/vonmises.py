"""The von Mises distribution on the circle."""

from __future__ import annotations

import math
from typing import Any

from farcall.scipy import special
from farcall.scipy.stats._common import Array, f, floats, inside

__all__ = ["logpdf", "pdf"]


def logpdf(x: Any, kappa: Any) -> Array:
    """The logarithm of the density at the angle ``x``; nan for a kappa that is not positive."""
    x, kappa = floats("vonmises.logpdf", x=x, kappa=kappa)
    value = kappa * (f.cos(x) - 1) - f.log(2 * math.pi * special.i0e(kappa))
    return inside(f.greater(kappa, 0), value, math.nan)


def pdf(x: Any, kappa: Any) -> Array:
    """The density at the angle ``x``."""
    return f.exp(logpdf(x, kappa))
