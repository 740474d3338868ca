#include "linalg/stack.h"

#include <string>

namespace farcall::linalg {
namespace {

std::string text(const int64_t* begin, const int64_t* end) {
  std::string result = "[";
  for (const int64_t* size = begin; size != end; ++size) {
    if (size != begin) result += ",";
    result += std::to_string(*size);
  }
  return result + "]";
}

}  // namespace

ffi::ErrorOr<Stack> stack_of(const ffi::AnyBuffer& buffer) {
  const auto dims = buffer.dimensions();
  if (dims.size() < 2) {
    return ffi::Error::InvalidArgument("wanted matrices, got an array of shape " +
                                       text(dims.begin(), dims.end()));
  }
  const int64_t rows = dims[dims.size() - 2], columns = dims[dims.size() - 1];
  constexpr int64_t kMax = std::numeric_limits<int>::max();
  if (rows > kMax || columns > kMax) {
    return ffi::Error::InvalidArgument("LAPACK counts rows and columns in 32 bits, got " +
                                       text(dims.begin(), dims.end()));
  }
  Stack stack{1, static_cast<int>(rows), static_cast<int>(columns)};
  for (size_t i = 0; i + 2 < dims.size(); ++i) stack.count *= dims[i];
  return stack;
}

ffi::Error check_result(const ffi::AnyBuffer& result, const ffi::AnyBuffer& like,
                        std::initializer_list<int64_t> last) {
  const auto dims = like.dimensions(), got = result.dimensions();
  std::string wanted_text;
  const size_t batch = dims.size() - 2;
  const bool fits = got.size() == batch + last.size() &&
                    std::equal(dims.begin(), dims.begin() + batch, got.begin()) &&
                    std::equal(last.begin(), last.end(), got.begin() + batch);
  if (fits) return ffi::Error::Success();
  return ffi::Error::InvalidArgument(
      "for matrices " + text(dims.begin(), dims.end()) + " an array whose last dimensions are " +
      text(last.begin(), last.end()) + " was wanted, got " + text(got.begin(), got.end()));
}

}  // namespace farcall::linalg
