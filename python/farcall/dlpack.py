"""Arrays of other libraries that speak DLPack."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from farcall import _core, dtypes
from farcall._placement import device_put

__all__ = ["from_dlpack", "is_supported_dtype"]


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> _core.Array:
    """An array of the memory of ``external_array``, which has ``__dlpack__``.

    Args:
      device: the device it is to lie on: the one there is.
      copy: True copies, False never does and raises where it would have to; None: as needed.
    """
    return device_put(_core.from_dlpack(external_array, copy), device)


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of this dtype can be exchanged."""
    try:
        name = np.dtype(dtype).name
    except TypeError:
        return False
    return (name in dtypes.names and not hasattr(ml_dtypes, name)) or name == "bfloat16"
