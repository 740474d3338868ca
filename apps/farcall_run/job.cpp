#include "farcall_run/job.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include <fmt/format.h>

#include <farcall/core/element_text.h>
#include <farcall/core/error.h>
#include <farcall/core/quote.h>
#include <farcall/ffi/library.h>
#include <farcall/ffi/registry.h>
#include <farcall/ops/ffi_call.h>
#include <farcall/program/save.h>
#include <farcall/program/text.h>
#include <farcall/trace/record.h>

#include "farcall_run/npy.h"
#include "tools/check/data.h"
#include "tools/failure.h"
#include "tools/operand.h"
#include "tools/state_types.h"

namespace farcall::runner {
namespace {

using tools::Failure;

// ---- targets ----

// Registers LIBRARY:SYMBOL, with the other stages that are named after it.
void register_handler(const std::string& name, const std::string& target) {
  const size_t colon = name.rfind(':');
  if (colon == std::string::npos || colon + 1 == name.size()) {
    throw Failure(tools::kUsage,
                  fmt::format("--lib: {} is not LIBRARY:SYMBOL=TARGET.", farcall::quoted(name)));
  }
  std::string path = name.substr(0, colon);
  const std::string symbol = name.substr(colon + 1);
  if (path.find('/') == std::string::npos) path = "./" + path;
  const Library library = load_library(path);
  tools::adopt_state_types();
  HandlerBundle bundle{.execute = library.handler(symbol)};
  const auto stage = [&](const char* suffix) {
    return reinterpret_cast<FARCALL_FFI_Handler*>(library.find_symbol(symbol + suffix));
  };
  bundle.instantiate = stage("_instantiate");
  bundle.prepare = stage("_prepare");
  bundle.initialize = stage("_initialize");
  register_ffi_target(target, bundle);
}

void register_library(const std::string& text) {
  const size_t equals = text.rfind('=');
  const std::string handler = text.substr(0, equals);
  register_handler(handler, equals == std::string::npos ? handler.substr(handler.rfind(':') + 1)
                                                        : text.substr(equals + 1));
}

// ---- arguments ----

// The type at the beginning of an argument.
ShapeDtype type_of(std::string_view text, std::string_view what) {
  const auto type = tools::parse_operand(text).type({});
  if (type) return *type;
  throw Failure(tools::kUsage, fmt::format("--arg {}: each dimension must be an integer that is "
                                           "not negative, and the array at most 2^63 - 1 bytes.",
                                           farcall::quoted(what)));
}

void check_letters(std::string_view text, std::string_view what) {
  for (const tools::SizeExpression& extent : tools::parse_operand(text).extents) {
    if (extent.letters().empty()) continue;
    throw Failure(tools::kUsage, fmt::format("{} {}: sizes are numbers here, got \"{}\".", what,
                                             farcall::quoted(text), extent.to_string()));
  }
}

Array random_array(ShapeDtype type, uint64_t seed) {
  const std::vector<std::byte> bytes = tools::random_values(type, seed, std::nullopt);
  Storage storage = Storage::allocate(type.nbytes());
  if (!bytes.empty()) std::memcpy(storage.data(), bytes.data(), bytes.size());
  return {type, std::move(storage)};
}

// "1,2,3", one value for each element or one for all.
Array array_of(ShapeDtype type, std::string_view values, std::string_view whole) {
  const auto parts = values.empty() ? std::vector<std::string>() : tools::split(values, ',');
  const auto size = static_cast<size_t>(type.size());
  if (parts.size() != size && parts.size() != 1) {
    throw Failure(tools::kUsage,
                  fmt::format("--arg {}: {} has {} elements, got {} values; write "
                              "one for each, or one for all.",
                              farcall::quoted(whole), type.to_string(), size, parts.size()));
  }
  const size_t width = byte_width(type.dtype());
  Storage storage = Storage::allocate(type.nbytes());
  auto* const data = static_cast<std::byte*>(storage.data());
  for (size_t i = 0; i < size; ++i) {
    std::string word = parts.size() == 1 ? parts[0] : parts[i];
    if (word == "true" || word == "false") word[0] = static_cast<char>(word[0] - 'a' + 'A');
    try {
      parse_element(type.dtype(), word, data + i * width);
    } catch (const Error& error) {
      throw Failure(tools::kUsage,
                    fmt::format("--arg {}: {}", farcall::quoted(whole), error.message()));
    }
  }
  return {type, std::move(storage)};
}

// `wanted` is null for a handler, whose arguments specify their types.
Array argument(const std::string& text, const ShapeDtype* wanted, uint64_t seed) {
  if (text == "random") {
    if (wanted) return random_array(*wanted, seed);
    throw Failure(tools::kUsage,
                  "--arg random: a handler's argument needs a type, such as f32[4].");
  }
  if (text.ends_with(".npy")) {
    try {
      return read_npy(text);
    } catch (const Error& error) {
      throw Failure(tools::kUsage, fmt::format("--arg {}", error.message()));
    }
  }
  const size_t equals = text.find('=');
  const std::string type_text = text.substr(0, equals);
  check_letters(type_text, "--arg");
  const ShapeDtype type = type_of(type_text, text);
  return equals == std::string::npos
             ? random_array(type, seed)
             : array_of(type, std::string_view(text).substr(equals + 1), text);
}

std::vector<Array> arguments_of(const command::RunOptions& options, const Program& program) {
  const std::vector<ShapeDtype> types = program.input_types();
  if (options.arguments.size() > types.size()) {
    throw Failure(tools::kUsage, fmt::format("the program takes {} arguments, got {}", types.size(),
                                             options.arguments.size()));
  }
  std::vector<Array> arguments;
  for (size_t i = 0; i < types.size(); ++i) {
    const uint64_t seed = options.seed * 64 + i;
    arguments.push_back(i < options.arguments.size()
                            ? argument(options.arguments[i], &types[i], seed)
                            : random_array(types[i], seed));
    const ShapeDtype type = arguments.back().type();
    if (type.strengthened() != types[i].strengthened()) {
      throw Failure(tools::kUsage, fmt::format("argument {} of the program is {}, got {}.", i,
                                               types[i].to_string(), type.to_string()));
    }
  }
  return arguments;
}

// ---- programs ----

std::string contents_of(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  if (std::filesystem::is_directory(path)) {
    throw Failure(tools::kUsage, fmt::format("{} is a folder, not a file.", farcall::quoted(path)));
  }
  std::ifstream in(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (in.bad() || !in.is_open()) {
    throw Failure(tools::kCouldNotRun, fmt::format("{} cannot be read.", farcall::quoted(path)));
  }
  return bytes;
}

ProgramPtr read_program(const std::string& path) {
  const std::string bytes = contents_of(path);
  if (bytes.starts_with("\x7f"
                        "ELF")) {
    throw Failure(tools::kUsage, fmt::format("{} is a library: name its handler, {}:SYMBOL.",
                                             farcall::quoted(path), path));
  }
  if (std::filesystem::path(path).extension() == ".py") {
    throw Failure(tools::kUsage,
                  fmt::format("{} is Python. Give a file of program text, which "
                              "farcall.make_program(f)(*arguments).to_text() returns.",
                              farcall::quoted(path)));
  }
  const ProgramPtr program = with_error_prefix(path == "-" ? "standard input" : path, [&] {
    return bytes.starts_with("farcall\n") ? deserialize_program(bytes).program
                                          : parse_program(bytes);
  });
  if (!program->name.empty()) return program;
  // The name that appears in profiles.
  auto named = std::make_shared<Program>(*program);
  named->name = path == "-" ? "a program" : std::filesystem::path(path).stem().string();
  return named;
}

// A program of one call.
Job job_of_handler(const command::RunOptions& options) {
  const std::string symbol = options.program.substr(options.program.rfind(':') + 1);
  register_handler(options.program, symbol);
  Job job;
  std::vector<ShapeDtype> results, types;
  for (const std::string& text : options.results) {
    check_letters(text, "--ret");
    results.push_back(type_of(text, text));
  }
  for (const std::string& text : options.arguments) {
    job.arguments.push_back(argument(text, nullptr, options.seed * 64 + job.arguments.size()));
    types.push_back(job.arguments.back().type());
  }
  Attributes attributes;
  for (const std::string& text : options.attributes) tools::parse_attribute(text, attributes);
  // Kept even if it has no results: the handler tells how many it has.
  const FfiCall call(symbol, results, {.has_side_effect = true});
  auto program = std::make_shared<Program>(*record(
      [&](std::span<const Array> inputs) { return call(inputs, attributes); }, types, symbol));
  // Errors name the user's lines, and this one is not the user's.
  for (Equation& equation : program->equations) equation.where = nullptr;
  job.program = std::move(program);
  return job;
}

}  // namespace

Job make_job(const command::RunOptions& options) {
  for (const std::string& text : options.libraries) register_library(text);
  const std::string& name = options.program;
  if (name == "-" || std::filesystem::exists(name)) {
    if (!options.results.empty() || !options.attributes.empty()) {
      throw Failure(tools::kUsage, "--ret and --attr are for a handler; a program has its own.");
    }
    Job job{read_program(name), {}};
    job.arguments = arguments_of(options, *job.program);
    return job;
  }
  const std::string file = name.substr(0, name.rfind(':'));
  if (file == name || !std::filesystem::exists(file)) {
    throw Failure(tools::kCouldNotRun, fmt::format("there is no file {}.", farcall::quoted(file)));
  }
  return job_of_handler(options);
}

}  // namespace farcall::runner
