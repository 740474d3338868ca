#include <farcall/core/quote.h>

#include <algorithm>

#include <fmt/format.h>

namespace farcall {
namespace {

// Length of the well-formed UTF-8 sequence of two bytes or more at the start; 0 if there is none.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = lead >= 0xc2 && lead < 0xe0   ? 2
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool surrogate = lead == 0xed && second >= 0xa0;
  const bool too_large = lead == 0xf4 && second >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

}  // namespace

bool is_identifier(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_word = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
  };
  return !text.empty() && !is_digit(text[0]) && std::ranges::all_of(text, is_word);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    size_t length = 1;
    if (byte == '"' || byte == '\\') {
      out += {'\\', text.front()};
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\t') {
      out += "\\t";
    } else if (byte >= 0x20 && byte < 0x7f) {
      out += text.front();
    } else if ((length = utf8_length(text)) > 0) {
      out += text.substr(0, length);
    } else {
      length = 1;
      out += fmt::format("\\x{:02x}", byte);
    }
    text.remove_prefix(length);
  }
  return out + '"';
}

std::string with_article(std::string_view word) {
  const bool is_vowel = std::string_view("aeiou").find(word[0]) != std::string_view::npos;
  return fmt::format("{} {}", is_vowel ? "an" : "a", word);
}

}  // namespace farcall
