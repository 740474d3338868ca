"""The element types, as numpy dtypes: ``float32``, ``bfloat16``, ``int4`` and so on.

``bool_`` stands for bool. Types below eight bits take a byte for each element. ``float0``, the
dtype of derivatives of ints and bools, holds nothing; there are no farcall arrays of it.
"""

from __future__ import annotations

from typing import Any

from farcall import _core

float0 = _core.transforms.float0

names: tuple[str, ...] = tuple(_core._dtype_names())

__all__ = tuple("bool_" if name == "bool" else name for name in names)

for _name in names:
    globals()["bool_" if _name == "bool" else _name] = _core._numpy_dtype(_name)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"farcall.dtypes has no {name!r}; it has {', '.join(names)}")
