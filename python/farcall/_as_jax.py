"""farcall's modules under the name ``jax``, for programs that import JAX."""

from __future__ import annotations

import sys
import types
from typing import Any

import farcall

# The version of JAX whose names and semantics these modules follow.
JAX_VERSION = "0.10.2"

# Modules of farcall that JAX does not have.
_OWN = ("farcall.testing", "farcall.torch", "farcall.tvm_ffi")


class StandIn(types.ModuleType):
    """The module ``jax``: farcall's names, and JAX's version."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = sys.modules.get(f"jax.{name}")
        if found is None:
            found = getattr(farcall, name, None)
        if found is None:
            raise AttributeError(
                f"module 'jax' has no attribute {name!r}: it is farcall under that name, made by "
                "farcall.as_jax()"
            )
        return found

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(farcall)})


class _Finder:
    """Reports missing modules of JAX; the existing ones are already in sys.modules."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        del path, target
        if fullname.split(".")[0] in ("jax", "jaxlib"):
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: jax is farcall here, made by farcall.as_jax(), "
                "which has no such module",
                name=fullname,
            )


def _export_module() -> types.ModuleType:
    module = types.ModuleType("jax.export", "Functions as bytes.")
    module.__dict__.update(
        export=farcall.export, deserialize=farcall.deserialize, Exported=farcall.Exported
    )
    return module


def _modules() -> dict[str, types.ModuleType]:
    # Imported here because they are slow.
    import importlib.util
    import pkgutil

    root = StandIn("jax", farcall.__doc__)
    version: Any = types.ModuleType("jax.version")
    numbers = tuple(int(part) for part in JAX_VERSION.split("."))
    for module in (root, version):
        module.__dict__.update(__version__=JAX_VERSION, __version_info__=numbers)
    made = {"jax": root, "jax.version": version, "jax.export": _export_module()}
    for info in pkgutil.walk_packages(farcall.__path__, "farcall."):
        parts = info.name.split(".")
        if any(part.startswith("_") for part in parts) or info.name in _OWN:
            continue
        spec = importlib.util.find_spec(info.name)
        if spec is None or not str(spec.origin).endswith(".py"):
            continue  # a shared library, not a module
        made[".".join(["jax", *parts[1:]])] = importlib.import_module(info.name)
    root.__path__ = []  # a package
    return made


_installed: list[as_jax] = []


class as_jax:  # noqa: N801
    """Makes ``import jax`` import farcall, from the call on.

    ``jax``, ``jax.numpy``, ``jax.lax`` and so on become names of farcall's modules, so that
    libraries written for JAX run on farcall. The effect ends with the with statement, or with
    ``uninstall()``; libraries imported in between keep farcall's modules.

    Raises:
      RuntimeError: if the real JAX is already imported: some of its modules would stay in use.
    """

    def __init__(self) -> None:
        if not _installed:
            real = sys.modules.get("jax") or sys.modules.get("jaxlib")
            if real is not None:
                place = getattr(real, "__file__", None)
                raise RuntimeError(
                    f"as_jax: the real JAX is imported already, from {place}; call "
                    "farcall.as_jax() before anything imports it, or in another process"
                )
            self._finder = _Finder()
            self._modules = _modules()
            sys.modules.update(self._modules)
            sys.meta_path.insert(0, self._finder)
        _installed.append(self)

    def uninstall(self) -> None:
        """Removes the modules. Calling it again does nothing."""
        if self not in _installed:
            return
        _installed.remove(self)
        first = getattr(self, "_modules", None)
        if first is None:
            return
        if _installed:  # another instance still needs the modules and removes them later
            heir = _installed[0]
            heir._modules, heir._finder = self._modules, self._finder
        else:
            for name in [name for name in sys.modules if name.split(".")[0] == "jax"]:
                del sys.modules[name]
            sys.meta_path.remove(self._finder)
        del self._modules, self._finder

    def __enter__(self) -> types.ModuleType:
        return sys.modules["jax"]

    def __exit__(self, *_: object) -> None:
        self.uninstall()
