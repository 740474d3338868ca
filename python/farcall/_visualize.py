"""Drawings of shardings: which device holds which part of an array."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from farcall import _core, tree
from farcall._placement import sharding_of
from farcall._sharding import Sharding, needed_sharding

# The lines of a drawing of a matrix, and the width of a character in heights of a line.
_LINES, _ASPECT = 10, 0.4


def visualize_sharding(
    shape: Sequence[int],
    sharding: Any,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map: Any = None,
) -> None:
    """Prints which devices hold which part of an array, as a table of their ids.

    Args:
      shape: the shape of the array, of one or two dimensions.
      sharding: a Sharding, a Device, or a PartitionSpec of the current mesh.
      use_color, color_map: accepted for compatibility with JAX; the table has no colours.
      scale: the size of the drawing; 1 is ten lines for a matrix.
      min_width: the smallest width of a part, in characters.
      max_width: the width of the drawing, unless the texts need more.

    Raises:
      ValueError: for a shape of no or more than two dimensions, for a sharding that does not fit
        it, and for a mesh without devices.
      TypeError: for a sharding of another type.
    """
    del use_color, color_map
    where = "visualize_sharding"
    sizes = _core.to_sizes(shape, f"{where}: shape")
    if not 1 <= len(sizes) <= 2:
        raise ValueError(f"{where}: shape must have one or two dimensions, got {sizes}")
    parts = _parts(sizes, needed_sharding(sharding, sizes, where))
    height = 1 if len(sizes) == 1 else max(1, int(_LINES * scale / len(parts)))
    rows, columns = (1, *sizes)[-2:]
    wanted = int(_LINES * scale * columns / max(rows, 1) / _ASPECT / len(parts[0]))
    widest = max(len(text) for row in parts for text in row) + 2
    width = max(widest, min_width, min(wanted, max_width // len(parts[0]) - 1))
    builtins.print(_table(parts, height, width))


def _parts(shape: tuple[int, ...], sharding: Sharding) -> list[list[str]]:
    """The text of each part, by rows of parts: the platform and the ids of its devices."""
    holders: dict[tuple[int, ...], list[int]] = {}
    platforms = set()
    for device, index in sharding.devices_indices_map(shape).items():
        starts = [part.indices(size)[0] for part, size in zip(index, shape, strict=True)]
        holders.setdefault((0, *starts)[-2:], []).append(device.id)
        platforms.add(device.platform.upper())
    platform = "/".join(sorted(platforms))
    tops, lefts = (sorted({place[axis] for place in holders}) for axis in (0, 1))
    return [
        [f"{platform} {','.join(map(str, sorted(holders[top, left])))}" for left in lefts]
        for top in tops
    ]


def _table(parts: list[list[str]], height: int, width: int) -> str:
    border = "+" + ("-" * width + "+") * len(parts[0])
    lines = [border]
    for row in parts:
        for line in range(height):
            is_middle = line == (height - 1) // 2
            cells = (text.center(width) if is_middle else " " * width for text in row)
            lines.append(f"|{'|'.join(cells)}|")
        lines.append(border)
    return "\n".join(lines)


def inspect_array_sharding(value: Any, *, callback: Callable[[Sharding], Any]) -> None:
    """Calls ``callback(sharding)`` for each array of ``value``.

    Args:
      value: a pytree of concrete arrays.
      callback: takes a Sharding.

    Raises:
      ConcretizationTypeError: for a traced array, whose sharding is not known yet.
    """
    for leaf in tree.leaves(value):
        callback(_known_sharding(leaf, "inspect_array_sharding"))


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Prints which devices hold which part of ``arr``, as a table of their ids.

    Args:
      arr: a concrete array of one or two dimensions.
      **kwargs: the options of ``visualize_sharding``.

    Raises:
      ValueError: for an array of no or more than two dimensions.
      ConcretizationTypeError: for a traced array, whose sharding is not known yet.
    """
    sharding = _known_sharding(arr, "visualize_array_sharding")
    visualize_sharding(_core.as_array(arr).shape, sharding, **kwargs)


def _known_sharding(value: Any, where: str) -> Sharding:
    array = _core.as_array(value)
    if array.is_traced:
        raise _core.ConcretizationTypeError(
            f"{where}: the sharding of a traced array is not known while its function is recorded; "
            "look at arguments and results, or at compile().output_shardings"
        )
    return sharding_of(array)
