// How runtimes identify an author's C++ types.
//
// A runtime gives each type an id. State needs no declaration: the first use registers the type
// with the calling runtime. Each runtime in the process has its own ids, so they are stored per
// runtime. The type of UserData must be known to the code that attaches it, so it is exported with
// FARCALL_DEFINE_TYPE and registered by name (register_ffi_type).
#pragma once

#include <farcall/handler/detail/api.h>
#include <farcall/handler/detail/text.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace farcall::ffi {

using TypeId = FARCALL_FFI_TypeId;
using TypeInfo = FARCALL_FFI_TypeInfo;

namespace detail {

template <typename T>
FARCALL_FFI_HIDDEN void delete_object(void* object) {
  delete static_cast<T*>(object);
}

// The ids of one type, per runtime. Hidden symbols, so that equal names in two libraries remain two
// types.
//
// A runtime may have several function tables, for handlers of several versions, but they share one
// Error_Create. So that function identifies the runtime.
class TypeNumbers {
 public:
  // `signature` is that of a function whose only template argument is the type.
  ErrorOr<TypeId> get(const FARCALL_FFI_Api* api, const TypeInfo* info, const char* signature) {
    FARCALL_FFI_Error_Create* const runtime = api->Error_Create;
    for (Entry& entry : entries_) {
      FARCALL_FFI_Error_Create* owner = entry.runtime.load(std::memory_order_acquire);
      if (owner == nullptr &&
          entry.runtime.compare_exchange_strong(owner, runtime, std::memory_order_acq_rel)) {
        owner = runtime;
      }
      if (owner == runtime) return number(entry, api, info, signature);
    }
    return Error::ResourceExhausted("more than 8 runtimes in one process use this type");
  }

 private:
  struct Entry {
    std::atomic<FARCALL_FFI_Error_Create*> runtime{nullptr};
    std::atomic<int64_t> number{0};
  };

  ErrorOr<TypeId> number(Entry& entry, const FARCALL_FFI_Api* api, const TypeInfo* info,
                         const char* signature) {
    const int64_t known = entry.number.load(std::memory_order_acquire);
    if (FARCALL_FFI_LIKELY(known != 0)) return TypeId{known};
    return register_type(entry, api, info, signature);
  }

  // "mine::Plan", from GCC's and Clang's "… [with T = mine::Plan]".
  static std::string_view type_name(std::string_view signature) {
    const size_t begin = signature.find("T = ");
    if (begin == std::string_view::npos) return "state";
    return signature.substr(begin + 4, signature.rfind(']') - begin - 4);
  }

  FARCALL_FFI_COLD ErrorOr<TypeId> register_type(Entry& entry, const FARCALL_FFI_Api* api,
                                                 const TypeInfo* info, const char* signature) {
    // Two threads may get here at once. Each registers under its own name, made unique in the
    // process by the addresses. The id that is stored first is used by all.
    TypeId fresh{0};
    Text name;
    name << type_name(signature) << " #" << static_cast<int64_t>(reinterpret_cast<uintptr_t>(this))
         << "." << static_cast<int64_t>(reinterpret_cast<uintptr_t>(&fresh));
    FARCALL_FFI_Type_Register_Args args = {};
    args.name = {name.view().data(), name.view().size()};
    args.type_id = &fresh;
    args.type_info = info;  // read by runtimes since 0.2; struct_size never covered it
    Error error = call_api(api, &FARCALL_FFI_Api::Type_Register, args,
                           FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Type_Register_Args, type_id));
    if (error.failure()) return error;
    int64_t known = 0;
    if (!entry.number.compare_exchange_strong(known, fresh.type_id, std::memory_order_acq_rel)) {
      fresh.type_id = known;
    }
    return fresh;
  }

  Entry entries_[8];
};

template <typename T>
struct TypeRecord {
  FARCALL_FFI_HIDDEN static TypeNumbers numbers;
  FARCALL_FFI_HIDDEN static TypeId exported_id;
  FARCALL_FFI_HIDDEN static const TypeInfo info;

  FARCALL_FFI_HIDDEN static ErrorOr<TypeId> id_in(const FARCALL_FFI_Api* api) {
    return numbers.get(api, &info, signature());
  }

 private:
  // Returns a type without aliases: compilers list those in the signature, too.
  FARCALL_FFI_HIDDEN static const char* signature() {
#if defined(_MSC_VER)
    return "";
#else
    return __PRETTY_FUNCTION__;
#endif
  }
};
template <typename T>
TypeNumbers TypeRecord<T>::numbers;
template <typename T>
TypeId TypeRecord<T>::exported_id = {0};
template <typename T>
const TypeInfo TypeRecord<T>::info = {FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_TypeInfo, deleter),
                                      nullptr, &delete_object<T>};

// Also supports XLA's convention of a static member `TypeId id`.
template <typename T, typename = void>
struct ExportedTypeId {
  static TypeId* get() { return &TypeRecord<T>::exported_id; }
};
template <typename T>
struct ExportedTypeId<T, std::enable_if_t<std::is_same_v<TypeId, std::decay_t<decltype(T::id)>>>> {
  static TypeId* get() { return &T::id; }
};

}  // namespace detail
}  // namespace farcall::ffi

// Exports `TypeId* <symbol>_type_id()` and `const TypeInfo* <symbol>_type_info()`, the two pointers
// that register_ffi_type takes. Usable in any named namespace or in the global one.
#define FARCALL_DEFINE_TYPE(symbol, ...)                                           \
  extern "C" FARCALL_FFI_EXPORT FARCALL_FFI_TypeId* symbol##_type_id() {           \
    return ::farcall::ffi::detail::ExportedTypeId<__VA_ARGS__>::get();             \
  }                                                                                \
  extern "C" FARCALL_FFI_EXPORT const FARCALL_FFI_TypeInfo* symbol##_type_info() { \
    return &::farcall::ffi::detail::TypeRecord<__VA_ARGS__>::info;                 \
  }                                                                                \
  static_assert(sizeof(__VA_ARGS__) > 0, "farcall: FARCALL_DEFINE_TYPE takes a complete type")
