// Checks described in a TOML file.
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include "tools/check/spec.h"
#include "tools/failure.h"

namespace farcall::tools {
namespace {

std::vector<std::string> strings(const toml::table& table, std::string_view key) {
  std::vector<std::string> found;
  const toml::node* node = table.get(key);
  if (!node) return found;
  if (const auto one = node->value<std::string>()) return {*one};
  const toml::array* list = node->as_array();
  if (!list) throw Failure(kUsage, fmt::format("{} must be a list of strings.", key));
  for (const toml::node& item : *list) {
    const auto text = item.value<std::string>();
    if (!text) throw Failure(kUsage, fmt::format("{} must be a list of strings.", key));
    found.push_back(*text);
  }
  return found;
}

// A relative path is one beside the file, or else one in the current folder.
std::string library_of(const std::string& name, const std::filesystem::path& folder) {
  const std::filesystem::path beside = folder / name;
  std::error_code ignored;
  return std::filesystem::is_regular_file(beside, ignored) ? beside.string() : name;
}

CheckSpec read_check(const toml::table& table, const std::filesystem::path& folder) {
  CheckSpec spec;
  for (const auto& [key, value] : table) {
    constexpr std::string_view kKnown[] = {"handler", "args",   "rets",  "attrs",  "aliases",
                                           "layouts", "stages", "sizes", "ranges", "reference"};
    if (std::find(std::begin(kKnown), std::end(kKnown), key.str()) == std::end(kKnown)) {
      throw Failure(kUsage, fmt::format("unknown key \"{}\". The keys of a check are {}.",
                                        key.str(), fmt::join(kKnown, ", ")));
    }
  }
  const auto handler = table["handler"].value<std::string>();
  const size_t colon = handler ? handler->rfind(':') : std::string::npos;
  if (colon == std::string::npos)
    throw Failure(kUsage, "each check needs handler = \"library.so:symbol\".");
  spec.library = library_of(handler->substr(0, colon), folder);
  spec.symbol = handler->substr(colon + 1);
  for (const std::string& text : strings(table, "args"))
    spec.arguments.push_back(parse_operand(text));
  for (const std::string& text : strings(table, "rets"))
    spec.results.push_back(parse_operand(text));
  spec.has_operands = table.contains("args") || table.contains("rets");
  for (const std::string& text : strings(table, "attrs")) parse_attribute(text, spec.attributes);
  for (const std::string& text : strings(table, "aliases")) parse_alias(text, spec);
  for (const std::string& text : strings(table, "layouts")) parse_layout(text, spec);
  for (const std::string& text : strings(table, "stages")) parse_stages(text, spec);
  for (const std::string& text : strings(table, "sizes")) parse_sizes(text, spec);
  for (const std::string& text : strings(table, "ranges")) parse_range(text, spec);
  if (const toml::node* reference = table.get("reference")) {
    const std::string text = reference->value_or("");
    const size_t end = text.rfind(':');
    if (end == std::string::npos) {
      throw Failure(kUsage, "reference must be \"library.so:symbol\" or \"module:name\".");
    }
    spec.reference = library_of(text.substr(0, end), folder) + text.substr(end);
  }
  return spec;
}

}  // namespace

std::vector<CheckSpec> read_check_file(const std::string& path) {
  if (std::filesystem::is_directory(path))
    throw Failure(kUsage, fmt::format("{}: this is a folder, not a file of checks.", path));
  toml::table table;
  try {
    table = toml::parse_file(path);
  } catch (const toml::parse_error& error) {
    throw Failure(kUsage, fmt::format("{}, line {}: {}.", path, error.source().begin.line,
                                      error.description()));
  }
  std::vector<CheckSpec> specs;
  try {
    if (table["check"].is_table()) {
      throw Failure(kUsage, "write [[check]] with two pairs of brackets, not [check].");
    }
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    const toml::array* checks = table["check"].as_array();
    if (!checks) return {read_check(table, folder)};
    if (checks->empty()) throw Failure(kUsage, "check is empty: there is nothing to check.");
    for (const auto& [key, value] : table) {
      if (key.str() == "check") continue;
      throw Failure(kUsage, fmt::format("unknown key \"{}\" beside [[check]]: a key of a check "
                                        "belongs below its [[check]].",
                                        key.str()));
    }
    for (const toml::node& check : *checks) {
      if (!check.is_table()) throw Failure(kUsage, "check must be a list of tables: [[check]].");
      specs.push_back(read_check(*check.as_table(), folder));
    }
  } catch (const Failure& failure) {
    throw Failure(failure.code(), fmt::format("{}: {}", path, failure.what()));
  }
  return specs;
}

}  // namespace farcall::tools
