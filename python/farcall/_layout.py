"""Layouts and formats: how the elements of an array lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class _Auto:
    """The layout that the compiler chooses: row-major."""

    def __repr__(self) -> str:
        return "AUTO"


class Layout:
    """The order of an array's dimensions in memory.

    All arrays are row-major; operands and results of foreign calls have layouts of their own
    (``ffi_call(input_layouts=…)``).

    Args:
      major_to_minor: the dimensions, from the one whose elements lie farthest apart.
      tiling: the sizes of tiles; none on CPUs.
      sub_byte_element_size_in_bits: accepted for compatibility with JAX; only kept.
    """

    AUTO = _Auto()

    def __init__(
        self,
        major_to_minor: Sequence[int],
        tiling: Sequence[Sequence[int]] | None = None,
        sub_byte_element_size_in_bits: int = 0,
    ) -> None:
        self.major_to_minor = tuple(major_to_minor)
        self.tiling = None if tiling is None else tuple(map(tuple, tiling))
        self.sub_byte_element_size_in_bits = sub_byte_element_size_in_bits

    def _key(self) -> Any:
        return (self.major_to_minor, self.tiling, self.sub_byte_element_size_in_bits)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (
            f"Layout(major_to_minor={self.major_to_minor}, tiling={self.tiling}, "
            f"sub_byte_element_size_in_bits={self.sub_byte_element_size_in_bits})"
        )


class Format:
    """The layout of an array and its sharding.

    Args:
      layout: a Layout, ``Layout.AUTO`` or None.
      sharding: a Sharding or None.

    Raises:
      TypeError: for a layout of another type.
      ValueError: for a Layout without a sharding.
    """

    def __init__(self, layout: Any = None, sharding: Any = None) -> None:
        if layout is not None and not isinstance(layout, (Layout, _Auto)):
            raise TypeError(f"Format: layout must be a Layout, Layout.AUTO or None, got {layout!r}")
        if isinstance(layout, Layout) and sharding is None:
            raise ValueError(f"Format: {layout!r} needs a sharding, got None")
        self.layout, self.sharding = layout, sharding

    def check_layout(self, where: str) -> None:
        """Raises ValueError for a layout other than row-major."""
        if not isinstance(self.layout, Layout):
            return
        order = self.layout.major_to_minor
        if order != tuple(range(len(order))) or self.layout.tiling:
            raise ValueError(
                f"{where}: arrays are row-major, without tiles; got {self.layout!r}. Foreign calls "
                "take input_layouts and output_layouts"
            )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Format)
            and self.layout == other.layout
            and self.sharding == other.sharding
        )

    def __hash__(self) -> int:
        return hash((self.layout, self.sharding))

    def __repr__(self) -> str:
        return f"Format(layout={self.layout}, sharding={self.sharding})"


def row_major(rank: int, sharding: Any) -> Format:
    """The format of an array of this rank."""
    return Format(Layout(tuple(range(rank)), ()), sharding)
