"""Isolated targets: handlers in a process of their own."""

from __future__ import annotations

import ctypes
import gc
import os
import select
import signal
import subprocess
import sys
import threading
import time

import farcall as fc
import farcall.lax as lax
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import ffi
from handler_library import load

X = np.arange(1.0, 9.0, dtype=np.float32)
SPEC = fc.ShapeDtypeStruct(X.shape, X.dtype)

CRASHES = r"""
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <farcall/ffi.h>
namespace ffi = farcall::ffi;

extern "C" __attribute__((visibility("default"), noinline)) void write_to_nowhere(float* at) {
  *at = 1;
}

// Copies, and does what `how` says.
ffi::Error Crashes(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y, std::string_view how) {
  std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
  if (how == "segfault") write_to_nowhere(reinterpret_cast<float*>(0x10));
  if (how == "abort") std::abort();
  if (how == "exit") std::exit(7);
  if (how == "hang") sleep(100);
  if (how == "kill") raise(SIGKILL);
  if (how == "error") return ffi::Error(ffi::ErrorCode::kOutOfRange, "too far");
  if (how == "pid") y->typed_data()[0] = static_cast<float>(getpid());
  if (how == "beyond") y->typed_data()[x.element_count()] = 1;
  if (how == "fork" && fork() == 0) y->typed_data()[0] = -1;  // the copy returns too
  if (how == "print") std::printf("a line of the handler\n");
  // The program that it starts stays when the handler has crashed.
  if (how == "starts" && std::system("sleep 30 &") == 0) std::abort();
  return {};
}
FARCALL_DEFINE_HANDLER(crashes, Crashes, "how");
"""


@pytest.fixture(scope="module", autouse=True)
def targets(handler_library) -> None:
    library = load(CRASHES)
    capsule = ffi.pycapsule(library.crashes)
    ffi.register_ffi_target("isolated_crashes", capsule, isolate=True)
    ffi.register_ffi_target("hangs", capsule, isolate=True, timeout=0.3)
    for name in ("scale", "add_one_in_place", "sum_and_difference", "copy_all", "takes_scratch"):
        handler = ffi.pycapsule(getattr(handler_library, name))
        ffi.register_ffi_target(f"isolated_{name}", handler, isolate=True)
    ffi.register_ffi_target(
        "isolated_counter",
        {
            "instantiate": ffi.pycapsule(handler_library.counter_instantiate),
            "execute": ffi.pycapsule(handler_library.counter),
        },
        isolate=True,
    )
    describe = ffi.pycapsule(handler_library.describe_attributes)
    ffi.register_ffi_target("isolated_describe", describe, isolate=True)
    ffi.register_ffi_target("plain_describe", describe)


def scale(x, factor=2.0, **options):
    call = ffi.ffi_call("isolated_scale", fc.ShapeDtypeStruct(x.shape, x.dtype), **options)
    return call(x, factor=np.float32(factor))


def crash(x, how=""):
    return ffi.ffi_call("isolated_crashes", SPEC)(x, how=how)


def failure(f, *args):
    with pytest.raises(fc.FfiError) as error:
        f(*args)
    return error.value


def test_values_in_programs_eager_loops_and_batches():
    np.testing.assert_array_equal(scale(fnp.asarray(X)), 2 * X)
    np.testing.assert_array_equal(fc.jit(lambda x: scale(x + 1) - 1)(X), 2 * X + 1)
    looped = fc.jit(lambda x: lax.fori_loop(0, 10, lambda i, c: scale(c), x))
    np.testing.assert_array_equal(looped(X), 1024 * X)
    batched = fc.vmap(lambda x: scale(x, vmap_method="sequential"))(np.stack([X, -X]))
    np.testing.assert_array_equal(batched, np.stack([2 * X, -2 * X]))


def test_large_and_empty_operands_and_several_results():
    large = np.arange(1 << 20, dtype=np.float32)
    np.testing.assert_array_equal(scale(large), 2 * large)
    np.testing.assert_array_equal(scale(np.zeros((0, 3), np.float32)), np.zeros((0, 3)))
    call = ffi.ffi_call("isolated_sum_and_difference", (SPEC, SPEC))
    added, subtracted = fc.jit(lambda x, y: call(x, y))(X, 2 * X)
    np.testing.assert_array_equal(added, 3 * X)
    np.testing.assert_array_equal(subtracted, -X)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "bfloat16", "complex64"])
def test_dtypes(dtype):
    with fc.enable_x64():
        x = fnp.asarray([[0, 1], [1, 1]]).astype(dtype)
        call = ffi.ffi_call("isolated_copy_all", fc.ShapeDtypeStruct(x.shape, x.dtype))
        np.testing.assert_array_equal(call(x), x)


def test_aliases_and_donation():
    call = ffi.ffi_call("isolated_add_one_in_place", SPEC, input_output_aliases={0: 0})
    np.testing.assert_array_equal(fc.jit(call)(X), X + 1)
    given = fnp.array(X)
    np.testing.assert_array_equal(fc.jit(call, donate_argnums=0)(given), X + 1)


def test_attributes_arrive_as_they_are():
    shape = fc.ShapeDtypeStruct((4096,), "uint8")
    attributes = {
        "f": np.float32(1.5),
        "i": np.int64(-3),
        "flag": True,
        "text": "a b",
        "many": np.arange(5, dtype=np.int32),
        "inner": {"deep": {"x": np.float64(2)}, "list": np.array([1.0, 2.0])},
    }
    try:
        wanted = ffi.ffi_call("plain_describe", shape)(**attributes)
    except fc.FfiError as error:
        wanted = str(error)
    try:
        got = ffi.ffi_call("isolated_describe", shape)(**attributes)
    except fc.FfiError as error:
        got = str(error).replace("isolated_describe", "plain_describe")
    np.testing.assert_array_equal(got, wanted)


def test_scratch_and_state():
    takes = ffi.ffi_call("isolated_takes_scratch", fc.ShapeDtypeStruct((), "int64"))
    assert int(takes(size=np.int64(1000))) == 2000
    count = ffi.ffi_call("isolated_counter", fc.ShapeDtypeStruct((), "int64"))
    first = fc.jit(lambda: count(start=np.int64(10)))
    second = fc.jit(lambda: count(start=np.int64(100)))
    start = int(first())
    assert [int(first()), int(first())] == [start + 1, start + 2]
    assert int(second()) == start + 90  # a state of its own


def test_errors_of_the_handler_have_their_code_text_and_line():
    error = failure(fc.jit(lambda x: crash(x, "error")), X)
    assert error.code == "OUT_OF_RANGE"
    assert "too far" in str(error)
    assert f"at {__file__}:" in str(error)
    np.testing.assert_array_equal(crash(fnp.asarray(X)), X)


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("segfault", "was ended by signal 11 (Segmentation fault), at address 0x10, in"),
        ("abort", "was ended by signal 6 (Aborted), in"),
        ("kill", "was ended by signal 9 (Killed)"),
        ("exit", "exited with code 7"),
    ],
)
def test_a_crash_is_an_error_and_the_program_goes_on(how, text):
    f = fc.jit(lambda x: crash(x, how))
    for _ in range(2):
        error = failure(f, X)
        assert error.code == "ABORTED"
        assert text in str(error)
        assert '(ffi target "isolated_crashes")' in str(error)
        assert f"at {__file__}:" in str(error)
        np.testing.assert_array_equal(fc.jit(crash)(X), X)
    if how == "segfault":
        assert "\n    write_to_nowhere+0x" in str(error)
        assert "libfarcall" not in str(error)


def test_the_time_limit():
    begin = time.monotonic()
    error = failure(fc.jit(lambda x: ffi.ffi_call("hangs", SPEC)(x, how="hang")), X)
    assert time.monotonic() - begin < 30
    assert error.code == "DEADLINE_EXCEEDED"
    assert "took longer than 0.3 s" in str(error)
    np.testing.assert_array_equal(ffi.ffi_call("hangs", SPEC)(X, how=""), X)


def test_the_process_stays_and_is_another_one():
    pids = {float(crash(fnp.asarray(X), "pid")[0]) for _ in range(5)}
    assert len(pids) == 1
    assert pids != {float(os.getpid())}


def test_a_process_that_others_ended_is_replaced():
    def pid():
        return int(float(crash(fnp.asarray(X), "pid")[0]))

    for signal_number in (signal.SIGKILL, signal.SIGTERM):
        first = pid()
        process = os.pidfd_open(first)
        os.kill(first, signal_number)
        assert select.select([process], [], [], 60)[0]  # it has ended
        os.close(process)
        assert pid() != first


def test_a_copy_that_the_handler_forks_does_not_answer():
    for i in range(4):
        np.testing.assert_array_equal(crash(fnp.asarray(X + i), "fork")[1:], X[1:] + i)
    np.testing.assert_array_equal(crash(fnp.asarray(X)), X)


def test_programs_that_the_handler_starts_do_not_delay_the_error():
    begin = time.monotonic()
    assert "signal 6 (Aborted)" in str(failure(lambda: crash(fnp.asarray(X), "starts")))
    assert time.monotonic() - begin < 15


def test_a_new_program_has_a_new_state():
    count = ffi.ffi_call("isolated_counter", fc.ShapeDtypeStruct((), "int64"))
    for _ in range(5):
        program = fc.jit(lambda: count(start=np.int64(10)))
        assert [int(program()) for _ in range(3)] == [10, 11, 12]
        del program
        gc.collect()


def test_threads():
    f = fc.jit(lambda x: scale(x))
    wrong = []

    def work(i):
        for j in range(20):
            x = X + i + j
            if not np.array_equal(f(x), 2 * x):
                wrong.append((i, j))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_checks_are_made_where_the_handler_runs():
    with fc.check_foreign_calls():
        error = failure(fc.jit(lambda x: crash(x, "beyond")), X)
        np.testing.assert_array_equal(fc.jit(crash)(X), X)
    assert "oob-write: it wrote past the end of result 0, at byte offset 32" in str(error)


def test_what_cannot_be_isolated(handler_library):
    scale_capsule = ffi.pycapsule(handler_library.scale)
    ffi.register_ffi_target("isolated_scale", scale_capsule, isolate=True)  # the same again
    with pytest.raises(RuntimeError, match=r'"isolated_scale" .*is registered already'):
        ffi.register_ffi_target("isolated_scale", scale_capsule)
    signature = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
    function = signature(lambda frame: None)
    with pytest.raises(ValueError, match="cannot be isolated: its handler was made at run time"):
        ffi.register_ffi_target("made", ffi.pycapsule(function), isolate=True)
    with pytest.raises(ValueError, match=r"isolate=True is for handlers \(api_version=1\) on"):
        ffi.register_ffi_target("untyped", scale_capsule, api_version=0, isolate=True)
    with pytest.raises(ValueError, match=r"isolate=True is for handlers \(api_version=1\) on"):
        ffi.register_ffi_target("device", scale_capsule, platform="cuda", isolate=True)
    with pytest.raises(TypeError, match="a timeout is for isolate=True"):
        ffi.register_ffi_target("late", scale_capsule, timeout=1.0)
    with pytest.raises(TypeError, match=r"isolate must be True or False, got 'no' of type str"):
        ffi.register_ffi_target("unclear", scale_capsule, isolate="no")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="timeout_seconds must be 0 or more, got -1"):
        ffi.register_ffi_target("early", scale_capsule, isolate=True, timeout=-1.0)


def run_script(text: str, **environment: str) -> str:
    """What a process without JAX prints, which has the isolated target ``scale``."""
    start = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "import os, farcall as fc, numpy as np\n"
        "from farcall import ffi\n"
        "from handler_library import load\n"
        "handler = ffi.pycapsule(load('python_handlers.cpp').scale)\n"
        "ffi.register_ffi_target('scale', handler, isolate=True)\n"
        "call = ffi.ffi_call('scale', fc.ShapeDtypeStruct((1,), 'float32'))\n"
        "twice = lambda: float(call(np.ones(1, 'f'), factor=np.float32(2))[0])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", start + text, os.path.dirname(__file__)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_without_the_helper_the_error_says_what_is_missing():
    text = "try:\n    twice()\nexcept fc.FfiError as error:\n    print(error.code, error)\n"
    printed = run_script(text, FARCALL_RUN="/nowhere/farcall-run")
    assert printed.startswith("FAILED_PRECONDITION")
    assert "/nowhere/farcall-run does not start: No such file" in printed


def test_what_the_handler_prints_is_not_lost():
    printed = run_script(
        "from test_isolation import CRASHES\n"
        "ffi.register_ffi_target('prints', ffi.pycapsule(load(CRASHES).crashes), isolate=True)\n"
        "prints = ffi.ffi_call('prints', fc.ShapeDtypeStruct((1,), 'float32'))\n"
        "prints(np.ones(1, 'f'), how='print')\n"
        "print('a line of the program')\n"
    )
    assert printed == "a line of the handler\na line of the program\n"


def test_a_child_of_fork_has_helpers_of_its_own():
    printed = run_script(
        "twice()\n"
        "pid = os.fork()\n"
        "if pid == 0: os._exit(int(twice()))\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), twice())\n"
    )
    assert printed == "2 2.0\n"


def test_an_interrupt_ends_the_call_and_its_process():
    printed = run_script(
        "import signal, threading, time\n"
        "from test_isolation import CRASHES\n"
        "ffi.register_ffi_target('hangs', ffi.pycapsule(load(CRASHES).crashes), isolate=True)\n"
        "f = fc.jit(lambda x, how: ffi.ffi_call('hangs', fc.ShapeDtypeStruct((1,), 'float32'))(\n"
        "    x, how=how), static_argnums=1)\n"
        "x = np.ones(1, 'f')\n"
        "f(x, '')\n"
        "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "begin = time.monotonic()\n"
        "try:\n"
        "    f(x, 'hang')\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', time.monotonic() - begin < 50, float(f(x, '')[0]))\n"
    )
    assert printed == "interrupted True 1.0\n"
