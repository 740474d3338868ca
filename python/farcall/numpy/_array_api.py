"""What the array API standard wants to know of its namespace, farcall.numpy."""

from __future__ import annotations

from typing import Any

from farcall import _core
from farcall import dtypes as _dtypes
from farcall._config import config
from farcall._devices import devices

VERSION = "2024.12"

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]
_WIDE = ("int64", "uint64", "float64", "complex128")


class NamespaceInfo:
    """What ``farcall.numpy`` can do, in the words of the array API standard."""

    def capabilities(self) -> dict[str, Any]:
        """Which optional functions there are; within transformations, for shapes and masks."""
        return {
            "boolean indexing": False,
            "data-dependent shapes": False,
            "max dimensions": 32,
        }

    def default_device(self) -> None:
        """None: arrays are not committed to a device."""

    def devices(self) -> list[Any]:
        """The devices, and None for arrays that are not committed to one."""
        return [None, *devices()]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of arrays made of Python numbers; the same on all devices."""
        del device
        integer = _core._default_dtype(int)
        return {
            "real floating": _core._default_dtype(float),
            "complex floating": _core._default_dtype(complex),
            "integral": integer,
            "indexing": integer,
        }

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, Any]:
        """The dtypes of a kind or several, by name; of all kinds by default.

        Those of 64 bits are listed with ``enable_x64``.

        Raises:
          ValueError: for an unknown kind.
        """
        del device
        kinds = ("bool", "numeric") if kind is None else (kind,) if isinstance(kind, str) else kind
        unknown = [each for each in kinds if each not in _KINDS]
        if unknown:
            raise ValueError(f"dtypes: kind must be among {', '.join(_KINDS)}, got {unknown[0]!r}")
        return {
            name: getattr(_dtypes, "bool_" if name == "bool" else name)
            for each in kinds
            for name in _KINDS[each]
            if config.enable_x64 or name not in _WIDE
        }


def namespace_info() -> NamespaceInfo:
    """Describes ``farcall.numpy``, as the array API standard wants it."""
    return NamespaceInfo()


namespace_info.__name__ = "__array_namespace_info__"
