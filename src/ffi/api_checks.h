// Checks that the functions of the table share.
#pragma once

#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include <farcall/abi.h>
#include <farcall/core/error.h>

namespace farcall::runtime {

inline void check_size(std::string_view function, size_t got, size_t needed) {
  if (got >= needed) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{}: the arguments take {} bytes at least, got {}. The handler was not "
                          "built with a header of this interface.",
                          function, needed, got));
}

// The arguments reach up to and including `last_field`.
#define FARCALL_CHECK_ARGS(function, type, last_field)        \
  ::farcall::runtime::check_size(function, args->struct_size, \
                                 FARCALL_FFI_STRUCT_SIZE(type, last_field))

}  // namespace farcall::runtime
