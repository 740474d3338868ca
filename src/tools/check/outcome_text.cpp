#include "tools/check/outcome_text.h"

#include <string_view>

#include <fmt/format.h>

#include <farcall/core/demangle.h>

#include "tools/check/heap.h"

namespace farcall::tools {

bool is_silent(const Outcome& outcome, const std::string& symbol) {
  std::string_view text = outcome.message;
  if (text.starts_with(symbol)) text.remove_prefix(symbol.size());
  return text.find_first_not_of(": ") == std::string_view::npos;
}

std::string leaving_exception(const Outcome& outcome, const std::string& symbol) {
  const heap::Exception& last = heap::last_exception();
  if (last.type.empty()) return outcome.exception;
  const std::string text = last.is_standard ? last.text : "unknown exception";
  const bool is_its_error =
      outcome.code == ErrorCode::kInternal &&
      (text.empty() ? is_silent(outcome, symbol) : outcome.message.ends_with(text));
  if (outcome.exception.empty() && !is_its_error) return "";
  if (!last.text.empty()) return last.text;
  const std::string name = demangled("_ZTI" + last.type);  // "typeinfo for Odd"
  return fmt::format("an object of the type {}", name.substr(name.rfind("for ") + 4));
}

}  // namespace farcall::tools
