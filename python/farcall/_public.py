"""Public names of modules: for ``from module import *`` and for completion."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


def public_names(namespace: dict[str, Any]) -> list[str]:
    """The sorted public names in the ``globals()`` of a module that re-exports names."""
    return sorted(
        name
        for name, value in namespace.items()
        if not name.startswith("_") and not _is_of_python(value)
    )


def _is_of_python(value: Any) -> bool:
    """Whether this is a module of another package, or a helper of annotations."""
    if isinstance(value, ModuleType):
        return value.__name__.split(".")[0] != "farcall"
    return getattr(value, "__module__", None) == "typing" or type(value).__module__ == "__future__"


def show_public_names(package: str) -> None:
    """Makes ``dir()`` of a package's loaded public modules show only ``__all__``."""
    for name, module in list(sys.modules.items()):
        parts = name.split(".")
        if (
            parts[0] == package
            and hasattr(module, "__all__")
            and not any(part.startswith("_") for part in parts)
        ):
            _show(module)


def show_names_of(module_name: str) -> None:
    """The same for a single module that ``import farcall`` does not load."""
    _show(sys.modules[module_name])


def _show(module: ModuleType) -> None:
    def names() -> list[str]:
        special = [name for name in vars(module) if name.startswith("__")]
        return sorted({*special, *module.__all__})

    module.__dir__ = names  # type: ignore[method-assign]
