"""Gamma samples and samples derived from them; all are differentiable in their parameters."""

from __future__ import annotations

from typing import Any

from farcall import _core
from farcall._core import Array
from farcall.random._shape import Shape

_f = _core.random


def gamma(
    key: Any,
    a: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples with density proportional to x^(a - 1) exp(-x) for x >= 0.

    Args:
      key: a key.
      a: the parameter, positive; samples are differentiable in it.
      shape: the shape of the result, to which ``a`` must broadcast; by default its shape.
      dtype: a float dtype.

    Source: G. Marsaglia and W. Tsang, "A simple method for generating gamma variables" (ACM
    Transactions on Mathematical Software, 2000).
    """
    del out_sharding
    return _f.gamma(key, a, shape, dtype)


def loggamma(
    key: Any,
    a: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """The logarithm of samples of ``gamma``; it is finite where the samples underflow to 0.

    Args:
      key: a key.
      a: the parameter, positive; samples are differentiable in it.
      shape: the shape of the result, to which ``a`` must broadcast; by default its shape.
      dtype: a float dtype.
    """
    del out_sharding
    return _f.loggamma(key, a, shape, dtype)


def beta(
    key: Any,
    a: Any,
    b: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples with density proportional to x^(a - 1) (1 - x)^(b - 1) for 0 <= x <= 1.

    Args:
      key: a key.
      a: the first parameter, positive.
      b: the second parameter, positive.
      shape: the shape of the result, to which ``a`` and ``b`` must broadcast; by default their
        broadcast shape.
      dtype: a float dtype.
    """
    del out_sharding
    return _f.beta(key, a, b, shape, dtype)


def dirichlet(
    key: Any,
    alpha: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples of the Dirichlet distribution: vectors of positive entries that add up to 1.

    Args:
      key: a key.
      alpha: the parameters, positive, along the last dimension.
      shape: the shape of the result without its last dimension, to which the leading dimensions of
        ``alpha`` must broadcast; by default these dimensions.
      dtype: a float dtype.
    """
    del out_sharding
    return _f.dirichlet(key, alpha, shape, dtype)


def chisquare(
    key: Any,
    df: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Chi-square samples: sums of the squares of df standard normal numbers.

    Args:
      key: a key.
      df: the degrees of freedom, positive.
      shape: the shape of the result, to which ``df`` must broadcast; by default its shape.
      dtype: a float dtype.
    """
    del out_sharding
    return _f.chisquare(key, df, shape, dtype)


def f(
    key: Any,
    dfnum: Any,
    dfden: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """F samples: quotients of two chi-square samples, each divided by its degrees of freedom.

    Args:
      key: a key.
      dfnum: the degrees of freedom of the numerator.
      dfden: the degrees of freedom of the denominator.
      shape: the shape of the result, to which ``dfnum`` and ``dfden`` must broadcast; by default
        their broadcast shape.
      dtype: a float dtype.
    """
    del out_sharding
    return _f.f(key, dfnum, dfden, shape, dtype)


def t(
    key: Any,
    df: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Student's t samples: density proportional to (1 + x^2 / df)^(-(df + 1) / 2).

    Args:
      key: a key.
      df: the degrees of freedom, positive.
      shape: the shape of the result, to which ``df`` must broadcast; by default its shape.
      dtype: a float dtype.
    """
    del out_sharding
    return _f.t(key, df, shape, dtype)


def generalized_normal(
    key: Any,
    p: Any,
    shape: Shape = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples with density proportional to exp(-abs(x)^p).

    Args:
      key: a key.
      p: the exponent, positive.
      shape: the shape of the result.
      dtype: a float dtype.
    """
    del out_sharding
    return _f.generalized_normal(key, p, shape, dtype)
