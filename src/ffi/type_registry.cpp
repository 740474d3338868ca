#include "ffi/internal/type_registry.h"

#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <shared_mutex>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ffi/registry.h>

namespace farcall {
namespace runtime {
namespace {

// Another runtime in the process (such as JAX's) counts from 1 and writes into the same variables
// of a handler library. Ids here start far away, so that an id from either runtime is free in the
// other.
constexpr int64_t kFirstId = int64_t{1} << 40;

// Records are never removed or moved.
struct Types {
  std::shared_mutex mutex;
  std::deque<TypeRecord> records;
  int64_t next_id = kFirstId;

  TypeRecord* find_name(std::string_view name) {
    for (auto& record : records) {
      if (record.name == name) return &record;
    }
    return nullptr;
  }
  TypeRecord* find_id(int64_t id) {
    for (auto& record : records) {
      if (record.id == id) return &record;
    }
    return nullptr;
  }
};

Types& types() {
  static Types* types = new Types;  // handlers may ask until the process has ended
  return *types;
}

[[noreturn]] void taken(std::string message) {
  throw Error(ErrorCode::kAlreadyExists, std::move(message));
}

}  // namespace

Deleter deleter_of(const void* type_info) {
  if (type_info == nullptr) return nullptr;
  // The first word is a size or the address of a function; no function is in the first page.
  size_t first_word;
  std::memcpy(&first_word, type_info, sizeof(first_word));
  if (first_word < 4096) {
    if (first_word < FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_TypeInfo, deleter)) return nullptr;
    return static_cast<const FARCALL_FFI_TypeInfo*>(type_info)->deleter;
  }
  return reinterpret_cast<Deleter>(first_word);
}

void register_type(std::string_view name, FARCALL_FFI_TypeId* type_id, Deleter deleter) {
  if (type_id == nullptr) {
    invalid_argument(fmt::format("registry: type \"{}\" needs a type_id, got null", name));
  }
  Types& all = types();
  const std::unique_lock lock(all.mutex);
  TypeRecord* record = all.find_name(name);
  const int64_t given = type_id->type_id;
  if (record == nullptr) {
    if (given != 0) {
      if (const TypeRecord* other = all.find_id(given)) {
        taken(fmt::format("registry: type \"{}\": id {} belongs to type \"{}\" already", name,
                          given, other->name));
      }
    }
    const int64_t id = given != 0 ? given : all.next_id++;
    record = &all.records.emplace_back(TypeRecord{std::string(name), id, nullptr});
  }
  if (given != 0 && given != record->id) {
    taken(fmt::format("registry: type \"{}\" is registered with the id {}, not {}", name,
                      record->id, given));
  }
  if (deleter != nullptr && record->deleter != nullptr && deleter != record->deleter) {
    taken(
        fmt::format("registry: type \"{}\" is registered with another deleter; two libraries "
                    "cannot share the name of a type",
                    name));
  }
  if (deleter != nullptr) record->deleter = deleter;
  type_id->type_id = record->id;
}

TypeRecord find_type(int64_t id) {
  Types& all = types();
  const std::shared_lock lock(all.mutex);
  const TypeRecord* record = all.find_id(id);
  return record ? *record : TypeRecord{};
}

namespace {
std::atomic<void (*)(FARCALL_FFI_TypeId*)> g_adopt_type{nullptr};
}  // namespace

void adopt_unregistered_types(void (*adopt)(FARCALL_FFI_TypeId* type_id)) { g_adopt_type = adopt; }
bool adopts_unregistered_types() { return g_adopt_type.load() != nullptr; }

void adopt_if_unregistered(FARCALL_FFI_TypeId* type_id) {
  const auto adopt = g_adopt_type.load();
  if (adopt != nullptr && type_id != nullptr && type_id->type_id == 0) adopt(type_id);
}

std::string type_text(int64_t id) {
  const TypeRecord record = find_type(id);
  if (record.id != 0) return fmt::format("\"{}\"", record.name);
  return id == 0 ? "with no id (it was never registered)" : fmt::format("{}", id);
}

}  // namespace runtime

void register_ffi_type(std::string_view name, FARCALL_FFI_TypeId* type_id, const void* type_info) {
  runtime::register_type(name, type_id, runtime::deleter_of(type_info));
}

const std::string* ffi_type_name(int64_t type_id) {
  auto& all = runtime::types();
  const std::shared_lock lock(all.mutex);
  const auto* record = all.find_id(type_id);
  return record ? &record->name : nullptr;
}

}  // namespace farcall
