"""Samples of continuous distributions."""

from __future__ import annotations

from typing import Any

from farcall import _core
from farcall._core import Array
from farcall.random._shape import Shape

_f = _core.random


def uniform(
    key: Any,
    shape: Shape = (),
    dtype: Any = None,
    minval: Any = 0.0,
    maxval: Any = 1.0,
    *,
    out_sharding: Any = None,
) -> Array:
    """Uniform samples in [minval, maxval).

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a float dtype.
      minval: the lower bound, which broadcasts to ``shape``.
      maxval: the upper bound, which broadcasts to ``shape``. Rounding can make a sample equal to
        it.
    """
    del out_sharding
    return _f.uniform(key, shape, dtype, minval, maxval)


def normal(
    key: Any,
    shape: Shape = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Standard normal samples: density proportional to exp(-x^2 / 2).

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a float or complex dtype. The variance of complex samples is 1.
    """
    del out_sharding
    return _f.normal(key, shape, dtype)


def truncated_normal(
    key: Any,
    lower: Any,
    upper: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Standard normal samples between bounds, which are excluded.

    Args:
      key: a key.
      lower: the lower bound.
      upper: the upper bound.
      shape: the shape of the result, to which ``lower`` and ``upper`` must broadcast; by default
        their broadcast shape.
      dtype: a float dtype.
    """
    del out_sharding
    return _f.truncated_normal(key, lower, upper, shape, dtype)


def lognormal(
    key: Any,
    sigma: Any = 1.0,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples of exp(sigma x) for a standard normal x.

    Args:
      key: a key.
      sigma: the standard deviation of the logarithm.
      shape: the shape of the result, to which ``sigma`` must broadcast; by default its shape.
      dtype: a float or complex dtype.
    """
    del out_sharding
    return _f.lognormal(key, sigma, shape, dtype)


def exponential(
    key: Any,
    shape: Shape = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples with density exp(-x) for x >= 0.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a float dtype.
    """
    del out_sharding
    return _f.exponential(key, shape, dtype)


def gumbel(
    key: Any,
    shape: Shape = (),
    dtype: Any = None,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples with density exp(-x - exp(-x)).

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a float dtype.
      mode: ``"low"``, the default; ``"high"`` draws twice the bits, so that large samples have the
        correct frequency; ``"highest"`` is exact in the other tail too, for float32.
    """
    del out_sharding
    return _f.gumbel(key, shape, dtype, "low" if mode is None else mode)


def laplace(
    key: Any,
    shape: Shape = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples with density exp(-abs(x)) / 2.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a float dtype.
    """
    del out_sharding
    return _f.laplace(key, shape, dtype)


def logistic(
    key: Any,
    shape: Shape = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples with distribution function 1 / (1 + exp(-x)).

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a float dtype.
    """
    del out_sharding
    return _f.logistic(key, shape, dtype)


def cauchy(
    key: Any,
    shape: Shape = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples with density proportional to 1 / (1 + x^2).

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a float dtype.
    """
    del out_sharding
    return _f.cauchy(key, shape, dtype)


def maxwell(
    key: Any,
    shape: Shape = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples of the length of a standard normal vector in three dimensions.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a float dtype.
    """
    del out_sharding
    return _f.maxwell(key, shape, dtype)


def double_sided_maxwell(
    key: Any,
    loc: Any,
    scale: Any,
    shape: Shape = (),
    dtype: Any = None,
) -> Array:
    """Samples of loc + scale * s * m, with a random sign s and m from ``maxwell``.

    Args:
      key: a key.
      loc: the centre.
      scale: the scale.
      shape: the leading dimensions of the result, in front of the broadcast shape of ``loc`` and
        ``scale``; by default equal to that shape, which the result then has twice, as in JAX.
      dtype: a float dtype.
    """
    return _f.double_sided_maxwell(key, loc, scale, shape, dtype)


def weibull_min(
    key: Any,
    scale: Any,
    concentration: Any,
    shape: Shape = (),
    dtype: Any = None,
) -> Array:
    """Samples with distribution function 1 - exp(-(x / scale)^concentration) for x >= 0.

    Args:
      key: a key.
      scale: the scale, which broadcasts against ``shape``.
      concentration: the exponent, which broadcasts against ``shape``.
      shape: the shape of the result.
      dtype: a float dtype.
    """
    return _f.weibull_min(key, scale, concentration, shape, dtype)


def pareto(
    key: Any,
    b: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples with density b / x^(b + 1) for x >= 1.

    Args:
      key: a key.
      b: the exponent, positive.
      shape: the shape of the result, to which ``b`` must broadcast; by default its shape.
      dtype: a float dtype.
    """
    del out_sharding
    return _f.pareto(key, b, shape, dtype)


def rayleigh(
    key: Any,
    scale: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples with density proportional to x exp(-(x / scale)^2 / 2) for x >= 0.

    Args:
      key: a key.
      scale: the scale, positive.
      shape: the shape of the result, to which ``scale`` must broadcast; by default its shape.
      dtype: a float dtype.
    """
    del out_sharding
    return _f.rayleigh(key, scale, shape, dtype)


def wald(
    key: Any,
    mean: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples of the inverse Gaussian distribution with scale 1.

    Args:
      key: a key.
      mean: the mean, positive.
      shape: the shape of the result, to which ``mean`` must broadcast; by default its shape.
      dtype: a float dtype.

    Source: J. Michael, W. Schucany and R. Haas, "Generating random variates using
    transformations with multiple roots" (The American Statistician, 1976).
    """
    del out_sharding
    return _f.wald(key, mean, shape, dtype)


def triangular(
    key: Any,
    left: Any,
    mode: Any,
    right: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples with a density that rises linearly from 0 at left to mode, and falls to 0 at right.

    Args:
      key: a key.
      left: the lower bound.
      mode: the maximum of the density.
      right: the upper bound.
      shape: the shape of the result, to which ``left``, ``mode`` and ``right`` must broadcast; by
        default their broadcast shape.
      dtype: a float dtype.
    """
    del out_sharding
    return _f.triangular(key, left, mode, right, shape, dtype)
