#include "farcall_run/npy.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/file.h>
#include <farcall/core/quote.h>
#include <farcall/core/sizes.h>

namespace farcall::runner {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "\x93NUMPY";

// numpy's name of the dtype, such as "<f4"; that of raw bytes ("|V1") if numpy lacks the dtype.
std::string descr_of(DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  const bool is_wide = info.bits >= 8 && dtype != DType::kBFloat16;
  const auto text = [&](char kind) {
    return fmt::format("{}{}{}", info.byte_width == 1 ? '|' : '<', kind, info.byte_width);
  };
  switch (info.kind) {
    case DTypeKind::kBool:
      return "|b1";
    case DTypeKind::kSigned:
      return is_wide ? text('i') : "|V1";
    case DTypeKind::kUnsigned:
      return is_wide ? text('u') : "|V1";
    case DTypeKind::kFloat:
      return is_wide && info.bits > 8 ? text('f') : text('V');
    case DTypeKind::kComplex:
      return text('c');
    default:
      return text('V');
  }
}

std::optional<DType> dtype_of(std::string_view descr) {
  for (const DTypeInfo& info : all_dtypes()) {
    const std::string own = descr_of(info.dtype);
    if (info.kind != DTypeKind::kToken && own.find('V') == std::string::npos && own == descr) {
      return info.dtype;
    }
  }
  return std::nullopt;
}

// The text after "'key':" in the header, which is a Python dictionary of known form.
std::string_view value_of(std::string_view header, std::string_view key) {
  const size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return {};
  std::string_view rest = header.substr(at + key.size() + 3);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  return rest;
}

}  // namespace

Array read_npy(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const auto wrong = [&](std::string_view what) {
    return Error(ErrorCode::kInvalidArgument, fmt::format("{}: {}", farcall::quoted(path), what));
  };
  if (!in) throw wrong("there is no such file, or it cannot be read");
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (bytes.size() < 12 || !bytes.starts_with(kMagic)) throw wrong("this is not a .npy file");
  const bool is_short = bytes[6] == 1;
  uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, is_short ? 2 : 4);
  const size_t begin = is_short ? 10 : 12;
  if (bytes.size() - begin < length) throw wrong("the .npy file is truncated");
  const std::string_view header(bytes.data() + begin, length);

  const std::string_view descr = value_of(header, "descr");
  const size_t end = descr.size() < 2 ? std::string_view::npos : descr.find('\'', 1);
  const auto dtype =
      end == std::string_view::npos ? std::nullopt : dtype_of(descr.substr(1, end - 1));
  if (!dtype) {
    throw wrong(
        fmt::format("dtype {} is not supported in .npy files", descr.substr(0, descr.find(','))));
  }
  const bool is_fortran = value_of(header, "fortran_order").starts_with("True");
  std::string_view sizes = value_of(header, "shape");
  Shape shape;
  for (sizes = sizes.substr(0, sizes.find(')')); !sizes.empty();) {
    int64_t size = 0;
    const auto [after, error] = std::from_chars(sizes.data(), sizes.data() + sizes.size(), size);
    if (error == std::errc() && size >= 0) {
      shape.push_back(size);
      sizes.remove_prefix(static_cast<size_t>(after - sizes.data()));
    } else {
      sizes.remove_prefix(1);
    }
  }
  const ShapeDtype type(*dtype, shape);
  const std::string_view data = std::string_view(bytes).substr(begin + length);
  if (data.size() < type.nbytes()) throw wrong("the .npy file is truncated");
  Storage storage = Storage::allocate(type.nbytes());
  auto* const to = static_cast<char*>(storage.data());
  if (!is_fortran || type.rank() < 2) {
    if (type.nbytes() > 0) std::memcpy(to, data.data(), type.nbytes());
    return {type, std::move(storage)};
  }
  const size_t width = byte_width(*dtype);
  std::vector<int64_t> index(type.rank(), 0);
  for (int64_t element = 0; element < type.size(); ++element) {
    int64_t from = 0;
    for (size_t d = type.rank(); d-- > 0;) from = from * type.shape()[d] + index[d];
    std::memcpy(to + static_cast<size_t>(element) * width,
                data.data() + static_cast<size_t>(from) * width, width);
    for (size_t d = type.rank(); d-- > 0 && ++index[d] == type.shape()[d];) index[d] = 0;
  }
  return {type, std::move(storage)};
}

void write_npy(const std::string& path, const Array& array) {
  std::string shape;
  for (const int64_t size : array.shape()) shape += fmt::format("{}, ", size);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   descr_of(array.dtype()), shape);
  // The data begins at a multiple of 64 bytes.
  const size_t before = kMagic.size() + 4;
  header.append(63 - (before + header.size()) % 64, ' ');
  header += '\n';
  const auto length = static_cast<uint16_t>(header.size());
  std::string bytes(kMagic);
  bytes += '\1';
  bytes += '\0';
  bytes.append(reinterpret_cast<const char*>(&length), 2);
  bytes += header;
  bytes.append(static_cast<const char*>(array.data()), array.type().nbytes());
  if (const std::error_code error = replace_file(path, bytes)) {
    throw Error(ErrorCode::kUnavailable,
                fmt::format("{} cannot be written: {}", farcall::quoted(path), error.message()));
  }
}

}  // namespace farcall::runner
