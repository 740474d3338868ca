#include "farcall/call_options.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <farcall/core/quote.h>

#include "tools/elf_file.h"
#include "tools/failure.h"
#include "tools/inspect.h"
#include "tools/python.h"

namespace farcall::command {
namespace {

using tools::CheckSpec;
using tools::Failure;
using tools::Json;

// The check of one handler, as the options describe it.
CheckSpec spec_from(const CallOptions& options, const std::string& library,
                    const std::string& symbol) {
  CheckSpec spec;
  spec.library = library;
  spec.symbol = symbol;
  for (const auto& text : options.arguments) spec.arguments.push_back(tools::parse_operand(text));
  for (const auto& text : options.results) spec.results.push_back(tools::parse_operand(text));
  spec.has_operands = !options.arguments.empty() || !options.results.empty();
  for (const auto& text : options.attributes) tools::parse_attribute(text, spec.attributes);
  for (const auto& text : options.stages) tools::parse_stages(text, spec);
  for (const auto& text : options.sizes) tools::parse_sizes(text, spec);
  spec.reference = options.reference;
  if (!spec.reference.empty() && spec.reference.find(':') == std::string::npos) {
    throw Failure(tools::kUsage, fmt::format("--reference {}: write LIBRARY:SYMBOL or MODULE:NAME.",
                                             farcall::quoted(spec.reference)));
  }
  return spec;
}

void add_promises(const CallOptions& options, CheckSpec& spec) {
  for (const auto& text : options.aliases) tools::parse_alias(text, spec);
  for (const auto& text : options.layouts) tools::parse_layout(text, spec);
  for (const auto& text : options.ranges) tools::parse_range(text, spec);
}

CheckSpec completed(const CallOptions& options, const std::string& library,
                    const std::string& symbol, const Json& inspection) {
  std::vector<CheckSpec> variants;
  std::optional<Failure> first_failure;  // a layout may fit one of the ranks only
  for (const int64_t open_rank : {1, 2, 0, 3}) {
    CheckSpec variant = spec_from(options, library, symbol);
    try {
      tools::complete(variant, inspection, open_rank);
      add_promises(options, variant);
      variants.push_back(variant);
    } catch (const Failure& failure) {
      if (!first_failure) first_failure = failure;
    }
    if (variant.has_operands) break;
  }
  if (variants.empty()) throw *first_failure;
  // Prefers variants whose operands use all letters that have given sizes.
  std::stable_partition(variants.begin(), variants.end(), [](const CheckSpec& variant) {
    const auto letters = tools::letters_of(variant);
    return std::ranges::all_of(variant.sizes, [&](const auto& given) {
      return std::ranges::count(letters, given.first) > 0;
    });
  });
  CheckSpec spec = variants[0];
  spec.alternatives.assign(variants.begin() + 1, variants.end());
  return spec;
}

bool describes_a_call(const CallOptions& o) {
  return !(o.arguments.empty() && o.results.empty() && o.attributes.empty() && o.aliases.empty() &&
           o.layouts.empty() && o.stages.empty() && o.sizes.empty() && o.ranges.empty());
}

// All handlers of a library that have an execute stage and a signature.
std::vector<CheckSpec> specs_of_library(const CallOptions& options, const std::string& library,
                                        double timeout) {
  const Json inspection =
      tools::inspect(library, {.filter = options.filter, .runtime = {}, .timeout = timeout});
  if (inspection["handlers"].empty()) {
    throw Failure(tools::kCouldNotRun, options.filter.empty()
                                           ? fmt::format("{} has no handlers.", library)
                                           : fmt::format("{}: no handler's name contains {}.",
                                                         library, farcall::quoted(options.filter)));
  }
  std::vector<CheckSpec> specs;
  std::optional<Failure> first_failure;
  bool fits_one = false;
  for (const Json& handler : inspection["handlers"]) {
    if (!handler.contains("signature") || handler.value("stage", "execute") != "execute") continue;
    try {
      specs.push_back(completed(options, library, handler["symbol"], inspection));
      fits_one = true;
    } catch (const Failure& failure) {
      if (!first_failure) first_failure = failure;
      specs.push_back(spec_from(options, library, handler["symbol"]));
      specs.back().problem = failure.what();
    }
  }
  if (specs.empty()) {
    throw Failure(
        tools::kUsage,
        fmt::format("{}: no handler in this library has a signature. Name one and describe its "
                    "call: farcall check {}:SYMBOL --arg … --ret ….",
                    library, library));
  }
  if (!fits_one && describes_a_call(options)) throw *first_failure;
  return specs;
}

// The library's metadata of the handler and of its stages. Raises Failure if it has no such
// handler; with operands, a function that does not describe itself may be one.
Json inspect_for(const CheckSpec& spec, double timeout) {
  // The limit is one for calls; loading the library needs some time before.
  tools::InspectOptions how = {
      .filter = spec.symbol, .runtime = {}, .timeout = std::max(timeout, 2.0)};
  Json inspection = tools::inspect(spec.library, how);
  bool is_function = false;
  if (spec.has_operands && !tools::is_python_module(spec.library)) {
    is_function =
        std::ranges::any_of(tools::read_elf(spec.library).symbols, [&](const tools::ElfSymbol& s) {
          return s.is_exported && s.is_function && s.name == spec.symbol;
        });
    for (const Json& skipped : inspection["skipped"])
      is_function &= skipped["symbol"] != spec.symbol;
  }
  if (!is_function) tools::require_handler(inspection, spec.symbol, how);
  for (const std::string& symbol : spec.stages) {
    if (symbol.empty() || symbol.find(spec.symbol) != std::string::npos) continue;
    how.filter = symbol;
    const Json more = tools::inspect(spec.library, how);
    for (const Json& handler : more["handlers"]) inspection["handlers"].push_back(handler);
  }
  return inspection;
}

}  // namespace

std::vector<CheckSpec> specs_of(const CallOptions& options, const std::string& target,
                                double timeout) {
  if (target.ends_with(".toml")) {
    if (!std::filesystem::exists(target)) {
      throw Failure(tools::kCouldNotRun, fmt::format("{}: there is no such file.", target));
    }
    if (describes_a_call(options) || !options.reference.empty() || !options.filter.empty()) {
      throw Failure(tools::kUsage, fmt::format("{} describes its calls: options of the call, such "
                                               "as --arg, belong into it.",
                                               target));
    }
    auto specs = tools::read_check_file(target);
    for (CheckSpec& spec : specs) tools::complete(spec, inspect_for(spec, timeout));
    return specs;
  }
  const size_t colon = target.rfind(':');
  if (colon == std::string::npos) return specs_of_library(options, target, timeout);
  const std::string library = target.substr(0, colon), symbol = target.substr(colon + 1);
  CheckSpec spec = completed(options, library, symbol,
                             inspect_for(spec_from(options, library, symbol), timeout));
  spec.is_named = true;
  return {spec};
}

void add_call_options(CLI::App& command, CallOptions& o) {
  command
      .add_option("handler", o.targets,
                  "LIBRARY:SYMBOL, MODULE:NAME, a library, or a file of calls (.toml)")
      ->required();
  command.add_option("--filter", o.filter,
                     "Of a library, only handlers with this text in their names");
  command
      .add_option(
          "--arg", o.arguments,
          "An argument: 'f32[N,64]', 's32[]', 'f32[(N+1)//2]'. Letters are sizes that are varied")
      ->allow_extra_args(false)
      ->group("The call");
  command.add_option("--ret", o.results, "A result")->allow_extra_args(false)->group("The call");
  command
      .add_option("--attr", o.attributes,
                  "An attribute: eps:f32=1e-5, axes:s64[]=0,1, name:str=abc")
      ->allow_extra_args(false)
      ->group("The call");
  command.add_option("--alias", o.aliases, "ARGUMENT:RESULT that lie in one memory, such as 0:0")
      ->allow_extra_args(false)
      ->group("The call");
  command
      .add_option("--layout", o.layouts,
                  "The order of dimensions in memory, slowest first: arg0=1,0")
      ->allow_extra_args(false)
      ->group("The call");
  command.add_option("--stages", o.stages, "Other stages: instantiate=SYMBOL,prepare=SYMBOL")
      ->allow_extra_args(false)
      ->group("The call");
  command.add_option("--size", o.sizes, "Sizes for a letter: N=4,8,100")
      ->allow_extra_args(false)
      ->group("The call");
  command.add_option("--range", o.ranges, "Integers for an argument, such as indices: arg1=0:9")
      ->allow_extra_args(false)
      ->group("The call");
}

}  // namespace farcall::command
