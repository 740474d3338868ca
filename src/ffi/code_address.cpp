#include "ffi/code_address.h"

#if defined(__linux__)

#include <link.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

namespace farcall::runtime {
namespace {

struct Search {
  uintptr_t address;
  std::optional<bool> is_code;  // once a segment with the address is found
};

int visit_object(dl_phdr_info* object, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    // Addresses before the segment wrap around.
    if (segment.p_type != PT_LOAD ||
        search.address - (object->dlpi_addr + segment.p_vaddr) >= segment.p_memsz) {
      continue;
    }
    search.is_code = (segment.p_flags & PF_X) != 0;
    return 1;
  }
  return 0;
}

// For code that no file holds, as compilers make at run time. Slower: reads the list of all
// mappings.
bool is_in_executable_mapping(uintptr_t address) {
  const std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen("/proc/self/maps", "re"),
                                                   std::fclose);
  if (!maps) return true;
  char line[512];
  bool is_start = true;  // long paths span several reads
  while (std::fgets(line, sizeof line, maps.get())) {
    unsigned long long begin = 0, end = 0;
    char permissions[5] = {};
    if (is_start && std::sscanf(line, "%llx-%llx %4s", &begin, &end, permissions) == 3 &&
        begin <= address && address < end) {
      return permissions[2] == 'x';
    }
    is_start = std::strchr(line, '\n') != nullptr;
  }
  return false;
}

}  // namespace

bool may_be_code(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), std::nullopt};
  dl_iterate_phdr(visit_object, &search);
  return search.is_code ? *search.is_code : is_in_executable_mapping(search.address);
}

}  // namespace farcall::runtime

#else

namespace farcall::runtime {

bool may_be_code(const void*) { return true; }

}  // namespace farcall::runtime

#endif
