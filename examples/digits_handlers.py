"""Where the examples' foreign functions are, and their registration."""

import ctypes
import pathlib
import sys

import farcall.ffi


def find():
    """The handler library of this clone's build tree, the newest if there are several."""
    root = pathlib.Path(__file__).resolve().parent.parent
    found = list(root.glob("build/*/examples/handlers/libdigits_handlers.so"))
    if not found:
        sys.exit(
            f"No libdigits_handlers.so in {root}/build/*/examples/handlers. "
            "Build it with ./quickstart, or say where it is: --handlers <path>"
        )
    return max(found, key=lambda path: path.stat().st_mtime)


def register(path, *names):
    """Registers functions of the library at ``path``, or of the one that is found."""
    path = path or find()
    library = ctypes.CDLL(str(path))
    for name in names:
        farcall.ffi.register_ffi_target(name, farcall.ffi.pycapsule(getattr(library, name)))
    print(f"foreign functions: {' and '.join(names)} of {path}")
