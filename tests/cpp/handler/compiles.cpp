// The whole header in C++17, with every available compiler, with and without exceptions, as C++ and
// as CUDA, with warnings as errors. Compiling is the test.
#include <complex>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <farcall/ffi.h>

namespace ffi = farcall::ffi;

namespace author {

enum class Mode : int32_t { kFast, kExact };
FARCALL_ATTR_ENUM(Mode, kFast, kExact);

struct Options {
  int64_t size;
  std::optional<float> scale;
};
FARCALL_ATTR_STRUCT(Options, size, scale);

struct Plan {
  int64_t size;
};

ffi::ErrorOr<std::unique_ptr<Plan>> MakePlan(Options options) {
  if (options.size < 0) return ffi::Error::InvalidArgument("negative size");
  return std::make_unique<Plan>(Plan{options.size});
}
FARCALL_DEFINE_HANDLER(plan_instantiate, MakePlan, ffi::kInstantiate, ffi::all_attributes);
FARCALL_DEFINE_TYPE(plan, Plan);

ffi::Error Everything(ffi::State<Plan> plan, ffi::AnyBuffer x, std::optional<ffi::AnyBuffer> bias,
                      ffi::RemainingArgs more, ffi::Result<ffi::AnyBuffer> y,
                      ffi::ScratchAllocator scratch, ffi::ThreadPool pool,
                      std::optional<ffi::Stream> stream, const std::string& name, Mode mode,
                      std::variant<int64_t, double> number, std::optional<Options> options,
                      std::complex<float> phase, ffi::Span<const int64_t> axes, double eps) {
  (void)stream, (void)name, (void)mode, (void)number, (void)options, (void)phase, (void)axes;
  if (bias && !more.empty() && !scratch.Allocate(static_cast<size_t>(plan->size))) {
    return ffi::Error(ffi::ErrorCode::kResourceExhausted, "no scratch memory");
  }
  return ffi::dispatch(ffi::kFloats, x.element_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = x.typed_data<T>();
    T* out = y->template typed_data<T>();
    pool.parallel_for(static_cast<int64_t>(x.element_count()), [=](int64_t i) {
      out[i] = static_cast<T>(static_cast<float>(in[i]) + static_cast<float>(eps));
    });
  });
}
FARCALL_DEFINE_HANDLER(everything, Everything, "name", "mode", "number", "options", "phase", "axes",
                       ffi::attr("eps").default_to(1e-5), ffi::kCmdBufferCompatible);

ffi::Future Later(ffi::ThreadPool pool, ffi::RemainingRets rets) {
  ffi::CountDownPromise promise(2);
  ffi::Future future(promise);
  for (int i = 0; i < 2; ++i) {
    pool.Schedule([promise, rets]() mutable {
      const bool has_one = rets.isa<ffi::AnyBuffer>(0);
      promise.CountDown(has_one ? ffi::Error() : ffi::Error::Internal("no result"));
    });
  }
  return future;
}
FARCALL_DEFINE_HANDLER(later, Later);

}  // namespace author

#ifdef __CUDACC__
// Narrow floats and complex numbers work in device code.
__global__ void scale(const ffi::bfloat16* in, ffi::bfloat16* out, ffi::Complex<float> factor) {
  out[threadIdx.x] = in[threadIdx.x] * factor.real();
}
#endif
