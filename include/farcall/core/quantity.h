// Times, sizes and rates as text for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <farcall/core/export.h>

namespace farcall {

// Three digits and a prefix: "12.3 µs", "1.05 MB", padded with leading spaces to `width`
// characters. `value` must not be negative.
FARCALL_API std::string quantity_text(double value, std::string_view unit, size_t width = 0);

}  // namespace farcall
