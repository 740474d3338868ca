// Argument checks shared by the functions of the table.
#pragma once

#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include <farcall/abi.h>
#include <farcall/core/error.h>

namespace farcall::runtime {

// Each argument struct begins with its size.
template <class Args>
void check_args(std::string_view function, const Args* args, size_t needed) {
  if (args == nullptr) {
    invalid_argument(fmt::format("{}: the arguments are null", function));
  }
  const size_t got = args->struct_size;
  if (got >= needed) return;
  invalid_argument(
      fmt::format("{}: the argument struct must have at least {} bytes, got {}. The "
                  "handler was not built with a header of this interface.",
                  function, needed, got));
}

// Checks that the arguments reach up to and including `last_field`.
#define FARCALL_CHECK_ARGS(function, type, last_field) \
  ::farcall::runtime::check_args(function, args, FARCALL_FFI_STRUCT_SIZE(type, last_field))

}  // namespace farcall::runtime
