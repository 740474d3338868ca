"""Bits, integers, bools and choices."""

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
    """Uniform integers in [minval, maxval); minval where that is empty.

    Args:
      key: a key.
      shape: the shape of the result.
      minval: the least integer, which broadcasts to ``shape``.
      maxval: one past the greatest, likewise. It may be one more than the dtype holds.
      dtype: an integer dtype, of the result.

    Raises:
      TypeError: for a dtype that is no integer.
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
    """-1 or 1.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a dtype of numbers; int32 by default.
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
    """True with probability p.

    Args:
      key: a key.
      p: the probability, a float.
      shape: the shape of the result, to which ``p`` must broadcast; left out, theirs.
      mode: ``"high"`` draws twice the bits, which probabilities below 1e-7 need; or ``"low"``.

    Returns:
      An array of bools.

    Raises:
      TypeError: for a ``p`` that is no float.
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
    """How many trials the first success takes: 1, 2, ...

    Args:
      key: a key.
      p: the probability of success, 0 < p <= 1.
      shape: the shape of the result, to which ``p`` must broadcast; left out, theirs.
      dtype: an integer dtype, of the result.
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
    """k with probability proportional to lam^k / k!.

    Args:
      key: a key.
      lam: the mean; -1 where it is NaN.
      shape: the shape of the result, to which ``lam`` must broadcast; left out, theirs.
      dtype: an integer dtype, of the result.

    Source: products of uniform samples below 10 (D. Knuth, The Art of Computer Programming, volume
    2),
    above it W. Hoermann, "The transformed rejection method for generating Poisson random variables"
    (1993).
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
    """How many of n trials succeed, as a float.

    Args:
      key: a key.
      n: how many trials; the result is NaN for negative ones.
      p: the probability of success; the result is NaN outside of [0, 1].
      shape: the shape of the result, to which ``n`` and ``p`` must broadcast; left out, theirs.
      dtype: a float dtype, of the result.

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
    """How many of n trials have each outcome, as floats.

    Args:
      key: a key.
      n: how many trials.
      p: the probabilities of the outcomes, along the last dimension.
      shape: the shape of the result, to which ``p`` must broadcast; left out, that of ``p``.
      dtype: a float dtype, of the result.
      unroll: steps of the loop over outcomes that run at a time.
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
    """Positions along an axis, with probabilities in proportion to exp(logits).

    Args:
      key: a key.
      logits: logarithms of the probabilities, up to a constant.
      axis: the axis of the categories.
      shape: the shape of the result; it ends in that of ``logits`` without the axis, which is the
        default.
      replace: whether a category can be drawn twice, along the first dimensions of ``shape``.
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
    """Entries of an array, drawn at random.

    Args:
      key: a key.
      a: the array, or an integer that stands for the numbers below it.
      shape: how many entries; the dimension ``axis`` of ``a`` is replaced by these.
      replace: whether an entry can be drawn twice.
      p: a vector of the probabilities of the entries; equal by default.
      axis: the axis of the entries.
      mode: see ``gumbel``, of which draws with ``p`` without replacement are made.

    Raises:
      ValueError: without entries, for more draws than entries without replacement, and for a
        ``p`` of another shape.
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
    """The entries of an array in random order.

    Args:
      key: a key.
      x: the array, or an integer that stands for the numbers below it.
      axis: the axis along which entries are moved.
      independent: whether each line along the axis has an order of its own.
    """
    del out_sharding
    return _f.permutation(key, x, axis, independent)
