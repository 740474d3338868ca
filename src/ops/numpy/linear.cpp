// numpy's matrix products.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <farcall/ops/lax.h>

#include "ops/internal/numpy.h"

namespace farcall::numpy {
namespace {

void require_rank(const Array& x, const Array& y, std::string_view function) {
  if (x.rank() == 0 || y.rank() == 0) {
    invalid_argument(fmt::format("{}: a scalar has no dimension to sum over; got {} and {}. Use *",
                                 function, x.type().to_string(), y.type().to_string()));
  }
}

// Converts both operands to their common dtype; shapes are unchanged.
std::pair<Array, Array> promote_dtypes(const Array& x, const Array& y, std::string_view function) {
  const ShapeDtype types[] = {x.type(), y.type()};
  return with_error_prefix(function, [&] {
    const PromotedDType to = promote_types(types);
    return std::pair(convert(x, to), convert(y, to));
  });
}

}  // namespace

Array matmul(const Array& x, const Array& y) {
  require_rank(x, y, "matmul");
  auto [a, b] = promote_dtypes(x, y, "matmul");
  const int64_t contracted_a = static_cast<int64_t>(a.rank()) - 1;
  const int64_t contracted_b = b.rank() == 1 ? 0 : static_cast<int64_t>(b.rank()) - 2;
  if (a.shape()[contracted_a] != b.shape()[contracted_b]) {
    invalid_argument(
        fmt::format("matmul: dimension {} of {} is {}, dimension {} of {} is {}; they are "
                    "summed over and must agree",
                    contracted_a, a.type().to_string(), a.shape()[contracted_a], contracted_b,
                    b.type().to_string(), b.shape()[contracted_b]));
  }
  const size_t batch_a = a.rank() > 2 ? a.rank() - 2 : 0, batch_b = b.rank() > 2 ? b.rank() - 2 : 0;
  if (batch_a == 0 && batch_b == 0) {
    return lax::dot_general(a, b, std::span(&contracted_a, 1), std::span(&contracted_b, 1));
  }
  const std::span<const int64_t> shapes[] = {a.shape().first(batch_a), b.shape().first(batch_b)};
  const Shape batch = broadcast_shapes(shapes);
  const auto with_batch = [&](const Array& operand, size_t own_batch) {
    Shape shape = batch;
    const auto rest = operand.shape().subspan(own_batch);
    shape.insert(shape.end(), rest.begin(), rest.end());
    return broadcast_to(operand, shape);
  };
  a = with_batch(a, batch_a);
  b = with_batch(b, batch_b);
  std::vector<int64_t> dimensions(batch.size());
  std::iota(dimensions.begin(), dimensions.end(), 0);
  const int64_t left = static_cast<int64_t>(a.rank()) - 1;
  const auto own_b = y.rank() == 1 ? size_t{1} : size_t{2};
  const int64_t right = static_cast<int64_t>(b.rank() - own_b);
  return lax::dot_general(a, b, std::span(&left, 1), std::span(&right, 1), dimensions, dimensions);
}

Array dot(const Array& x, const Array& y) {
  if (x.rank() == 0 || y.rank() == 0) return multiply(x, y);
  const auto [a, b] = promote_dtypes(x, y, "dot");
  const int64_t left = static_cast<int64_t>(a.rank()) - 1;
  const int64_t right = b.rank() == 1 ? 0 : static_cast<int64_t>(b.rank()) - 2;
  return lax::dot_general(a, b, std::span(&left, 1), std::span(&right, 1));
}

Array outer(const Array& x, const Array& y) {
  const auto [a, b] = promote_dtypes(ravel(x), ravel(y), "outer");
  return multiply(expand_dims(a, {-1}), b);
}

}  // namespace farcall::numpy
