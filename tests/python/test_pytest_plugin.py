"""The plugin of pytest: handlers as tests, and guards around the foreign calls of all tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from handler_library import build
from test_command import SOURCE


@pytest.fixture(scope="module")
def library() -> Path:
    return build(SOURCE)


def run_pytest(folder: Path, *arguments: str) -> str:
    """What pytest prints in this folder, without colours."""
    environment = {**os.environ, "PYTEST_ADDOPTS": "", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    return done.stdout + done.stderr


def test_descriptions_are_tests(library: Path, tmp_path: Path) -> None:
    for name in ("twice", "misses_last"):
        text = f'[[check]]\nhandler = "{library}:{name}"\nargs = ["f32[N]"]\nrets = ["f32[N]"]\n'
        if name == "twice":
            text += 'attrs = ["add:f32=1"]\n'
        (tmp_path / f"{name}.check.toml").write_text(text)
    (tmp_path / "other.toml").write_text("[[check]]\n")
    out = run_pytest(tmp_path)
    assert "1 failed, 1 passed" in out
    assert "unwritten-result: 1 of 3 elements of result 0" in out
    assert "FAILED misses_last.check.toml::misses_last" in out
    assert "Traceback" not in out
    assert "check_handler" not in out  # no lines of the plugin
    assert "1 passed, 1 deselected" in run_pytest(tmp_path, "-k", "twice")


def test_the_library_of_a_description_is_beside_it(library: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    folder.mkdir()
    shutil.copy(library, folder / "libtwice.so")
    text = '[[check]]\nhandler = "libtwice.so:twice"\nattrs = ["add:f32=1"]\nsizes = ["N=4"]\n'
    (folder / "twice.check.toml").write_text(text)
    assert "1 passed" in run_pytest(tmp_path)


def test_handlers_of_libraries_are_tests(library: Path, tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nfarcall_handlers =\n  {library}:misses_last\n")
    (tmp_path / "test_one.py").write_text("def test_one():\n    pass\n")
    out = run_pytest(tmp_path)
    assert "1 failed, 1 passed" in out
    assert "unwritten-result" in out
    out = run_pytest(tmp_path, "--farcall-handlers", "no_such.so:f", "--farcall-handlers", "a.so")
    assert "3 failed, 1 passed" in out
    assert "no_such.so" in out


def test_guards_around_all_tests(library: Path, tmp_path: Path) -> None:
    (tmp_path / "test_calls.py").write_text(f"""
import ctypes
import farcall as fc
import numpy as np

def test_of_a_handler_that_misses_an_element():
    library = ctypes.CDLL({str(library)!r})
    fc.ffi.register_ffi_target("misses_last", fc.ffi.pycapsule(library.misses_last))
    fc.ffi.ffi_call("misses_last", fc.ShapeDtypeStruct((3,), np.float32))(np.ones(3, np.float32))
""")
    assert "1 passed" in run_pytest(tmp_path)
    out = run_pytest(tmp_path, "--farcall-check-calls")
    assert "1 failed" in out
    assert "misses_last" in out
    assert "unwritten-result" in out


def test_the_plugin_imports_farcall_only_when_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "test_modules.py").write_text(
        "import sys\ndef test_modules():\n    assert 'farcall' not in sys.modules\n"
        "    assert 'pytest_farcall' in sys.modules\n"
    )
    assert "1 passed" in run_pytest(tmp_path)
    assert "--farcall-check-calls" in run_pytest(tmp_path, "--help")
