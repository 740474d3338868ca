#include <farcall/core/sizes.h>

#include <fmt/format.h>

#include <farcall/core/error.h>

namespace farcall::detail {

void size_overflow(int64_t a, char operation, int64_t b) {
  invalid_argument(
      fmt::format("a size is too large: {} {} {} does not fit into 64 bits", a, operation, b));
}

void memory_overflow() {
  throw Error(ErrorCode::kResourceExhausted, "the sizes exceed the address space");
}

}  // namespace farcall::detail
