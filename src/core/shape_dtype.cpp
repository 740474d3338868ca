#include <farcall/core/shape_dtype.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>

namespace farcall {
namespace {

size_t hash_type(DType dtype, std::span<const int64_t> shape, bool weak_type) {
  size_t hash = static_cast<size_t>(dtype) * 2 + (weak_type ? 1 : 0);
  for (const int64_t dim : shape)
    hash = hash * 0x9E3779B97F4A7C15ull + static_cast<size_t>(dim) + 1;
  return hash;
}

// Elements, or -1 where they or their bytes do not fit into 63 bits. An empty array has none
// however large its other dimensions are.
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
  std::deque<Record> records;

  static Interner& instance() {
    // Never destroyed: arrays may outlive static destructors.
    static auto* interner = new Interner;
    return *interner;
  }

  const Record* find(size_t hash, DType dtype, std::span<const int64_t> shape, bool weak) const {
    const auto [begin, end] = by_hash.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      const Record& record = *it->second;
      if (record.dtype == dtype && record.weak_type == weak &&
          std::equal(shape.begin(), shape.end(), record.shape.begin(), record.shape.end())) {
        return &record;
      }
    }
    return nullptr;
  }
};

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
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("shape {}: {} is not the number of a dtype", shape_to_string(shape),
                            static_cast<int>(dtype)));
  }
  if (dtype == DType::kToken && !shape.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("a token has shape [], got {}", shape_to_string(shape)));
  }
  if (shape.size() > kMaxRank) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("shape {} has rank {}; at most {} is allowed", shape_to_string(shape),
                            shape.size(), kMaxRank));
  }
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] < 0) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("shape {}: dimension {} is negative", shape_to_string(shape), axis));
    }
  }
  const int64_t size = count_elements(dtype, shape);
  if (size < 0) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("shape {} of {} has 2^63 bytes or more", shape_to_string(shape),
                            dtype_name(dtype)));
  }
  std::unique_lock lock(interner.mutex);
  if (const Record* found = interner.find(hash, dtype, shape, weak_type)) {
    record_ = found;
    return;
  }
  record_ = &interner.records.emplace_back(
      Record{dtype, weak_type, Shape(shape.begin(), shape.end()), size, size * byte_width(dtype)});
  interner.by_hash.emplace(hash, record_);
}

std::string ShapeDtype::to_string() const {
  return fmt::format("{}[{}]{}", dtype_short_name(dtype()), fmt::join(shape(), ","),
                     weak_type() ? "*" : "");
}

std::string shape_to_string(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

}  // namespace farcall
