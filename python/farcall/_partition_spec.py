"""Partition specs: which axes of a mesh split each dimension of an array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class PartitionSpec:
    """The mesh axes over which each dimension of an array is split.

    Args:
      *partitions: an axis name, a tuple of axis names, or None, for each leading dimension; the
        remaining dimensions are not split.
      unreduced, reduced: axes over which partial sums are pending, or were already reduced.

    Raises:
      TypeError: for an entry of another type.
      ValueError: for an axis that occurs twice.
    """

    class _Unconstrained:
        def __repr__(self) -> str:
            return "UNCONSTRAINED"

    UNCONSTRAINED = _Unconstrained()

    __slots__ = ("_partitions", "reduced", "unreduced")

    def __init__(
        self, *partitions: Any, unreduced: Any = frozenset(), reduced: Any = frozenset()
    ) -> None:
        self._partitions = tuple(map(_checked_entry, partitions))
        self.unreduced, self.reduced = frozenset(unreduced), frozenset(reduced)
        names = [name for entry in self._partitions for name in axes_of(entry)]
        twice = sorted({str(name) for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"PartitionSpec: {self!r} names axis {twice[0]!r} twice")

    @property
    def partitions(self) -> tuple[Any, ...]:
        """The entries."""
        return self._partitions

    def update(self, **options: Any) -> PartitionSpec:
        """The spec with other ``partitions``, ``unreduced`` or ``reduced``."""
        partitions = options.pop("partitions", self._partitions)
        known = {"unreduced": self.unreduced, "reduced": self.reduced}
        return PartitionSpec(*partitions, **{**known, **options})

    def index(self, value: Any) -> int:
        """The first dimension with this entry; raises ValueError if there is none."""
        return self._partitions.index(_checked_entry(value))

    def count(self, value: Any) -> int:
        """The number of dimensions with this entry."""
        return self._partitions.count(_checked_entry(value))

    def __len__(self) -> int:
        return len(self._partitions)

    def __getitem__(self, key: Any) -> Any:
        return self._partitions[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._partitions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> Any:
        return (self._partitions, self.unreduced, self.reduced)

    def __reduce__(self) -> Any:
        return _make_spec, self._key()

    def __repr__(self) -> str:
        parts = [repr(entry) for entry in self._partitions]
        for name, axes in (("unreduced", self.unreduced), ("reduced", self.reduced)):
            if axes:
                parts.append(f"{name}={{{', '.join(map(repr, sorted(axes)))}}}")
        return f"P({parts[0]},)" if len(parts) == 1 else f"P({', '.join(parts)})"


P = PartitionSpec


def _make_spec(partitions: Any, unreduced: Any, reduced: Any) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)


def _checked_entry(entry: Any) -> Any:
    if entry is None or entry is PartitionSpec.UNCONSTRAINED or isinstance(entry, str):
        return entry
    if isinstance(entry, (tuple, list)) and all(isinstance(name, str) for name in entry):
        return None if not entry else entry[0] if len(entry) == 1 else tuple(entry)
    raise TypeError(
        "PartitionSpec: each entry must be an axis name, a tuple of axis names, or None; got "
        f"{entry!r}"
    )


def axes_of(entry: Any) -> tuple[str, ...]:
    """The axis names of one entry of a spec."""
    if entry is None or entry is PartitionSpec.UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)
