#include "tools/elf_file.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "tools/failure.h"

namespace farcall::tools {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kOwnMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kOwnMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr uint16_t kOwnMachine = EM_RISCV;
#elif defined(__powerpc64__)
constexpr uint16_t kOwnMachine = EM_PPC64;
#else
constexpr uint16_t kOwnMachine = EM_S390;
#endif

std::string machine_name(uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "AArch64";
    case EM_RISCV:
      return "RISC-V";
    case EM_PPC64:
      return "PowerPC64";
    case EM_S390:
      return "s390x";
    case EM_386:
      return "32-bit x86";
    case EM_ARM:
      return "32-bit Arm";
    default:
      return fmt::format("machine {}", machine);
  }
}

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {
    if (!std::filesystem::exists(path_)) fail("there is no such file.");
    if (std::filesystem::is_directory(path_)) fail("this is a folder, not a shared library.");
    if (!std::filesystem::is_regular_file(path_)) {
      fail("this is a pipe or a device, not a shared library.");
    }
    std::ifstream in(path_, std::ios::binary);
    if (!in) fail("the file cannot be read.");
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
  }

  ElfFile read() {
    const auto header = checked_header();
    check_segments(header);
    ElfFile file = {.path = path_, .machine = machine_name(header.e_machine), .symbols = {}};
    for (size_t i = 0; i < header.e_shnum; ++i) {
      const auto section = at<Elf64_Shdr>(header.e_shoff + i * header.e_shentsize);
      const bool is_dynamic = section.sh_type == SHT_DYNSYM;
      if (is_dynamic || section.sh_type == SHT_SYMTAB) read_symbols(header, section, file);
    }
    // Keeps each name once, exported symbols before others.
    std::ranges::stable_sort(file.symbols, [](const auto& a, const auto& b) {
      return a.name != b.name ? a.name < b.name : a.is_exported > b.is_exported;
    });
    const auto last = std::unique(file.symbols.begin(), file.symbols.end(),
                                  [](const auto& a, const auto& b) { return a.name == b.name; });
    file.symbols.erase(last, file.symbols.end());
    file.mentions_xla = mentions("XLA_FFI");
    file.mentions_ffi =
        file.mentions_xla || mentions("FARCALL_FFI") || mentions("the call frame has ");
    if (mentions("__asan_init")) file.sanitizer = "address";
    if (mentions("__tsan_func_entry")) file.sanitizer = "thread";
    if (mentions("__msan_init")) file.sanitizer = "memory";
    // Clang's libraries do not load it, and its runtimes of other sanitizers contain it.
    const bool uses_ubsan = mentions("__ubsan_handle_");
    file.loads_ubsan = uses_ubsan && mentions("libubsan.so");
    if (uses_ubsan && !file.loads_ubsan && file.sanitizer.empty()) file.sanitizer = "undefined";
    return file;
  }

 private:
  bool mentions(std::string_view text) const {
    return std::string_view(bytes_).find(text) != std::string_view::npos;
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw Failure(kCouldNotRun, fmt::format("{}: {}", path_, why));
  }
  [[noreturn]] void cut_off(uint64_t wanted) const {
    fail(fmt::format("the file is truncated: expected {} bytes, got {}. Build or copy it again.",
                     wanted, bytes_.size()));
  }

  template <typename T>
  T at(uint64_t offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) cut_off(offset + sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  std::string text_at(uint64_t offset) const {
    if (offset >= bytes_.size()) cut_off(offset + 1);
    return {bytes_.data() + offset, strnlen(bytes_.data() + offset, bytes_.size() - offset)};
  }

  Elf64_Ehdr checked_header() const {
    if (bytes_.empty()) fail("the file is empty.");
    if (!bytes_.starts_with(ELFMAG)) {
      const bool is_script = bytes_.starts_with("#!") || bytes_.starts_with("!<arch>");
      fail(is_script ? "this is a script or a static archive, not a shared library."
                     : "this is not a shared library (no ELF header).");
    }
    if (bytes_.size() < EI_NIDENT) cut_off(sizeof(Elf64_Ehdr));
    if (bytes_[EI_CLASS] != ELFCLASS64 || bytes_[EI_DATA] != ELFDATA2LSB) {
      fail(fmt::format("the library is not for this machine, which is 64-bit {}.",
                       machine_name(kOwnMachine)));
    }
    const auto header = at<Elf64_Ehdr>(0);
    if (header.e_machine != kOwnMachine) {
      fail(fmt::format("the library is for {}, but this machine is {}.",
                       machine_name(header.e_machine), machine_name(kOwnMachine)));
    }
    if (header.e_type == ET_REL) fail("this is an object file; link it with -shared.");
    if (header.e_type != ET_DYN) fail("this is a program, not a shared library.");
    return header;
  }

  void check_segments(const Elf64_Ehdr& header) const {
    for (size_t i = 0; i < header.e_phnum; ++i) {
      const auto segment = at<Elf64_Phdr>(header.e_phoff + i * header.e_phentsize);
      const uint64_t end = segment.p_offset + segment.p_filesz;
      if (segment.p_type == PT_LOAD && end > bytes_.size()) cut_off(end);
    }
    const uint64_t end = header.e_shoff + uint64_t{header.e_shnum} * header.e_shentsize;
    if (end > bytes_.size()) cut_off(end);
  }

  void read_symbols(const Elf64_Ehdr& header, const Elf64_Shdr& table, ElfFile& file) const {
    const auto names =
        at<Elf64_Shdr>(header.e_shoff + uint64_t{table.sh_link} * header.e_shentsize);
    for (uint64_t at_byte = 0; at_byte < table.sh_size; at_byte += sizeof(Elf64_Sym)) {
      const auto symbol = at<Elf64_Sym>(table.sh_offset + at_byte);
      const auto type = ELF64_ST_TYPE(symbol.st_info);
      const bool is_code = type == STT_FUNC || type == STT_GNU_IFUNC;
      if (symbol.st_shndx == SHN_UNDEF || (!is_code && type != STT_OBJECT)) continue;
      const bool is_visible = ELF64_ST_VISIBILITY(symbol.st_other) == STV_DEFAULT ||
                              ELF64_ST_VISIBILITY(symbol.st_other) == STV_PROTECTED;
      file.symbols.push_back({.name = text_at(names.sh_offset + symbol.st_name),
                              .address = symbol.st_value,
                              .size = symbol.st_size,
                              .is_function = type == STT_FUNC,
                              .is_exported = table.sh_type == SHT_DYNSYM && is_visible});
    }
  }

  std::string path_;
  std::string bytes_;
};

// Whether this command has the sanitizer too.
const ElfSymbol* find_symbol(const ElfFile& file, uint64_t address, bool is_function) {
  const auto found = std::ranges::find_if(file.symbols, [&](const ElfSymbol& symbol) {
    return symbol.is_function == is_function && address >= symbol.address &&
           address < symbol.address + symbol.size;
  });
  return found == file.symbols.end() ? nullptr : &*found;
}

}  // namespace

ElfFile read_elf(const std::string& path) { return Reader(path).read(); }

const ElfSymbol* symbol_at(const ElfFile& file, uint64_t address) {
  return find_symbol(file, address, /*is_function=*/true);
}
const ElfSymbol* variable_at(const ElfFile& file, uint64_t address) {
  return find_symbol(file, address, /*is_function=*/false);
}

}  // namespace farcall::tools
