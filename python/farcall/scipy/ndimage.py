"""Images sampled between their elements."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from farcall import _core
from farcall.numpy._common import Array, as_array, to_inexact

__all__ = ["map_coordinates"]

_f: Any = _core.numpy

# Where places outside lie, by mode: how an index is brought into [0, size).
_MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


def _inside(index: Array, size: int, mode: str) -> Array:
    if mode == "nearest" or mode == "constant":
        return _f.clip(index, 0, size - 1)
    if mode == "wrap":
        return _f.remainder(index, size)
    if mode == "mirror":
        period = max(2 * (size - 1), 1)
        return _f.abs(_f.remainder(index + size - 1, period) - (size - 1))
    # reflect: the elements at the edges come twice.
    at = _f.remainder(index, 2 * size)
    return _f.minimum(at, 2 * size - 1 - at)


def map_coordinates(
    input: Any, coordinates: Sequence[Any], order: int, mode: str = "constant", cval: Any = 0.0
) -> Array:
    """The array at places between its elements.

    Args:
      input: an array.
      coordinates: for each of its dimensions the places, arrays of one shape.
      order: 0 for the nearest element, 1 for linear interpolation.
      mode: what lies outside: "constant" (cval), "nearest", "wrap", "mirror" (about the last
        elements) or "reflect" (about their edges).
      cval: the number outside.

    Raises:
      NotImplementedError: for another order or mode.
      ValueError: for another number of coordinates than dimensions.
    """
    array = as_array(input, "map_coordinates", "input")
    places = [
        to_inexact(as_array(c, "map_coordinates", f"coordinates[{i}]"))
        for i, c in enumerate(coordinates)
    ]
    if order not in (0, 1):
        raise NotImplementedError(f"map_coordinates: order must be 0 or 1, got {order!r}")
    if mode not in _MODES:
        raise NotImplementedError(f"map_coordinates: mode must be one of {_MODES}, got {mode!r}")
    if len(places) != array.ndim:
        raise ValueError(
            f"map_coordinates: coordinates must have {array.ndim} arrays, one for each dimension "
            f"of the input, got {len(places)}"
        )
    neighbours = []  # for each dimension: indices and their weights
    for place in places:
        if order == 0:
            # Halves go up, so that every element has a place of its own size.
            neighbours.append([(_f.astype(_f.floor(place + 0.5), "int32"), None)])
            continue
        low = _f.floor(place)
        up = place - low
        index = _f.astype(low, "int32")
        neighbours.append([(index, 1 - up), (index + 1, up)])
    total: Any = None
    for corner in itertools.product(*neighbours):
        value = _corner(array, [index for index, _ in corner], mode, cval)
        for _, weight in corner:
            value = value if weight is None else value * weight
        total = value if total is None else total + value
    if array.dtype.kind in "biu" and order == 1:
        total = _f.rint(total)
    return _f.astype(total, array.dtype)


def _corner(array: Array, indices: list[Array], mode: str, cval: Any) -> Array:
    sizes = array.shape
    inside = tuple(_inside(i, n, mode) for i, n in zip(indices, sizes, strict=True))
    value = array[inside]
    if mode != "constant":
        return value
    for index, size in zip(indices, sizes, strict=True):
        is_in = _f.logical_and(_f.greater_equal(index, 0), _f.less(index, size))
        value = _f.where(is_in, value, _f.astype(cval, value.dtype))
    return value
