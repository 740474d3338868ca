"""Gradients, and phases without jumps."""

from __future__ import annotations

import math
from typing import Any

from farcall import _core
from farcall.numpy._common import Array, as_array, normalize_axes, normalize_axis, to_inexact
from farcall.numpy._creation import asarray
from farcall.numpy._order import cumsum, diff

__all__ = ["gradient", "unwrap"]

_f: Any = _core.numpy


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int | None = None) -> Any:
    """The slopes of ``f`` along its axes: central differences, one-sided ones at the ends.

    Args:
      f: values.
      varargs: the distance of points along all axes, or one for each axis: a number, or the
        coordinates along it.
      axis: one axis or several; all if left out.
      edge_order: 1.

    Returns:
      An array of the shape of ``f``; a list of them for other than one axis.
    """
    if edge_order not in (None, 1):
        raise NotImplementedError(f"gradient: edge_order must be 1, got {edge_order}")
    f = to_inexact(as_array(f, "gradient", "f"))
    axes = normalize_axes(axis, f.ndim, "gradient")
    spacings = varargs or (1.0,)
    if len(spacings) == 1:
        spacings *= len(axes)
    if len(spacings) != len(axes):
        raise TypeError(f"gradient: takes 0, 1 or {len(axes)} distances, got {len(spacings)}")
    slopes = [
        _f._gradient(f, asarray(h) if isinstance(h, (list, tuple)) else h, a)
        for h, a in zip(spacings, axes, strict=True)
    ]
    return slopes[0] if len(slopes) == 1 else slopes


def unwrap(p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * math.pi) -> Array:
    """``p`` plus multiples of ``period``, so that neighbours differ by no more than half of it.

    Args:
      p: values along ``axis``.
      discont: only larger jumps are changed; half a period if left out.
      axis: along which the neighbours lie.
      period: of the values.
    """
    p = as_array(p, "unwrap", "p")
    axis = normalize_axis(axis, p.ndim, "unwrap")
    if p.dtype.kind not in "iu" or not isinstance(period, int):
        p = to_inexact(p)
    step = diff(p, axis=axis)
    half = period // 2 if isinstance(period, int) and p.dtype.kind in "iu" else period / 2
    inside = _f.mod(step + half, period) - half
    if p.dtype.kind not in "iu" or period % 2 == 0:
        # Half a period up stays half a period up.
        inside = _f.where(
            _f.logical_and(_f.equal(inside, -half), _f.greater(step, 0)), half, inside
        )
    limit = half if discont is None else discont
    change = _f.where(_f.less(_f.abs(step), limit), 0, inside - step)
    start = [(0, 0)] * p.ndim
    start[axis] = (1, 0)
    return p + _f.pad_constant(_f.astype(cumsum(change, axis), p.dtype), start, 0)
