// The text inside a saved program: as other text, but programs that programs run stand before them,
// each once, and are referred to by number ("jaxpr=@2"); constants lie in a block of bytes and are
// referred to by offset ("a:f32[3]=@64").
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

// By variable: letters in the order of appearance, "_" for results that nothing reads.
std::vector<std::string> variable_names(const Program& program);

// What a text that is written refers to.
struct SavedParts {
  std::unordered_map<const Program*, size_t> programs;
  std::map<std::pair<const void*, size_t>, size_t> constants;  // by address and size

  size_t number_of(const Program* program) const { return programs.at(program); }
  size_t offset_of(const Storage& storage) const {
    return constants.at({static_cast<const void*>(storage.data()), storage.nbytes()});
  }
};
std::string saved_text(const Program& program, const SavedParts& saved);

// What a text that is read refers to.
struct LoadedParts {
  std::vector<ProgramPtr> programs;
  std::span<const std::byte> data;
  std::map<std::pair<size_t, size_t>, Storage> constants;  // by offset and size; made when read
};
// Not yet verified. `parts` is null for text that refers to nothing.
ProgramPtr read_program(Scanner& in, LoadedParts* parts, std::string name = {});
Attributes read_attributes(Scanner& in);

// Runs `read`; what the values themselves refuse is an error where the reading stands.
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
