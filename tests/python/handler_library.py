"""Compiling handler libraries for tests.

``build(source, *flags)`` gives the path of the shared library. It is compiled once for its content,
flags and headers, whichever of the parallel test processes comes first.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import getpass
import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import farcall as fc

HANDLERS = Path(__file__).resolve().parent.parent / "handlers"
COMPILER = os.environ.get("CXX", "g++")
FLAGS = (
    "-std=c++17",
    "-O1",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Werror",
)


@functools.cache
def _cache_dir() -> Path:
    path = Path(tempfile.gettempdir()) / f"farcall-test-handlers-{getpass.getuser()}"
    path.mkdir(mode=0o700, exist_ok=True)
    return path


# A header of another kind than those that handlers include.
OF_THE_LIBRARY = re.compile(r"#include <farcall/(?!abi\.h|ffi\.h|handler/|xla/)")


@functools.cache
def _headers_digest(are_all_used: bool) -> bytes:
    digest = hashlib.sha256()
    include = Path(fc.ffi.include_dir())
    own = include / "farcall"
    folders = [own] if are_all_used else [own / "handler", own / "xla", include / "xla"]
    found = [path for folder in folders for path in sorted(folder.rglob("*.h"))]
    for header in [own / "abi.h", own / "ffi.h", *found]:
        digest.update(header.name.encode() + b"\0" + header.read_bytes())
    return digest.digest()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def build(source: str | Path, *flags: str) -> Path:
    """The shared library of ``source``: a file of tests/handlers, a path, or C++ text."""
    is_text = isinstance(source, str) and "\n" in source
    text = source if is_text else (HANDLERS / source).read_text()
    assert isinstance(text, str)
    command = [COMPILER, *FLAGS, *flags, "-I", fc.ffi.include_dir()]
    digest = hashlib.sha256(_headers_digest(OF_THE_LIBRARY.search(text) is not None))
    digest.update("\0".join([*command, text]).encode())
    library = _cache_dir() / f"{digest.hexdigest()[:24]}.so"
    with _locked(library.with_suffix(".lock")):
        if not library.exists():
            _compile(command, text, library)
    return library


def _compile(command: list[str], text: str, library: Path) -> None:
    unfinished = library.with_suffix(f".{os.getpid()}")
    done = subprocess.run(
        [*command, "-x", "c++", "-", "-o", str(unfinished)],
        input=text,
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    unfinished.rename(library)


@functools.cache
def load(source: str | Path, *flags: str) -> ctypes.CDLL:
    """The library of ``build``, loaded into this process."""
    return ctypes.CDLL(str(build(source, *flags)))
