"""The Dirichlet distribution of concentrations ``alpha``."""

from __future__ import annotations

import math
from typing import Any

from farcall.scipy import special
from farcall.scipy.stats._common import Array, f, floats, inside, lax

__all__ = ["logpdf", "pdf"]


def logpdf(x: Any, alpha: Any) -> Array:
    """The logarithm of the density at ``x``.

    Args:
      x: [k, …] points of the simplex, or [k - 1, …] all of their coordinates but the last.
      alpha: [k].

    Raises:
      ValueError: for other shapes.
    """
    x, alpha = floats("dirichlet.logpdf", x=x, alpha=alpha)
    if alpha.ndim != 1 or x.ndim == 0 or x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise ValueError(
            "dirichlet.logpdf: alpha must be a vector and the first dimension of x as long or one "
            f"shorter, got {alpha.shape} and {x.shape}"
        )
    if x.shape[0] != alpha.shape[0]:
        x = f.concatenate([x, 1 - f.sum(x, 0, True)], 0)
    constant = f.sum(lax.lgamma(alpha)) - lax.lgamma(f.sum(alpha))
    column = f.reshape(alpha, (alpha.shape[0],) + (1,) * (x.ndim - 1))
    value = f.sum(special.xlogy(column - 1, x), 0) - constant
    is_on_simplex = f.logical_and(f.all(f.greater(x, 0), 0), f.less(f.abs(f.sum(x, 0) - 1), 1e-6))
    return inside(is_on_simplex, value, -math.inf)


def pdf(x: Any, alpha: Any) -> Array:
    """The density at ``x``; see logpdf."""
    return f.exp(logpdf(x, alpha))
