"""Collectives within groups of the elements of an axis: the argument ``axis_index_groups``.

The axis is gathered, and each element picks the values of its group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from farcall import tree
from farcall._core import control_flow as _control_flow
from farcall._core import numpy as _np


class Groups:
    """The groups of an axis, and the place of this element in its own.

    Raises:
      TypeError: for an axis that is not one name.
      ValueError: unless each element of the axis is in one group, and the groups have one size;
        with ``may_differ`` they may have several.
    """

    def __init__(
        self,
        name: str,
        axis_name: Any,
        groups: Sequence[Sequence[int]],
        may_differ: bool = False,
    ) -> None:
        if not isinstance(axis_name, str):
            raise TypeError(f"{name}: axis_index_groups needs one axis name, got {axis_name!r}")
        size = _control_flow.axis_size(axis_name)
        members = [[int(i) for i in group] for group in groups]
        listed = sorted(i for group in members for i in group)
        sizes = {len(group) for group in members}
        if listed != list(range(size)) or (len(sizes) != 1 and not may_differ):
            of_one_size = "groups" if may_differ else "groups of one size"
            raise ValueError(
                f"{name}: axis_index_groups must be {of_one_size}, with each index of axis "
                f"{axis_name!r} (0 to {size - 1}) in one of them; got {members}"
            )
        own = {i: (group, place) for group in members for place, i in enumerate(group)}
        index = _control_flow.axis_index(axis_name)
        self.name, self.axis_name, self.size = name, axis_name, max(sizes)
        # Smaller groups repeat their first element.
        filled = {i: group + group[:1] * (self.size - len(group)) for i, (group, _) in own.items()}
        self._members = _np.take(np.array([filled[i] for i in range(size)], np.int32), index, 0)
        self._count: Any = None  # of this group, if the groups differ
        if len(sizes) > 1:
            counts = np.array([len(own[i][0]) for i in range(size)], np.int32)
            self._count = _np.take(counts, index, 0)
        self.place = _np.take(np.array([own[i][1] for i in range(size)], np.int32), index, 0)

    def stacked(self, x: Any) -> Any:
        """``x`` of the elements of this group, along a new first dimension."""
        return _np.take(_control_flow.all_gather(x, self.axis_name, 0, False), self._members, 0)

    def reduced(self, operation: Any, x: Any) -> Any:
        """The arrays of ``x``, reduced over the group by ``operation(stacked, axis)``, a maximum or
        a minimum."""
        return tree.map(lambda leaf: operation(self.stacked(leaf), 0), x)

    def added(self, operation: Any, x: Any) -> Any:
        """The same for a sum or a mean, which take an argument ``where``."""
        if self._count is None:
            return self.reduced(operation, x)

        def add(leaf: Any) -> Any:
            stacked = self.stacked(leaf)
            places = np.arange(self.size).reshape(-1, *[1] * (stacked.ndim - 1))
            return operation(stacked, 0, where=_np.less(places, self._count))

        return tree.map(add, x)

    def gathered(self, x: Any, axis: int, tiled: bool) -> Any:
        """all_gather."""

        def gather(leaf: Any) -> Any:
            parts = self.stacked(leaf)
            if not tiled:
                return _np.moveaxis(parts, 0, axis)
            return _np.concatenate([parts[i] for i in range(self.size)], axis)

        return tree.map(gather, x)

    def scattered(self, x: Any, dimension: int, tiled: bool) -> Any:
        """psum_scatter."""
        return tree.map(
            lambda leaf: self._own_slice(_np.sum(self.stacked(leaf), 0), dimension, tiled), x
        )

    def exchanged(self, x: Any, split_axis: int, concat_axis: int, tiled: bool) -> Any:
        """all_to_all."""

        def exchange(leaf: Any) -> Any:
            parts = self.stacked(leaf)
            own = [self._own_slice(parts[i], split_axis, tiled) for i in range(self.size)]
            return (_np.concatenate if tiled else _np.stack)(own, concat_axis)

        return tree.map(exchange, x)

    def _own_slice(self, x: Any, dimension: int, tiled: bool) -> Any:
        size = x.shape[dimension]
        if size % self.size != 0 if tiled else size != self.size:
            wanted = "be a multiple of" if tiled else "have"
            raise ValueError(
                f"{self.name}: dimension {dimension} of {x.dtype}{[*x.shape]} must {wanted} the "
                f"size of the groups, {self.size}"
            )
        parts = [*x.shape]
        parts[dimension : dimension + 1] = [self.size, size // self.size]
        slice_of_element = _np.take(_np.reshape(x, parts), self.place, dimension)
        return slice_of_element if tiled else _np.squeeze(slice_of_element, dimension)
