#!/usr/bin/env python3
"""Fetches a PJRT plugin for CUDA, whose registry of handlers is tested without a GPU.

It goes to <cache>/farcall/cuda-plugin/<release>/xla_cuda_plugin.so, and CMake takes that path as
FARCALL_CUDA_PLUGIN. It is not installed as a package, because JAX would load it then. Prints the
path; exits with 1 if it cannot be fetched.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from fetch_xla_headers import cache_dir, download, last_line

PACKAGE = "jax-cuda13-pjrt"
RELEASE = "0.12.0.1"
LIBRARY = "jax_plugins/xla_cuda13/xla_cuda_plugin.so"


def fetch(target: Path) -> None:
    """Puts the library at `target`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        copy = Path(work) / target.name
        wheel = zipfile.ZipFile(download(PACKAGE, RELEASE, Path(work)))
        with wheel, wheel.open(LIBRARY) as source, copy.open("wb") as out:
            shutil.copyfileobj(source, out)
        copy.rename(target)


def main() -> int:
    target = cache_dir("cuda-plugin") / RELEASE / "xla_cuda_plugin.so"
    try:
        if not target.exists():
            fetch(target)
    except (OSError, KeyError, subprocess.CalledProcessError, zipfile.BadZipFile) as error:
        print(f"{PACKAGE} {RELEASE}: missing: {last_line(error)}")
        return 1
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
