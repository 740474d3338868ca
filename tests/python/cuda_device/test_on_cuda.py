"""Programs on a CUDA device: handlers on the stream, command buffers, and buffer callbacks."""

from __future__ import annotations

import ctypes
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import ffi, lax
from farcall.experimental import io_callback
from farcall.experimental.buffer_callback import buffer_callback

X: Any = np.asarray([1, 2, 3], "float32")
F32 = fc.ShapeDtypeStruct((3,), "float32")

# Copies on the stream by the driver, which needs no CUDA compiler. `ticks` is of the type of state.
SOURCE = """
#include <dlfcn.h>
#include <cstdint>
#include <memory>
#include "farcall/ffi.h"
namespace ffi = farcall::ffi;

struct Ticks { int64_t count = 0; };

static ffi::Error Copy(void* stream, const void* from, void* to, size_t size) {
  using Function = int(uint64_t, uint64_t, size_t, void*);
  static auto* copy = reinterpret_cast<Function*>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemcpyDtoDAsync_v2"));
  if (!copy) return ffi::Error::Internal("no driver");
  const int status = copy(reinterpret_cast<uint64_t>(to), reinterpret_cast<uint64_t>(from), size,
                          stream);
  return status == 0 ? ffi::Error() : ffi::Error::Internal("the copy failed");
}
static ffi::Error CopyOn(ffi::PlatformStream<void*> stream, ffi::AnyBuffer x,
                         ffi::Result<ffi::AnyBuffer> y) {
  return Copy(stream, x.untyped_data(), y->untyped_data(), x.size_bytes());
}
FARCALL_DEFINE_HANDLER(cuda_copy, CopyOn);
FARCALL_DEFINE_HANDLER(cuda_copy_recorded, CopyOn, ffi::kCmdBufferCompatible);
FARCALL_DEFINE_HANDLER(cuda_ticks_instantiate, [] { return std::make_unique<Ticks>(); },
                       ffi::kInstantiate);
static ffi::Error CountedCopy(ffi::PlatformStream<void*> stream, ffi::State<Ticks> ticks,
                              ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  if (++ticks->count > 2) return ffi::Error::ResourceExhausted("called more than twice");
  return Copy(stream, x.untyped_data(), y->untyped_data(), x.size_bytes());
}
FARCALL_DEFINE_HANDLER(cuda_ticks, CountedCopy);
"""


@pytest.fixture(scope="module", autouse=True)
def handlers() -> None:
    ffi.load_inline("cuda_calls", SOURCE, platform="cuda")


def copy_on_stream(out: Any, x: Any, stream: int) -> None:
    driver = ctypes.CDLL("libcuda.so.1")
    status = driver.cuMemcpyDtoDAsync_v2(
        ctypes.c_uint64(out.unsafe_pointer),
        ctypes.c_uint64(x.unsafe_pointer),
        ctypes.c_size_t(x.nbytes),
        ctypes.c_void_p(stream),
    )
    assert status == 0


def test_programs(device: fc.Device) -> None:
    x = fc.device_put(X, device)
    assert x.device == device
    assert fc.jit(lambda a: fnp.sin(a) + a @ a)(x).tolist() == pytest.approx(
        (np.sin(X) + X @ X).tolist(), rel=1e-5
    )


@pytest.mark.parametrize("target", ["cuda_copy", "cuda_copy_recorded"])
def test_a_handler_on_the_stream(target: str, device: fc.Device) -> None:
    call = ffi.ffi_call(target, F32)
    f = fc.jit(lambda x: call(call(x * 2) + 1), device=device)
    for _ in range(4):  # command buffers are recorded once and then replayed
        assert f(X).tolist() == [3, 5, 7]
    loop = fc.jit(lambda x: lax.fori_loop(0, 5, lambda i, a: call(a + 1), x), device=device)
    assert loop(X).tolist() == [6, 7, 8]


def test_state_and_errors(device: fc.Device) -> None:
    f = fc.jit(lambda x: ffi.ffi_call("cuda_ticks", F32)(x), device=device)
    assert f(X).tolist() == f(X).tolist() == X.tolist()
    with pytest.raises(Exception, match="called more than twice"):
        f(X).block_until_ready()
    assert fc.jit(lambda x: x + 1, device=device)(X).tolist() == [2, 3, 4]


@pytest.mark.parametrize("compatible", [False, True])
def test_a_buffer_callback(compatible: bool, device: fc.Device) -> None:
    seen = []

    def copy(ctx: Any, out: Any, x: Any) -> None:
        for buffer, is_read_only in ((x, True), (out, False)):
            interface = buffer.__cuda_array_interface__
            assert interface["shape"] == (3,)
            assert interface["typestr"] == "<f4"
            assert interface["data"] == (buffer.unsafe_pointer, is_read_only)
            assert interface["version"] == 3
            assert interface["stream"] == (ctx.stream or 1)
            assert buffer.__dlpack_device__() == (2, 0)
            with pytest.raises(TypeError, match="in the memory of cuda:0"):
                np.asarray(buffer)
        seen.append(x.device)
        copy_on_stream(out, x, ctx.stream)

    call = buffer_callback(copy, F32, command_buffer_compatible=compatible)
    f = fc.jit(lambda x: call(x + 1) * 2, device=device)
    for _ in range(4):
        assert f(X).tolist() == [4, 6, 8]
    assert seen[0] == device
    if not compatible:
        assert len(seen) == 4


def test_a_buffer_callback_that_writes_nothing(device: fc.Device) -> None:
    f = fc.jit(lambda x: buffer_callback(lambda ctx, out, x: None, F32)(x), device=device)
    with pytest.warns(RuntimeWarning, match="result 0, whose values are undefined"):
        f(X).block_until_ready()
    for _ in range(100):
        assert f(X).shape == (3,)


def test_missing_targets(device: fc.Device) -> None:
    call = ffi.ffi_call("no_such_target", F32)
    with pytest.raises(fc.FfiError, match='no target "no_such_target" on platform "cuda"'):
        fc.jit(lambda x: call(x), device=device)(X)


def test_transposed_operands_are_row_major_for_calls(device: fc.Device) -> None:
    x = np.arange(1, 7, dtype="float32").reshape(2, 3) / 8

    def f(x: Any) -> Any:
        turned = (x + 1).T
        there = fc.ShapeDtypeStruct(turned.shape, "float32")

        def copy(ctx: Any, out: Any, x: Any) -> None:
            copy_on_stream(out, x, ctx.stream)

        return (
            buffer_callback(copy, there)(turned).T + 1,
            ffi.ffi_call("cuda_copy", there)(turned).T + 1,
            fc.pure_callback(lambda a: np.asarray(a) * 2, there, turned),
            fc.scipy.special.ndtri(turned - 1),
        )

    a, b, c, d = fc.jit(f, device=device)(x)
    np.testing.assert_allclose(np.asarray(a), x + 2)
    np.testing.assert_allclose(np.asarray(b), x + 2)
    np.testing.assert_allclose(np.asarray(c), 2 * (x + 1).T)
    np.testing.assert_allclose(
        np.asarray(d), np.asarray(fc.jit(lambda x: fc.scipy.special.ndtri(x))(x.T)), rtol=1e-5
    )


def test_exceptions_keep_their_type(device: fc.Device) -> None:
    def fail(ctx: Any, out: Any, x: Any) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fc.jit(lambda x: buffer_callback(fail, F32)(x), device=device)(X)
    assert fc.jit(lambda x: x + 1, device=device)(X).tolist() == [2, 3, 4]


def test_callbacks_on_arrays_of_the_host(device: fc.Device) -> None:
    seen: list[float] = []

    def note(a: Any) -> Any:
        seen.append(float(np.asarray(a)[0]))
        return np.asarray(a) + 1

    def body(i: Any, x: fc.Array) -> fc.Array:
        x = io_callback(note, F32, x, ordered=True)
        fc.debug.callback(lambda a: seen.append(-float(a[0])), x, ordered=True)
        return lax.cond(x[0] > 2, lambda x: fc.pure_callback(note, F32, x), lambda x: x, x)

    f = fc.jit(lambda x: lax.fori_loop(0, 2, body, x) * 2, device=device)
    for _ in range(3):
        seen.clear()
        assert f(X).tolist() == [8, 10, 12]
        assert seen == [1, -2, 2, -3, 3]
    one = fc.ShapeDtypeStruct((), "float32")
    square = fc.vmap(lambda a: fc.pure_callback(lambda b: b * b, one, a, vmap_method="sequential"))
    assert fc.jit(square, device=device)(X).tolist() == [1, 4, 9]
    empty = fc.ShapeDtypeStruct((0, 3), "float32")
    none = fc.jit(lambda x: fc.pure_callback(lambda a: a, empty, x), device=device)
    assert none(np.zeros((0, 3), "float32")).shape == (0, 3)


def test_exceptions_of_callbacks_on_arrays_of_the_host(device: fc.Device) -> None:
    def fail(a: Any) -> Any:
        raise KeyError("mine")

    loop = fc.jit(
        lambda x: lax.while_loop(lambda a: a[0] < 9, lambda a: fc.pure_callback(fail, F32, a), x),
        device=device,
    )
    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            loop(X)
    assert fc.jit(lambda x: x + 1, device=device)(X).tolist() == [2, 3, 4]


def test_a_callback_computes_on_the_host(device: fc.Device) -> None:
    def inner(a: Any) -> Any:
        y = fnp.asarray(a) * 2
        assert y.device == fc.devices("native")[0]
        return y

    f = fc.jit(lambda x: fc.pure_callback(inner, F32, x) + 1, device=device)
    assert f(X).tolist() == [3, 5, 7]


def test_operations_that_stablehlo_lacks(device: fc.Device) -> None:
    f = fc.jit(lambda x: fc.scipy.special.gammainc(x, x) + fc.scipy.special.ndtri(x / 4))
    np.testing.assert_allclose(np.asarray(f(fc.device_put(X, device))), np.asarray(f(X)), rtol=1e-5)


def test_dlpack_with_torch(device: fc.Device) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this torch has no CUDA")

    def double(ctx: Any, out: Any, x: Any) -> None:
        with torch.cuda.stream(torch.cuda.ExternalStream(ctx.stream)):
            torch.from_dlpack(out).copy_(torch.from_dlpack(x) * 2)

    f = fc.jit(lambda x: buffer_callback(double, F32)(x), device=device)
    assert f(X).tolist() == [2, 4, 6]


def test_cupy(device: fc.Device) -> None:
    cupy = pytest.importorskip("cupy")

    def double(ctx: Any, out: Any, x: Any) -> None:
        with cupy.cuda.ExternalStream(ctx.stream):
            cupy.asarray(out)[...] = cupy.asarray(x) * 2

    f = fc.jit(lambda x: buffer_callback(double, F32)(x), device=device)
    assert f(X).tolist() == [2, 4, 6]
