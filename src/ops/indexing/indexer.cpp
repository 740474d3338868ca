#include "ops/indexing/indexer.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include <farcall/ops/indexing.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/trace/origin.h>

#include "ops/internal/numpy.h"

namespace farcall::numpy {

void index_error(ErrorCode code, const Array& x, const std::string& what) {
  throw Error(code, fmt::format("indexing {}: {}", x.type().to_string(), what));
}

SliceRange resolve_slice(const Slice& slice, int64_t size) {
  int64_t step = slice.step.value_or(1);
  // A step larger than the dimension acts like one of its size; clamping avoids overflow.
  step = std::clamp(step, -std::max<int64_t>(size, 1), std::max<int64_t>(size, 1));
  // As in Python: bounds are clamped to the dimension; a negative step walks backwards.
  const auto clamped = [&](std::optional<int64_t> bound, int64_t missing, int64_t low,
                           int64_t high) {
    if (!bound) return missing;
    return std::clamp(*bound < 0 ? *bound + size : *bound, low, high);
  };
  if (step > 0) {
    const int64_t start = clamped(slice.start, 0, 0, size);
    const int64_t stop = std::max(start, clamped(slice.stop, size, 0, size));
    return {start, (stop - start + step - 1) / step, step};
  }
  const int64_t start = clamped(slice.start, size - 1, -1, size - 1);
  const int64_t stop = std::min(start, clamped(slice.stop, -1, -1, size - 1));
  return {start, (start - stop - step - 1) / -step, step};
}

namespace {

// The number of dimensions that an index consumes.
size_t consumed(const Index& index) {
  if (const auto* array = std::get_if<Array>(&index)) {
    return array->dtype() == DType::kBool ? array->rank() : 1;
  }
  return std::holds_alternative<int64_t>(index) || std::holds_alternative<Slice>(index) ? 1 : 0;
}

// Replaces a mask by the indices of its true elements.
void expand_mask(const Array& x, const Array& mask, size_t& dim, std::vector<IndexItem>& items) {
  if (!mask.has_known_values()) {
    throw NonConcreteBooleanIndexError(fmt::format(
        "indexing {}: the mask {} is traced, so that the shape of the result is not "
        "known: {}. Use where(mask, x, y), or nonzero with size=, or {}",
        x.type().to_string(), mask.type().to_string(), why_unknown(mask), how_to_know(mask)));
  }
  if (!std::ranges::equal(mask.shape(), x.shape().subspan(dim, mask.rank()))) {
    index_error(
        ErrorCode::kOutOfRange, x,
        fmt::format("the mask {} does not fit dimensions of sizes {}", mask.type().to_string(),
                    shape_to_string(x.shape().subspan(dim, mask.rank()))));
  }
  if (mask.rank() == 0) {
    // True is a new axis of size one, False one of size zero.
    const int64_t count = mask.item<bool>() ? 1 : 0;
    items.push_back({zeros(std::span(&count, 1), DType::kInt32), std::nullopt});
    return;
  }
  for (Array& places : nonzero(mask)) items.push_back({std::move(places), dim++});
}

}  // namespace

std::vector<IndexItem> expand_indices(const Array& x, std::span<const Index> indices) {
  size_t total = 0, ellipses = 0;
  for (const Index& index : indices) {
    total += consumed(index);
    ellipses += std::holds_alternative<Ellipsis>(index);
  }
  if (ellipses > 1) index_error(ErrorCode::kInvalidArgument, x, "only one ellipsis is allowed");
  if (total > x.rank()) {
    index_error(ErrorCode::kOutOfRange, x,
                fmt::format("{} indices were given for {} dimensions", total, x.rank()));
  }
  std::vector<IndexItem> items;
  size_t dim = 0;
  const auto take_rest = [&] {
    for (size_t i = total; i < x.rank(); ++i) items.push_back({Slice(), dim++});
  };
  for (const Index& index : indices) {
    const auto* array = std::get_if<Array>(&index);
    if (std::holds_alternative<Ellipsis>(index)) {
      take_rest();
    } else if (std::holds_alternative<NewAxis>(index)) {
      items.push_back({index, std::nullopt});
    } else if (array && array->dtype() == DType::kBool) {
      expand_mask(x, *array, dim, items);
    } else if (array && !is_integer(array->dtype())) {
      throw TypeError(
          fmt::format("indexing {}: an array of indices must have integers or bools, "
                      "got {}",
                      x.type().to_string(), array->type().to_string()));
    } else {
      const auto* slice = std::get_if<Slice>(&index);
      if (slice && slice->step == 0) {
        index_error(ErrorCode::kInvalidArgument, x, "a slice cannot have step 0");
      }
      items.push_back({index, dim++});
    }
  }
  if (ellipses == 0) take_rest();
  return items;
}

namespace {

template <class T>
bool any_negative(const Array& x) {
  return std::ranges::any_of(x.values<T>(), [](T value) { return value < 0; });
}

// Whether the indices may be negative. False if the dtype is unsigned, or if the values are known
// and none is negative. Known values are tested for int32 and int64 only.
bool may_be_negative(const Array& x) {
  if (dtype_info(x.dtype()).kind != DTypeKind::kSigned) return false;
  if (!x.node().storage()) return true;
  switch (x.dtype()) {
    case DType::kInt32:
      return any_negative<int32_t>(x);
    case DType::kInt64:
      return any_negative<int64_t>(x);
    default:
      return true;
  }
}

// One component of the start of each window.
struct Component {
  int64_t dim;  // of the operand
  Array start;  // integers
  std::vector<int64_t>
      positions;  // where its dimensions are among those that enumerate the windows
};

class Builder {
 public:
  Builder(const Array& x, std::span<const IndexItem> items, bool wrap_negative)
      : x_(x), items_(items), wrap_negative_(wrap_negative) {
    result_.slice_sizes.assign(x.shape().begin(), x.shape().end());
  }

  Indexer run() {
    find_group();
    for (size_t i = 0; i < items_.size(); ++i) add_item(i);
    result_.indices = make_indices();
    result_.is_single = std::ranges::all_of(numbering_, [](int64_t size) { return size == 1; });
    return std::move(result_);
  }

 private:
  bool is_in_group(size_t i) const {
    const Index& index = items_[i].index;
    return has_arrays_ &&
           (std::holds_alternative<Array>(index) || std::holds_alternative<int64_t>(index));
  }

  // If there are arrays, arrays and integers are a group, broadcast to one shape. The group's
  // dimensions are at the place of its first index if all are adjacent, else in front of all other
  // dimensions.
  void find_group() {
    std::vector<std::span<const int64_t>> shapes;
    for (const IndexItem& item : items_) {
      if (const auto* array = std::get_if<Array>(&item.index)) shapes.push_back(array->shape());
    }
    has_arrays_ = !shapes.empty();
    if (!has_arrays_) return;
    group_shape_ = with_error_prefix("indices", [&] { return broadcast_shapes(shapes); });
    size_t first = items_.size(), last = 0, count = 0;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (!is_in_group(i)) continue;
      first = std::min(first, i);
      last = i;
      ++count;
    }
    if (last - first + 1 != count) add_group();
  }

  void add_group() {
    group_is_added_ = true;
    group_position_ = static_cast<int64_t>(numbering_.size());
    for (const int64_t size : group_shape_) add_numbering(size);
  }

  void add_numbering(int64_t size) {
    numbering_.push_back(size);
    result_.windows_shape.push_back(size);
    result_.shape.push_back(size);
  }

  void add_item(size_t i) {
    const auto& [index, dim] = items_[i];
    if (is_in_group(i) && !group_is_added_) add_group();
    if (std::holds_alternative<NewAxis>(index)) {
      result_.shape.push_back(1);
    } else if (const auto* slice = std::get_if<Slice>(&index)) {
      add_slice(static_cast<int64_t>(*dim), *slice);
    } else if (const auto* integer = std::get_if<int64_t>(&index)) {
      const int64_t size = x_.shape()[*dim];
      const int64_t at = *integer < 0 && wrap_negative_ ? *integer + size : *integer;
      add_component(static_cast<int64_t>(*dim), Array(at), {});
    } else if (dim) {
      add_array(static_cast<int64_t>(*dim), std::get<Array>(index));
    }
  }

  // Contiguous elements are one window dimension. With other steps, each element has its own
  // window.
  void add_slice(int64_t dim, const Slice& slice) {
    const int64_t size = x_.shape()[dim];
    const SliceRange range = resolve_slice(slice, size);
    if (range.step == 1 || range.count <= 1) {
      result_.numbers.offset_dims.push_back(static_cast<int64_t>(result_.windows_shape.size()));
      result_.slice_sizes[dim] = range.count;
      result_.windows_shape.push_back(range.count);
      result_.shape.push_back(range.count);
      if (range.count != size) components_.push_back({dim, Array(range.start), {}});
      return;
    }
    const DType dtype = size <= INT32_MAX ? DType::kInt32 : DType::kInt64;
    const auto scalar = [&](int64_t value) { return convert(value, {dtype, false}); };
    const Array counted = lax::mul(lax::iota(dtype, {&range.count, 1}, 0), scalar(range.step));
    const auto position = static_cast<int64_t>(numbering_.size());
    add_numbering(range.count);
    add_component(dim, lax::add(counted, scalar(range.start)), {position});
  }

  void add_array(int64_t dim, const Array& array) {
    std::vector<int64_t> positions(array.rank());
    const auto end = group_position_ + static_cast<int64_t>(group_shape_.size());
    std::iota(positions.begin(), positions.end(), end - static_cast<int64_t>(array.rank()));
    const bool wraps = wrap_negative_ && may_be_negative(array);
    add_component(dim, wraps ? lax::wrap_negative(array, x_.shape()[dim]) : array,
                  std::move(positions));
  }

  void add_component(int64_t dim, Array start, std::vector<int64_t> positions) {
    result_.numbers.collapsed_slice_dims.push_back(dim);
    result_.slice_sizes[dim] = 1;
    components_.push_back({dim, std::move(start), std::move(positions)});
  }

  // Stacks all components along a new last dimension.
  Array make_indices() {
    Shape shape = numbering_;
    shape.push_back(1);
    std::vector<Array> columns;
    const DType dtype = index_dtype();
    for (const Component& component : components_) {
      result_.numbers.start_index_map.push_back(component.dim);
      columns.push_back(lax::broadcast_in_dim(convert(component.start, {dtype, false}), shape,
                                              component.positions));
    }
    if (columns.empty()) {
      shape.back() = 0;
      return zeros(shape, dtype);
    }
    return columns.size() == 1 ? columns[0]
                               : lax::concatenate(columns, static_cast<int64_t>(shape.size()) - 1);
  }

  // A dtype that can represent every component and the sizes of the dimensions.
  DType index_dtype() const {
    bool is_wide = std::ranges::any_of(x_.shape(), [](int64_t size) { return size > INT32_MAX; });
    for (const Component& component : components_) {
      const DType dtype = component.start.dtype();
      is_wide = is_wide || byte_width(dtype) == 8 || dtype == DType::kUInt32;
    }
    return is_wide ? DType::kInt64 : DType::kInt32;
  }

  const Array& x_;
  std::span<const IndexItem> items_;
  bool wrap_negative_;
  bool has_arrays_ = false, group_is_added_ = false;
  int64_t group_position_ = 0;
  Shape group_shape_;
  Shape numbering_;  // sizes of the dimensions that enumerate the windows
  std::vector<Component> components_;
  Indexer result_;
};

}  // namespace

Indexer make_indexer(const Array& x, std::span<const IndexItem> items, bool wrap_negative) {
  return Builder(x, items, wrap_negative).run();
}

}  // namespace farcall::numpy
