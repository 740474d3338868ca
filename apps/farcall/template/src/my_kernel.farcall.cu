// y = tanh(gain * x), element by element, on a GPU.
#include <cuda_runtime.h>

#include <farcall/ffi.h>

namespace ffi = farcall::ffi;

static __global__ void Kernel(const float* x, float* y, size_t n, float gain) {
  const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = tanhf(gain * x[i]);
}

static ffi::Error MyKernel(ffi::PlatformStream<cudaStream_t> stream, ffi::Buffer<ffi::F32> x,
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
FARCALL_DEFINE_HANDLER(my_kernel, MyKernel, "gain");
