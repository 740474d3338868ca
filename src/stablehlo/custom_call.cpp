// Foreign calls as custom calls of their targets: for program text, and for plugins that call
// handlers directly.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/core/quote.h>
#include <farcall/primitives/ffi_call.h>

#include "stablehlo/rules.h"

namespace farcall::stablehlo {
namespace {

// A scalar attribute: "2 : i32", "1.5 : f32", "true".
std::string number_text(const Attribute& attribute) {
  const std::string text = attribute.to_string();
  if (attribute.dtype() == DType::kBool) return text.starts_with("True") ? "true" : "false";
  std::string number = text.substr(0, text.rfind(':'));
  if (is_floating(attribute.dtype()) && number.find('.') == std::string::npos) {
    number.insert(std::min(number.find('e'), number.size()), ".0");
  }
  return fmt::format("{} : {}", number, dtype_info(attribute.dtype()).stablehlo);
}

std::string attribute_text(std::string_view target, const Attribute& attribute);

std::string dictionary_text(std::string_view target, const Attributes& attributes) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : attributes) {
    const std::string key = is_identifier(name) ? name : quoted(name);
    entries.push_back(fmt::format("{} = {}", key, attribute_text(target, value)));
  }
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

std::string attribute_text(std::string_view target, const Attribute& attribute) {
  switch (attribute.kind()) {
    case Attribute::Kind::kString:
      return quoted(attribute.as_string());
    case Attribute::Kind::kDictionary:
      return dictionary_text(target, attribute.as_dictionary());
    case Attribute::Kind::kScalar:
      if (!is_complex(attribute.dtype())) return number_text(attribute);
      break;
    case Attribute::Kind::kArray: {
      const std::string text = attribute.to_string();  // "[1,2]:i64"
      const std::string list = text.substr(1, text.rfind(']') - 1);
      const bool is_number = is_integer(attribute.dtype()) || is_floating(attribute.dtype());
      if (!is_number) break;
      return fmt::format("array<{}{}{}>", dtype_info(attribute.dtype()).stablehlo,
                         list.empty() ? "" : ": ", list);
    }
  }
  throw Error(ErrorCode::kUnimplemented,
              fmt::format("ffi_call(\"{}\"): attribute {} cannot be written in StableHLO", target,
                          attribute.to_string()));
}

// XLA's layouts list dimensions from the fastest to the slowest. No layouts: all are row-major.
std::string list_of_layouts(std::span<const MajorToMinor> layouts,
                            std::span<const ShapeDtype> types) {
  std::vector<std::string> all;
  for (size_t i = 0; i < types.size(); ++i) {
    // A token is written as an array of no elements.
    std::vector<int64_t> order(types[i].is_token() ? 1 : types[i].rank());
    const bool is_given = !layouts.empty() && layouts[i] && !types[i].is_token();
    for (size_t d = 0; d < order.size(); ++d) {
      order[d] = is_given ? (*layouts[i])[d] : static_cast<int64_t>(d);
    }
    std::ranges::reverse(order);
    all.push_back(fmt::format("dense<{}> : tensor<{}xindex>", order.empty() ? "" : list_text(order),
                              order.size()));
  }
  return fmt::format("[{}]", fmt::join(all, ", "));
}

}  // namespace

std::string layouts_text(std::span<const Value> operands, std::span<const ShapeDtype> results,
                         std::span<const MajorToMinor> of_operands,
                         std::span<const MajorToMinor> of_results) {
  std::vector<ShapeDtype> types;
  for (const Value& operand : operands) types.push_back(operand.type);
  return fmt::format("operand_layouts = {}, result_layouts = {}",
                     list_of_layouts(of_operands, types), list_of_layouts(of_results, results));
}

std::string aliases_text(std::span<const std::pair<int64_t, int64_t>> aliases, size_t num_results) {
  std::vector<std::string> texts;
  for (const auto& [input, output] : aliases) {
    texts.push_back(
        fmt::format("#stablehlo.output_operand_alias<output_tuple_indices = [{}], "
                    "operand_index = {}, operand_tuple_indices = []>",
                    num_results > 1 ? fmt::format("{}", output) : "", input));
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

Values custom_call(Emitter& e, const Call& call) {
  const auto& p = call.params<FfiCallParams>();
  const std::string config = p.custom_call_api_version == 4
                                 ? dictionary_text(p.target_name, p.attributes)
                                 : quoted(p.legacy_backend_config.value_or(""));
  return e.op(
      "stablehlo.custom_call", call.inputs, call.results,
      fmt::format("call_target_name = {}, api_version = {} : i32, has_side_effect = {}, "
                  "backend_config = {}, {}, output_operand_aliases = {}",
                  quoted(p.target_name), p.custom_call_api_version, p.has_side_effect, config,
                  layouts_text(call.inputs, call.results, p.input_layouts, p.output_layouts),
                  aliases_text(p.input_output_aliases, call.results.size())));
}

}  // namespace farcall::stablehlo
