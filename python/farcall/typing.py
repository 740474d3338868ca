"""Types for annotations: the arrays and dtypes that functions of farcall accept."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np

from farcall._array import Array

__all__ = ["ArrayLike", "DTypeLike"]


class _SupportsDType(Protocol):
    @property
    def dtype(self) -> np.dtype[Any]: ...


# An Array, concrete or traced, or a value that can become one: numpy arrays and scalars, Python
# numbers. Lists are not included; convert them with numpy.array.
ArrayLike: TypeAlias = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex

# Values that specify a dtype: a string, a type such as numpy.float32, a dtype, or an object with
# one.
DTypeLike: TypeAlias = str | type[Any] | np.dtype[Any] | _SupportsDType
