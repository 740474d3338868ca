// A shared library read as a file, without loading it: is it whole, is it for this machine, and
// which symbols does it have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace farcall::tools {

struct ElfSymbol {
  std::string name;
  uint64_t address;  // from where the library is loaded
  uint64_t size;
  bool is_function;
  bool is_exported;
};

struct ElfFile {
  std::string path;
  std::string machine;             // "x86-64"
  std::vector<ElfSymbol> symbols;  // defined ones: exported, and local ones that were not stripped
  // It holds text that handlers of the headers for XLA's interface leave in a library.
  bool mentions_ffi = false;
};

// Raises Failure(kCouldNotRun) with what is wrong: no such file, no ELF, cut off, another machine.
ElfFile read_elf(const std::string& path);

// The symbol whose code holds this address; null when there is none.
const ElfSymbol* symbol_at(const ElfFile& file, uint64_t address);

}  // namespace farcall::tools
