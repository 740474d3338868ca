"""Samples of bits, integers, bools and choices."""

from __future__ import annotations

from typing import Any

from farcall import _core
from farcall._core import Array
from farcall.random._shape import Shape

_f = _core.random


def bits(
    key: Any,
    shape: Shape = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Random bits.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: an unsigned integer dtype of 8 to 64 bits.
    """
    del out_sharding
    return _f.bits(key, shape, dtype)


def randint(
    key: Any,
    shape: Shape,
    minval: Any,
    maxval: Any,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Uniform integers in [minval, maxval); ``minval`` if the range is empty.

    Args:
      key: a key.
      shape: the shape of the result.
      minval: the least integer, which broadcasts to ``shape``.
      maxval: one more than the greatest integer, which broadcasts to ``shape``. It may exceed the
        greatest number of the dtype by one.
      dtype: an integer dtype.

    Raises:
      TypeError: for a dtype that is not an integer dtype.
    """
    del out_sharding
    return _f.randint(key, shape, minval, maxval, dtype)


def rademacher(
    key: Any,
    shape: Shape = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples of -1 and 1 with equal probability.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a numeric dtype; int32 by default.
    """
    del out_sharding
    return _f.rademacher(key, shape, dtype)


def bernoulli(
    key: Any,
    p: Any = 0.5,
    shape: Shape | None = None,
    mode: str = "low",
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples that are True with probability p.

    Args:
      key: a key.
      p: the probability, a float.
      shape: the shape of the result, to which ``p`` must broadcast; by default its shape.
      mode: ``"low"``, or ``"high"``, which draws twice the bits, as probabilities below 1e-7 need.

    Returns:
      An array of bools.

    Raises:
      TypeError: if ``p`` is not a float.
    """
    del out_sharding
    return _f.bernoulli(key, p, shape, mode)


def geometric(
    key: Any,
    p: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """The number of trials up to the first success: 1, 2, ...

    Args:
      key: a key.
      p: the probability of success, 0 < p <= 1.
      shape: the shape of the result, to which ``p`` must broadcast; by default its shape.
      dtype: an integer dtype.
    """
    del out_sharding
    return _f.geometric(key, p, shape, dtype)


def poisson(
    key: Any,
    lam: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples k with probability proportional to lam^k / k!.

    Args:
      key: a key.
      lam: the mean; the result is -1 where it is NaN.
      shape: the shape of the result, to which ``lam`` must broadcast; by default its shape.
      dtype: an integer dtype.

    Source: for lam below 10, products of uniform samples (D. Knuth, The Art of Computer
    Programming, volume 2); above, W. Hoermann, "The transformed rejection method for generating
    Poisson random variables" (1993).
    """
    del out_sharding
    return _f.poisson(key, lam, shape, dtype)


def binomial(
    key: Any,
    n: Any,
    p: Any,
    shape: Shape | None = None,
    dtype: Any = None,
) -> Array:
    """The number of successes in n trials, as a float.

    Args:
      key: a key.
      n: the number of trials; the result is NaN if it is negative.
      p: the probability of success; the result is NaN outside [0, 1].
      shape: the shape of the result, to which ``n`` and ``p`` must broadcast; by default their
        broadcast shape.
      dtype: a float dtype.

    Source: W. Hoermann, "The generation of binomial random variates" (1993).
    """
    return _f.binomial(key, n, p, shape, dtype)


def multinomial(
    key: Any,
    n: Any,
    p: Any,
    *,
    shape: Shape | None = None,
    dtype: Any = None,
    unroll: int = 1,
) -> Array:
    """The number of occurrences of each outcome in n trials, as floats.

    Args:
      key: a key.
      n: the number of trials.
      p: the probabilities of the outcomes, along the last dimension.
      shape: the shape of the result, to which ``p`` must broadcast; by default that of ``p``.
      dtype: a float dtype.
      unroll: the number of steps per iteration of the loop over outcomes.
    """
    return _f.multinomial(key, n, p, shape, dtype, int(unroll))


def categorical(
    key: Any,
    logits: Any,
    axis: int = -1,
    shape: Shape | None = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Indices along an axis, with probabilities proportional to exp(logits).

    Args:
      key: a key.
      logits: logarithms of the probabilities, up to a constant.
      axis: the axis of the categories.
      shape: the shape of the result; it ends with the shape of ``logits`` without the axis, which
        is the default.
      replace: whether a category can be drawn repeatedly along the leading dimensions of ``shape``.
      mode: see ``gumbel``.

    Returns:
      Integers in [0, logits.shape[axis]).
    """
    del out_sharding
    return _f.categorical(key, logits, axis, shape, replace, "low" if mode is None else mode)


def choice(
    key: Any,
    a: Any,
    shape: Shape = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    mode: str | None = None,
) -> Array:
    """Random entries of an array.

    Args:
      key: a key.
      a: the array, or an integer n, which stands for 0, …, n - 1.
      shape: the shape of the draws; it replaces the dimension ``axis`` of ``a``.
      replace: whether an entry can be drawn repeatedly.
      p: a vector of the probabilities of the entries; uniform by default.
      axis: the axis of the entries.
      mode: see ``gumbel``, which draws with ``p`` and without replacement use.

    Raises:
      ValueError: for an empty array, for more draws than entries without replacement, and for a
        ``p`` with a wrong shape.
    """
    return _f.choice(key, a, shape, replace, p, axis, "low" if mode is None else mode)


def permutation(
    key: Any,
    x: Any,
    axis: int = 0,
    independent: bool = False,
    *,
    out_sharding: Any = None,
) -> Array:
    """Randomly permutes the entries of an array.

    Args:
      key: a key.
      x: the array, or an integer n, which stands for 0, …, n - 1.
      axis: the axis to permute.
      independent: whether each vector along the axis gets its own permutation.
    """
    del out_sharding
    return _f.permutation(key, x, axis, independent)
