"""Samples that are vectors or matrices."""

from __future__ import annotations

from typing import Any

from farcall import _core
from farcall._core import Array
from farcall.random._shape import Shape

_f = _core.random


def multivariate_normal(
    key: Any,
    mean: Any,
    cov: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Array:
    """Normal vectors with the given mean and covariance.

    Args:
      key: a key.
      mean: an array of shape (..., n).
      cov: symmetric positive definite matrices, of shape (..., n, n).
      shape: the shape of the result without its last dimension; by default the shape to which the
        leading dimensions of ``mean`` and ``cov`` broadcast.
      dtype: a float dtype; that of ``mean`` and ``cov`` by default.
      method: the factorization of ``cov``: ``"cholesky"``, or ``"eigh"`` or ``"svd"``, which
        singular matrices need.
    """
    del out_sharding
    return _f.multivariate_normal(key, mean, cov, shape, dtype, method)


def ball(
    key: Any,
    d: int,
    p: Any = 2,
    shape: Shape = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Uniform samples in the unit ball of a norm.

    Args:
      key: a key.
      d: the number of dimensions.
      p: the order of the norm.
      shape: the shape of the result without its last dimension, which has size d.
      dtype: a float dtype.

    Source: F. Barthe, O. Guedon, S. Mendelson and A. Naor, "A probabilistic approach to the
    geometry of the l_p^n ball" (Annals of Probability, 2005).
    """
    del out_sharding
    return _f.ball(key, d, p, shape, dtype)


def orthogonal(
    key: Any,
    n: int,
    shape: Shape = (),
    dtype: Any = None,
    m: int | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Uniformly distributed matrices with orthonormal rows or columns.

    Args:
      key: a key.
      n: the number of rows.
      shape: the shape of the result without its last two dimensions.
      dtype: float32 or float64, or complex for unitary matrices.
      m: the number of columns, n by default; if m > n the rows are orthonormal, else the columns.

    Source: F. Mezzadri, "How to generate random matrices from the classical compact groups"
    (Notices of the AMS, 2007).
    """
    del out_sharding
    return _f.orthogonal(key, n, shape, dtype, m)
