#include "stablehlo/emitter.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/element_text.h>
#include <farcall/core/error.h>
#include <farcall/core/quote.h>
#include <farcall/program/device.h>

namespace farcall::stablehlo {
namespace {

std::string_view element_type(DType dtype) {
  // In StableHLO, i1 is a bool.
  if (dtype == DType::kInt1 || dtype == DType::kUInt1) {
    throw Error(ErrorCode::kUnimplemented,
                fmt::format("StableHLO has no dtype {}; use the native engine", dtype_name(dtype)));
  }
  return dtype == DType::kToken ? "i1" : dtype_info(dtype).stablehlo;
}

std::string hexadecimal(const std::byte* bytes, size_t size) {
  std::string text = "0x";
  for (size_t i = size; i > 0; --i) text += fmt::format("{:02X}", static_cast<int>(bytes[i - 1]));
  return text;
}

// Finite float32 and float64 in decimals; all other floats as bits.
std::string float_text(DType dtype, const std::byte* element) {
  if (dtype == DType::kFloat32 || dtype == DType::kFloat64) {
    std::string text = format_element(dtype, element);
    if (text.find('n') == std::string::npos) {  // neither inf nor nan
      const size_t exponent = text.find('e');
      if (text.find('.') == std::string::npos) {
        text.insert(exponent == std::string::npos ? text.size() : exponent, ".0");
      }
      return text;
    }
  }
  return hexadecimal(element, byte_width(dtype));
}

std::string element_text(DType dtype, const std::byte* element) {
  switch (dtype_info(dtype).kind) {
    case DTypeKind::kBool:
      return *element != std::byte{0} ? "true" : "false";
    case DTypeKind::kFloat:
      return float_text(dtype, element);
    case DTypeKind::kComplex: {
      const DType part = real_dtype(dtype);
      return fmt::format("({}, {})", float_text(part, element),
                         float_text(part, element + byte_width(part)));
    }
    case DTypeKind::kKey: {
      uint64_t words;
      std::memcpy(&words, element, sizeof(words));
      return fmt::format("{}", words);
    }
    default:
      return format_element(dtype, element);
  }
}

std::string joined_names(std::span<const Value> values) {
  std::string text;
  for (const Value& value : values) text += (text.empty() ? "" : ", ") + value.name;
  return text;
}

template <class Types, class TypeOf>
std::string joined_types(const Types& types, const TypeOf& type_of) {
  std::string text;
  for (const auto& item : types) text += (text.empty() ? "" : ", ") + type_text(type_of(item));
  return text;
}

// The start of a module for the devices of a mesh.
std::string mesh_text(const Mesh& mesh) {
  std::vector<std::string> axes;
  for (const MeshAxis& axis : mesh.axes()) {
    axes.push_back(fmt::format("{}={}", quoted(axis.name), axis.size));
  }
  return fmt::format(
      " attributes {{mhlo.num_partitions = {} : i32, mhlo.num_replicas = 1 : i32}} {{\n"
      "  sdy.mesh @mesh = <[{}]>\n",
      mesh.devices().size(), fmt::join(axes, ", "));
}

constexpr auto kTypeOfValue = [](const Value& value) { return value.type; };
constexpr auto kTypeItself = [](const ShapeDtype& type) { return type; };

}  // namespace

std::vector<ShapeDtype> types_of(std::span<const Value> values) {
  std::vector<ShapeDtype> types;
  for (const Value& value : values) types.push_back(value.type);
  return types;
}

ShapeDtype part_of(ShapeDtype complex) { return complex.with_dtype(real_dtype(complex.dtype())); }

std::string type_text(ShapeDtype type) {
  std::string text = "tensor<";
  for (const int64_t size : type.shape()) text += fmt::format("{}x", size);
  if (type.is_token()) text += "0x";
  return text + std::string(element_type(type.dtype())) + ">";
}

std::string array_text(std::span<const int64_t> values) {
  if (values.empty()) return "array<i64>";
  return fmt::format("array<i64: {}>", fmt::join(values, ", "));
}

std::string list_text(std::span<const int64_t> values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

std::string slice_text(std::span<const int64_t> starts, std::span<const int64_t> limits,
                       std::span<const int64_t> strides) {
  return fmt::format("start_indices = {}, limit_indices = {}, strides = {}", array_text(starts),
                     array_text(limits), array_text(strides));
}

std::string windows_text(const ReduceWindowParams& windows) {
  return fmt::format(
      "window_dimensions = {}, window_strides = {}, base_dilations = {}, window_dilations = {}, "
      "padding = {}",
      array_text(windows.window_dimensions), array_text(windows.window_strides),
      array_text(windows.base_dilation), array_text(windows.window_dilation),
      pairs_text(windows.padding));
}

std::string pairs_text(std::span<const std::pair<int64_t, int64_t>> pairs) {
  if (pairs.empty()) return "dense<> : tensor<0x2xi64>";
  std::string text;
  for (const auto& [first, second] : pairs) {
    text += fmt::format("{}[{}, {}]", text.empty() ? "" : ", ", first, second);
  }
  return fmt::format("dense<[{}]> : tensor<{}x2xi64>", text, pairs.size());
}

std::string sharding_text(ShapeDtype type, const PartitionSpec& spec) {
  std::vector<std::string> dimensions;
  for (size_t i = 0; i < (type.is_token() ? 1 : type.rank()); ++i) {
    std::vector<std::string> names;
    if (i < spec.size()) std::ranges::transform(spec[i], std::back_inserter(names), quoted);
    dimensions.push_back(fmt::format("{{{}}}", fmt::join(names, ", ")));
  }
  return fmt::format("<@mesh, [{}]>", fmt::join(dimensions, ", "));
}

std::string Emitter::fresh() { return fmt::format("%{}", num_names_++); }

Value Emitter::op(std::string_view name, std::span<const Value> operands, ShapeDtype result,
                  std::string_view attributes) {
  return op(name, operands, std::span(&result, 1), attributes)[0];
}

Values Emitter::op(std::string_view name, std::span<const Value> operands,
                   std::span<const ShapeDtype> results, std::string_view attributes,
                   std::span<const std::string> regions) {
  Values values;
  std::string line = "    ";
  if (!results.empty()) {
    const std::string result = fresh();
    line += result;
    if (results.size() > 1) line += fmt::format(":{}", results.size());
    line += " = ";
    for (size_t i = 0; i < results.size(); ++i) {
      values.push_back({results.size() > 1 ? fmt::format("{}#{}", result, i) : result, results[i]});
    }
  }
  line += fmt::format("\"{}\"({})", name, joined_names(operands));
  if (!regions.empty()) line += fmt::format(" ({{\n{}    }})", fmt::join(regions, "    }, {\n"));
  if (!attributes.empty()) line += fmt::format(" {{{}}}", attributes);
  line += fmt::format(" : ({}) -> ", joined_types(operands, kTypeOfValue));
  const std::string types = joined_types(results, kTypeItself);
  line += results.size() == 1 ? types : "(" + types + ")";
  text_ += line + "\n";
  return values;
}

std::string Emitter::region(std::span<const ShapeDtype> types, const Body& body) {
  std::string outer = std::exchange(text_, {});
  Values arguments;
  std::string header;
  for (const ShapeDtype& type : types) {
    arguments.push_back({fresh(), type});
    header +=
        fmt::format("{}{}: {}", header.empty() ? "" : ", ", arguments.back().name, type_text(type));
  }
  if (!types.empty()) text_ += fmt::format("    ^bb0({}):\n", header);
  op("stablehlo.return", body(arguments), std::span<const ShapeDtype>(), {});
  return std::exchange(text_, std::move(outer));
}

Value Emitter::number(ShapeDtype type, double number) {
  std::byte element[16] = {};
  const DTypeInfo& info = dtype_info(type.dtype());
  std::string text;
  switch (info.kind) {
    case DTypeKind::kBool:
      text = number != 0 ? "True" : "False";
      break;
    case DTypeKind::kFloat:
      text = number == 0 && !has_zero(type.dtype()) ? "nan" : fmt::format("{}", number);
      break;
    case DTypeKind::kComplex:
      text = fmt::format("({}+0.0j)", number);
      break;
    case DTypeKind::kKey:
    case DTypeKind::kToken:
      break;
    default: {
      // One is -1 in a signed integer of one bit.
      const bool wraps = info.kind == DTypeKind::kSigned && info.bits == 1 && number == 1;
      text = fmt::format("{}", wraps ? -1 : static_cast<int64_t>(number));
    }
  }
  if (!text.empty()) parse_element(type.dtype(), text, element);
  return splat(type, element);
}

Value Emitter::splat(ShapeDtype type, const void* element) {
  const bool is_empty = type.size() == 0 || type.is_token();
  const std::string text =
      is_empty ? "" : element_text(type.dtype(), static_cast<const std::byte*>(element));
  return op("stablehlo.constant", Values{}, type,
            fmt::format("value = dense<{}> : {}", text, type_text(type)));
}

Value Emitter::constant(ShapeDtype type, const void* elements) {
  if (type.size() <= 1 || type.is_token()) {
    static constexpr std::byte kZero[16] = {};
    return splat(type, type.size() == 1 && !type.is_token() ? elements : kZero);
  }
  const auto* bytes = static_cast<const std::byte*>(elements);
  std::string list;
  for (int64_t i = 0; i < type.size(); ++i) {
    if (i > 0) list += ", ";
    list += element_text(type.dtype(), bytes + static_cast<size_t>(i) * byte_width(type.dtype()));
  }
  const ShapeDtype line(type.dtype(), {type.size()});
  return reshape(op("stablehlo.constant", Values{}, line,
                    fmt::format("value = dense<[{}]> : {}", list, type_text(line))),
                 type.shape());
}

size_t Emitter::hidden_number(ShapeDtype type, const Storage& storage) {
  for (size_t i = 0; i < hidden_.size(); ++i) {
    if (constants_[i].second.is_same_memory(storage) && hidden_[i].type == type) return i;
  }
  hidden_.push_back({fmt::format("%constant{}", hidden_.size()), type});
  constants_.emplace_back(type, storage);
  return hidden_.size() - 1;
}

Value Emitter::hidden_constant(ShapeDtype type, const Storage& storage) {
  const size_t number = hidden_number(type, storage);
  if (!inner_) return hidden_[number];
  for (size_t i = 0; i < inner_->hidden.size(); ++i) {
    if (inner_->hidden[i] == number) return inner_->constants[i];
  }
  inner_->hidden.push_back(number);
  inner_->constants.push_back({fmt::format("{}_constant{}", inner_->name, number), type});
  return inner_->constants.back();
}

Value Emitter::broadcast(const Value& value, std::span<const int64_t> shape) {
  if (value.type.rank() > 0 || shape.empty()) return value;
  return broadcast_in_dim(value, shape, {});
}

Value Emitter::broadcast_in_dim(const Value& value, std::span<const int64_t> shape,
                                std::span<const int64_t> dimensions) {
  return op("stablehlo.broadcast_in_dim", {value}, value.type.with_shape(shape),
            "broadcast_dimensions = " + array_text(dimensions));
}

Value Emitter::reshape(const Value& value, std::span<const int64_t> shape) {
  if (std::ranges::equal(value.type.shape(), shape)) return value;
  return op("stablehlo.reshape", {value}, value.type.with_shape(shape));
}

Value Emitter::convert(const Value& value, DType dtype) {
  if (value.type.dtype() == dtype) return value;
  return op("stablehlo.convert", {value}, value.type.with_dtype(dtype));
}

Value Emitter::pad(const Value& value, const Value& padding_value,
                   std::span<const PaddingDimension> config, ShapeDtype result) {
  std::vector<int64_t> low, high, interior;
  for (const PaddingDimension& d : config) {
    low.push_back(d.low);
    high.push_back(d.high);
    interior.push_back(d.interior);
  }
  const auto padded = [&](ShapeDtype type) {
    return op("stablehlo.pad", {value, padding_value}, type,
              fmt::format("edge_padding_low = {}, edge_padding_high = {}, interior_padding = {}",
                          array_text(low), array_text(high), array_text(interior)));
  };
  const auto is_negative = [](const PaddingDimension& d) { return d.low < 0 || d.high < 0; };
  if (free_axes().empty() || std::ranges::none_of(config, is_negative)) return padded(result);
  // XLA ends the process where it divides a dimension with negative padding.
  std::vector<int64_t> starts, limits, sizes;
  for (size_t d = 0; d < config.size(); ++d) {
    starts.push_back(-std::min<int64_t>(low[d], 0));
    limits.push_back(starts[d] + result.shape()[d]);
    sizes.push_back(limits[d] - std::min<int64_t>(high[d], 0));
    low[d] = std::max<int64_t>(low[d], 0);
    high[d] = std::max<int64_t>(high[d], 0);
  }
  return op("stablehlo.slice", {padded(ShapeDtype(result.dtype(), sizes))}, result,
            slice_text(starts, limits, std::vector<int64_t>(sizes.size(), 1)));
}

Value Emitter::compare(std::string_view direction, const Value& a, const Value& b) {
  return op("stablehlo.compare", {a, b}, a.type.with_dtype(DType::kBool),
            fmt::format("comparison_direction = #stablehlo<comparison_direction {}>", direction));
}

Value Emitter::select(const Value& which, const Value& if_true, const Value& if_false) {
  return op("stablehlo.select", {which, if_true, if_false}, if_true.type);
}

Value Emitter::run_argument() const {
  return {inner_ ? inner_->name + "_run" : "%run", ShapeDtype(DType::kUInt64, {})};
}

const Value& Emitter::run() {
  if (run_.name.empty()) run_ = run_argument();
  takes_run_ = true;
  return run_;
}

Module Emitter::finish(const Program& program, const Values& inputs, const Values& outputs) {
  Values arguments = inputs;
  arguments.insert(arguments.end(), hidden_.begin(), hidden_.end());
  if (takes_run_) arguments.push_back(run_argument());
  // The shardings of arguments and results. Arguments after the program's own are replicated.
  const MeshLayout* layout = options_.layout;
  const auto attributes = [&](ShapeDtype type, const std::vector<PartitionSpec>& specs, size_t i,
                              bool is_donated) {
    std::vector<std::string> texts;
    if (is_donated) texts.emplace_back("jax.buffer_donor = true");
    if (layout) {
      texts.push_back("sdy.sharding = #sdy.sharding" +
                      sharding_text(type, i < specs.size() ? specs[i] : PartitionSpec()));
    }
    return texts.empty() ? std::string() : fmt::format(" {{{}}}", fmt::join(texts, ", "));
  };
  const auto is_donated = [&](size_t i) {
    return i < options_.donated.size() && options_.donated[i];
  };
  const std::vector<PartitionSpec> none;
  std::string header, results;
  for (size_t i = 0; i < arguments.size(); ++i) {
    header += fmt::format(
        "{}{}: {}{}", i == 0 ? "" : ", ", arguments[i].name, type_text(arguments[i].type),
        attributes(arguments[i].type, layout ? layout->inputs : none, i, is_donated(i)));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    results += fmt::format("{}{}{}", i == 0 ? "" : ", ", type_text(outputs[i].type),
                           attributes(outputs[i].type, layout ? layout->outputs : none, i,
                                      /*is_donated=*/false));
  }
  std::string name;
  for (const char c : program.name) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  op("func.return", outputs, std::span<const ShapeDtype>(), {});
  Module module;
  module.text =
      fmt::format("module @program_{}{}  func.func public @main({}) -> ({}) {{\n{}  }}\n}}\n", name,
                  layout ? mesh_text(layout->mesh) : " {\n", header, results, text_);
  module.constants = std::move(constants_);
  module.takes_run = takes_run_;
  return module;
}

}  // namespace farcall::stablehlo
