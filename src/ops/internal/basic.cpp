// Provides the basic operations that transformations need.
#include <numeric>

#include <farcall/ops/lax.h>
#include <farcall/ops/promotion.h>
#include <farcall/trace/rules.h>

namespace farcall {
namespace {

Array zeros(ShapeDtype type) {
  Storage storage = Storage::allocate(byte_width(type.dtype()));
  std::fill_n(static_cast<std::byte*>(storage.data()), byte_width(type.dtype()), std::byte{0});
  Array zero(ShapeDtype(type.dtype(), {}, type.weak_type()), std::move(storage));
  if (type.rank() == 0) return zero;
  return lax::broadcast_in_dim(zero, type.shape(), {});
}

Array broadcast(const Array& x, int64_t axis, int64_t size) {
  Shape shape(x.shape().begin(), x.shape().end());
  shape.insert(shape.begin() + axis, size);
  std::vector<int64_t> dimensions(shape.size());
  std::iota(dimensions.begin(), dimensions.end(), 0);
  dimensions.erase(dimensions.begin() + axis);
  return lax::broadcast_in_dim(x, shape, dimensions);
}

Array transpose(const Array& x, std::span<const int64_t> permutation) {
  return lax::transpose(x, permutation);
}

Array sum(const Array& x, int64_t axis) { return lax::reduce_sum(x, {&axis, 1}); }

Array reshape(const Array& x, std::span<const int64_t> shape) { return lax::reshape(x, shape); }

// A number becomes a scalar, not an equation.
Array convert_number(const Array& x, DType dtype, bool weak_type) {
  return convert(x, {dtype, weak_type});
}

Array slice(const Array& x, std::span<const int64_t> start, std::span<const int64_t> limit) {
  return lax::slice(x, start, limit);
}

const bool kProvided = [] {
  static const BasicOperations operations = {zeros, lax::add,       transpose, broadcast,
                                             sum,   convert_number, reshape,   slice};
  set_basic_operations(operations);
  return true;
}();

}  // namespace
}  // namespace farcall
