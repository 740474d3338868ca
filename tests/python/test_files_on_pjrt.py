"""The engine of PJRT plugins runs other files of tests, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from farcall._plugins import find_plugin

FOLDER = Path(__file__).resolve().parent

# The files, and which of their tests run (-k); those left out take long. Other files compute what
# the random programs compute too (test_grad, test_lax, test_corners), or what XLA computes
# differently (test_extremes, test_values).
FILES = {
    "test_buffer_callback.py": "",
    "test_buffer_views.py": "",
    "test_callback_effects.py": "",
    "test_callback_lifetimes.py": "not leave_no_memory and not ten_thousand",
    "test_callback_threads.py": "not eight_threads_call and not (large or depth or scan- or vmap-)",
    "test_control_flow_errors.py": "",
    "test_control_flow_forms.py": "not too_narrow and not lengths",
    "test_custom_rules.py": "not under_every_transformation and not in_forward_mode",
    "test_debug_flags.py": "",
    "test_debug_print.py": "not last_statement",
    "test_define.py": "",
    "test_error_places.py": "",
    "test_ffi_call.py": "",
    "test_ffi_errors.py": "",
    "test_ffi_vmap.py": "token or (effects and not sequential)",
    "test_jit.py": "not many_signatures and not threads and not others_call",
    "test_jvp_vjp.py": "",
    "test_pure_io_callback.py": "not custom_rules_around and not each_vmap_method",
    "test_tracer_errors.py": "",
    "test_vmap.py": "",
    "test_vmapped_effects.py": "",
}

# The tests that differ there, with the reasons.
DIFFERENT = {
    f"test_ffi_call.py::test_every_dtype_reaches_the_handler[shape{i}-{dtype}]": (
        "StableHLO has no such dtype"
    )
    for i in range(4)
    for dtype in ("int1", "uint1")
}


@pytest.mark.skipif(not find_plugin(), reason="no PJRT plugin is installed")
@pytest.mark.parametrize("name", FILES)
def test_a_file_on_the_engine_of_plugins(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", FOLDER / name, "-k", FILES[name]]
        + [f"--deselect=tests/python/{test}" for test in DIFFERENT if test.startswith(name)],
        cwd=FOLDER.parents[1],
        env={**os.environ, "FARCALL_ENGINE": "pjrt"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
