// y = tanh(gain * x), element by element, on a GPU.
#include <cuda_runtime.h>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

static __global__ void Kernel(const float* x, float* y, size_t n, float gain) {
  const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = tanhf(gain * x[i]);
}

static ffi::Error MyKernel(cudaStream_t stream, ffi::Buffer<ffi::F32> x,
                           ffi::ResultBuffer<ffi::F32> y, float gain) {
  const size_t n = x.element_count();
  if (y->element_count() != n)
    return ffi::Error::InvalidArgument("x and y must have the same size");
  if (n == 0) return ffi::Error::Success();
  Kernel<<<(n + 255) / 256, 256, 0, stream>>>(x.typed_data(), y->typed_data(), n, gain);
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) return ffi::Error::Internal(cudaGetErrorString(error));
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(my_kernel, MyKernel,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<cudaStream_t>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>()
                                  .Attr<float>("gain"));
