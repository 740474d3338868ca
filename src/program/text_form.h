// The text inside a saved program. It differs from other text in two ways: nested programs come
// before the programs that run them, each once, and are referred to by number ("jaxpr=@2");
// constants are in a block of bytes and are referred to by offset ("a:f32[3]=@64").
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <farcall/core/storage.h>
#include <farcall/ffi/attribute.h>
#include <farcall/program/program.h>

#include "program/scanner.h"

namespace farcall {

// The name of each variable: letters in the order of appearance, "_" for unused results.
std::vector<std::string> variable_names(const Program& program);

// What printed text refers to.
struct SavedParts {
  std::unordered_map<const Program*, size_t> programs;
  std::map<std::pair<const void*, size_t>, size_t> constants;  // by address and size

  size_t number_of(const Program* program) const { return programs.at(program); }
  size_t offset_of(const Storage& storage) const {
    return constants.at({static_cast<const void*>(storage.data()), storage.nbytes()});
  }
};
std::string saved_text(const Program& program, const SavedParts& saved);

// What parsed text refers to.
struct LoadedParts {
  std::vector<ProgramPtr> programs;
  std::span<const std::byte> data;
  std::map<std::pair<size_t, size_t>, Storage> constants;  // by offset and size; made on first use
};
// The result is not verified yet. `parts` is null for text that is not part of a saved program.
ProgramPtr read_program(Scanner& in, LoadedParts* parts, std::string name = {});
Attributes read_attributes(Scanner& in);

// Runs `read`. Errors that do not come from the scanner get the scanner's current position.
template <class F>
auto read_with_place(Scanner& in, F&& read) {
  try {
    return read();
  } catch (const Error& error) {
    if (error.message().starts_with(Scanner::kErrorPrefix)) throw;
    in.fail(error.message());
  }
}

}  // namespace farcall
