"""``farcall check``: tests that it prints, and errors in its arguments."""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import farcall as fc
import jax
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

// A comparison with nan is false.
static void loses_nan(In x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i) {
    y->typed_data()[i] = x.typed_data()[i] > 0 ? x.typed_data()[i] : 0;
  }
}
FARCALL_DEFINE_HANDLER(loses_nan, loses_nan);
static void keeps_nan(In x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i) {
    y->typed_data()[i] = x.typed_data()[i] < 0 ? 0 : x.typed_data()[i];
  }
}
FARCALL_DEFINE_HANDLER(keeps_nan, keeps_nan);
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
    with pytest.raises(TypeError, match=r'handler must be a string, "library\.so:symbol" or'):
        check_handler(fc.ffi.pycapsule(1))


def output_of_tests(tests: str, folder: Path) -> str:
    source, program = folder / "tests.cpp", folder / "tests"
    source.write_text(tests)
    compiled = ["c++", "-std=c++20", source, "-o", program, "-I", fc.ffi.include_dir()]
    libraries = ["-lgtest", "-lgtest_main", "-lpthread", *linker_flags()]
    subprocess.run([*compiled, *libraries], check=True)
    return subprocess.run([program], capture_output=True, text=True, check=False).stdout


def test_the_cpp_tests_of_findings_fail_until_the_handler_is_mended(tmp_path: Path) -> None:
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
        "loses_nan": ("--reference", f"{wrong}:keeps_nan"),
    }
    tests = {
        name: json.loads(run("check", f"{wrong}:{name}", "--json", *options).stdout)["findings"][0]
        for name, options in calls.items()
    }
    texts = [finding["cpp_test"] for finding in tests.values()]
    mended = tests["loses_nan"]["cpp_test"].replace("loses_nan", "keeps_nan")
    shown = output_of_tests("".join([*texts, mended]), tmp_path)
    failed = {
        line.split()[3]
        for line in shown.splitlines()
        if line.startswith("[  FAILED  ]") and "." in line
    }
    assert len(failed) == len(calls), shown
    assert "keeps_nan" in shown
    assert not [name for name in failed if "keeps_nan" in name]


def test_a_library_with_another_sanitizer_is_refused_with_a_way_out() -> None:
    for command, flag in (("inspect", "thread"), ("inspect", "address")):
        shown = run(command, f"{build(WRONG, f'-fsanitize={flag}')}:leaks")
        assert shown.returncode == 3
        assert f"built with -fsanitize={flag}" in shown.stderr
        assert f"c++ -print-file-name=lib{flag[0]}san.so" in shown.stderr


IN_ITS_OWN_MEMORY = """
#include <cstdlib>
#include "farcall/ffi.h"
namespace ffi = farcall::ffi;
using In = ffi::Buffer<ffi::F32>;
using Out = ffi::ResultBuffer<ffi::F32>;

static ffi::Error Copy(In x, Out y, size_t past, bool reads, bool again) {
  const size_t n = x.element_count();
  auto* block = static_cast<float*>(std::malloc(4 * n));
  volatile float* slack = block;
  for (size_t i = 0; i < n; ++i) slack[i] = x.typed_data()[i];
  if (n > 20 && reads) slack[0] = slack[n + past - 1];
  if (n > 20 && !reads) slack[n + past - 1] = slack[0];
  for (size_t i = 0; i < n; ++i) y->typed_data()[i] = x.typed_data()[i];
  std::free(block);
  if (n > 20 && again) slack[0] = 1;
  return {};
}
static ffi::Error Heap(In x, Out y) { return Copy(x, y, 1, false, false); }
static ffi::Error HeapRead(In x, Out y) { return Copy(x, y, 1, true, false); }
static ffi::Error Freed(In x, Out y) { return Copy(x, y, 0, false, true); }
static ffi::Error Fine(In x, Out y) { return Copy(x, y, 0, false, false); }
static ffi::Error NextByte(In x, Out y) {  // in the same line of the cache as the last element
  const size_t n = x.element_count();
  if (n == 17) (void)*static_cast<const volatile float*>(x.typed_data() + n);
  return Copy(x, y, 0, false, false);
}
FARCALL_DEFINE_HANDLER(heap, Heap);
FARCALL_DEFINE_HANDLER(heap_read, HeapRead);
FARCALL_DEFINE_HANDLER(freed, Freed);
FARCALL_DEFINE_HANDLER(fine, Fine);
FARCALL_DEFINE_HANDLER(next_byte, NextByte);
"""


@pytest.mark.parametrize(
    ("symbol", "kind", "text"),
    [
        ("heap", "oob-write", "AddressSanitizer: heap-buffer-overflow, a write of 4 bytes"),
        ("heap_read", "oob-read", "AddressSanitizer: heap-buffer-overflow, a read of 4 bytes"),
        ("freed", "crash", "AddressSanitizer: heap-use-after-free, a write of 4 bytes"),
        ("next_byte", "oob-read", "reads past the end of argument 0, at byte offset 68 of 68"),
        ("fine", "", ""),
    ],
)
def test_reports_of_the_address_sanitizer_are_findings(symbol: str, kind: str, text: str) -> None:
    library = build(IN_ITS_OWN_MEMORY, "-fsanitize=address", "-g", "-w")
    shown = run("check", f"{library}:{symbol}", "--json")
    report = json.loads(shown.stdout)
    if not kind:
        assert (shown.returncode, report["verdict"]) == (0, "clean")
        return
    assert shown.returncode == 1
    (finding,) = report["findings"]
    assert finding["kind"] == kind
    assert text in finding["message"]
    assert any(
        "Copy" in frame or "NextByte" in frame or symbol in frame for frame in finding["stack"]
    ), finding["stack"]


UNDEFINED = """
#include <climits>
#include <cstring>
#include "farcall/ffi.h"
namespace ffi = farcall::ffi;
using In = ffi::Buffer<ffi::F32>;
using Out = ffi::ResultBuffer<ffi::F32>;

static void copy(In x, Out y) {
  if (x.size_bytes() != 0) std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
}
static ffi::Error Overflows(In x, Out y) {
  volatile int n = INT_MAX - 16;
  n = n + static_cast<int>(x.element_count());
  copy(x, y);
  return {};
}
static ffi::Error Index(In x, Out y) {
  volatile float table[8] = {};
  for (size_t i = 0; i < x.element_count() && i < 9; ++i) table[i] = x.typed_data()[i];
  copy(x, y);
  return {};
}
static ffi::Error Wraps(In x, Out y) {
  volatile unsigned hash = UINT_MAX;
  hash = hash + static_cast<unsigned>(x.element_count()) * 33;
  copy(x, y);
  return {};
}
static ffi::Error PastTheEnd(In x, Out y) {
  copy(x, y);
  if (x.element_count() > 20) y->typed_data()[x.element_count()] = 0;
  return {};
}
FARCALL_DEFINE_HANDLER(overflows, Overflows);
FARCALL_DEFINE_HANDLER(index_of_table, Index);
FARCALL_DEFINE_HANDLER(wraps, Wraps);
FARCALL_DEFINE_HANDLER(past_the_end, PastTheEnd);
"""


@pytest.mark.parametrize("flag", ["undefined", "address,undefined"])
@pytest.mark.parametrize(
    ("symbol", "kind", "text"),
    [
        ("overflows", "crash", "UndefinedBehaviorSanitizer: signed integer overflow: "),
        ("index_of_table", "oob-read", "UndefinedBehaviorSanitizer: index 8 out of bounds for"),
        ("past_the_end", "oob-write", "writes past the end of result 0"),
        ("wraps", "", ""),
    ],
)
def test_undefined_behaviour_that_the_sanitizer_reports_is_a_finding(
    flag: str, symbol: str, kind: str, text: str
) -> None:
    library = build(UNDEFINED, f"-fsanitize={flag}", "-g", "-w")
    shown = run("check", f"{library}:{symbol}", "--json")
    report = json.loads(shown.stdout)
    if not kind:
        assert (shown.returncode, report["verdict"]) == (0, "clean"), shown.stdout
        return
    assert shown.returncode == 1
    (finding,) = report["findings"]
    assert finding["kind"] == kind
    assert text in finding["message"]
    assert "PastTheEnd" in "".join(finding["stack"]) or symbol in "".join(finding["stack"])


def test_inspect_reads_a_library_with_undefined_behaviour_checks() -> None:
    shown = run("inspect", str(build(UNDEFINED, "-fsanitize=undefined", "-g", "-w")))
    assert shown.returncode == 0
    assert "overflows" in shown.stdout


WITH_THREADS = """
#include <atomic>
#include <mutex>
#include <thread>
#include "farcall/ffi.h"
namespace ffi = farcall::ffi;
using In = ffi::Buffer<ffi::F32>;
using Out = ffi::ResultBuffer<ffi::F32>;

static void copy(In x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i];
}
// The results are right however the calls interleave: only the sanitizer can tell.
static long num_calls, last_size;
static ffi::Error Counted(In x, Out y) {
  ++num_calls;
  copy(x, y);
  return {};
}
static std::mutex mutex;
static ffi::Error Locked(In x, Out y) {
  const std::lock_guard lock(mutex);
  last_size = static_cast<long>(x.element_count());
  copy(x, y);
  return {};
}
static ffi::Error OnItsOwnThread(In x, Out y) {
  long seen = 0;
  std::thread other([&] { seen = 1; copy(x, y); });
  if (x.element_count() > 20) seen = 2;
  other.join();
  return {};
}
static ffi::Error Joined(In x, Out y) {
  long seen = 0;
  std::thread other([&] { seen = 1; copy(x, y); });
  other.join();
  seen += 1;
  return {};
}
static std::atomic<long> total;
static ffi::Error InThePool(In x, Out y, ffi::ThreadPool pool) {
  std::atomic<int> left{2};
  long parts[2] = {};
  for (int i = 0; i < 2; ++i) pool.Schedule([&, i] { parts[i] = i + 1; --left; });
  while (left != 0) std::this_thread::yield();
  total += parts[0] + parts[1];
  copy(x, y);
  return {};
}
FARCALL_DEFINE_HANDLER(counted, Counted);
FARCALL_DEFINE_HANDLER(locked, Locked);
FARCALL_DEFINE_HANDLER(on_its_own_thread, OnItsOwnThread);
FARCALL_DEFINE_HANDLER(joined, Joined);
FARCALL_DEFINE_HANDLER(in_the_pool, InThePool);
"""


@pytest.mark.parametrize(
    ("symbol", "size_of_race"),  # at most
    [
        ("counted", 3),
        ("locked", None),
        ("on_its_own_thread", 40),
        ("joined", None),
        ("in_the_pool", None),
    ],
)
def test_reports_of_the_thread_sanitizer_are_races(symbol: str, size_of_race: int | None) -> None:
    library = build(WITH_THREADS, "-fsanitize=thread", "-g", "-w")
    shown = run("check", f"{library}:{symbol}", "--json")
    report = json.loads(shown.stdout)
    if size_of_race is None:
        assert (shown.returncode, report["verdict"]) == (0, "clean"), shown.stdout
        return
    assert shown.returncode == 1
    assert {finding["kind"] for finding in report["findings"]} == {"race"}, shown.stdout
    finding = report["findings"][0]
    assert "ThreadSanitizer: data race" in finding["message"]
    assert finding["stack"]
    # The first shapes that are tried are larger.
    assert finding["sizes"]["N"] <= size_of_race


def built_by_clang(source: str, flag: str, folder: Path) -> Path:
    compiler = shutil.which("clang++")
    if not compiler:
        pytest.skip("clang++ is not installed")
    file, library = folder / "handlers.cpp", folder / "handlers.so"
    file.write_text(source)
    flags = ["-std=c++17", "-w", "-fPIC", "-shared", flag, "-I", fc.ffi.include_dir()]
    subprocess.run([compiler, *flags, file, "-o", library], check=True)
    return library


def test_clangs_runtime_of_undefined_behaviour_is_found(tmp_path: Path) -> None:
    library = built_by_clang(UNDEFINED, "-fsanitize=undefined", tmp_path)
    shown = run("check", f"{library}:overflows", "--json")
    if shown.returncode == 3:
        pytest.skip("Clang's runtimes are not installed")
    (finding,) = json.loads(shown.stdout)["findings"]
    assert "UndefinedBehaviorSanitizer: signed integer overflow" in finding["message"]
    assert "Overflows" in finding["stack"][0]
    refused = run("inspect", str(library))
    assert refused.returncode == 3
    assert "built with Clang's -fsanitize=undefined" in refused.stderr


STATE_OF_XLA = """
#include <memory>
#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;
namespace mine {
struct Counter { static ffi::TypeId id; int calls[32] = {}; };
ffi::TypeId Counter::id = {};
}
static ffi::ErrorOr<std::unique_ptr<mine::Counter>> Make() {
  return std::make_unique<mine::Counter>();
}
static ffi::Error Run(mine::Counter* counter, ffi::Buffer<ffi::F32> x,
                      ffi::ResultBuffer<ffi::F32> y) {
  if (counter == nullptr) return ffi::Error::Internal("no state");
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i];
  return ffi::Error::Success();
}
extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* count_instantiate(
    XLA_FFI_CallFrame*);
XLA_FFI_DEFINE_HANDLER_SYMBOL(count_instantiate, Make, ffi::Ffi::BindInstantiate());
extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* count(XLA_FFI_CallFrame*);
XLA_FFI_DEFINE_HANDLER_SYMBOL(count, Run, ffi::Ffi::Bind().Ctx<ffi::State<mine::Counter>>()
    .Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());
"""


def library_of_state(source: str, include: str, folder: Path) -> Path:
    file, library = folder / "state.cpp", folder / "state.so"
    file.write_text(source)
    flags = ["-std=c++17", "-w", "-fPIC", "-shared", "-I", include]
    subprocess.run(["c++", *flags, file, "-o", library], check=True)
    return library


@pytest.mark.parametrize("header", ["farcall", "xla"])
def test_state_whose_type_a_python_module_registers_needs_no_module(
    header: str, tmp_path: Path
) -> None:
    include = fc.ffi.include_dir() if header == "farcall" else jax.ffi.include_dir()
    library = library_of_state(STATE_OF_XLA, include, tmp_path)
    call = [f"{library}:count", "--arg", "f32[N]", "--ret", "f32[N]"]
    report = json.loads(run("check", *call, "--json").stdout)
    assert report["verdict"] == "clean", report
    assert run("bench", *call, "--size", "N=8", "--no-limits").returncode == 0
    shown = run("run", f"{library}:count", "--arg", "f32[2]=1,2", "--ret", "f32[2]")
    assert shown.stdout == "f32[2] = [1.0, 2.0]\n", shown.stderr
    (first,) = [
        handler
        for handler in json.loads(run("inspect", str(library), "--json").stdout)["handlers"]
        if handler["symbol"] == "count_instantiate"
    ]
    assert first["state_type"] == "mine::Counter"


def test_the_cpp_test_of_a_finding_registers_the_type_of_the_state(tmp_path: Path) -> None:
    wrong = STATE_OF_XLA.replace(
        "return ffi::Error::Success",
        "y->typed_data()[x.element_count()] = 1; return ffi::Error::Success",
    )
    library = library_of_state(wrong, fc.ffi.include_dir(), tmp_path)
    call = [f"{library}:count", "--arg", "f32[N]", "--ret", "f32[N]"]
    (finding, *_) = json.loads(run("check", *call, "--json").stdout)["findings"]
    assert finding["kind"] == "oob-write"
    shown = output_of_tests(finding["cpp_test"], tmp_path)
    assert "1 FAILED TEST" in shown
    assert "wrote past the end" in shown, shown


def test_a_library_with_the_memory_sanitizer_is_refused(tmp_path: Path) -> None:
    library = built_by_clang(WITH_THREADS, "-fsanitize=memory", tmp_path)
    shown = run("check", f"{library}:locked")
    assert shown.returncode == 3
    assert "works only in programs that are built with it as a whole" in shown.stderr


def test_a_thread_sanitizer_that_cannot_be_preloaded_is_told(tmp_path: Path) -> None:
    library = built_by_clang(WITH_THREADS, "-fsanitize=thread", tmp_path)
    shown = run("check", f"{library}:locked")
    if shown.returncode != 0:  # newer versions of Clang have a runtime that can be preloaded
        assert shown.returncode == 3
        assert "build the handler with GCC: g++ -fsanitize=thread" in shown.stderr
