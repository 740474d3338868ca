"""tanh(gain * x): ``my_kernel.for_farcall`` for farcall, ``my_kernel.for_jax`` for JAX."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

_TARGETS = ("my_kernel",)
_FILES = {"cpu": "libmy_kernel.so", "cuda": "libmy_kernel_cuda.so"}

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def library_path(platform: str = "cpu") -> Path:
    """The library with the handlers for a platform."""
    return Path(__file__).with_name(_FILES[platform])


def platforms() -> list[str]:
    """The platforms that this package was built for."""
    return ["cpu", *(["cuda"] if library_path("cuda").exists() else [])]


def registrations(platform: str = "cpu") -> dict[str, Any]:
    """Capsules of the handlers by target, for any host's register_ffi_target."""
    library = ctypes.CDLL(str(library_path(platform)))
    addresses = {name: ctypes.cast(library[name], ctypes.c_void_p) for name in _TARGETS}
    return {name: _new_capsule(address, None, None) for name, address in addresses.items()}
