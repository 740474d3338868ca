"""Finds a PJRT plugin for the engine ``pjrt`` in the installed packages."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from pathlib import Path

# Packages that contain a CPU plugin, and the plugin's file.
_CPU_PLUGINS = {
    "lammps_jax_pjrt_cpu": "pjrt_c_api_cpu_plugin.so",
    "xla_plugins.xla_cpu_pjrt": "xla_cpu_pjrt.so",
}
# File name patterns of plugins that JAX finds by entry points.
_PATTERNS = ("*pjrt*.so", "*plugin*.so", "libtpu.so")


def find_plugin(name: str = "") -> str:
    """The path of a plugin's library: of that with this name, or of the first.

    Names are those of packages, such as ``lammps-jax-pjrt-cpu``, of entry points, such as
    ``xla_cuda13`` or ``cuda13`` for short, and ``cpu``. Empty if there is none.
    """
    wanted = _normal(name)
    for package, file in _CPU_PLUGINS.items():
        if wanted not in ("", "cpu", _normal(package.rpartition(".")[2])):
            continue
        for folder in _folders(package):
            if (folder / file).is_file():
                return str(folder / file)
    for group in ("jax_plugins", "xla_plugins"):
        for entry in importlib.metadata.entry_points(group=group):
            module = entry.module.rpartition(".")[2]
            names = {_normal(entry.name), _normal(module)}
            if wanted and not names & {wanted, f"xla-{wanted}"}:
                continue
            for folder in _folders(entry.module):
                for pattern in _PATTERNS:
                    for found in sorted(folder.glob(pattern)):
                        return str(found)
    return ""


def _normal(name: str) -> str:
    return name.lower().replace("_", "-")


def _folders(package: str) -> list[Path]:
    """The folders of a package, without importing it; its parent packages are imported."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return []
    return [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
