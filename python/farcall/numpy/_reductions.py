"""Reductions with all of numpy's options."""

from __future__ import annotations

import builtins
from typing import Any, NamedTuple

from farcall import _core
from farcall.numpy._common import (
    Array,
    as_array,
    like,
    normalize_axes,
    refuse_out,
)

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "average",
    "count_nonzero",
    "max",
    "mean",
    "min",
    "prod",
    "ptp",
    "std",
    "sum",
    "var",
]

_functions = _core.numpy


class _Accumulation(NamedTuple):
    """A reduction by an operation of two arrays."""

    name: str
    combine: Any
    identity: int

    def __call__(
        self,
        a: Any,
        axis: Any,
        dtype: Any,
        out: None,
        keepdims: builtins.bool,
        initial: Any,
        where: Any,
        promote_integers: builtins.bool,
    ) -> Array:
        refuse_out(out, self.name)
        reduce = getattr(_functions, self.name)
        if dtype is None and initial is None and where is None and promote_integers:
            return reduce(a, axis, keepdims)
        array = as_array(a, self.name)
        own_dtype = array.dtype
        if dtype is not None:
            array = _functions.astype(array, dtype)
        if where is not None:
            array = _functions.where(where, array, like(array, self.identity))
        result = reduce(array, axis, keepdims)
        if dtype is not None or not promote_integers:
            result = _functions.astype(result, own_dtype if dtype is None else dtype)
        return result if initial is None else self.combine(result, like(result, initial))


_sum = _Accumulation("sum", _functions.add, 0)
_prod = _Accumulation("prod", _functions.multiply, 1)


def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: builtins.bool = True,
) -> Array:
    """The sum along the axes. Bools and integers below 32 bits are added as 32-bit integers.

    Args:
      a: an array.
      axis: one axis or several; all of them if left out.
      dtype: of the sum and of the result.
      out: not supported.
      keepdims: keep the axes, with size one.
      initial: what is added to.
      where: bools, broadcast against ``a``: which elements count.
      promote_integers: False adds narrow integers in their own dtype.
    """
    return _sum(a, axis, dtype, out, keepdims, initial, where, promote_integers)


def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: builtins.bool = True,
) -> Array:
    """The product along the axes; the arguments are those of ``sum``."""
    return _prod(a, axis, dtype, out, keepdims, initial, where, promote_integers)


def _extreme(name: str, a: Any, axis: Any, keepdims: Any, initial: Any, where: Any) -> Array:
    if initial is None:
        if where is not None:
            raise ValueError(f"{name}: with where, initial says what the extreme of nothing is")
        return getattr(_functions, name)(a, axis, keepdims)
    array = as_array(a, name)
    if where is not None:
        array = _functions.where(where, array, like(array, initial))
    axes = normalize_axes(axis, array.ndim, name)
    # The primitive, unlike the function, has a value for no elements at all.
    result = getattr(_core.lax, f"reduce_{name}")(array, sorted(axes))
    if keepdims:
        result = _functions.expand_dims(result, axes)
    combine = _functions.maximum if name == "max" else _functions.minimum
    return combine(result, like(result, initial))


def max(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Array:
    """The largest element along the axes; NaN where there is one."""
    refuse_out(out, "max")
    return _extreme("max", a, axis, keepdims, initial, where)


def min(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    initial: Any = None,
    where: Any = None,
) -> Array:
    """The smallest element along the axes; NaN where there is one."""
    refuse_out(out, "min")
    return _extreme("min", a, axis, keepdims, initial, where)


amax, amin = max, min


def any(
    a: Any, axis: Any = None, out: None = None, keepdims: builtins.bool = False, where: Any = None
) -> Array:
    """Whether any element along the axes is true (not zero)."""
    refuse_out(out, "any")
    return _functions.any(a if where is None else _functions.logical_and(a, where), axis, keepdims)


def all(
    a: Any, axis: Any = None, out: None = None, keepdims: builtins.bool = False, where: Any = None
) -> Array:
    """Whether all elements along the axes are true (not zero)."""
    refuse_out(out, "all")
    if where is not None:
        a = _functions.logical_or(a, _functions.logical_not(where))
    return _functions.all(a, axis, keepdims)


def ptp(a: Any, axis: Any = None, out: None = None, keepdims: builtins.bool = False) -> Array:
    """The difference of the largest and the smallest element along the axes."""
    refuse_out(out, "ptp")
    return _functions.subtract(_functions.max(a, axis, keepdims), _functions.min(a, axis, keepdims))


def count_nonzero(a: Any, axis: Any = None, keepdims: builtins.bool = False) -> Array:
    """How many elements along the axes are not zero."""
    return _functions.sum(_functions.astype(a, "bool"), axis, keepdims)


# ---- means ---------------------------------------------------------------------------------------


def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: builtins.bool = False,
    *,
    where: Any = None,
) -> Array:
    """The mean along the axes, a float; the arguments are those of ``sum``."""
    refuse_out(out, "mean")
    return _functions.mean(a, axis, keepdims, dtype, where)


def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: builtins.bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Array:
    """The mean square distance from the mean along the axes.

    Args:
      a, axis, dtype, out, keepdims, where: as for ``sum``.
      ddof: is subtracted from the number of elements that the sum of squares is divided by.
      mean: the mean along the axes, which were kept, where it is known already.
      correction: another name for ``ddof``.
    """
    refuse_out(out, "var")
    ddof = _degrees(ddof, correction, "var")
    return _functions.var(a, axis, ddof, keepdims, dtype, where, mean)


def _degrees(ddof: float, correction: float | None, function: str) -> float:
    if correction is None:
        return ddof
    if ddof != 0:
        raise ValueError(f"{function}: ddof and correction are one; only one of them can be given")
    return correction


def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: builtins.bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Array:
    """The square root of ``var``, with its arguments."""
    refuse_out(out, "std")
    ddof = _degrees(ddof, correction, "std")
    return _functions.std(a, axis, ddof, keepdims, dtype, where, mean)


def average(
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: builtins.bool = False,
    keepdims: builtins.bool = False,
) -> Any:
    """The mean along the axes, each element counting as often as its weight says.

    Args:
      a, axis, keepdims: as for ``sum``.
      weights: of the shape of ``a``, or of its size along the one axis.
      returned: also return the sum of the weights.
    """
    result, total = _functions.average(a, axis, weights, keepdims)
    return (result, total) if returned else result
