"""Predicates on the kind of numbers in an object."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from farcall._core.special import i0
from farcall.numpy._common import as_array

__all__ = ["i0", "iscomplexobj", "isrealobj", "isscalar"]


def iscomplexobj(x: Any) -> builtins.bool:
    """Whether the dtype is complex."""
    return as_array(x, "iscomplexobj", "x").dtype.kind == "c"


def isrealobj(x: Any) -> builtins.bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


def isscalar(element: Any) -> builtins.bool:
    """Whether ``element`` is a number or an array of rank 0."""
    return np.isscalar(element) or (hasattr(element, "ndim") and element.ndim == 0)
