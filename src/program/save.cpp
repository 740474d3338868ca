// Saving and loading programs; include/farcall/program/save.h describes the format.
#include <farcall/program/save.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/file.h>
#include <farcall/core/quote.h>
#include <farcall/ffi/registry.h>
#include <farcall/ffi/signature.h>
#include <farcall/program/verify.h>
#include <farcall/program/walk.h>

#include "program/text_form.h"

namespace farcall {
namespace {

static_assert(std::endian::native == std::endian::little);

struct Header {
  char magic[8] = {'f', 'a', 'r', 'c', 'a', 'l', 'l', '\n'};
  uint32_t version = 1;
  uint32_t zero = 0;
  uint64_t checksum = 0;
  uint64_t text_size = 0;
  uint64_t data_size = 0;
};
static_assert(sizeof(Header) == 40);

// Multiplies and folds each group of eight bytes; the last group is padded with zeros. Each step is
// invertible, so a change within one group always changes the checksum.
uint64_t checksum(std::string_view bytes) {
  uint64_t sum = bytes.size();
  for (size_t i = 0; i < bytes.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min<size_t>(8, bytes.size() - i));
    sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
    sum ^= sum >> 32;
  }
  return sum;
}

size_t rounded(size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

[[noreturn]] void invalid(std::string_view what) {
  invalid_argument(fmt::format("saved program: {}", what));
}

// ---- writing ----

// Numbers the programs, inner ones first, and assigns offsets to their constants.
class Parts {
 public:
  explicit Parts(const Program& program) {
    for_each_program(program, [this](const Program& each) { add(each); });
  }

  SavedParts parts;
  std::vector<const Program*> order;
  std::vector<const Storage*> constants;  // in the order of the data
  size_t data_size = 0;

 private:
  void add(const Program& program) {
    parts.programs.emplace(&program, order.size());
    order.push_back(&program);
    for (const Constant& constant : program.constants) {
      const Storage& storage = constant.storage;
      if (storage.nbytes() == 0) continue;
      const auto [it, is_new] =
          parts.constants.try_emplace({storage.data(), storage.nbytes()}, data_size);
      if (!is_new) continue;
      constants.push_back(&storage);
      data_size += rounded(storage.nbytes());
    }
  }
};

void check_no_callbacks(const Program& program) {
  if (!program.holds_callback) return;
  for_each_program(program, [](const Program& each) {
    for (const Equation& equation : each.equations) {
      if (!equation.primitive->is_callback()) continue;
      invalid(fmt::format(
          "{} {} is a function of this process and cannot be saved; register a target and use "
          "ffi_call for programs that other processes load",
          equation.primitive->name,
          equation.primitive->foreign_target(equation.params.get()).name));
    }
  });
}

std::string signature_of(const SavedTarget& target) {
  try {
    return describe_target(*find_target(target.name, target.platform,
                                        static_cast<int>(target.custom_call_api_version)));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    return {};
  }
}

Attributes to_attributes(const SavedTarget& target) {
  return {{"name", target.name},
          {"platform", target.platform},
          {"custom_call_api_version", target.custom_call_api_version},
          {"signature", target.signature}};
}

// ---- reading ----

std::string string_in(const Attributes& attributes, std::string_view name) {
  const Attribute* found = attributes.find(name);
  if (!found) {
    invalid_argument(fmt::format("a target has no {}", name));
  }
  return found->as_string();
}

SavedTarget to_target(const Attributes& attributes) {
  SavedTarget target{string_in(attributes, "name"), string_in(attributes, "platform"), 4,
                     string_in(attributes, "signature")};
  if (const Attribute* version = attributes.find("custom_call_api_version")) {
    target.custom_call_api_version = version->as<int64_t>();
  }
  if (target.custom_call_api_version < 0 || target.custom_call_api_version > 4) {
    invalid_argument(fmt::format("custom_call_api_version must be from 0 to 4, got {}",
                                 target.custom_call_api_version));
  }
  return target;
}

Header read_header(std::string_view bytes) {
  Header header;
  if (bytes.size() < sizeof(header) || std::memcmp(bytes.data(), header.magic, 8) != 0) {
    invalid("wrong file signature: these bytes are not a saved program");
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.version != 1) {
    throw Error(ErrorCode::kUnimplemented,
                fmt::format("saved program: unsupported format version {}, this farcall reads "
                            "version 1; use the farcall that saved it, or a newer one",
                            header.version));
  }
  const std::string_view rest = bytes.substr(sizeof(header));
  if (header.text_size > rest.size() || header.data_size != rest.size() - header.text_size) {
    invalid(
        fmt::format("expected {} bytes of text and {} of data, got {} bytes in all: the data were "
                    "truncated or extended",
                    header.text_size, header.data_size, rest.size()));
  }
  if (header.zero != 0 || header.checksum != checksum(rest)) {
    invalid("checksum mismatch: the data were changed after saving");
  }
  return header;
}

LoadedProgram read_text(std::string_view text, std::string_view data) {
  Scanner in(text);
  LoadedProgram loaded;
  LoadedParts parts;
  parts.data = std::as_bytes(std::span(data));
  read_with_place(in, [&] {
    in.expect_word("metadata");
    loaded.metadata = read_attributes(in);
    while (in.accept_word("target")) loaded.targets.push_back(to_target(read_attributes(in)));
    while (in.accept_word("program")) {
      std::string name = in.quoted();
      parts.programs.push_back(read_program(in, &parts, std::move(name)));
    }
    if (!in.at_end()) in.fail("expected \"program\"");
    if (parts.programs.empty()) in.fail("there is no program");
  });
  loaded.program = parts.programs.back();
  verify(*loaded.program);
  return loaded;
}

struct Problem {
  ErrorCode code;
  std::string text;
};

std::optional<Problem> check_target(const SavedTarget& saved) {
  std::string found;
  try {
    found = describe_target(
        *find_target(saved.name, saved.platform, static_cast<int>(saved.custom_call_api_version)));
  } catch (const Error& error) {
    return Problem{error.code(),
                   fmt::format("the program calls \"{}\": {}", saved.name, error.message())};
  }
  if (saved.signature.empty() || saved.signature == found) return std::nullopt;
  return Problem{
      ErrorCode::kFailedPrecondition,
      fmt::format("\"{}\" on platform \"{}\" has another signature than when the program "
                  "was saved:\n  saved: {}\n  found: {}",
                  saved.name, saved.platform, saved.signature, found)};
}

}  // namespace

std::vector<SavedTarget> foreign_targets(const Program& program, const std::string& platform) {
  std::map<std::pair<std::string, int64_t>, SavedTarget> found;
  for_each_program(program, [&](const Program& each) {
    for (const Equation& equation : each.equations) {
      if (equation.primitive->kind != PrimitiveKind::kForeignCall) continue;
      const ForeignTarget target = equation.primitive->foreign_target(equation.params.get());
      const auto [it, is_new] =
          found.try_emplace({target.name, target.api_version},
                            SavedTarget{target.name, platform, target.api_version, {}});
      if (is_new) it->second.signature = signature_of(it->second);
    }
  });
  std::vector<SavedTarget> targets;
  for (auto& [key, target] : found) targets.push_back(std::move(target));
  return targets;
}

std::string serialize_program(const Program& program, const SaveOptions& options) {
  check_no_callbacks(program);
  const Parts all(program);
  std::string text = "metadata " + options.metadata.to_string() + '\n';
  for (const SavedTarget& target : foreign_targets(program, options.platform)) {
    text += "target " + to_attributes(target).to_string() + '\n';
  }
  for (const Program* each : all.order) {
    text += "program " + farcall::quoted(each->name) + ' ' + saved_text(*each, all.parts) + '\n';
  }
  text.resize(rounded(sizeof(Header) + text.size()) - sizeof(Header), '\n');

  Header header;
  header.text_size = text.size();
  header.data_size = all.data_size;
  std::string bytes(sizeof(header), '\0');
  bytes.reserve(sizeof(header) + text.size() + all.data_size);
  bytes += text;
  for (const Storage* constant : all.constants) {
    bytes.append(static_cast<const char*>(constant->data()), constant->nbytes());
    bytes.append(rounded(constant->nbytes()) - constant->nbytes(), '\0');
  }
  header.checksum = checksum(std::string_view(bytes).substr(sizeof(header)));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

LoadedProgram deserialize_program(std::string_view bytes, const LoadOptions& options) {
  const Header header = read_header(bytes);
  const std::string_view rest = bytes.substr(sizeof(header));
  LoadedProgram loaded = with_error_prefix("saved program", [&] {
    return read_text(rest.substr(0, header.text_size), rest.substr(header.text_size));
  });
  for (const SavedTarget& target : loaded.targets) {
    std::optional<Problem> problem = check_target(target);
    if (!problem) continue;
    if (options.strict) throw Error(problem->code, "saved program: " + problem->text);
    loaded.problems.push_back(std::move(problem->text));
  }
  return loaded;
}

void save_program(const std::string& path, const Program& program, const SaveOptions& options) {
  if (const auto error = replace_file(path, serialize_program(program, options))) {
    throw Error(ErrorCode::kUnavailable,
                fmt::format("save: \"{}\" cannot be written: {}", path, error.message()));
  }
}

LoadedProgram load_program(const std::string& path, const LoadOptions& options) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::string bytes;
  if (file) {
    bytes.resize(static_cast<size_t>(std::max<std::streamoff>(0, file.tellg())));
    file.seekg(0).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  if (!file) throw Error(ErrorCode::kNotFound, fmt::format("load: \"{}\" cannot be read", path));
  return with_error_prefix(fmt::format("load(\"{}\")", path),
                           [&] { return deserialize_program(bytes, options); });
}

}  // namespace farcall
