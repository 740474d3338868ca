"""Foreign calls that a plugin makes itself: the tests of ``direct_calls``, and those of the engine
and of callbacks once more, in processes with FARCALL_PJRT_FOREIGN_CALLS=direct."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from farcall._plugins import find_plugin

FOLDER = Path(__file__).resolve().parent


@pytest.mark.skipif(not find_plugin(), reason="no PJRT plugin is installed")
@pytest.mark.parametrize("name", ["direct_calls", "test_engine_pjrt.py"])
def test_with_direct_calls(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", str(FOLDER / name)],
        env={**os.environ, "FARCALL_PJRT_FOREIGN_CALLS": "direct"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
