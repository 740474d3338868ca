#include "kernel_testing.h"

#include <cmath>
#include <cstring>
#include <ostream>

#include <farcall/handler/small_float.h>

namespace farcall::native::testing {
namespace {

template <class T>
void put(void* element, T value) {
  std::memcpy(element, &value, sizeof(T));
}
template <class T>
T take(const void* element) {
  T value;
  std::memcpy(static_cast<void*>(&value), element, sizeof(T));
  return value;
}

template <class Visit>
void visit_float(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kFloat16:
      return visit(ffi::float16());
    case DType::kBFloat16:
      return visit(ffi::bfloat16());
    case DType::kFloat8E5M2:
      return visit(ffi::float8_e5m2());
    case DType::kFloat8E4M3:
      return visit(ffi::float8_e4m3());
    case DType::kFloat8E3M4:
      return visit(ffi::float8_e3m4());
    case DType::kFloat8E4M3FN:
      return visit(ffi::float8_e4m3fn());
    case DType::kFloat8E4M3B11FNUZ:
      return visit(ffi::float8_e4m3b11fnuz());
    case DType::kFloat8E5M2FNUZ:
      return visit(ffi::float8_e5m2fnuz());
    case DType::kFloat8E4M3FNUZ:
      return visit(ffi::float8_e4m3fnuz());
    case DType::kFloat8E8M0FNU:
      return visit(ffi::float8_e8m0fnu());
    case DType::kFloat4E2M1FN:
      return visit(ffi::float4_e2m1fn());
    case DType::kFloat32:
      return visit(float());
    default:
      return visit(double());
  }
}

void put_integer(const DTypeInfo& info, void* element, double value) {
  int64_t integer = static_cast<int64_t>(value);
  if (value >= 0x1p63) integer = static_cast<int64_t>(static_cast<uint64_t>(value));
  std::memcpy(element, &integer, info.byte_width);
}

}  // namespace

TestArray::TestArray(ShapeDtype type) : type_(type), storage_(Storage::allocate(type.nbytes())) {
  if (type.nbytes() > 0) std::memset(storage_.data(), 0x5a, type.nbytes());
}
TestArray::TestArray(ShapeDtype type, std::span<const double> values) : TestArray(type) {
  for (int64_t i = 0; i < size(); ++i) set(i, values[i]);
}
TestArray::TestArray(DType dtype, std::initializer_list<double> values)
    : TestArray(ShapeDtype(dtype, {static_cast<int64_t>(values.size())}),
                std::span(values.begin(), values.size())) {}

TestArray TestArray::of_text(DType dtype, std::initializer_list<std::string_view> values) {
  TestArray array(ShapeDtype(dtype, {static_cast<int64_t>(values.size())}));
  int64_t i = 0;
  for (const auto& text : values) parse_element(dtype, text, array.element(i++));
  return array;
}
TestArray TestArray::of_numbers(DType dtype, std::initializer_list<Number> values) {
  TestArray array(ShapeDtype(dtype, {static_cast<int64_t>(values.size())}));
  int64_t i = 0;
  for (const Number& value : values) array.set(i++, value);
  return array;
}

void* TestArray::element(int64_t i) const {
  return static_cast<std::byte*>(data()) + i * static_cast<int64_t>(byte_width(type_.dtype()));
}

void TestArray::set(int64_t i, Number value) {
  const auto& info = dtype_info(type_.dtype());
  switch (info.kind) {
    case DTypeKind::kBool:
      return put<uint8_t>(element(i), value.real() != 0);
    case DTypeKind::kSigned:
    case DTypeKind::kUnsigned:
      return put_integer(info, element(i), value.real());
    case DTypeKind::kComplex:
      if (info.bits == 64) return put(element(i), std::complex<float>(value));
      return put(element(i), value);
    default:
      visit_float(info.dtype, [&](auto sample) {
        using T = decltype(sample);
        if constexpr (std::is_same_v<T, double>) {
          put(element(i), value.real());
        } else {
          put(element(i), T(static_cast<float>(value.real())));
        }
      });
  }
}

Number TestArray::get(int64_t i) const {
  const auto& info = dtype_info(type_.dtype());
  switch (info.kind) {
    case DTypeKind::kBool:
      return take<uint8_t>(element(i));
    case DTypeKind::kSigned: {
      int64_t value = 0;
      std::memcpy(&value, element(i), info.byte_width);
      const int unused = 64 - 8 * info.byte_width;
      return static_cast<double>(static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >>
                                 unused);
    }
    case DTypeKind::kUnsigned: {
      uint64_t value = 0;
      std::memcpy(&value, element(i), info.byte_width);
      return static_cast<double>(value);
    }
    case DTypeKind::kComplex:
      if (info.bits == 64) return Number(take<std::complex<float>>(element(i)));
      return take<Number>(element(i));
    default: {
      double result = 0;
      visit_float(info.dtype, [&](auto sample) {
        using T = decltype(sample);
        if constexpr (std::is_same_v<T, double>) {
          result = take<double>(element(i));
        } else {
          result = static_cast<float>(take<T>(element(i)));
        }
      });
      return result;
    }
  }
}

std::string TestArray::text(int64_t i) const { return format_element(type_.dtype(), element(i)); }
std::vector<std::string> TestArray::texts() const {
  std::vector<std::string> result;
  for (int64_t i = 0; i < size(); ++i) result.push_back(text(i));
  return result;
}

TestArray TestArray::copy() const {
  TestArray result(type_);
  if (type_.nbytes() > 0) std::memcpy(result.data(), data(), type_.nbytes());
  return result;
}
bool TestArray::same_bytes(const TestArray& other) const {
  return type_ == other.type_ &&
         (type_.nbytes() == 0 || std::memcmp(data(), other.data(), type_.nbytes()) == 0);
}

std::ostream& operator<<(std::ostream& out, const TestArray& array) {
  out << array.type().to_string() << " [";
  for (int64_t i = 0; i < std::min<int64_t>(array.size(), 16); ++i) out << " " << array.text(i);
  return out << " ]";
}

TestArray random_array(ShapeDtype type, std::mt19937& random, int limit) {
  const auto& info = dtype_info(type.dtype());
  int low = -limit, high = limit;
  if (info.kind == DTypeKind::kUnsigned) low = 0;
  if (info.kind == DTypeKind::kBool) low = 0, high = 1;
  if (info.bits < 8 && is_integer(info.dtype)) {
    high = std::min(high, (1 << (info.bits - (low < 0))) - 1);
    low = low < 0 ? std::max(low, -(1 << (info.bits - 1))) : 0;
  }
  std::uniform_int_distribution<int> pick(low, high);
  TestArray array(type);
  for (int64_t i = 0; i < array.size(); ++i) {
    const double real = pick(random), imag = is_complex(info.dtype) ? pick(random) : 0;
    array.set(i, {real, imag});
  }
  return array;
}

bool has_kernel(std::string_view primitive, std::span<const ShapeDtype> inputs, ShapeDtype output,
                const ParamsPtr& params) {
  const auto factory = find_kernel(primitive);
  return factory && factory(inputs, std::span(&output, 1), params.get()).run;
}

namespace {

// Writes to `result`; returns whether the kernel may write over an input.
bool call_kernel(std::string_view primitive, const std::vector<TestArray>& inputs,
                 ShapeDtype output, void* result, const ParamsPtr& params) {
  const auto factory = find_kernel(primitive);
  if (!factory) throw Error(ErrorCode::kNotFound, "no kernel " + std::string(primitive));
  std::vector<ShapeDtype> types;
  std::vector<void*> operands;
  for (const auto& input : inputs) {
    types.push_back(input.type());
    operands.push_back(input.size() == 0 ? nullptr : input.data());
  }
  operands.push_back(output.size() == 0 ? nullptr : result);
  const Kernel kernel = factory(types, std::span(&output, 1), params.get());
  if (!kernel.run) throw Error(ErrorCode::kUnimplemented, "no run " + std::string(primitive));
  const Storage scratch = Storage::allocate(kernel.scratch_bytes);
  kernel.run({operands.data(), scratch.data(), kernel.data.get()});
  return kernel.can_run_in_place || trait_of_kernel(primitive) == KernelTrait::kUpdatesFirstInput;
}

}  // namespace

TestArray run_kernel(std::string_view primitive, const std::vector<TestArray>& inputs,
                     ShapeDtype output, const ParamsPtr& params) {
  TestArray result(output);
  call_kernel(primitive, inputs, output, result.data(), params);
  return result;
}

TestArray run_in_place(std::string_view primitive, const std::vector<TestArray>& inputs,
                       size_t shared, ShapeDtype output, const ParamsPtr& params) {
  std::vector<TestArray> copies = inputs;
  copies[shared] = inputs[shared].copy();
  EXPECT_EQ(copies[shared].type().nbytes(), output.nbytes());
  EXPECT_TRUE(call_kernel(primitive, copies, output, copies[shared].data(), params)) << primitive;
  TestArray result(output);
  if (output.nbytes() > 0) std::memcpy(result.data(), copies[shared].data(), output.nbytes());
  return result;
}

void for_each_index(std::span<const int64_t> shape,
                    const std::function<void(std::span<const int64_t>)>& visit) {
  int64_t size = 1;
  for (const int64_t n : shape) size *= n;
  std::vector<int64_t> index(shape.size());
  for (int64_t flat = 0; flat < size; ++flat) {
    int64_t rest = flat;
    for (size_t i = shape.size(); i-- > 0;) {
      index[i] = rest % shape[i];
      rest /= shape[i];
    }
    visit(index);
  }
}

int64_t flat_index(std::span<const int64_t> shape, std::span<const int64_t> index) {
  int64_t flat = 0;
  for (size_t i = 0; i < shape.size(); ++i) flat = flat * shape[i] + index[i];
  return flat;
}

double epsilon(DType dtype) {
  if (dtype == DType::kComplex64) dtype = DType::kFloat32;
  if (dtype == DType::kFloat8E8M0FNU) return 1;
  if (!is_floating(dtype)) return 0x1p-52;
  TestArray array(dtype, {1});
  for (double step = 1;; step /= 2) {
    array.set(0, 1 + step / 2);
    if (array.real(0) == 1 || array.real(0) != 1 + step / 2) return step;
  }
}

::testing::AssertionResult is_close(const TestArray& got, int64_t i, Number expected, double ulps) {
  const DType dtype = got.type().dtype();
  TestArray rounded(ShapeDtype(dtype, {1}));
  rounded.set(0, expected);
  const Number want = rounded.get(0), have = got.get(i);
  const double step = epsilon(dtype);
  const auto close = [&](double a, double b, double scale) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    if (a == b) return true;
    if (std::isinf(a) || std::isinf(b)) return false;
    const double smallest = dtype == DType::kFloat64 ? 5e-324 : 1e-44;
    return std::fabs(a - b) <= ulps * step * scale + smallest;
  };
  const double size = is_complex(dtype) ? std::abs(want) : 0;
  if (close(have.real(), want.real(), std::max(size, std::fabs(want.real()))) &&
      close(have.imag(), want.imag(), std::max(size, std::fabs(want.imag())))) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << dtype_name(dtype) << " element " << i << ": "
                                       << got.text(i) << ", not " << rounded.text(0);
}

double wrapped(const DTypeInfo& info, double value) {
  if (!is_integer(info.dtype)) return value;
  const double range = std::ldexp(1.0, info.bits);
  const bool is_wrapped = info.kind == DTypeKind::kUnsigned && value < 0;
  if (info.bits == 64) return is_wrapped ? value + range : value;  // never larger in these tests
  value = value - range * std::floor(value / range);
  return info.kind == DTypeKind::kSigned && value >= range / 2 ? value - range : value;
}

}  // namespace farcall::native::testing
