"""Gradients."""

from __future__ import annotations

from typing import Any

from farcall import _core
from farcall.numpy._creation import asarray

__all__ = ["gradient"]


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int | None = None) -> Any:
    """The slopes of ``f`` along its axes: central differences, one-sided at the ends.

    Args:
      f: the values.
      varargs: the spacing of the points: one number for all axes, or for each axis a number or the
        coordinates along it.
      axis: one axis or several; all by default.
      edge_order: must be 1.

    Returns:
      An array with the shape of ``f`` for one axis; a list of such arrays for several axes.
    """
    if edge_order not in (None, 1):
        raise NotImplementedError(f"gradient: edge_order must be 1, got {edge_order}")
    slopes = _core.numpy._gradient(f, [asarray(each) for each in varargs], axis)
    return slopes[0] if len(slopes) == 1 else slopes
