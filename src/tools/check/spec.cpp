#include "tools/check/spec.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <farcall/core/quote.h>

#include "tools/failure.h"

namespace farcall::tools {
namespace {

std::string counted(size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// "2 arguments and 1 result"
std::string operand_counts(const CheckSpec& spec) {
  return fmt::format("{} and {}", counted(spec.arguments.size(), "argument"),
                     counted(spec.results.size(), "result"));
}

std::pair<std::string, std::string> parts_around(std::string_view text, char separator,
                                                 std::string_view what, std::string_view usage) {
  const size_t at = text.find(separator);
  if (at == std::string_view::npos || at == 0) {
    throw Failure(kUsage, fmt::format("{} {}: write {}.", what, farcall::quoted(text), usage));
  }
  return {std::string(text.substr(0, at)), std::string(text.substr(at + 1))};
}

// "arg0", "ret1"; `what` is the option with its text.
Operand& operand_named(std::string_view name, const std::string& what, CheckSpec& spec) {
  const bool is_argument = name.starts_with("arg");
  if (!is_argument && !name.starts_with("ret")) {
    throw Failure(kUsage, fmt::format("{}: write arg0, ret0 and so on.", what));
  }
  auto& operands = is_argument ? spec.arguments : spec.results;
  const int64_t index = parse_integer(name.substr(3), what);
  if (index < 0 || static_cast<size_t>(index) >= operands.size()) {
    throw Failure(kUsage, fmt::format("{}: the call has {}.", what, operand_counts(spec)));
  }
  return operands[static_cast<size_t>(index)];
}

// A valid value for an attribute that the user did not give.
std::string default_value(const Json& type) {
  const std::string kind = type.value("kind", "");
  const std::string dtype = type.value("dtype", "");
  if (kind == "string") return ":str=a";
  if (kind == "enum" && type.contains("parts"))
    return fmt::format(":{}={}", dtype, type["parts"][0]["value"].get<int64_t>());
  if (kind == "scalar" || kind == "enum")
    return fmt::format(":{}={}", dtype, dtype == "bool" ? "true" : "1");
  if (kind == "array") return fmt::format(":{}[]=1", dtype);
  return "";
}

void set_default(const std::string& path, const Json& type, const std::string& symbol,
                 Attributes& attributes) {
  if (type.is_object() && type.value("kind", "") == "struct" && type.contains("parts")) {
    for (const Json& part : type["parts"]) {
      if (!part.value("optional", false))
        set_default(path + "." + part["name"].get<std::string>(), part["type"], symbol, attributes);
    }
    return;
  }
  if (type.is_object() && type.value("kind", "") == "variant")
    return set_default(path, type["parts"][0]["type"], symbol, attributes);
  const std::string value = type.is_object() ? default_value(type) : "";
  if (value.empty())
    throw Failure(kUsage, fmt::format("{}: give a value for attribute {}: --attr {}:TYPE=VALUE.",
                                      symbol, path, path));
  parse_attribute(path + value, attributes);
}

std::vector<Operand> operands_from(const Json& params, int64_t open_rank,
                                   const std::string& symbol) {
  std::vector<Operand> operands;
  for (const Json& param : params) {
    if (param.value("optional", false) || param.value("remaining", false)) continue;
    const Json& type = param["type"];
    Operand operand;
    if (type.contains("dtype"))
      operand.dtype = parse_element_type(type["dtype"].get<std::string>());
    const int64_t rank = operand.dtype == DType::kToken ? 0 : type.value("rank", open_rank);
    for (int64_t i = 0; i < rank; ++i)
      operand.extents.emplace_back(letter_of_dimension(static_cast<size_t>(i)), symbol);
    operands.push_back(operand);
  }
  return operands;
}

const Json* find_handler(const Json& inspection, const std::string& symbol) {
  for (const Json& handler : inspection["handlers"]) {
    if (handler["symbol"] == symbol) return &handler;
  }
  return nullptr;
}

// Finds the stages of a handler by their names, SYMBOL_instantiate and so on.
void find_stages(CheckSpec& spec, const Json& inspection) {
  for (int i = 0; i < kNumStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    if (stage == Stage::kExecute || stage == Stage::kRecord) continue;
    std::string& symbol = spec.stages[static_cast<size_t>(i)];
    const std::string wanted = fmt::format("{}_{}", spec.symbol, stage_name(stage));
    if (symbol.empty() && find_handler(inspection, wanted)) symbol = wanted;
  }
}

}  // namespace

void parse_layout(std::string_view text, CheckSpec& spec) {
  const auto [name, order] = parts_around(text, '=', "layout", "arg0=1,0");
  const std::string what = fmt::format("layout {}", farcall::quoted(text));
  Operand& operand = operand_named(name, what, spec);
  Layout layout;
  for (const std::string& part : split(order, ','))
    layout.major_to_minor.push_back(parse_integer(part, what));
  if (layout.major_to_minor.size() != operand.extents.size() ||
      !is_permutation(layout.major_to_minor)) {
    throw Failure(kUsage,
                  fmt::format("layout {}: {} has rank {}; write the number of each dimension once, "
                              "the slowest first.",
                              farcall::quoted(text), operand.to_string(), operand.extents.size()));
  }
  operand.layout = layout;
}

void parse_alias(std::string_view text, CheckSpec& spec) {
  const auto [argument, result] = parts_around(text, ':', "alias", "ARGUMENT:RESULT, such as 0:0");
  const std::string what = fmt::format("alias {}", farcall::quoted(text));
  const int64_t from = parse_integer(argument, what), to = parse_integer(result, what);
  if (from < 0 || to < 0)
    throw Failure(kUsage, fmt::format("alias {}: the numbers begin at 0.", farcall::quoted(text)));
  spec.aliases.emplace_back(from, to);
}

void parse_stages(std::string_view text, CheckSpec& spec) {
  for (const std::string& part : split(text, ',')) {
    const auto [name, symbol] = parts_around(part, '=', "stage", "instantiate=SYMBOL");
    int index = 0;
    while (index < kNumStages && stage_name(static_cast<Stage>(index)) != name) ++index;
    if (index == kNumStages)
      throw Failure(
          kUsage,
          fmt::format("unknown stage {}. Must be one of instantiate, prepare, initialize, record.",
                      farcall::quoted(name)));
    if (symbol.empty() || static_cast<Stage>(index) == Stage::kExecute) {
      throw Failure(kUsage,
                    fmt::format("stage {}: {}.", farcall::quoted(part),
                                symbol.empty() ? "write " + name + "=SYMBOL"
                                               : "the handler itself is the execute stage"));
    }
    spec.stages[static_cast<size_t>(index)] = symbol;
  }
}

void parse_sizes(std::string_view text, CheckSpec& spec) {
  const auto [letter, values] = parts_around(text, '=', "size", "N=1,2,3");
  for (const std::string& part : split(values, ',')) {
    const int64_t size = parse_integer(part, fmt::format("size {}", farcall::quoted(text)));
    if (size < 0)
      throw Failure(kUsage, fmt::format("size {}: {} is negative.", farcall::quoted(text), size));
    spec.sizes[letter].push_back(size);
  }
}

void parse_range(std::string_view text, CheckSpec& spec) {
  const auto [name, range] = parts_around(text, '=', "range", "arg0=LOWEST:HIGHEST");
  const auto [low, high] = parts_around(range, ':', "range", "arg0=LOWEST:HIGHEST");
  const std::string what = fmt::format("range {}", farcall::quoted(text));
  const int64_t lowest = parse_integer(low, what), highest = parse_integer(high, what);
  if (lowest > highest) {
    throw Failure(kUsage, fmt::format("range \"{}\": {} is above {}; write LOWEST:HIGHEST.", text,
                                      low, high));
  }
  if (name.starts_with("ret")) {
    throw Failure(kUsage, fmt::format("range {}: a result has no values before the call; name an "
                                      "argument, such as arg0.",
                                      farcall::quoted(text)));
  }
  operand_named(name, what, spec).range = {lowest, highest};
}

void complete(CheckSpec& spec, const Json& inspection, int64_t open_rank) {
  const Json* handler = find_handler(inspection, spec.symbol);
  spec.stages[static_cast<size_t>(Stage::kExecute)] = spec.symbol;
  find_stages(spec, inspection);
  const bool is_described = handler && handler->contains("signature");
  if (!spec.has_operands) {
    if (!is_described) {
      throw Failure(kUsage, fmt::format("{}: the handler carries no signature. Describe the call: "
                                        "--arg 'f32[N]' --ret 'f32[N]' --attr eps:f32=1e-5.",
                                        spec.symbol));
    }
    if (spec.arguments.empty())
      spec.arguments = operands_from((*handler)["arguments"], open_rank, spec.symbol);
    if (spec.results.empty())
      spec.results = operands_from((*handler)["results"], open_rank, spec.symbol);
  }
  // Each stage may declare further attributes.
  for (const std::string& symbol : spec.stages) {
    const Json* stage = symbol.empty() ? nullptr : find_handler(inspection, symbol);
    if (!stage || !stage->contains("attributes")) continue;
    for (const Json& attribute : (*stage)["attributes"]) {
      const std::string name = attribute.value("name", "");
      if (attribute.value("optional", false) || attribute.value("all", false) ||
          spec.attributes.find(name))
        continue;
      set_default(name, attribute["type"], spec.symbol, spec.attributes);
    }
  }
}

std::vector<std::string> letters_of(const CheckSpec& spec) {
  std::vector<std::string> letters;
  for (const auto* operands : {&spec.arguments, &spec.results}) {
    for (const Operand& operand : *operands) {
      for (const SizeExpression& extent : operand.extents) {
        for (const std::string& letter : extent.letters()) {
          if (!std::ranges::count(letters, letter)) letters.push_back(letter);
        }
      }
    }
  }
  return letters;
}

std::string CheckSpec::call_text() const {
  const auto list = [](const std::vector<Operand>& operands) {
    std::string text;
    for (const Operand& operand : operands)
      text += (text.empty() ? "" : ", ") + operand.to_string();
    return text;
  };
  return fmt::format("{} -> {}", list(arguments), list(results));
}

void verify(const CheckSpec& spec) {
  std::vector<std::string> letters = letters_of(spec);
  for (const CheckSpec& other : spec.alternatives) {
    const auto more = letters_of(other);
    letters.insert(letters.end(), more.begin(), more.end());
  }
  for (const auto& [letter, sizes] : spec.sizes) {
    if (std::ranges::count(letters, letter)) continue;
    throw Failure(kUsage, fmt::format("size {}: no operand of {} has this letter{}{}.", letter,
                                      spec.symbol, letters.empty() ? "" : ". There are ",
                                      fmt::join(letters_of(spec), ", ")));
  }
  std::vector<size_t> arguments, results;
  for (const auto& [argument, result] : spec.aliases) {
    if (argument >= spec.arguments.size() || result >= spec.results.size()) {
      throw Failure(kUsage, fmt::format("alias {}:{}: the call has {}; numbers begin at 0.",
                                        argument, result, operand_counts(spec)));
    }
    const Operand& from = spec.arguments[argument];
    const Operand& to = spec.results[result];
    if (from.to_string() != to.to_string() || from.layout != to.layout) {
      throw Failure(kUsage, fmt::format("alias {}:{}: argument {} is {}, result {} is {}; types "
                                        "and layouts have to be the same.",
                                        argument, result, argument, from.to_string(), result,
                                        to.to_string()));
    }
    if (std::ranges::count(arguments, argument) || std::ranges::count(results, result)) {
      throw Failure(kUsage, fmt::format("alias {}:{}: an argument or a result is named twice.",
                                        argument, result));
    }
    arguments.push_back(argument);
    results.push_back(result);
  }
}

}  // namespace farcall::tools
