#include <farcall/core/shape_dtype.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/core/type_text.h>

namespace farcall {
namespace {

size_t hash_type(DType dtype, std::span<const int64_t> shape, bool weak_type) {
  size_t hash = static_cast<size_t>(dtype) * 2 + (weak_type ? 1 : 0);
  for (const int64_t dim : shape)
    hash = hash * 0x9E3779B97F4A7C15ull + static_cast<size_t>(dim) + 1;
  return hash;
}

// Number of elements, or -1 if it or the number of bytes does not fit into 63 bits. An array with a
// dimension of 0 is empty however large its other dimensions are.
int64_t count_elements(DType dtype, std::span<const int64_t> shape) {
  for (const int64_t dim : shape) {
    if (dim == 0) return 0;
  }
  const int64_t limit =
      std::numeric_limits<int64_t>::max() / std::max<int64_t>(1, byte_width(dtype));
  int64_t size = 1;
  for (const int64_t dim : shape) {
    if (size > limit / dim) return -1;
    size *= dim;
  }
  return size;
}

}  // namespace

const ShapeDtype::Record ShapeDtype::kInvalidRecord{};

struct ShapeDtype::Interner {
  std::shared_mutex mutex;
  std::unordered_multimap<size_t, const Record*> by_hash;
  int64_t last_id = 0;

  static Interner& instance() {
    // Never destroyed: arrays may outlive static destructors.
    static auto* interner = new Interner;
    return *interner;
  }

  // Counts a handle for the caller. While the lock is held, shared or not, no record dies.
  const Record* find(size_t hash, DType dtype, std::span<const int64_t> shape, bool weak) const {
    const auto [begin, end] = by_hash.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      const Record& record = *it->second;
      if (record.dtype == dtype && record.weak_type == weak &&
          std::equal(shape.begin(), shape.end(), record.shape.begin(), record.shape.end())) {
        if (record.is_counted) record.num_handles.fetch_add(1, std::memory_order_relaxed);
        return &record;
      }
    }
    return nullptr;
  }
};

// The last handle is dropped under the lock, so that no lookup can revive the record.
void ShapeDtype::release(const Record* record) noexcept {
  uint32_t count = record->num_handles.load(std::memory_order_relaxed);
  while (count > 1) {
    if (record->num_handles.compare_exchange_weak(count, count - 1, std::memory_order_acq_rel,
                                                  std::memory_order_relaxed)) {
      return;
    }
  }
  Interner& interner = Interner::instance();
  const std::unique_lock lock(interner.mutex);
  if (record->num_handles.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  const size_t hash = hash_type(record->dtype, record->shape, record->weak_type);
  const auto [begin, end] = interner.by_hash.equal_range(hash);
  interner.by_hash.erase(
      std::find_if(begin, end, [&](const auto& entry) { return entry.second == record; }));
  delete record;
}

size_t ShapeDtype::num_interned() {
  Interner& interner = Interner::instance();
  const std::shared_lock lock(interner.mutex);
  return interner.by_hash.size();
}

ShapeDtype::ShapeDtype(DType dtype, std::span<const int64_t> shape, bool weak_type) {
  const size_t hash = hash_type(dtype, shape, weak_type);
  Interner& interner = Interner::instance();
  {
    std::shared_lock lock(interner.mutex);
    if (const Record* found = interner.find(hash, dtype, shape, weak_type)) {
      record_ = found;
      return;
    }
  }
  if (dtype_info(dtype).kind == DTypeKind::kInvalid) {
    invalid_argument(fmt::format("shape {}: {} is not the number of a dtype",
                                 shape_to_string(shape), static_cast<int>(dtype)));
  }
  if (dtype == DType::kToken && !shape.empty()) {
    invalid_argument(fmt::format("a token has shape [], got {}", shape_to_string(shape)));
  }
  if (shape.size() > kMaxRank) {
    invalid_argument(fmt::format("shape {} has rank {}; at most {} is allowed",
                                 shape_to_string(shape), shape.size(), kMaxRank));
  }
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] < 0) {
      invalid_argument(
          fmt::format("shape {}: dimension {} is negative", shape_to_string(shape), axis));
    }
  }
  const int64_t size = count_elements(dtype, shape);
  if (size < 0) {
    invalid_argument(fmt::format("shape {} of {} has 2^63 bytes or more", shape_to_string(shape),
                                 dtype_name(dtype)));
  }
  std::unique_lock lock(interner.mutex);
  if (const Record* found = interner.find(hash, dtype, shape, weak_type)) {
    record_ = found;
    return;
  }
  const bool is_counted = interner.by_hash.size() >= kNumPermanent;
  auto* record = new Record{dtype,
                            weak_type,
                            Shape(shape.begin(), shape.end()),
                            size,
                            static_cast<size_t>(size) * byte_width(dtype),
                            ++interner.last_id,
                            is_counted,
                            is_counted ? 1U : 0U};
  interner.by_hash.emplace(hash, record);
  record_ = record;
}

std::string ShapeDtype::to_string() const {
  return fmt::format("{}[{}]{}", dtype_short_name(dtype()), fmt::join(shape(), ","),
                     weak_type() ? "*" : "");
}

std::string shape_to_string(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

std::string types_to_string(std::span<const ShapeDtype> types) {
  std::string text;
  for (const ShapeDtype& type : types) text += (text.empty() ? "" : ", ") + type.to_string();
  return text;
}

}  // namespace farcall
