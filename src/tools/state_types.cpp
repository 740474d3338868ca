#include "tools/state_types.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include <farcall/core/demangle.h>
#include <farcall/ffi/registry.h>

#include "ffi/internal/type_registry.h"
#include "tools/failure.h"

namespace farcall::tools {
namespace {

constexpr std::string_view kId = "::id";

std::atomic<bool> g_has_adopted_types{false};

void keep(void*) {}
constexpr FARCALL_FFI_TypeInfo kKept = {sizeof(kKept), nullptr, keep};

void adopt(FARCALL_FFI_TypeId* type_id) {
  Dl_info info;
  std::string name = "state";
  if (dladdr(type_id, &info) != 0 && info.dli_fname) {
    const uint64_t offset =
        reinterpret_cast<uintptr_t>(type_id) - reinterpret_cast<uintptr_t>(info.dli_fbase);
    try {
      const ElfFile file = read_elf(info.dli_fname);
      if (const ElfSymbol* variable = variable_at(file, offset)) name = type_of(*variable);
    } catch (const Failure&) {
      // A library that is deleted after it was loaded.
    }
  }
  register_ffi_type(fmt::format("{} #{}", name, fmt::ptr(type_id)), type_id, &kKept);
  g_has_adopted_types = true;
}

}  // namespace

void adopt_state_types() { runtime::adopt_unregistered_types(adopt); }

bool has_adopted_types() { return g_has_adopted_types; }

void adopt_types_of(const ElfFile& file) {
  const std::string path = std::filesystem::absolute(file.path);
  const std::unique_ptr<void, int (*)(void*)> library(dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD),
                                                      dlclose);
  link_map* map = nullptr;
  if (!library || dlinfo(library.get(), RTLD_DI_LINKMAP, &map) != 0) return;
  for (const ElfSymbol& symbol : state_type_ids(file)) {
    auto* type_id = reinterpret_cast<FARCALL_FFI_TypeId*>(map->l_addr + symbol.address);
    if (type_id->type_id == 0) adopt(type_id);
  }
}

std::vector<ElfSymbol> state_type_ids(const ElfFile& file) {
  std::vector<ElfSymbol> ids;
  for (const ElfSymbol& symbol : file.symbols) {
    if (symbol.is_function || symbol.size != sizeof(FARCALL_FFI_TypeId)) continue;
    if (demangled(symbol.name).ends_with(kId)) ids.push_back(symbol);
  }
  return ids;
}

std::string type_of(const ElfSymbol& variable) {
  const std::string name = demangled(variable.name);
  return name.ends_with(kId) ? name.substr(0, name.size() - kId.size()) : name;
}

std::string state_type_name(int64_t type_id) {
  const std::string* name = ffi_type_name(type_id);
  // What follows the mark makes the names unique in the process.
  return name ? name->substr(0, name->find(" #")) : std::to_string(type_id);
}

}  // namespace farcall::tools
