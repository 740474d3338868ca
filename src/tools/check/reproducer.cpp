// Writes the call of a finding as a command and as tests. A test makes the call once; to see what a
// plain call does not show, run it under the command or a sanitizer.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/check/report.h"
#include "tools/python.h"

namespace farcall::tools {
namespace {

// The options for an attribute; a dictionary gives one per member.
std::vector<std::string> attribute_options(const std::string& name, const Attribute& value) {
  if (value.kind() == Attribute::Kind::kString) {
    return {fmt::format("{}:str={}", name, value.as_string())};
  }
  if (value.kind() == Attribute::Kind::kDictionary) {
    std::vector<std::string> parts;
    for (const auto& [key, item] : value.as_dictionary()) {
      for (std::string& part : attribute_options(fmt::format("{}.{}", name, key), item))
        parts.push_back(part);
    }
    return parts;
  }
  const std::string text = value.typed().to_string();  // "[1,2]:i64"
  const size_t colon = text.rfind(':');
  std::string number = text.substr(0, colon), type = text.substr(colon + 1);
  if (value.kind() == Attribute::Kind::kArray) {
    number = number.substr(1, number.size() - 2);
    type += "[]";
  }
  return {fmt::format("{}:{}={}", name, type, number)};
}

std::vector<std::string> layout_options(const CheckSpec& spec) {
  std::vector<std::string> options;
  for (const bool is_argument : {true, false}) {
    const auto& operands = is_argument ? spec.arguments : spec.results;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].layout) continue;
      options.push_back(fmt::format("{}{}={}", is_argument ? "arg" : "ret", i,
                                    fmt::join(operands[i].layout->major_to_minor, ",")));
    }
  }
  return options;
}

std::vector<std::string> range_options(const CheckSpec& spec) {
  std::vector<std::string> options;
  for (size_t i = 0; i < spec.arguments.size(); ++i) {
    const auto& range = spec.arguments[i].range;
    if (range) options.push_back(fmt::format("arg{}={}:{}", i, range->first, range->second));
  }
  return options;
}

std::vector<std::string> stage_options(const CheckSpec& spec) {
  std::vector<std::string> options;
  for (int i = 0; i < kNumStages; ++i) {
    const std::string& symbol = spec.stages[static_cast<size_t>(i)];
    const auto stage = static_cast<Stage>(i);
    if (symbol.empty() || stage == Stage::kExecute) continue;
    options.push_back(fmt::format("{}={}", stage_name(stage), symbol));
  }
  return options;
}

std::string test_name(const CheckFinding& finding) {
  std::string name = finding.kind;
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string quoted_text(const std::string& text) { return fmt::format("\"{}\"", text); }

std::string cpp_value(const Attribute& value) {
  if (value.kind() == Attribute::Kind::kString) return quoted_text(value.as_string());
  if (value.kind() == Attribute::Kind::kDictionary) return "farcall::Attributes{}";
  const std::string text = value.typed().to_string();
  const std::string number = text.substr(0, text.rfind(':'));
  const DType dtype = value.dtype();
  const std::string type = dtype == DType::kFloat32   ? "float"
                           : dtype == DType::kFloat64 ? "double"
                           : dtype == DType::kBool    ? "bool"
                                                      : fmt::format("{}_t", dtype_name(dtype));
  if (value.kind() == Attribute::Kind::kArray)
    return fmt::format("std::vector<{}>{{{}}}", type, number.substr(1, number.size() - 2));
  return fmt::format("{}{{{}}}", type,
                     number == "True"    ? "true"
                     : number == "False" ? "false"
                                         : number);
}

std::string cpp_shape(const ShapeDtype& type) {
  return fmt::format("{{{}}}", fmt::join(type.shape(), ", "));
}

std::string cpp_dtype(DType dtype) {
  std::string name(dtype_name(dtype));
  name[0] = static_cast<char>(std::toupper(name[0]));
  if (name.starts_with("Uint")) name = "UInt" + name.substr(4);
  if (name.starts_with("Bfloat")) name = "BFloat" + name.substr(6);
  return "farcall::DType::k" + name;
}

// One entry per stage that is given, made by `format` from its name and symbol.
std::string stage_lines(const CheckSpec& spec, const char* format) {
  std::vector<std::string> lines;
  for (int i = 0; i < kNumStages; ++i) {
    const std::string& symbol = spec.stages[static_cast<size_t>(i)];
    if (!symbol.empty())
      lines.push_back(fmt::format(fmt::runtime(format), stage_name(static_cast<Stage>(i)), symbol));
  }
  return fmt::format("{}", fmt::join(lines, ", "));
}

std::string absolute(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace

std::string command_for(const CheckReport& report, const CheckFinding& finding) {
  const CheckSpec& spec = report.spec;
  std::string text = fmt::format("farcall check {}", spec.name());
  const auto add = [&](std::string_view option, const std::vector<std::string>& values) {
    for (const std::string& value : values) {
      const bool is_plain = value.find_first_of("[]*$ '\"") == std::string::npos;
      text += is_plain ? fmt::format(" --{} {}", option, value)
                       : fmt::format(" --{} '{}'", option, value);
    }
  };
  std::vector<std::string> aliases, sizes;
  for (const auto& [argument, result] : spec.aliases) {
    aliases.push_back(fmt::format("{}:{}", argument, result));
  }
  for (const auto& [letter, size] : finding.test.sizes) {
    sizes.push_back(fmt::format("{}={}", letter, size));
  }
  for (const Operand& operand : spec.arguments) add("arg", {operand.to_string()});
  for (const Operand& operand : spec.results) add("ret", {operand.to_string()});
  for (const auto& [name, value] : spec.attributes) add("attr", attribute_options(name, value));
  add("alias", aliases);
  add("layout", layout_options(spec));
  add("range", range_options(spec));
  add("stages", stage_options(spec));
  if (!spec.reference.empty()) add("reference", {spec.reference});
  add("size", sizes);
  return text + fmt::format(" --seed {}", report.seed);
}

std::string cpp_test(const CheckReport& report, const CheckFinding& finding) {
  const CheckSpec& spec = report.spec;
  if (is_python_module(spec.library)) {
    return fmt::format("// {} gives the handler in Python alone: see the Python test.\n",
                       spec.library);
  }
  std::string text =
      fmt::format("TEST({}, {}) {{\n  const auto library = farcall::load_library(\"{}\");\n",
                  spec.symbol, test_name(finding), absolute(spec.library));
  text += fmt::format("  farcall::register_ffi_target(\"{}\", farcall::HandlerBundle{{{}}});\n",
                      spec.symbol, stage_lines(spec, ".{} = library.handler(\"{}\")"));
  std::vector<std::string> arguments, results, attributes;
  for (const bool is_argument : {true, false}) {
    const auto& types = is_argument ? finding.test.arguments : finding.test.results;
    for (size_t i = 0; i < types.size(); ++i) {
      const std::string name = fmt::format("{}{}", is_argument ? "arg" : "ret", i);
      std::string memory = name;
      for (const auto& [argument, result] : spec.aliases) {
        if (!is_argument && result == i) memory = fmt::format("arg{}", argument);
      }
      if (memory == name)
        text += fmt::format("  const auto {} = farcall::Storage::allocate({});\n", name,
                            types[i].nbytes());
      if (is_argument)
        text += fmt::format("  std::memset({}.data(), 0, {}.nbytes());\n", name, name);
      (is_argument ? arguments : results)
          .push_back(fmt::format("{{{{{}, {}}}, {}.data()}}", cpp_dtype(types[i].dtype()),
                                 cpp_shape(types[i]), memory));
    }
  }
  for (const auto& [name, value] : spec.attributes)
    attributes.push_back(fmt::format("{{\"{}\", {}}}", name, cpp_value(value)));
  text += fmt::format(
      "  const std::vector<farcall::RawBuffer> arguments = {{{}}};\n  const "
      "std::vector<farcall::RawBuffer> results = {{{}}};\n",
      fmt::join(arguments, ", "), fmt::join(results, ", "));
  text += fmt::format("  farcall::call_target(\"{}\", arguments, results, {{{}}});  // {}\n}}\n",
                      spec.symbol, fmt::join(attributes, ", "), finding.message);
  return text;
}

std::string python_test(const CheckReport& report, const CheckFinding& finding) {
  const CheckSpec& spec = report.spec;
  const std::string library =
      is_python_module(spec.library) ? spec.library : absolute(spec.library);
  std::string text = fmt::format("def test_{}_{}() -> None:\n", spec.symbol, test_name(finding));
  text += fmt::format("    # {}\n    fc.testing.check_handler(\n        \"{}:{}\",\n",
                      finding.message, library, spec.symbol);
  const auto list = [&](std::string_view name, const std::vector<std::string>& values) {
    if (!values.empty())
      text += fmt::format("        {}=[\"{}\"],\n", name, fmt::join(values, "\", \""));
  };
  std::vector<std::string> arguments, results, attributes, aliases;
  for (const ShapeDtype& type : finding.test.arguments) arguments.push_back(type.to_string());
  for (const ShapeDtype& type : finding.test.results) results.push_back(type.to_string());
  for (const auto& [name, value] : spec.attributes) {
    for (std::string& option : attribute_options(name, value)) attributes.push_back(option);
  }
  for (const auto& [argument, result] : spec.aliases) {
    aliases.push_back(fmt::format("{}:{}", argument, result));
  }
  list("args", arguments);
  list("rets", results);
  list("attrs", attributes);
  list("aliases", aliases);
  list("layouts", layout_options(spec));
  list("ranges", range_options(spec));
  list("stages", stage_options(spec));
  if (!spec.reference.empty()) text += fmt::format("        reference=\"{}\",\n", spec.reference);
  return text + fmt::format("        seed={},\n    )\n", report.seed);
}

}  // namespace farcall::tools
