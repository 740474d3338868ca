#include <farcall/core/environment.h>

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include <farcall/core/error.h>

namespace farcall {
namespace {

// The error of the first variable with a wrong value; empty if there is none.
std::string& error_at_load() {
  static auto* error = new std::string;
  return *error;
}

std::string lowered(std::string_view text) {
  const auto is_space = [](unsigned char c) { return std::isspace(c) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  std::string word(text);
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  return word;
}

}  // namespace

bool environment_switch(const char* name, bool otherwise, std::string_view also) {
  constexpr std::string_view kOn[] = {"1", "true", "t", "yes", "y", "on"};
  constexpr std::string_view kOff[] = {"0", "false", "f", "no", "n", "off"};
  const std::string value = environment(name), word = lowered(value);
  if (word.empty()) return otherwise;
  if (value == also || std::ranges::find(kOn, word) != std::end(kOn)) return true;
  if (std::ranges::find(kOff, word) != std::end(kOff)) return false;
  invalid_argument(fmt::format("environment variable {}: expected 1 or 0{}{}, got \"{}\"", name,
                               also.empty() ? "" : " or ", also, value));
}

bool environment_switch_at_load(const char* name, bool otherwise, std::string_view also) noexcept {
  try {
    return environment_switch(name, otherwise, also);
  } catch (const Error& error) {
    if (error_at_load().empty()) error_at_load() = error.what();
    return otherwise;
  }
}

void check_environment() {
  if (!error_at_load().empty()) invalid_argument(error_at_load());
}

}  // namespace farcall
