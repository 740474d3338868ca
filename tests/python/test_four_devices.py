"""Several devices of each engine, in a process of four: the tests of ``four_devices``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from farcall._plugins import find_plugin

FOLDER = Path(__file__).resolve().parent / "four_devices"


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.glob("test_*.py")))
@pytest.mark.parametrize("engine", ["native", "pjrt"])
def test_with_four_devices(name: str, engine: str) -> None:
    if engine == "pjrt" and not find_plugin():
        pytest.skip("no PJRT plugin is installed")
    flags = os.environ.get("XLA_FLAGS", "")
    environment = {
        **os.environ,
        "FARCALL_NUM_CPU_DEVICES": "4",
        "FARCALL_ENGINE": engine,
        "XLA_FLAGS": f"{flags} --xla_force_host_platform_device_count=4",
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", str(FOLDER / name)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def run(code: str, count: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "FARCALL_NUM_CPU_DEVICES": count},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_variable_and_the_flag_say_how_many() -> None:
    code = """
import farcall as fc
assert fc.device_count() == 2 == fc.config.num_cpu_devices
fc.config.update("jax_num_cpu_devices", 3)
assert [d.id for d in fc.devices()] == [0, 1, 2]
for wrong, error in ((2, RuntimeError), (65, ValueError), (0, ValueError)):
    try:
        fc.config.update("num_cpu_devices", wrong)
    except error as raised:
        print(raised)
    else:
        raise AssertionError(wrong)
assert fc.config.num_cpu_devices == 3
"""
    done = run(code, "2")
    assert done.returncode == 0, done.stderr
    assert "there are 3 devices already" in done.stdout
    assert "expected a number from 1 to 64, got 65" in done.stdout
    done = run("import farcall", "many")
    assert "FARCALL_NUM_CPU_DEVICES: flag num_cpu_devices must be an integer" in done.stderr
