"""Matrices of special forms."""

from __future__ import annotations

from typing import Any

from farcall import _core
from farcall._core import Array
from farcall.numpy._creation import asarray


def block_diag(*arrs: Any) -> Array:
    """The block-diagonal matrix of the given matrices; vectors are treated as rows."""
    return _core.scipy_linalg._block_diag([asarray(a) for a in arrs])
