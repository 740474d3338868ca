/* The functions of CUDA's driver that farcall calls, on memory of the host. The address of device
 * memory is that of the host memory plus FAKE_CUDA_OFFSET. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FAKE_CUDA_OFFSET 4096

static int num_pending = 0;

int fake_cuda_num_pending(void) { return num_pending; }

int cuMemcpyDtoHAsync_v2(void* host, uint64_t device, size_t nbytes, void* stream) {
  if (!stream) return 400;
  memcpy(host, (const char*)(uintptr_t)device - FAKE_CUDA_OFFSET, nbytes);
  ++num_pending;
  return 0;
}

int cuMemcpyHtoDAsync_v2(uint64_t device, const void* host, size_t nbytes, void* stream) {
  if (!stream) return 400;
  memcpy((char*)(uintptr_t)device - FAKE_CUDA_OFFSET, host, nbytes);
  ++num_pending;
  return 0;
}

int cuStreamSynchronize(void* stream) {
  (void)stream;
  num_pending = 0;
  return 0;
}

static int num_contexts = 0;
int fake_cuda_num_contexts(void) { return num_contexts; }

int cuDeviceGet(int* device, int ordinal) {
  *device = 10 + ordinal;
  return ordinal == 0 ? 0 : 400;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &num_contexts;
  num_contexts += device == 10;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  num_contexts -= device == 10;
  return 0;
}
int cuCtxPushCurrent_v2(void* context) { return context == &num_contexts ? 0 : 400; }
int cuCtxPopCurrent_v2(void** context) { return *context == &num_contexts ? 0 : 400; }

int cuGetErrorName(int status, const char** name) {
  *name = status == 400 ? "CUDA_ERROR_INVALID_HANDLE" : NULL;
  return *name ? 0 : 1;
}
