"""Exchange of arrays with other libraries through DLPack."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from farcall import _core, dtypes
from farcall._placement import device_put

__all__ = ["from_dlpack", "is_supported_dtype"]


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> _core.Array:
    """Makes an array that shares the memory of ``external_array``, which has ``__dlpack__``.

    Args:
      device: the device of the result.
      copy: True always copies; False never copies and raises an error if a copy is needed; None
        copies if needed.
    """
    return device_put(_core.from_dlpack(external_array, copy), device)


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of this dtype can be exchanged."""
    try:
        name = np.dtype(dtype).name
    except TypeError:
        return False
    return (name in dtypes.names and not hasattr(ml_dtypes, name)) or name == "bfloat16"
