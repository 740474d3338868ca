"""Types for annotations: what functions of farcall take for arrays and for dtypes."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np

from farcall._array import Array

__all__ = ["ArrayLike", "DTypeLike"]


class _SupportsDType(Protocol):
    @property
    def dtype(self) -> np.dtype[Any]: ...


# An Array, traced ones included, or what becomes one: numpy's arrays and scalars, Python's numbers.
# Lists are none; numpy.array makes an array of one.
ArrayLike: TypeAlias = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex

# What names a dtype: a string, a type such as numpy.float32, a dtype, or what has one.
DTypeLike: TypeAlias = str | type[Any] | np.dtype[Any] | _SupportsDType
