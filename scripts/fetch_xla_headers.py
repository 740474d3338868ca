#!/usr/bin/env python3
"""Fetches the XLA FFI headers of several jaxlib releases, one for each version of the interface.

They go to <cache>/farcall/xla-headers/<release>/xla/ffi/api/*.h, and CMake takes that folder as
FARCALL_XLA_HEADERS. Prints a line for each release, then the folder; exits with 1 if a release is
missing.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

RELEASES = ["0.4.31", "0.5.3", "0.6.2", "0.8.0", "0.9.0", "0.10.2", "0.11.2", "0.12.0.1"]
PREFIX = "jaxlib/include/"
API = PREFIX + "xla/ffi/api/"
MANYLINUX = ["manylinux2014", "manylinux_2_17", "manylinux_2_27", "manylinux_2_28"]


def cache_dir(name: str) -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "farcall" / name


def download(package: str, release: str, into: Path) -> Path:
    """The wheel of a package, in `into`."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
    command += ["--only-binary=:all:", "--python-version=3.12", f"--dest={into}"]
    command += [f"--platform={name}_{platform.machine()}" for name in MANYLINUX]
    subprocess.run([*command, f"{package}=={release}"], check=True, capture_output=True, text=True)
    return next(into.glob("*.whl"))


def fetch(release: str, root: Path) -> str:
    """Puts the headers of a release into `root` and says what was done."""
    target = root / release
    if target.is_dir():
        return "there"
    # Beside the target, so that the last step is one rename: a folder of this name is complete.
    with tempfile.TemporaryDirectory(dir=root, prefix=f".{release}-") as work:
        headers = Path(work) / "headers"
        with zipfile.ZipFile(download("jaxlib", release, Path(work))) as wheel:
            names = [n for n in wheel.namelist() if n.startswith(API) and n.endswith(".h")]
            if not names:
                raise FileNotFoundError(f"the wheel has no {API}*.h")
            for name in names:
                path = headers / name.removeprefix(PREFIX)
                path.parent.mkdir(parents=True, exist_ok=True)
                with wheel.open(name) as source, path.open("wb") as copy:
                    shutil.copyfileobj(source, copy)
        try:
            headers.rename(target)
        except OSError:
            if not target.is_dir():  # else another run was faster
                raise
    return f"{len(names)} headers fetched"


def last_line(error: Exception) -> str:
    text = error.stderr if isinstance(error, subprocess.CalledProcessError) else str(error)
    return (text.strip().splitlines() or [type(error).__name__])[-1]


def main() -> int:
    root = cache_dir("xla-headers")
    root.mkdir(parents=True, exist_ok=True)
    missing = 0
    for release in RELEASES:
        try:
            print(f"jaxlib {release}: {fetch(release, root)}", flush=True)
        except (OSError, subprocess.CalledProcessError, zipfile.BadZipFile) as error:
            print(f"jaxlib {release}: missing: {last_line(error)}", flush=True)
            missing += 1
    print(root)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
