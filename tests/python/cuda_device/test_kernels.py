"""Kernels compiled by nvcc, called by farcall and by JAX on a CUDA device."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import ffi, lax

pytestmark = pytest.mark.skipif(
    not (shutil.which("nvcc") or Path("/usr/local/cuda/bin/nvcc").exists()), reason="no nvcc"
)

SOURCE = """
#include <cuda_runtime.h>
#include <cstdint>
#include <string>
%(header)s

static __global__ void ScaleKernel(const float* x, float* y, size_t n, float by) {
  const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = x[i] * by;
}

static ffi::Error Launched() {
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? ffi::Error::Success()
                              : ffi::Error(ffi::ErrorCode::kInternal, cudaGetErrorString(error));
}

static ffi::Error Scale(cudaStream_t stream, ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y,
                        float by) {
  const size_t n = x.element_count();
  if (n == 0) return ffi::Error::Success();
  ScaleKernel<<<(n + 255) / 256, 256, 0, stream>>>(x.typed_data(), y->typed_data(), n, by);
  return Launched();
}

// By way of scratch memory, twice as large as needed.
static ffi::Error ScaleTwice(cudaStream_t stream, ffi::ScratchAllocator scratch,
                             ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y, float by) {
  const size_t n = x.element_count();
  if (n == 0) return ffi::Error::Success();
  auto memory = scratch.Allocate(2 * n * sizeof(float));
  if (!memory) return ffi::Error(ffi::ErrorCode::kResourceExhausted, "no scratch memory");
  auto* between = static_cast<float*>(*memory);
  ScaleKernel<<<(n + 255) / 256, 256, 0, stream>>>(x.typed_data(), between, n, by);
  ScaleKernel<<<(n + 255) / 256, 256, 0, stream>>>(between, y->typed_data(), n, by);
  return Launched();
}

static ffi::Error Ordinal(cudaStream_t stream, int32_t device, ffi::ResultBuffer<ffi::S32> y) {
  const int32_t value = 100 + device;
  cudaMemcpyAsync(y->typed_data(), &value, sizeof value, cudaMemcpyHostToDevice, stream);
  cudaStreamSynchronize(stream);
  return Launched();
}

static ffi::Error Refuse(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32>) {
  return ffi::Error(ffi::ErrorCode::kInvalidArgument,
                    "refused, for " + std::to_string(x.element_count()) + " elements");
}
"""

FARCALL = (
    SOURCE % {"header": '#include "farcall/ffi.h"\nnamespace ffi = farcall::ffi;'}
    + """
static ffi::Error ScaleOf(ffi::PlatformStream<cudaStream_t> stream, ffi::Buffer<ffi::F32> x,
                          ffi::ResultBuffer<ffi::F32> y, float by) {
  return Scale(stream, x, y, by);
}
FARCALL_DEFINE_HANDLER(own_scale, ScaleOf, "by");
FARCALL_DEFINE_HANDLER(own_scale_recorded, ScaleOf, "by", ffi::kCmdBufferCompatible);
static ffi::Error ScaleTwiceOf(ffi::PlatformStream<cudaStream_t> stream,
                               ffi::ScratchAllocator scratch, ffi::Buffer<ffi::F32> x,
                               ffi::ResultBuffer<ffi::F32> y, float by) {
  return ScaleTwice(stream, std::move(scratch), x, y, by);
}
FARCALL_DEFINE_HANDLER(own_scale_twice, ScaleTwiceOf, "by");
FARCALL_DEFINE_HANDLER(own_refuse, Refuse);
"""
)

XLA = (
    SOURCE % {"header": '#include "xla/ffi/api/ffi.h"\nnamespace ffi = xla::ffi;'}
    + """
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    xla_scale, Scale,
    ffi::Ffi::Bind().Ctx<ffi::PlatformStream<cudaStream_t>>().Arg<ffi::Buffer<ffi::F32>>()
        .Ret<ffi::Buffer<ffi::F32>>().Attr<float>("by"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    xla_scale_recorded, Scale,
    ffi::Ffi::Bind().Ctx<ffi::PlatformStream<cudaStream_t>>().Arg<ffi::Buffer<ffi::F32>>()
        .Ret<ffi::Buffer<ffi::F32>>().Attr<float>("by"),
    {ffi::Traits::kCmdBufferCompatible});
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    xla_scale_twice, ScaleTwice,
    ffi::Ffi::Bind().Ctx<ffi::PlatformStream<cudaStream_t>>().Ctx<ffi::ScratchAllocator>()
        .Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>().Attr<float>("by"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    xla_ordinal, Ordinal,
    ffi::Ffi::Bind().Ctx<ffi::PlatformStream<cudaStream_t>>().Ctx<ffi::DeviceOrdinal>()
        .Ret<ffi::Buffer<ffi::S32>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    xla_refuse, Refuse,
    ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());
"""
)

X: Any = np.linspace(-2, 3, 1000, dtype="float32")


@pytest.fixture(scope="module")
def libraries() -> dict[str, Any]:
    return {
        "own": ffi.load_inline("own_kernels", cuda_source=FARCALL),
        "xla": ffi.load_inline("xla_kernels", cuda_source=XLA),
    }


def scale(target: str, x: Any, by: float, **options: Any) -> Any:
    return ffi.ffi_call(target, fc.ShapeDtypeStruct(x.shape, "float32"), **options)(
        x, by=np.float32(by)
    )


@pytest.mark.usefixtures("libraries")
@pytest.mark.parametrize("header", ["own", "xla"])
@pytest.mark.parametrize(("kernel", "times"), [("", 3), ("_recorded", 3), ("_twice", 9)])
def test_a_kernel(header: str, kernel: str, times: int, device: fc.Device) -> None:
    target = f"{header}_scale{kernel}"
    f = fc.jit(lambda x: scale(target, x + 1, 3) - 1, device=device)
    for _ in range(4):
        np.testing.assert_allclose(np.asarray(f(X)), (X + 1) * times - 1, rtol=1e-6, atol=1e-6)
    for size in (0, 1, 255, 257, 1 << 20):
        x = np.arange(size, dtype="float32")
        got = fc.jit(lambda x: scale(target, x, 3), device=device)(x)
        np.testing.assert_array_equal(np.asarray(got), x * times)
    loop = fc.jit(
        lambda x: lax.fori_loop(0, 10, lambda i, a: scale(target, a, 1) + 1, x), device=device
    )
    np.testing.assert_allclose(np.asarray(loop(X)), X + 10, rtol=1e-5)


@pytest.mark.usefixtures("libraries")
@pytest.mark.parametrize(
    "method", ["broadcast_all", "expand_dims", "sequential", "legacy_vectorized"]
)
def test_batched(method: str, device: fc.Device) -> None:
    rows = X.reshape(10, 100)
    f = fc.vmap(lambda x: scale("own_scale", x, 2, vmap_method=method))
    np.testing.assert_array_equal(np.asarray(fc.jit(f, device=device)(rows)), rows * 2)


@pytest.mark.usefixtures("libraries")
def test_derivatives(device: fc.Device) -> None:
    ffi.define(
        "own_scale",
        linear_in=0,
        transpose=lambda call, cts, x: (scale("own_scale", cts[0], call.attributes["by"]),),
    )
    f = fc.jit(fc.grad(lambda x: fnp.sum(scale("own_scale", x, 3) ** 2)), device=device)
    np.testing.assert_allclose(np.asarray(f(X)), 18 * X, rtol=1e-5)


@pytest.mark.usefixtures("libraries")
@pytest.mark.parametrize("header", ["own", "xla"])
def test_an_error_of_a_kernel(header: str, device: fc.Device) -> None:
    call = ffi.ffi_call(f"{header}_refuse", fc.ShapeDtypeStruct((3,), "float32"))
    f = fc.jit(lambda x: call(x) + 1, device=device)
    for _ in range(2):
        with pytest.raises(Exception, match="refused, for 3 elements"):
            f(np.ones(3, "float32")).block_until_ready()
    with pytest.raises(Exception, match=r"wanted|expected|Wrong|dtype|f32"):
        fc.jit(lambda x: scale("own_scale", x, 3), device=device)(
            np.ones(3, "int32")
        ).block_until_ready()
    assert fc.jit(lambda x: x + 1, device=device)(np.ones(3, "float32")).tolist() == [2, 2, 2]


@pytest.mark.usefixtures("libraries")
def test_the_ordinal_of_the_device(device: fc.Device) -> None:
    call = ffi.ffi_call("xla_ordinal", fc.ShapeDtypeStruct((), "int32"))
    assert int(fc.jit(lambda: call(), device=device)()) == 100 + device.id


def test_the_same_library_in_jax(libraries: dict[str, Any], device: fc.Device) -> None:
    jax = pytest.importorskip("jax")
    try:
        gpu = jax.devices("cuda")[0]
    except RuntimeError as error:
        pytest.skip(f"this jax has no CUDA: {error}")
    for header, library in libraries.items():
        library.register(jax)
        target = f"{header}_scale"
        there = jax.ffi.ffi_call(target, jax.ShapeDtypeStruct(X.shape, "float32"))
        with jax.default_device(gpu):
            theirs = jax.jit(lambda x: there(x, by=np.float32(3)))(X)  # noqa: B023
        ours = fc.jit(lambda x: scale(target, x, 3), device=device)(X)  # noqa: B023
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
