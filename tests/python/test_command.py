"""The command ``farcall`` as the wheel installs it, and handlers that Python modules give away."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import farcall as fc
import pytest
from farcall.testing import check_handler
from handler_library import build

COMMAND = Path(sysconfig.get_path("scripts")) / "farcall"

SOURCE = r"""
#include <farcall/ffi.h>
namespace ffi = farcall::ffi;

static void twice(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y, float add) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = 2 * x.typed_data()[i] + add;
}
FARCALL_DEFINE_HANDLER(twice, twice, "add");

static void misses_last(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  for (size_t i = 1; i < x.element_count(); ++i) y->typed_data()[i - 1] = x.typed_data()[i];
}
FARCALL_DEFINE_HANDLER(misses_last, misses_last);
"""
REFERENCE = "def twice(x, add):\n    return 2 * x + add\n\ndef thrice(x, add):\n    return 3 * x\n"


@pytest.fixture(scope="module")
def library() -> str:
    return str(build(SOURCE))


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=100, **options
    )


def test_the_wheel_installs_the_command() -> None:
    assert run("--version").stdout.strip() == fc.__version__
    facts = json.loads(run("env", "--json").stdout)
    assert facts["python"].startswith(f"CPython {sys.version.split()[0]}")
    assert Path(facts["headers"]).samefile(fc.ffi.include_dir())
    assert "\033" not in run("doctor").stdout


def test_check_handler_passes_and_fails(library: str) -> None:
    report = check_handler(f"{library}:twice", attrs=["add=1"])
    assert report["verdict"] == "clean"
    with pytest.raises(AssertionError, match="unwritten-result: 1 of 3 elements of result 0"):
        check_handler(f"{library}:misses_last")
    with pytest.raises(ValueError, match='"f33" is no element type'):
        check_handler(f"{library}:twice", args=["f33[N]"])
    with pytest.raises(ValueError, match="refuses every call"):
        check_handler(f"{library}:twice", args=["f64[N]"], rets=["f64[N]"])


def test_the_python_test_of_a_finding_fails(library: str) -> None:
    report = json.loads(run("check", f"{library}:misses_last", "--json").stdout)
    names: dict[str, Any] = {"fc": fc}
    exec(report["findings"][0]["python_test"], names)
    with pytest.raises(AssertionError, match="unwritten-result"):
        names["test_misses_last_unwritten_result"]()


def test_values_are_compared_with_a_python_function(library: str, tmp_path: Path) -> None:
    (tmp_path / "reference_of_twice.py").write_text(REFERENCE)
    check = ["check", f"{library}:twice", "--attr", "add=1", "--json", "--reference"]
    right = run(*check, "reference_of_twice:twice", cwd=tmp_path)
    assert json.loads(right.stdout)["verdict"] == "clean"
    wrong = run(*check, "reference_of_twice:thrice", cwd=tmp_path)
    assert [f["kind"] for f in json.loads(wrong.stdout)["findings"]] == ["wrong-result"]


COLUMNS = ["--layout", "arg0=1,0", "--layout", "ret0=1,0", "--alias", "0:0"]
LAPACK = {
    "lapack_sgetrf_ffi": ["f32[N,N]", "f32[N,N]", "s32[N]", "s32[]"],
    "lapack_dpotrf_ffi": ["f64[N,N]", "f64[N,N]", "s32[]", "uplo:u8=76"],
    "lapack_ssyevd_ffi": ["f32[N,N]", "f32[N,N]", "f32[N]", "s32[]", "uplo:u8=76", "mode:u8=86"],
}


@pytest.mark.parametrize("name", LAPACK)
def test_jaxlib_s_handlers_are_clean(name: str) -> None:
    pytest.importorskip("jaxlib")
    argument, *rest = LAPACK[name]
    options = ["--arg", argument]
    for text in rest:
        options += ["--attr" if "=" in text else "--ret", text]
    result = run("check", f"jaxlib.lapack:{name}", "--json", *options, *COLUMNS)
    assert json.loads(result.stdout)["verdict"] == "clean", result.stdout + result.stderr


def test_a_python_module_is_inspected() -> None:
    pytest.importorskip("jaxlib")
    found = json.loads(run("inspect", "jaxlib.lapack", "--filter", "getrf", "--json").stdout)
    assert [h["symbol"] for h in found["handlers"]] == [f"lapack_{t}getrf_ffi" for t in "cdsz"]
    missing = run("inspect", "no_such_module")
    assert missing.returncode == 3
    assert 'the Python module "no_such_module" cannot be imported' in missing.stderr
