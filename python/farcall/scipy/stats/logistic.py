"""The logistic distribution of mean ``loc``."""

from __future__ import annotations

from typing import Any

from farcall import nn
from farcall.scipy import special
from farcall.scipy.stats._common import Array, f, floats

__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]


def _standard(function: str, x: Any, loc: Any, scale: Any) -> tuple[Array, Array]:
    x, loc, scale = floats(f"logistic.{function}", x=x, loc=loc, scale=scale)
    return (x - loc) / scale, scale


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The logarithm of the density at ``x``."""
    y, scale = _standard("logpdf", x, loc, scale)
    return -(y + 2 * nn.softplus(-y)) - f.log(scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density at ``x``."""
    return f.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most ``x``."""
    return special.expit(_standard("cdf", x, loc, scale)[0])


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than ``x``."""
    return special.expit(-_standard("sf", x, loc, scale)[0])


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The inverse of cdf."""
    q, loc, scale = floats("logistic.ppf", q=q, loc=loc, scale=scale)
    return special.logit(q) * scale + loc


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The inverse of sf."""
    q, loc, scale = floats("logistic.isf", q=q, loc=loc, scale=scale)
    return loc - special.logit(q) * scale
