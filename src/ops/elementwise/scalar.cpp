#include <farcall/ops/scalar.h>

#include <cmath>

#include <fmt/format.h>

#include <farcall/core/element_number.h>
#include <farcall/core/error.h>
#include <farcall/ops/promotion.h>

namespace farcall {
namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;
constexpr double kTwoTo64 = 18446744073709551616.0;

[[noreturn]] void number_does_not_fit(const std::string& number, DType dtype) {
  throw OverflowError(fmt::format("the number {} does not fit into {}", number, dtype_name(dtype)));
}

template <class T>
Array integer_scalar(T value, DType dtype) {
  const ShapeDtype type(dtype, {});
  Storage storage = Storage::allocate(type.nbytes());
  if (!convert_element(dtype_of<T>(), &value, dtype, storage.data())) {
    number_does_not_fit(fmt::format("{}", value), dtype);
  }
  return Array(type, std::move(storage));
}

Array integer_scalar(double value, DType dtype) {
  if (std::isnan(value)) {
    invalid_argument(fmt::format("cannot convert float NaN to {}", dtype_name(dtype)));
  }
  if (value >= -kTwoTo63 && value < kTwoTo63) {
    return integer_scalar(static_cast<int64_t>(value), dtype);
  }
  if (value >= kTwoTo63 && value < kTwoTo64) {
    return integer_scalar(static_cast<uint64_t>(value), dtype);
  }
  number_does_not_fit(fmt::format("{}", value), dtype);
}

}  // namespace

Array scalar_of(const ScalarNode::Number& number, DType dtype) {
  if (dtype == DType::kBool) {
    return Array::scalar(
        std::visit([](auto value) { return value != decltype(value)(0); }, number));
  }
  if (std::holds_alternative<std::complex<double>>(number) && !is_complex(dtype)) {
    throw TypeError(fmt::format("a complex number cannot become {}; take its real part first",
                                dtype_name(dtype)));
  }
  if (!is_integer(dtype)) return convert(Array::weak(number), {dtype, false});
  if (const auto* integer = std::get_if<int64_t>(&number)) return integer_scalar(*integer, dtype);
  return integer_scalar(std::get<double>(number), dtype);
}

}  // namespace farcall
