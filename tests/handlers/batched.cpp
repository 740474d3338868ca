// Handlers of whole batches: leading dimensions of operands may be missing, or of size one where
// those of the results are not. For tests of batching and of definitions.
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <farcall/ffi.h>

namespace ffi = farcall::ffi;

#define EXPORT extern "C" __attribute__((visibility("default")))

using F64 = ffi::Buffer<ffi::F64>;
using F64Out = ffi::ResultBuffer<ffi::F64>;

static std::atomic<int64_t> calls{0};
EXPORT int64_t batched_calls() { return calls; }

// Where the element of a result lies in an operand that is broadcast to it.
static size_t place(size_t element, ffi::Span<const int64_t> result,
                    ffi::Span<const int64_t> operand) {
  size_t found = 0, stride = 1;
  for (size_t back = 1; back <= operand.size(); ++back) {
    const auto size = static_cast<size_t>(result[result.size() - back]);
    const auto own = static_cast<size_t>(operand[operand.size() - back]);
    if (own > 1) found += element % size * stride;
    element /= size;
    stride *= own;
  }
  return found;
}

// y = factor * x * w, and the sums of its rows.
ffi::Error Weigh(F64 x, F64 w, F64Out y, F64Out sums, double factor) {
  ++calls;
  const size_t row = static_cast<size_t>(y->dimensions().back());
  for (size_t i = 0; i < sums->element_count(); ++i) sums->typed_data()[i] = 0;
  for (size_t i = 0; i < y->element_count(); ++i) {
    y->typed_data()[i] = factor * x.typed_data()[place(i, y->dimensions(), x.dimensions())] *
                         w.typed_data()[place(i, y->dimensions(), w.dimensions())];
    sums->typed_data()[i / row] += y->typed_data()[i];
  }
  return {};
}
FARCALL_DEFINE_HANDLER(batched_weigh, Weigh, "factor");

// y = exp(rate * x)
ffi::Error Grow(F64 x, F64Out y, double rate) {
  ++calls;
  for (size_t i = 0; i < y->element_count(); ++i) {
    y->typed_data()[i] = std::exp(rate * x.typed_data()[i]);
  }
  return {};
}
FARCALL_DEFINE_HANDLER(batched_grow, Grow, "rate");

// Adds one to the result's memory, which an alias has filled.
ffi::Error Increment(F64, F64Out y) {
  ++calls;
  for (size_t i = 0; i < y->element_count(); ++i) y->typed_data()[i] += 1;
  return {};
}
FARCALL_DEFINE_HANDLER(batched_increment, Increment);

// The elements in the order of memory, of the operand and of the result.
ffi::Error Memory(F64 x, F64Out y) {
  ++calls;
  std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
  return {};
}
FARCALL_DEFINE_HANDLER(batched_memory, Memory);

// A token that comes in and one that goes out.
ffi::Error Ordered(ffi::Token, F64 x, ffi::Result<ffi::Token>, F64Out y) {
  ++calls;
  for (size_t i = 0; i < y->element_count(); ++i) {
    y->typed_data()[i] = x.typed_data()[i] + static_cast<double>(calls);
  }
  return {};
}
FARCALL_DEFINE_HANDLER(batched_ordered, Ordered);

// Adds the second operand to the result's memory, which an alias has filled with the first.
ffi::Error AddTo(F64, F64 x, F64Out y) {
  ++calls;
  for (size_t i = 0; i < y->element_count(); ++i) y->typed_data()[i] += x.typed_data()[i];
  return {};
}
FARCALL_DEFINE_HANDLER(batched_add_to, AddTo);
