// Limits of numeric options.
#pragma once

#include <bit>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace farcall::command {

// Accepts numbers above 0, or also 0; CLI11's own validators print the largest double.
inline CLI::Validator positive(bool also_zero = false) {
  return CLI::Validator(
      [also_zero](std::string& text) {
        double number = 0;
        const bool is_number = CLI::detail::lexical_cast(text, number);
        if (is_number && (number > 0 || (also_zero && number == 0))) return std::string();
        return fmt::format("must be a number {} 0, got {}", also_zero ? "not below" : "above",
                           text);
      },
      "");
}
inline CLI::Validator not_negative() { return positive(/*also_zero=*/true); }

// Accepts 1, 2, 4, … up to `most`.
inline CLI::Validator power_of_two(size_t most) {
  return CLI::Validator(
      [most](std::string& text) {
        size_t number = 0;
        const bool is_number = CLI::detail::lexical_cast(text, number);
        if (is_number && std::has_single_bit(number) && number <= most) return std::string();
        return fmt::format("must be a power of two up to {}, got {}", most, text);
      },
      "");
}

}  // namespace farcall::command
