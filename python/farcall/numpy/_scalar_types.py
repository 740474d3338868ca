"""The element types of farcall.numpy: dtypes that also create scalars."""

from __future__ import annotations

from typing import Any

import numpy as np

from farcall import dtypes
from farcall.numpy._creation import asarray


class ScalarType:
    """An element type. ``float32(x)`` creates an array; numpy accepts the type as a dtype."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self.__name__ = dtype.name

    def __call__(self, x: Any = 0) -> Any:
        return asarray(x, dtype=self.dtype)

    def __eq__(self, other: object) -> bool:
        try:
            return self.dtype == np.dtype(other)  # type: ignore[arg-type]
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"farcall.numpy.{self.__name__}"


def make(name: str) -> ScalarType:
    """The element type with this name in farcall.dtypes."""
    return ScalarType(getattr(dtypes, name))


__all__ = ["bool_" if name == "bool" else name for name in dtypes.names]

for _name in __all__:
    globals()[_name] = make(_name)
