"""Processes with torch: the environment's own or, where there is none, Debian's python3-torch.

Debian's packages come last on the path, so that none of them hides one of the environment, numpy
least of all. What else is found there is no part of the tests' environment, hence the process.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

DEBIAN = "/usr/lib/python3/dist-packages"


def run(script: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """What the script does; the test is skipped where no torch is installed for this Python."""
    path = ""
    if importlib.util.find_spec("torch") is None:
        package = PathFinder.find_spec("torch", [DEBIAN])
        folders = (package and package.submodule_search_locations) or []
        if PathFinder.find_spec("torch._C", folders) is None:
            pytest.skip("no torch for this Python, neither here nor as Debian's python3-torch")
        path = DEBIAN
    code = (
        "import runpy, sys; _, path, *sys.argv = sys.argv; sys.path += filter(None, [path]); "
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", code, path, str(script)]
    return subprocess.run(
        [*command, *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )
