"""Names that a module imports from slow modules when they are first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(namespace: dict[str, Any], modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module.

    Args:
      namespace: the ``globals()`` of the module.
      modules: for each name, the module that defines it.
    """

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}")
        namespace[name] = getattr(importlib.import_module(modules[name]), name)
        return namespace[name]

    return get
