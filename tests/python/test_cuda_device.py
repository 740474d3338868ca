"""The engine pjrt on a GPU: the tests of ``cuda_device``, where there is one with its plugin."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest
from farcall import ffi
from farcall._plugins import find_plugin

FOLDER = Path(__file__).resolve().parent / "cuda_device"


def why_not() -> str:
    """Why the tests cannot run; empty if they can."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no CUDA driver is installed"
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or not count:
        return "the CUDA driver finds no GPU"
    return "" if plugin() else "no PJRT plugin for CUDA (scripts/fetch_cuda_plugin.py fetches one)"


def plugin() -> str:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    fetched = sorted(cache.glob("farcall/cuda-plugin/*/xla_cuda_plugin.so"))
    return str(fetched[-1]) if fetched else find_plugin("cuda13") or find_plugin("cuda12")


def test_on_a_gpu() -> None:
    if reason := why_not():
        pytest.skip(reason)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", str(FOLDER)],
        env={
            **os.environ,
            "FARCALL_TEST_CUDA": "1",
            "FARCALL_PJRT_PLUGIN": plugin(),
            "XLA_FLAGS": "",
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        },
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_the_handlers_of_those_tests_are_for_cuda() -> None:
    """They compile and register without a GPU; a program that calls them needs one."""
    sys.path.insert(0, str(FOLDER))
    try:
        from test_on_cuda import SOURCE
    finally:
        sys.path.remove(str(FOLDER))
    library = ffi.load_inline("cuda_calls", SOURCE, platform="cuda")
    assert sorted(library.handlers) == ["cuda_copy", "cuda_copy_recorded", "cuda_ticks"]
