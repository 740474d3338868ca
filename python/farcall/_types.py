"""Types of arrays as values: the result of ``typeof``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from farcall import _core
from farcall._array import Array, ShapeDtypeStruct
from farcall._placement import sharding_in_type

_LETTERS = {"bool": "bool", "bfloat16": "bf16"}


class ShapedArray(ShapeDtypeStruct):
    """The type of an array: shape, dtype, weak type and sharding. Prints as ``float32[2,3]``.

    Inside a ``shard_map`` that checks replication, it also has the axes over which the value
    varies, and prints as ``float32[2,3]{V:data}``.
    """

    def __init__(
        self, shape: Any, dtype: Any, *, vma: Iterable[str] = frozenset(), **options: Any
    ) -> None:
        super().__init__(shape, dtype, **options)
        self._vma = frozenset(vma)

    @property
    def sharding(self) -> Any:
        """The sharding that it was made with; ``typeof`` makes unsharded types."""
        given = getattr(self, "_sharding", None)
        return sharding_in_type(self.ndim) if given is None else given

    @property
    def vma(self) -> frozenset[str]:
        """The mesh axes along which devices may have different values.

        It is empty outside of ``shard_map``, and with ``check_vma=False``.
        """
        return getattr(self, "_vma", frozenset())

    def str_short(self, short_dtypes: bool = False) -> str:
        """The type as text."""
        name = str(self.dtype)
        if short_dtypes:
            kind = {"f": "f", "i": "i", "u": "u", "c": "c"}.get(self.dtype.kind)
            short = f"{kind}{8 * self.dtype.itemsize}" if kind else name
            name = _LETTERS.get(name, short)
        varying = f"{{V:{','.join(sorted(self.vma))}}}" if self.vma else ""
        return f"{name}[{','.join(map(str, self.shape))}]{varying}"

    def update(self, **changes: Any) -> ShapedArray:
        """A copy with other values of the constructor's arguments."""
        made: Any = super().update(**{"vma": self.vma, **changes})
        return made

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and self.vma == getattr(other, "vma", frozenset())

    def __hash__(self) -> int:
        return super().__hash__()

    def __str__(self) -> str:
        return f"{'~' if self.weak_type else ''}{self.str_short()}"

    def __repr__(self) -> str:
        return f"ShapedArray({self.str_short()}{', weak_type=True' if self.weak_type else ''})"


def typeof(x: Any) -> ShapedArray:
    """The type of an array, or of a value that can become one.

    Raises:
      TypeError: for a value that is neither an array nor a number.
    """
    if not isinstance(x, (Array, ShapeDtypeStruct)):
        x = _core.numpy.as_array(x, "typeof: argument x")
    vma = _core.sharding.varying_axes(x) if isinstance(x, Array) else ()
    return ShapedArray(x.shape, x.dtype, weak_type=x.weak_type, vma=vma)
