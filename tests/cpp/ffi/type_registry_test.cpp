#include <farcall/ffi/registry.h>

#include "ffi/internal/type_registry.h"
#include "testing.h"

namespace farcall {
namespace {

using testing::error_of;

void destroy_a(void*) {}
void destroy_b(void*) {}

FARCALL_FFI_TypeInfo info_of(void (*deleter)(void*)) {
  return {FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_TypeInfo, deleter), nullptr, deleter};
}

TEST(TypeRegistry, GivesIdsThatNobodyElseHas) {
  FARCALL_FFI_TypeId a = {}, b = {};
  register_ffi_type("types.a", &a);
  register_ffi_type("types.b", &b);
  EXPECT_NE(a.type_id, b.type_id);
  EXPECT_GT(a.type_id, int64_t{1} << 32);  // far from the ids of other runtimes
  EXPECT_EQ(*ffi_type_name(a.type_id), "types.a");
  EXPECT_EQ(ffi_type_name(-5), nullptr);

  FARCALL_FFI_TypeId again = {};
  register_ffi_type("types.a", &again);
  EXPECT_EQ(again.type_id, a.type_id);
  register_ffi_type("types.a", &a);  // the same id, no error
}

TEST(TypeRegistry, TakesIdsThatAnotherRuntimeGave) {
  FARCALL_FFI_TypeId given = {17};
  register_ffi_type("types.given", &given);
  EXPECT_EQ(given.type_id, 17);
  FARCALL_FFI_TypeId unknown = {};
  register_ffi_type("types.given", &unknown);
  EXPECT_EQ(unknown.type_id, 17);

  FARCALL_FFI_TypeId other = {18};
  EXPECT_EQ(error_of(ErrorCode::kAlreadyExists, [&] { register_ffi_type("types.given", &other); }),
            "registry: type \"types.given\" is registered with the id 17, not 18");
  EXPECT_EQ(error_of(ErrorCode::kAlreadyExists, [&] { register_ffi_type("types.thief", &given); }),
            "registry: type \"types.thief\": id 17 belongs to type \"types.given\" already");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [] { register_ffi_type("types.null", nullptr); }),
            "registry: type \"types.null\" needs a type_id, got null");
}

TEST(TypeRegistry, ReadsBothLayoutsOfTheTypeInfo) {
  const auto sized = info_of(destroy_a);
  EXPECT_EQ(runtime::deleter_of(&sized), &destroy_a);
  struct {
    void (*deleter)(void*) = destroy_b;
  } bare;
  EXPECT_EQ(runtime::deleter_of(&bare), &destroy_b);
  EXPECT_EQ(runtime::deleter_of(nullptr), nullptr);

  FARCALL_FFI_TypeId id = {};
  register_ffi_type("types.info", &id);
  register_ffi_type("types.info", &id, &sized);  // the info may be added later
  EXPECT_EQ(runtime::find_type(id.type_id).deleter, &destroy_a);
  EXPECT_EQ(
      error_of(ErrorCode::kAlreadyExists, [&] { register_ffi_type("types.info", &id, &bare); }),
      "registry: type \"types.info\" is registered with another deleter; two libraries cannot "
      "share the name of a type");
}

// struct_size is the same with and without type_info, a field that old versions lack.
TEST(TypeRegistry, TheTablesOfOldVersionsReadNoTypeInfo) {
  FARCALL_FFI_TypeId id = {};
  FARCALL_FFI_Type_Register_Args args = {};
  args.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Type_Register_Args, type_id);
  args.name = {"types.table", 11};
  args.type_id = &id;
  args.type_info = reinterpret_cast<const FARCALL_FFI_TypeInfo*>(1);  // garbage in an unused field
  EXPECT_EQ(ffi_api(1)->Type_Register(&args), nullptr);
  EXPECT_EQ(runtime::find_type(id.type_id).deleter, nullptr);
  const auto info = info_of(destroy_a);
  args.type_info = &info;
  EXPECT_EQ(ffi_api(2)->Type_Register(&args), nullptr);
  EXPECT_EQ(runtime::find_type(id.type_id).deleter, &destroy_a);
}

}  // namespace
}  // namespace farcall
