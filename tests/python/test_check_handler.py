"""``farcall check``: tests that it prints, and errors in its arguments."""

from __future__ import annotations

import json
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import farcall as fc
import pytest
from farcall._environment import linker_flags
from farcall.testing import check_handler
from handler_library import build

COMMAND = Path(sysconfig.get_path("scripts")) / "farcall"


WRONG = r"""
#include <cstring>
#include <farcall/ffi.h>
namespace ffi = farcall::ffi;
using In = ffi::Buffer<ffi::F32>;
using Out = ffi::ResultBuffer<ffi::F32>;

static void wrong_unit(In x, Out y) {
  std::memset(y->typed_data(), 0, x.element_count() * sizeof(double));
  std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
}
FARCALL_DEFINE_HANDLER(wrong_unit, wrong_unit);

static void clamps(In x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i) {
    if (x.typed_data()[i] < 0) const_cast<float*>(x.typed_data())[i] = 0;
    y->typed_data()[i] = x.typed_data()[i];
  }
}
FARCALL_DEFINE_HANDLER(clamps, clamps);

static void zero_first(In x, Out y) {
  std::memset(y->typed_data(), 0, x.size_bytes());
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] += x.typed_data()[i];
}
FARCALL_DEFINE_HANDLER(zero_first, zero_first);

static void row_major(In x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] + static_cast<float>(i);
}
FARCALL_DEFINE_HANDLER(row_major, row_major);

static void leaks(In x, Out y) {
  volatile char* kept = new char[40];
  kept[0] = 1;
  std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
}
FARCALL_DEFINE_HANDLER(leaks, leaks);
"""


def run(*arguments: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=100
    )


def test_check_handler_tells_what_type_an_argument_must_have() -> None:
    with pytest.raises(TypeError, match=r"args must be a list of strings, got 'f32\[N,64\]'"):
        check_handler(f"{build(WRONG)}:leaks", args="f32[N,64]")
    with pytest.raises(TypeError, match="sizes must be a list of strings"):
        check_handler(f"{build(WRONG)}:leaks", sizes=[4])  # type: ignore[list-item]
    with pytest.raises(TypeError, match='reference must be a string, "module:function" or'):
        check_handler(f"{build(WRONG)}:leaks", reference=print)  # type: ignore[arg-type]


def test_the_cpp_tests_of_findings_fail(tmp_path: Path) -> None:
    wrong = build(WRONG)
    calls = {
        "wrong_unit": (),
        "clamps": (),
        "zero_first": ("--alias", "0:0"),
        "row_major": (
            "--arg",
            "f32[N,M]",
            "--ret",
            "f32[N,M]",
            "--layout",
            "arg0=1,0",
            "--layout",
            "ret0=0,1",
            "--reference",
            f"{wrong}:row_major",
        ),
        "leaks": (),
    }
    tests = ""
    for name, options in calls.items():
        report = json.loads(run("check", f"{wrong}:{name}", "--json", *options).stdout)
        tests += report["findings"][0]["cpp_test"]
    source, program = tmp_path / "tests.cpp", tmp_path / "tests"
    source.write_text(tests)
    compiled = ["c++", "-std=c++20", source, "-o", program, "-I", fc.ffi.include_dir()]
    libraries = ["-lgtest", "-lgtest_main", "-lpthread", *linker_flags()]
    subprocess.run([*compiled, *libraries], check=True)
    shown = subprocess.run([program], capture_output=True, text=True, check=False).stdout
    failed = {
        line.split()[3]
        for line in shown.splitlines()
        if line.startswith("[  FAILED  ]") and "." in line
    }
    assert len(failed) == len(calls), shown


def test_a_library_with_a_sanitizer_is_refused_with_a_way_out() -> None:
    with_sanitizer = build(WRONG, "-fsanitize=address")
    for command in ("check", "inspect"):
        shown = run(command, f"{with_sanitizer}:leaks")
        assert shown.returncode == 3
        assert "built with -fsanitize=address" in shown.stderr
        assert "c++ -print-file-name=libasan.so" in shown.stderr
