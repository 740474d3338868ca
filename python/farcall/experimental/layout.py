"""Layouts of arrays, under JAX's names."""

from typing import Any

from farcall import tree
from farcall._layout import Format as Format
from farcall._layout import Layout as Layout
from farcall._public import show_names_of as _show_names_of

__all__ = ["Format", "Layout", "with_layout_constraint"]


def with_layout_constraint(x: Any, layout: Layout) -> Any:
    """Returns ``x``: the layout of an intermediate array has no effect on values.

    Args:
      x: a pytree of arrays.
      layout: a Layout of their rank.

    Raises:
      TypeError: if ``layout`` is not a Layout.
      ValueError: for an array of another rank.
    """
    if not isinstance(layout, Layout):
        raise TypeError(f"with_layout_constraint: layout must be a Layout, got {layout!r}")
    for leaf in tree.leaves(x):
        if len(layout.major_to_minor) != leaf.ndim:
            raise ValueError(
                f"with_layout_constraint: {layout!r} has {len(layout.major_to_minor)} dimensions, "
                f"but the array of shape {leaf.shape} has rank {leaf.ndim}"
            )
    return x


_show_names_of(__name__)
