// Times, sizes and rates for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <farcall/core/export.h>

namespace farcall {

// With three digits and a prefix: "12.3 µs", "1.05 MB"; spaces before it up to a width in
// characters. Not below zero.
FARCALL_API std::string quantity_text(double value, std::string_view unit, size_t width = 0);

}  // namespace farcall
