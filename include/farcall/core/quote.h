// Names and strings in the text of programs and attributes, and words of messages.
#pragma once

#include <string>
#include <string_view>

#include <farcall/core/export.h>

namespace farcall {

// A letter or underscore, then letters, digits and underscores, all ASCII.
FARCALL_API bool is_identifier(std::string_view text);

// In double quotes. Quotes, backslashes, control characters and bytes that are not UTF-8 are
// escaped, so any bytes read back unchanged.
FARCALL_API std::string quoted(std::string_view text);

// The word with its indefinite article: "a float", "an integer".
FARCALL_API std::string with_article(std::string_view word);

}  // namespace farcall
