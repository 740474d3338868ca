"""The engine pjrt with a second plugin, of an older version of the interface: the tests of the
engine once more, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from farcall._plugins import find_plugin

PLUGIN = find_plugin("xla-cpu-pjrt")
# This plugin ignores options that it does not know. Wrong variables are found before it is loaded.
EXCEPT = "not options_that_are_refused and not variables_that_are_wrong"


@pytest.mark.skipif(not PLUGIN, reason="the plugin xla-cpu-pjrt is not installed")
def test_with_the_second_plugin() -> None:
    tests = Path(__file__).resolve().parent / "test_engine_pjrt.py"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-k", EXCEPT, str(tests)],
        env={**os.environ, "FARCALL_PJRT_PLUGIN": PLUGIN},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
