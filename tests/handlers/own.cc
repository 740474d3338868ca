// Handlers written with farcall's header, built for each interface version that it can speak.
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include <farcall/ffi.h>

namespace ffi = farcall::ffi;

ffi::Error Scale(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y, float factor,
                 std::string_view label) {
  if (label == "throw") throw std::runtime_error("scale threw");
  if (label == "fail") return ffi::Error(ffi::ErrorCode::kOutOfRange, "scale was told to fail");
  if (x.element_count() != y->element_count()) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "sizes differ");
  }
  for (size_t i = 0; i < x.element_count(); ++i) {
    y->typed_data()[i] = x.typed_data()[i] * factor;
  }
  return {};
}
FARCALL_DEFINE_HANDLER(own_scale, Scale, "factor", "label");

ffi::Error SumArray(ffi::Span<const int64_t> values, ffi::Result<ffi::BufferR0<ffi::S64>> sum) {
  *sum->typed_data() = 0;
  for (int64_t value : values) *sum->typed_data() += value;
  return {};
}
FARCALL_DEFINE_HANDLER(own_sum_array, SumArray, "values");

struct Counter {
  int64_t next;
};
ffi::ErrorOr<std::unique_ptr<Counter>> MakeCounter(int64_t start) {
  return std::make_unique<Counter>(Counter{start});
}
FARCALL_DEFINE_HANDLER(own_count_instantiate, MakeCounter, ffi::kInstantiate, "start");

ffi::Error Count(ffi::State<Counter> counter, ffi::Result<ffi::BufferR0<ffi::S64>> out) {
  *out->typed_data() = counter->next++;
  return {};
}
FARCALL_DEFINE_HANDLER(own_count, Count);

ffi::Error Scratch(ffi::ScratchAllocator scratch, int64_t size,
                   ffi::Result<ffi::BufferR0<ffi::S64>> out) {
  auto memory = scratch.Allocate(static_cast<size_t>(size), 256);
  if (!memory) return ffi::Error(ffi::ErrorCode::kResourceExhausted, "no scratch");
  std::memset(*memory, 1, static_cast<size_t>(size));
  *out->typed_data() = static_cast<int64_t>(reinterpret_cast<uintptr_t>(*memory) % 256);
  return {};
}
FARCALL_DEFINE_HANDLER(own_scratch, Scratch, "size");

ffi::Future Later(ffi::ThreadPool pool, bool fail, ffi::Result<ffi::BufferR0<ffi::S64>> out) {
  ffi::Promise promise;
  ffi::Future future(promise);
  pool.Schedule([promise, fail, data = out->typed_data()]() mutable {
    *data = 77;
    if (fail) {
      promise.SetError(ffi::Error(ffi::ErrorCode::kDataLoss, "lost on the way"));
    } else {
      promise.SetAvailable();
    }
  });
  return future;
}
FARCALL_DEFINE_HANDLER(own_future, Later, "fail");

ffi::Error Ids(ffi::RunId run_id, ffi::DeviceOrdinal ordinal,
               ffi::Result<ffi::BufferR0<ffi::S64>> out) {
  *out->typed_data() = run_id.run_id * 1000 + static_cast<int32_t>(ordinal);
  return {};
}
FARCALL_DEFINE_HANDLER(own_ids, Ids);
