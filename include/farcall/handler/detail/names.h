// Finding attributes by name. A frame's attributes are sorted, and a handler's wanted names are
// sorted at compile time. In the usual call the i-th wanted name is the i-th name of the frame, so
// each one takes one comparison of known length.
#pragma once

#include <farcall/handler/config.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace farcall::ffi::detail {

inline std::string_view attr_name(const FARCALL_FFI_Attrs& attrs, int64_t index) {
  const FARCALL_FFI_ByteSpan* name = attrs.names[index];
  return name == nullptr ? std::string_view() : std::string_view(name->ptr, name->len);
}

inline bool attrs_are_whole(const FARCALL_FFI_Attrs& attrs) {
  return attrs.size == 0 || (attrs.size > 0 && attrs.types && attrs.names && attrs.attrs);
}

// The position of each wanted name in a frame; -1 if it is absent.
using Positions = const int32_t*;

template <size_t n>
struct NameTable {
  static constexpr size_t kCapacity = n == 0 ? 1 : n;

  std::string_view names[kCapacity] = {};  // in declaration order
  int32_t rank[kCapacity] = {};            // position of each name in sorted order
  bool has_duplicates = false;

  constexpr explicit NameTable(const std::string_view* declared) {
    // "!=", because nvcc warns about an unsigned number less than zero.
    for (size_t i = 0; i != n; ++i) {
      names[i] = declared[i];
      for (size_t j = 0; j != n; ++j) {
        if (declared[j] < declared[i]) ++rank[i];
        if (i != j && declared[j] == declared[i]) has_duplicates = true;
      }
    }
  }
};

// The general case: some wanted names are absent. Returns the number of names found.
FARCALL_FFI_COLD inline int64_t search_names(const FARCALL_FFI_Attrs& attrs,
                                             const std::string_view* names, size_t num_names,
                                             int32_t* positions) {
  int64_t found = 0;
  for (size_t i = 0; i < num_names; ++i) {
    positions[i] = -1;
    for (int64_t j = 0; j < attrs.size; ++j) {
      if (attr_name(attrs, j) != names[i]) continue;
      positions[i] = static_cast<int32_t>(j);
      ++found;
      break;
    }
  }
  return found;
}

// Returns the positions of all wanted names, or null if the attributes are malformed or contain an
// unknown name. `scratch` has n elements and must outlive the result.
template <size_t n, size_t... Is>
FARCALL_FFI_INLINE Positions locate_names(const NameTable<n>& table, const FARCALL_FFI_Attrs& attrs,
                                          int32_t* scratch, std::index_sequence<Is...>) {
  if (!attrs_are_whole(attrs)) return nullptr;
  if (attrs.size == static_cast<int64_t>(sizeof...(Is))) {
    auto is_at_its_place = [&](size_t i, size_t length) {
      const FARCALL_FFI_ByteSpan* name = attrs.names[table.rank[i]];
      return name != nullptr && name->len == length &&
             std::memcmp(name->ptr, table.names[i].data(), length) == 0;
    };
    if (FARCALL_FFI_LIKELY((is_at_its_place(Is, table.names[Is].size()) && ...))) return table.rank;
  }
  return search_names(attrs, table.names, sizeof...(Is), scratch) == attrs.size ? scratch : nullptr;
}

}  // namespace farcall::ffi::detail
