#include <farcall/ops/ravel.h>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/promotion.h>
#include <farcall/trace/record.h>

namespace farcall {

Array ravel_arrays(ListOf<Array> arrays) {
  if (arrays.empty()) return numpy::zeros({0});
  const DType dtype = promote_types(types_of(arrays)).dtype;
  std::vector<Array> parts;
  for (const Array& array : arrays) {
    parts.push_back(strengthen(numpy::ravel(numpy::astype(array, dtype))));
  }
  return parts.size() == 1 ? parts[0] : lax::concatenate(parts, 0);
}

std::vector<Array> unravel_array(const Array& vector, std::span<const ShapeDtype> types,
                                 DType dtype) {
  int64_t size = 0;
  for (const ShapeDtype& type : types) size += type.size();
  if (vector.rank() != 1 || vector.size() != size) {
    invalid_argument(fmt::format("unravel: expected a vector of {} elements, got {}", size,
                                 vector.type().to_string()));
  }
  if (vector.dtype() != dtype) {
    throw TypeError(fmt::format("unravel: expected a vector of {}, got {}", dtype_name(dtype),
                                vector.type().to_string()));
  }
  std::vector<Array> arrays;
  int64_t begin = 0;
  for (const ShapeDtype& type : types) {
    const int64_t end = begin + type.size();
    const Array part = lax::reshape(lax::slice(vector, {begin}, {end}), type.shape());
    arrays.push_back(numpy::astype(part, type.dtype()));
    begin = end;
  }
  return arrays;
}

}  // namespace farcall
