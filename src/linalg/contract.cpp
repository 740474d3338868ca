#include "linalg/contract.h"

#include <algorithm>
#include <limits>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/dtype.h>

namespace farcall::linalg {
namespace {

using Dimensions = std::span<const int64_t>;

Dimensions dimensions_of(const ffi::AnyBuffer& buffer) {
  const auto dims = buffer.dimensions();
  return {dims.begin(), dims.end()};
}

bool is_lapack_dtype(ffi::DataType dtype) {
  return dtype == ffi::F32 || dtype == ffi::F64 || dtype == ffi::C64 || dtype == ffi::C128;
}

ffi::DataType dtype_for(Of of, ffi::DataType matrix) {
  const bool is_single = matrix == ffi::F32 || matrix == ffi::C64;
  switch (of) {
    case Of::kMatrix:
      return matrix;
    case Of::kReal:
      return is_single ? ffi::F32 : ffi::F64;
    case Of::kComplex:
      return is_single ? ffi::C64 : ffi::C128;
    case Of::kInt32:
      break;
  }
  return ffi::S32;
}

std::string dtype_text(ffi::DataType dtype) {
  return std::string(dtype_short_name(static_cast<DType>(dtype)));
}

std::string text_of(const ffi::AnyBuffer& buffer) {
  return fmt::format("{}[{}]", dtype_text(buffer.element_type()),
                     fmt::join(dimensions_of(buffer), ","));
}

}  // namespace

class Contract {
 public:
  Contract(std::span<const Wanted> table, std::span<const ffi::AnyBuffer> buffers)
      : table_(table), buffers_(buffers) {}

  ffi::ErrorOr<Sizes> check() {
    for (size_t i = 0; i < buffers_.size(); ++i) {
      if (ffi::Error error = check_dtype(i); error.failure()) return error;
      if (ffi::Error error = check_sizes(i); error.failure()) return error;
      if (ffi::Error error = check_memory(i); error.failure()) return error;
    }
    count_batch();
    return sizes_;
  }

 private:
  ffi::Error check_dtype(size_t i) {
    const ffi::DataType got = buffers_[i].element_type();
    const bool names_it = table_[i].dtype == Of::kMatrix && sizes_.dtype == ffi::DataType::INVALID;
    if (names_it && is_lapack_dtype(got)) sizes_.dtype = got;
    if (names_it ? is_lapack_dtype(got) : got == dtype_for(table_[i].dtype, sizes_.dtype)) {
      return {};
    }
    return mismatch(i);
  }

  ffi::Error check_sizes(size_t i) {
    const Dimensions got = dimensions_of(buffers_[i]);
    const std::string_view letters = table_[i].sizes;
    if (i == 0 && got.size() >= letters.size()) {
      batch_ = got.first(got.size() - letters.size());
    }
    if (got.size() != batch_.size() + letters.size() ||
        !std::ranges::equal(batch_, got.first(batch_.size()))) {
      return mismatch(i);
    }
    for (size_t k = 0; k < letters.size(); ++k) {
      const int64_t size = got[batch_.size() + k];
      int64_t& wanted = sizes_.sizes_[Sizes::place(letters[k])];
      if (wanted == Sizes::kUnknown) wanted = size;
      if (wanted != size) return mismatch(i);
      if (size > std::numeric_limits<int>::max()) {
        return ffi::Error::InvalidArgument(
            fmt::format("{}: LAPACK counts rows and columns in 32 bits, got {}", table_[i].name,
                        text_of(buffers_[i])));
      }
    }
    const auto size_of = [&](char letter) { return sizes_.sizes_[Sizes::place(letter)]; };
    if (size_of('m') != Sizes::kUnknown && size_of('n') != Sizes::kUnknown) {
      sizes_.sizes_[Sizes::place('p')] = std::min(size_of('m'), size_of('n'));
    }
    return {};
  }

  // A result may share an earlier buffer's memory only if the table allows it: handlers write
  // results while they still read operands.
  ffi::Error check_memory(size_t i) const {
    if (!table_[i].name.starts_with("result") || buffers_[i].element_count() == 0) return {};
    for (size_t other = 0; other < i; ++other) {
      if (buffers_[other].untyped_data() != buffers_[i].untyped_data() ||
          buffers_[other].element_count() == 0 ||
          table_[i].may_overwrite == static_cast<int>(other)) {
        continue;
      }
      return ffi::Error::InvalidArgument(
          fmt::format("{} has the memory of {}; leave that pair out of input_output_aliases",
                      table_[i].name, table_[other].name));
    }
    return {};
  }

  void count_batch() {
    bool has_result = false;
    for (size_t i = 0; i < buffers_.size(); ++i) {
      has_result |= table_[i].name.starts_with("result") && buffers_[i].element_count() > 0;
    }
    sizes_.count = has_result ? 1 : 0;
    if (has_result) {
      for (const int64_t size : batch_) sizes_.count *= size;
    }
  }

  ffi::Error mismatch(size_t i) const {
    return ffi::Error::InvalidArgument(
        fmt::format("{} must be {}, got {}", table_[i].name, wanted_text(i), text_of(buffers_[i])));
  }

  // Sizes that are not known yet appear as letters.
  std::string wanted_text(size_t i) const {
    const bool is_open = table_[i].dtype == Of::kMatrix && sizes_.dtype == ffi::DataType::INVALID;
    std::string text =
        is_open ? "f32, f64, c64 or c128" : dtype_text(dtype_for(table_[i].dtype, sizes_.dtype));
    text += '[';
    if (i == 0) {
      text += "...,";
    } else {
      for (const int64_t size : batch_) text += fmt::format("{},", size);
    }
    for (const char letter : table_[i].sizes) {
      const int64_t size = i == 0 ? Sizes::kUnknown : sizes_.sizes_[Sizes::place(letter)];
      text += size == Sizes::kUnknown ? std::string(1, letter) : std::to_string(size);
      text += ',';
    }
    text.back() = ']';
    return text;
  }

  std::span<const Wanted> table_;
  std::span<const ffi::AnyBuffer> buffers_;
  Dimensions batch_;
  Sizes sizes_;
};

ffi::ErrorOr<Sizes> check_buffers(std::span<const Wanted> table,
                                  std::span<const ffi::AnyBuffer> buffers) {
  return Contract(table, buffers).check();
}

ffi::Error check_indices(std::string_view name, std::span<const int32_t> numbers, int64_t limit) {
  const auto is_outside = [&](int32_t number) { return number < 0 || number >= limit; };
  const auto found = std::ranges::find_if(numbers, is_outside);
  if (found == numbers.end()) return {};
  return ffi::Error::InvalidArgument(
      fmt::format("{}: element {} is {}, which does not lie in [0, {})", name,
                  found - numbers.begin(), *found, limit));
}

}  // namespace farcall::linalg
