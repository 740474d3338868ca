// program <library> <handler> <factor>: calls the library's handler through farcall.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

#include <farcall/core/error.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/ffi/foreign_call.h>
#include <farcall/ffi/registry.h>
#include <farcall/version.h>

int main(int argc, char** argv) try {
  if (argc != 4) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  void* symbol = library ? dlsym(library, argv[2]) : nullptr;
  if (!symbol) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  farcall::register_ffi_target(argv[2], reinterpret_cast<FARCALL_FFI_Handler*>(symbol));

  const farcall::ShapeDtype type(farcall::DType::kFloat32, {4});
  farcall::ForeignCallSpec spec;
  spec.target = farcall::find_target(argv[2]);
  spec.arguments = {type};
  spec.results = {type};
  const farcall::ForeignCall call(std::move(spec));
  farcall::Invocation invocation(call);

  alignas(64) float x[4] = {1, 2, 3, 4};
  alignas(64) float y[4] = {};
  invocation.set_argument(0, x);
  invocation.set_result(0, y);
  invocation.begin({});
  invocation.execute();
  invocation.end();
  std::printf("farcall %s: %s of 4 is %g\n", FARCALL_VERSION, argv[2], y[3]);

  // An error of the library is caught here as what it is.
  try {
    (void)farcall::find_target("no such target");
    return 1;
  } catch (const farcall::Error& error) {
    if (error.code() != farcall::ErrorCode::kNotFound) return 1;
  }
  return y[3] == 4 * std::strtof(argv[3], nullptr) ? 0 : 1;
} catch (const farcall::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
