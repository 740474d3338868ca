// Sound handlers that look suspicious, written with farcall/ffi.h: check finds nothing here.
#include <atomic>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <farcall/ffi.h>

namespace ffi = farcall::ffi;
using F32 = ffi::Buffer<ffi::F32>;
using S32 = ffi::Buffer<ffi::S32>;
using Out = ffi::Result<F32>;

// With an alias of argument and result; element by element.
static void in_place(F32 x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i] * 2 + 1;
}
FARCALL_DEFINE_HANDLER(in_place, in_place);

// Only the first element changes: the others are there already.
static void updates_first(F32, Out y) {
  if (y->element_count() > 0) y->typed_data()[0] += 1;
}
FARCALL_DEFINE_HANDLER(updates_first, updates_first);

static void two_passes(F32 x, Out y) {
  std::memset(y->typed_data(), 0, y->size_bytes());
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] += x.typed_data()[i];
}
FARCALL_DEFINE_HANDLER(two_passes, two_passes);

static void uses_scratch(F32 x, Out y, ffi::ScratchAllocator scratch) {
  const size_t n = x.element_count();
  auto* sums = static_cast<float*>(*scratch.Allocate((n + 1) * sizeof(float), 64));
  sums[0] = 0;
  for (size_t i = 0; i < n; ++i) sums[i + 1] = sums[i] + x.typed_data()[i];
  std::memcpy(y->typed_data(), sums + 1, n * sizeof(float));
}
FARCALL_DEFINE_HANDLER(uses_scratch, uses_scratch);

static void sums_in_order(F32 x, ffi::Result<ffi::BufferR0<ffi::F64>> sum) {
  double total = 0;
  for (size_t i = 0; i < x.element_count(); ++i) total += static_cast<double>(x.typed_data()[i]);
  *sum->typed_data() = total;
}
FARCALL_DEFINE_HANDLER(sums_in_order, sums_in_order);

static ffi::Error refuses_odd(F32 x, Out y) {
  if (x.element_count() % 2 != 0) return ffi::Error::InvalidArgument("the size must be even");
  std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
  return {};
}
FARCALL_DEFINE_HANDLER(refuses_odd, refuses_odd);

static ffi::Error refuses_empty(F32 x, ffi::Result<ffi::BufferR0<ffi::F32>> largest) {
  if (x.element_count() == 0)
    return ffi::Error::InvalidArgument("there is no largest of no elements");
  float found = x.typed_data()[0];
  for (size_t i = 1; i < x.element_count(); ++i) found = std::fmax(found, x.typed_data()[i]);
  *largest->typed_data() = found;
  return {};
}
FARCALL_DEFINE_HANDLER(refuses_empty, refuses_empty);

static ffi::Error checks_index(F32 x, S32 index, Out y) {
  for (size_t i = 0; i < index.element_count(); ++i) {
    const int32_t at = index.typed_data()[i];
    if (at < 0 || static_cast<size_t>(at) >= x.element_count())
      return ffi::Error::OutOfRange("an index is out of range");
    y->typed_data()[i] = x.typed_data()[at];
  }
  return {};
}
FARCALL_DEFINE_HANDLER(checks_index, checks_index);

// A cache that grows once.
static void caches(F32 x, Out y) {
  static std::mutex mutex;
  static std::vector<float>* table = nullptr;
  const std::lock_guard lock(mutex);
  if (table == nullptr) table = new std::vector<float>(1000, 2.0f);
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] * (*table)[i % 1000];
}
FARCALL_DEFINE_HANDLER(caches, caches);

static void per_thread(F32 x, Out y) {
  static thread_local std::vector<float> buffer;
  buffer.assign(x.typed_data(), x.typed_data() + x.element_count());
  std::memcpy(y->typed_data(), buffer.data(), x.size_bytes());
}
FARCALL_DEFINE_HANDLER(per_thread, per_thread);

static std::atomic<int64_t> g_calls{0};
static void counts_for_itself(F32 x, Out y) {
  ++g_calls;
  std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
}
FARCALL_DEFINE_HANDLER(counts_for_itself, counts_for_itself);

static ffi::Future later(F32 x, Out y, ffi::ThreadPool pool) {
  ffi::Promise promise;
  ffi::Future future(promise);
  pool.Schedule(
      [promise, from = x.typed_data(), to = y->typed_data(), n = x.element_count()]() mutable {
        for (size_t i = 0; i < n; ++i) to[i] = from[i] + 1;
        promise.SetAvailable();
      });
  return future;
}
FARCALL_DEFINE_HANDLER(later, later);

static void two_threads(F32 x, Out y) {
  const size_t half = x.element_count() / 2;
  const auto part = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) y->typed_data()[i] = x.typed_data()[i] * 3;
  };
  std::thread other(part, 0, half);
  part(half, x.element_count());
  other.join();
}
FARCALL_DEFINE_HANDLER(two_threads, two_threads);

struct Scale {
  float factor;
};
static ffi::ErrorOr<std::unique_ptr<Scale>> make_scale(float factor) {
  return std::make_unique<Scale>(Scale{factor});
}
FARCALL_DEFINE_HANDLER(scales_instantiate, make_scale, ffi::kInstantiate, "factor");
static void scales(ffi::State<Scale> scale, F32 x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] * scale->factor;
}
FARCALL_DEFINE_HANDLER(scales, scales);

// An exception that does not leave.
static ffi::Error catches(F32 x, Out y) {
  std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
  try {
    if (x.element_count() == 3) (void)std::vector<int>(1).at(2);
  } catch (const std::exception&) {
    return ffi::Error::InvalidArgument("three is too few");
  }
  return {};
}
FARCALL_DEFINE_HANDLER(catches, catches);

static void makes_nan(F32 x, Out y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = std::sqrt(x.typed_data()[i]);
}
FARCALL_DEFINE_HANDLER(makes_nan, makes_nan);

// All bits set is what a result often holds.
static void all_bits(S32, ffi::Result<S32> y) {
  std::memset(y->typed_data(), 0xff, y->size_bytes());
}
FARCALL_DEFINE_HANDLER(all_bits, all_bits);

// Sums of rows of a matrix that lies column by column.
static void column_major_sums(ffi::BufferR2<ffi::F32> x,
                              ffi::Result<ffi::BufferR1<ffi::F32>> sums) {
  const auto rows = x.dimensions()[0], columns = x.dimensions()[1];
  for (int64_t i = 0; i < rows; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < columns; ++j) sum += x.typed_data()[j * rows + i];
    sums->typed_data()[i] = sum;
  }
}
FARCALL_DEFINE_HANDLER(column_major_sums, column_major_sums);
