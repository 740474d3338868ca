// Reads a shared library as a file, without loading it: whether it is complete and for this
// machine, and which symbols it has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace farcall::tools {

struct ElfSymbol {
  std::string name;
  uint64_t address;  // relative to the load address
  uint64_t size;
  bool is_function;
  bool is_exported;
};

struct ElfFile {
  std::string path;
  std::string machine;             // "x86-64"
  std::vector<ElfSymbol> symbols;  // defined ones: exported, and local ones unless stripped
  // Whether it contains text that the headers for XLA's interface compile into handlers.
  bool mentions_ffi = false;
  bool mentions_xla = false;  // those of XLA's own header
  // "address", "thread", "memory" or "undefined" if it was built with this sanitizer, whose runtime
  // has to be in the process from its start.
  std::string sanitizer = {};
  // Whether it loads GCC's runtime of UndefinedBehaviorSanitizer.
  bool loads_ubsan = false;
};

// Raises Failure(kCouldNotRun) with the reason: no such file, not ELF, truncated, another machine.
ElfFile read_elf(const std::string& path);

// The function or variable that contains this address; null if there is none.
const ElfSymbol* symbol_at(const ElfFile& file, uint64_t address);
const ElfSymbol* variable_at(const ElfFile& file, uint64_t address);

}  // namespace farcall::tools
