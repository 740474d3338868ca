"""Index helpers with bracket syntax: ranges and joined arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from farcall import _core
from farcall._core.numpy import linspace
from farcall.numpy._common import Array, as_array
from farcall.numpy._creation import arange, asarray
from farcall.numpy._types import result_type

__all__ = ["c_", "index_exp", "mask_indices", "r_", "s_", "trim_zeros"]

_f: Any = _core.numpy

index_exp, s_ = np.index_exp, np.s_


class _Joined:
    """Slices as ranges, joined with arrays and numbers: ``r_[1:4, 0, x]``.

    A slice with an imaginary step, ``0:1:5j``, stands for that many evenly spaced numbers. A string
    in first position sets the mode: ``"axis,rank,place"``.
    """

    def __init__(self, axis: int, rank: int, place: int) -> None:
        self._defaults = (axis, rank, place)

    def __getitem__(self, key: Any) -> Array:
        parts = list(key) if isinstance(key, tuple) else [key]
        axis, rank, place = self._defaults
        if parts and isinstance(parts[0], str):
            axis, rank, place = self._directive(parts.pop(0))
        if not parts:
            raise ValueError("r_ and c_: give something to join")
        arrays = [_expanded(part, rank, place) for part in parts]
        # Numbers take the dtype of the arrays.
        dtype = result_type(*arrays)
        return _f.concatenate([_f.astype(array, dtype) for array in arrays], axis)

    def _directive(self, text: str) -> tuple[int, int, int]:
        try:
            numbers = [int(number) for number in text.split(",")]
        except ValueError:
            raise ValueError(
                f"r_ and c_: the string must be of up to three numbers, got {text!r}"
            ) from None
        if len(numbers) > 3:
            raise ValueError(f"r_ and c_: the string must be of up to three numbers, got {text!r}")
        axis, rank, place = (*numbers, *self._defaults[len(numbers) :])
        return axis, rank, place


def _expanded(part: Any, rank: int, place: int) -> Array:
    if isinstance(part, slice):
        start, step = part.start or 0, 1 if part.step is None else part.step
        if isinstance(step, complex):
            array = linspace(start, part.stop, int(abs(step)))
        else:
            array = arange(start, part.stop, step)
    else:
        array = asarray(part)
        if array.ndim == 0:
            return _f.reshape(array, (1,) * max(rank, 1))
    missing = rank - array.ndim
    if missing <= 0:
        return array
    # `place` is the position of the array's own first dimension.
    before = missing if place == -1 else place % rank if place < 0 else place
    return _f.reshape(array, (1,) * before + array.shape + (1,) * (missing - before))


r_ = _Joined(0, 1, -1)
c_ = _Joined(-1, 2, 0)


def mask_indices(
    n: int, mask_func: Callable[..., Any], k: Any = 0, *, size: int | None = None
) -> tuple[Array, ...]:
    """The indices of the elements of an n by n matrix that ``mask_func``, such as ``triu``, keeps.

    Args:
      n: the size of the matrix.
      mask_func: takes a matrix and ``k``.
      k: the second argument of ``mask_func``.
      size: the number of indices to return; required if their number is not concrete.
    """
    mask = mask_func(_f.ones((operator.index(n),) * 2, None), k)
    return as_array(mask, "mask_indices", "mask_func: what it returns").nonzero(size=size)


def trim_zeros(filt: Any, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Array:
    """Removes leading (``f``) and trailing (``b``) slices of zeros; needs concrete values.

    Args:
      filt: an array.
      trim: ``f``, ``b`` or ``fb``.
      axis: the axes along which slices are removed; all by default.

    Raises:
      ValueError: for an unknown ``trim``, and for an axis out of range.
    """
    array = asarray(filt)
    if not isinstance(trim, str) or set(trim.lower()) - set("fb"):
        raise ValueError(f"trim_zeros: trim must be of 'f' and 'b', got {trim!r}")
    given = (axis,) if hasattr(axis, "__index__") else axis
    axes = range(array.ndim) if given is None else _core.to_sizes(given, "trim_zeros: axis")
    kept = [slice(None)] * array.ndim
    places = np.nonzero(np.asarray(array))
    for one in axes:
        if not -array.ndim <= one < array.ndim:
            raise ValueError(f"trim_zeros: axis {one} is out of range for rank {array.ndim}")
        found = places[one]
        first = int(found.min()) if len(found) and "f" in trim.lower() else 0
        last = int(found.max()) + 1 if len(found) and "b" in trim.lower() else None
        kept[one] = slice(first, last) if len(found) or not trim else slice(0, 0)
    return array[tuple(kept)]
