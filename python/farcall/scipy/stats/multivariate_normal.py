"""The normal distribution of vectors."""

from __future__ import annotations

import math
from typing import Any

from farcall import lax as _lax
from farcall.lax import linalg
from farcall.scipy.stats._common import Array, f, floats

__all__ = ["logpdf", "pdf"]


def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Array:
    """The logarithm of the density at ``x``.

    Args:
      x: [..., n].
      mean: [..., n], or a number.
      cov: the covariances, [..., n, n]; a number stands for that times the identity.
      allow_singular: must be None.

    Raises:
      ValueError: for shapes that do not fit.
    """
    if allow_singular is not None:
        raise NotImplementedError("multivariate_normal.logpdf: allow_singular must be None")
    x, mean, cov = floats("multivariate_normal.logpdf", x=x, mean=mean, cov=cov)
    if mean.ndim == 0 and cov.ndim == 0:
        return -(f.square(x - mean) / cov + math.log(2 * math.pi) + f.log(cov)) / 2
    n = mean.shape[-1] if mean.ndim else cov.shape[-1]
    if cov.ndim < 2:
        y = (x - mean) / f.sqrt(cov)
        size = cov if cov.ndim else f.broadcast_to(cov, (n,))
        half_log_det = f.sum(f.log(size), -1) / 2
        return -f.sum(y * y, -1) / 2 - n * math.log(2 * math.pi) / 2 - half_log_det
    if cov.shape[-2:] != (n, n):
        raise ValueError(
            f"multivariate_normal.logpdf: cov must be [..., {n}, {n}] for a mean of shape "
            f"{mean.shape}, got {cov.shape}"
        )
    lower = linalg.cholesky(cov)
    difference = x - mean
    batch = _lax.broadcast_shapes(difference.shape[:-1], lower.shape[:-2])
    difference = f.broadcast_to(difference, (*batch, n))
    lower = f.broadcast_to(lower, (*batch, n, n))
    y = linalg.triangular_solve(lower, f.expand_dims(difference, -1), left_side=True, lower=True)
    half_log_det = f.sum(f.log(f.diagonal(lower, 0, -2, -1)), -1)
    squares = f.sum(f.square(f.squeeze(y, -1)), -1)
    return -squares / 2 - n * math.log(2 * math.pi) / 2 - half_log_det


def pdf(x: Any, mean: Any, cov: Any) -> Array:
    """The density at ``x``; see logpdf."""
    return f.exp(logpdf(x, mean, cov))
