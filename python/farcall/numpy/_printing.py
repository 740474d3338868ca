"""Arrays as text: numpy's functions. numpy's print options apply."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["array_repr", "array_str", "get_printoptions", "printoptions", "set_printoptions"]

get_printoptions = np.get_printoptions
set_printoptions = np.set_printoptions
printoptions = np.printoptions


def array_repr(
    arr: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The text of an array with its dtype: ``Array([1., 2.], dtype=float32)``."""
    if getattr(arr, "is_traced", False):
        return repr(arr)
    text = np.array_repr(np.asarray(arr), max_line_width, precision, suppress_small)
    return text.replace("array(", "Array(", 1) if text.startswith("array(") else text


def array_str(
    a: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The text of an array's elements."""
    if getattr(a, "is_traced", False):
        return str(a)
    return np.array_str(np.asarray(a), max_line_width, precision, suppress_small)
