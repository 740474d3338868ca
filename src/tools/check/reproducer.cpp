// Writes the call of a finding as a command and as tests.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/check/call.h"
#include "tools/check/report.h"
#include "tools/python.h"
#include "tools/state_types.h"

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
  std::string number = text.substr(0, text.rfind(':'));
  std::string type(element_type_name(value.dtype()));
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

// The type in C++ whose values are written for elements; formats that C++ lacks are written as
// bits.
std::string cpp_element(DType dtype) {
  const auto& info = dtype_info(dtype);
  if (dtype == DType::kFloat32 || dtype == DType::kComplex64) return "float";
  if (dtype == DType::kFloat64 || dtype == DType::kComplex128) return "double";
  if (dtype == DType::kBool) return "bool";
  const bool is_signed = info.kind == DTypeKind::kSigned;
  return fmt::format("{}int{}_t", is_signed ? "" : "u", byte_width(dtype) * 8);
}

template <typename T>
std::string cpp_numbers(std::span<const std::byte> bytes) {
  std::string text;
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    if (at > 0) text += ", ";
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) {
        text += std::isnan(value) ? "NAN" : value > 0 ? "INFINITY" : "-INFINITY";
        continue;
      }
      text += fmt::format("{}", value);
      if (text.find_first_of(".e", text.rfind(' ') + 1) == std::string::npos) text += ".0";
    } else {
      text += fmt::format("{}", value);
    }
  }
  return text;
}

std::string cpp_elements(DType dtype, std::span<const std::byte> bytes) {
  const std::string type = cpp_element(dtype);
  if (type == "float") return cpp_numbers<float>(bytes);
  if (type == "double") return cpp_numbers<double>(bytes);
  if (type == "int8_t") return cpp_numbers<int8_t>(bytes);
  if (type == "int16_t") return cpp_numbers<int16_t>(bytes);
  if (type == "int32_t") return cpp_numbers<int32_t>(bytes);
  if (type == "int64_t") return cpp_numbers<int64_t>(bytes);
  if (type == "uint16_t") return cpp_numbers<uint16_t>(bytes);
  if (type == "uint32_t") return cpp_numbers<uint32_t>(bytes);
  if (type == "uint64_t") return cpp_numbers<uint64_t>(bytes);
  return cpp_numbers<uint8_t>(bytes);
}

std::string cpp_value(const Attribute& value) {
  if (value.kind() == Attribute::Kind::kString) return quoted_text(value.as_string());
  if (value.kind() == Attribute::Kind::kDictionary) {
    std::vector<std::string> members;
    for (const auto& [name, member] : value.as_dictionary())
      members.push_back(fmt::format("{{\"{}\", {}}}", name, cpp_value(member)));
    return fmt::format("farcall::Attributes{{{}}}", fmt::join(members, ", "));
  }
  const std::string text = value.typed().to_string();
  const std::string number = text.substr(0, text.rfind(':'));
  const std::string type = cpp_element(value.dtype());
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

// A C++ test that fails until the handler is mended, if a program can see the defect without a
// sanitizer.
class CppTest {
 public:
  CppTest(const CheckReport& report, const CheckFinding& finding)
      : spec_(report.spec), finding_(finding) {}

  std::string text() {
    text_ = "#include <cmath>\n#include <cstdint>\n#include <cstring>\n#include <vector>\n\n";
    if (is_leak()) text_ += "#include <malloc.h>\n\n";
    text_ +=
        "#include <gtest/gtest.h>\n\n#include <farcall/farcall.h>\n"
        "#include <farcall/ffi/library.h>\n\n";
    text_ += fmt::format("TEST({}, {}) {{\n", spec_.symbol, test_name(finding_));
    line("// {}", finding_.message);
    line("const auto library = farcall::load_library(\"{}\");", absolute(spec_.library));
    register_state_types();
    line("farcall::register_ffi_target(\"{}\", farcall::HandlerBundle{{{}}});", spec_.symbol,
         stage_lines(spec_, ".{} = library.handler(\"{}\")"));
    for (size_t i = 0; i < finding_.test.arguments.size(); ++i) add_argument(i);
    for (size_t i = 0; i < finding_.test.results.size(); ++i) add_result(i);
    add_list("arguments", arguments_);
    add_list("results", results_);
    std::vector<std::string> attributes;
    for (const auto& [name, value] : spec_.attributes)
      attributes.push_back(fmt::format("{{\"{}\", {}}}", name, cpp_value(value)));
    line("const farcall::Attributes attributes = {{{}}};", fmt::join(attributes, ", "));
    add_calls();
    return text_ + "}\n";
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += "  " + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  // A test has no Python module that registers them.
  void register_state_types() {
    const ElfFile file = read_elf(spec_.library);
    bool is_first = true;
    for (const ElfSymbol& id : state_type_ids(file)) {
      if (!id.is_exported) continue;
      if (is_first) {
        line("const FARCALL_FFI_TypeInfo state = {{sizeof(state), nullptr, [](void*) {{}}}};");
      }
      is_first = false;
      line("farcall::register_ffi_type(\"{}\",", type_of(id));
      line("    static_cast<FARCALL_FFI_TypeId*>(library.symbol(\"{}\")), &state);", id.name);
    }
  }

  bool is_kind(std::string_view kind) const { return finding_.kind == kind; }
  bool is_leak() const { return is_kind("leak") && finding_.operand == "heap"; }

  std::optional<size_t> argument_of(size_t result) const {
    for (const auto& [argument, aliased] : spec_.aliases) {
      if (aliased == result) return argument;
    }
    return std::nullopt;
  }

  static std::string buffer(const ShapeDtype& type, const std::string& memory) {
    return fmt::format("{{{{{}, {}}}, {}.data()}}", cpp_dtype(type.dtype()), cpp_shape(type),
                       memory);
  }

  void add_list(std::string_view name, const std::vector<std::string>& buffers) {
    line("const std::vector<farcall::RawBuffer> {} = {{{}}};", name, fmt::join(buffers, ", "));
  }

  void add_argument(size_t index) {
    const ShapeDtype& type = finding_.test.arguments[index];
    const std::string name = fmt::format("arg{}", index);
    line("const auto {} = farcall::Storage::allocate({});", name, type.nbytes());
    arguments_.push_back(buffer(type, name));
    if (type.nbytes() == 0) return;
    auto values = random_values(type, argument_seed(finding_.data_seed, index),
                                spec_.arguments[index].range, finding_.values);
    const bool is_whole = values.size() <= kMostPrintedBytes;
    if (!is_whole) values.resize(kMostPrintedBytes / 16);
    line("const {} values{}[] = {{{}}};", cpp_element(type.dtype()), index,
         cpp_elements(type.dtype(), values));
    if (is_whole) {
      line("std::memcpy({}.data(), values{}, sizeof(values{}));", name, index, index);
      return;
    }
    line("for (size_t i = 0; i < {}; ++i)  // the first values, repeated", type.nbytes());
    line(
        "  static_cast<char*>({}.data())[i] = "
        "reinterpret_cast<const char*>(values{})[i % sizeof(values{})];",
        name, index, index);
  }

  void add_result(size_t index) {
    const ShapeDtype& type = finding_.test.results[index];
    const auto argument = argument_of(index);
    if (argument && !is_kind("alias")) {
      results_.push_back(buffer(type, fmt::format("arg{}", *argument)));
      return;
    }
    const std::string name = fmt::format("ret{}", index);
    line("const auto {} = farcall::Storage::allocate({});", name, type.nbytes());
    if (argument && type.nbytes() > 0)
      line("std::memcpy({}.data(), arg{}.data(), {});", name, *argument, type.nbytes());
    results_.push_back(buffer(type, name));
  }

  void add_call(std::string_view results = "results", std::string_view indent = "") {
    line("{}farcall::call_target(\"{}\", arguments, {}, attributes);", indent, spec_.symbol,
         results);
  }

  void add_calls() {
    if (is_kind("alias")) return compare_shared();
    if (is_leak()) return count_heap();
    if (is_kind("uninitialised-read") || is_kind("nondeterministic")) return compare_two_calls();
    if (is_kind("race"))
      line("// One thread alone sees no race: call it from several, under -fsanitize=thread.");
    if (finding_.is_undefined_behaviour) {
      line("// Set UBSAN_OPTIONS=halt_on_error=1: the sanitizer then ends the process.");
    } else if (is_kind("oob-read")) {
      line("// Reads show only in a handler that is compiled with -fsanitize=address.");
    }
    if (is_kind("leak")) line("// See /proc/self/fd and /proc/self/maps after many calls.");
    line("// Runs the call between guard bytes, and compares the arguments after it.");
    line("const farcall::FlagScope checks(farcall::Flag::kCheckForeignCalls, 1);");
    add_call();
    if (!finding_.expected.empty()) compare_with_expected();
  }

  // The same call with results in the memory of their arguments.
  void compare_shared() {
    add_call();
    std::vector<std::string> shared = results_;
    for (const auto& [argument, result] : spec_.aliases)
      shared[result] = buffer(finding_.test.results[result], fmt::format("arg{}", argument));
    add_list("shared", shared);
    for (size_t i = 0; i < results_.size(); ++i) {
      if (argument_of(i)) continue;
      line(
          "std::vector<char> separate{}(static_cast<const char*>(ret{}.data()), "
          "static_cast<const char*>(ret{}.data()) + {});",
          i, i, i, finding_.test.results[i].nbytes());
    }
    add_call("shared");
    for (size_t i = 0; i < results_.size(); ++i) {
      const auto argument = argument_of(i);
      line("EXPECT_EQ(std::memcmp({}{}.data(), {}{}.data(), {}), 0);",
           argument ? "ret" : "separate", i, argument ? "arg" : "ret", argument.value_or(i),
           finding_.test.results[i].nbytes());
    }
  }

  void count_heap() {
    line("const auto bytes_in_use = [] {{ return mallinfo2().uordblks + mallinfo2().hblkhd; }};");
    line("size_t before = 0;");
    line("for (int i = 0; i < 110; ++i) {{");
    line("  if (i == 10) before = bytes_in_use();");
    line("  try {{");
    add_call("results", "    ");
    line("  }} catch (const farcall::FfiError&) {{  // it may leak where it fails");
    line("  }}");
    line("}}");
    line("EXPECT_LT(bytes_in_use(), before + 100 * 16);  // -fsanitize=leak shows where");
  }

  void compare_two_calls() {
    line("// Results hold other bytes before each call; scratch and the heap may have to, too.");
    for (size_t i = 0; i < results_.size(); ++i) {
      if (!argument_of(i))
        line("std::memset(ret{}.data(), 0xff, {});", i, finding_.test.results[i].nbytes());
    }
    add_call();
    for (size_t i = 0; i < results_.size(); ++i) {
      if (argument_of(i)) continue;
      const size_t nbytes = finding_.test.results[i].nbytes();
      line("std::vector<char> first{}({});", i, nbytes);
      line("std::memcpy(first{}.data(), ret{}.data(), {});", i, i, nbytes);
      line("std::memset(ret{}.data(), 0, {});", i, nbytes);
    }
    add_call();
    for (size_t i = 0; i < results_.size(); ++i) {
      if (!argument_of(i))
        line("EXPECT_EQ(std::memcmp(ret{}.data(), first{}.data(), {}), 0);", i, i,
             finding_.test.results[i].nbytes());
    }
  }

  void compare_with_expected() {
    const DType dtype = finding_.test.results[finding_.result].dtype();
    const std::string type = cpp_element(dtype);
    const std::string expected = cpp_elements(dtype, finding_.expected);
    const bool has_special = expected.find('N') != std::string::npos;  // NAN or INFINITY
    const auto argument = argument_of(finding_.result);
    line("const {} expected[] = {{{}}};  // in the order of memory", type, expected);
    line("const auto* values = static_cast<const {}*>({}{}.data());", type,
         argument ? "arg" : "ret", argument.value_or(finding_.result));
    line("for (size_t i = 0; i < std::size(expected); ++i) {{");
    if (type == "float" || type == "double") {
      if (has_special) {
        line("  if (std::isnan(expected[i]) && std::isnan(values[i])) continue;");
        line("  if (std::isinf(expected[i]) && values[i] == expected[i]) continue;");
        line("  ASSERT_FALSE(std::isinf(expected[i])) << values[i];");
      }
      line("  EXPECT_NEAR(values[i], expected[i], 1e-3 * (1 + std::abs(expected[i]))) << i;");
    } else {
      line("  EXPECT_EQ(values[i], expected[i]) << i;");
    }
    line("}}");
  }

  const CheckSpec& spec_;
  const CheckFinding& finding_;
  std::string text_;
  std::vector<std::string> arguments_, results_;
};

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
  if (is_python_module(report.spec.library)) {
    return fmt::format("// {} gives the handler in Python alone: see the Python test.\n",
                       report.spec.library);
  }
  return CppTest(report, finding).text();
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
  for (const ShapeDtype& type : finding.test.arguments) arguments.push_back(type_text(type));
  for (const ShapeDtype& type : finding.test.results) results.push_back(type_text(type));
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
