"""Where the packages of this environment have a PJRT plugin for the engine ``pjrt``."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from pathlib import Path

# Packages that are a plugin for CPUs, and its file.
_CPU_PLUGINS = {
    "lammps_jax_pjrt_cpu": "pjrt_c_api_cpu_plugin.so",
    "xla_plugins.xla_cpu_pjrt": "xla_cpu_pjrt.so",
}
# What plugins are called that JAX finds by entry points.
_PATTERNS = ("*pjrt*.so", "*plugin*.so", "libtpu.so")


def find_plugin() -> str:
    """The path of a plugin's library; empty where no package has one."""
    for package, file in _CPU_PLUGINS.items():
        for folder in _folders(package):
            if (folder / file).is_file():
                return str(folder / file)
    for group in ("jax_plugins", "xla_plugins"):
        for entry in importlib.metadata.entry_points(group=group):
            for folder in _folders(entry.module):
                for pattern in _PATTERNS:
                    for found in sorted(folder.glob(pattern)):
                        return str(found)
    return ""


def _folders(package: str) -> list[Path]:
    """Where a package lies; it is not imported, though a package that it is in is."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return []
    return [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
