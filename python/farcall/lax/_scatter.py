"""Scatter that applies a function to elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from farcall import _core
from farcall._repeated import repeated

__all__ = ["scatter_apply"]


def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable[[Any], Any],
    dimension_numbers: Any,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> _core.Array:
    """Applies ``func`` to windows of the operand, once for each index of a window.

    Args:
      operand: an array.
      scatter_indices: the start indices of the windows, as for ``scatter``.
      func: an elementwise function of arrays.
      dimension_numbers: as for ``scatter``.
      update_shape: the shape of the corresponding updates of ``scatter``.
      indices_are_sorted, unique_indices: promises about the indices.
      mode: the treatment of windows out of bounds, as for ``scatter``.
    """
    operand = _core.numpy.as_array(operand, "scatter_apply: argument operand")
    options: Any = {
        "dimension_numbers": dimension_numbers,
        "indices_are_sorted": indices_are_sorted,
        "mode": mode,
    }
    ones = _core.numpy.ones(tuple(update_shape), "int32")
    counts = _core.numpy.zeros(operand.shape, "int32")
    counts = _core.lax.scatter_add(counts, scatter_indices, ones, **options)
    applied = func(operand) if unique_indices else repeated(func, operand, counts)
    return _core.numpy.where(_core.numpy.greater(counts, 0), applied, operand)
