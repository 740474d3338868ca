"""The folders of the installed package, and the environment it runs in."""

from __future__ import annotations

import contextlib
import os
import sys

from farcall import _core
from farcall._devices import devices

_PACKAGE = os.path.dirname(os.path.realpath(__file__))
# Packages whose versions matter in problem reports.
_PEERS = ("numpy", "ml_dtypes", "jax", "jaxlib", "torch", "scipy")

__version_info__: tuple[int, ...] = tuple(int(part) for part in _core.__version__.split("."))


def include_dir() -> str:
    """The include folder, with ``farcall/ffi.h`` and ``xla/ffi/api/ffi.h``."""
    return os.path.join(_PACKAGE, "include")


def library_dir() -> str:
    """The folder of libfarcall.so."""
    return _PACKAGE


def cmake_dir() -> str:
    """The folder of farcallConfig.cmake: the value of farcall_DIR for find_package(farcall)."""
    return os.path.join(_PACKAGE, "lib", "cmake", "farcall")


def linker_flags() -> list[str]:
    """The linker flags of a program that includes farcall/farcall.h; handlers need none."""
    return [f"-L{library_dir()}", "-lfarcall", f"-Wl,-rpath,{library_dir()}"]


def command_path() -> str:
    """The path of the command ``farcall``, of this Python or from PATH.

    Raises FileNotFoundError if there is none.
    """
    import shutil
    import sysconfig

    own = os.path.join(sysconfig.get_path("scripts"), "farcall")
    found = own if os.path.exists(own) else shutil.which("farcall")
    if found is None:
        raise FileNotFoundError("the command farcall is not installed beside this Python")
    return found


def _peer_versions() -> str:
    from importlib import metadata  # imported here because it is slow

    found = []
    for name in _PEERS:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found.append(f"{name} {metadata.version(name)}")
    return ", ".join(found)


def environment_lines() -> list[str]:
    """One line per fact: versions, interpreter, machine, devices, folders, FARCALL_ variables."""
    import platform

    libc = " ".join(platform.libc_ver()).strip() or "unknown C library"
    variables = sorted(name for name in os.environ if name.startswith("FARCALL_"))
    facts = {
        "farcall": _core.__version__,
        "packages": _peer_versions(),
        "python": f"{platform.python_implementation()} {sys.version.split()[0]} ({sys.executable})",
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}, {libc}",
        "processors": str(len(os.sched_getaffinity(0))),
        "devices": ", ".join(str(device) for device in devices()),
        "headers": include_dir(),
        "library": os.path.join(_PACKAGE, "libfarcall.so"),
        "cmake": cmake_dir(),
        "variables": ", ".join(f"{name}={os.environ[name]}" for name in variables) or "none",
    }
    return [f"{name + ':':<12} {value}" for name, value in facts.items()]


def print_environment_info(return_string: bool = False) -> str | None:
    """Prints information for problem reports: versions, machine, devices, settings.

    Args:
      return_string: return the text instead of printing it.
    """
    text = "\n".join(environment_lines())
    if return_string:
        return text
    print(text)
    return None
