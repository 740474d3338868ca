// The descriptions of handlers and targets.
#include <farcall/ffi/library.h>
#include <farcall/ffi/signature.h>

#include "testing.h"

namespace farcall {
namespace {

const Library& own() {
  static const Library library = load_library(std::string(FARCALL_OWN_DIR) + "/own_5.so");
  return library;
}

FARCALL_FFI_Error* plain(FARCALL_FFI_CallFrame*) { return nullptr; }

TEST(Signature, OfAHandlerFromALibrary) {
  const ffi::HandlerDesc* found = find_description(own().handler("own_scale"));
  ASSERT_NE(found, nullptr);
  EXPECT_STREQ(found->name, "own_scale");
  EXPECT_EQ(describe_handler(*found), "(f32) {factor: f32 scalar, label: string} -> (f32)");
}

TEST(Signature, AHandlerWithoutADescription) {
  EXPECT_EQ(find_description(plain), nullptr);
  EXPECT_EQ(find_description(nullptr), nullptr);
  EXPECT_EQ(describe_target(*make_target("plain", HandlerBundle{.execute = plain})),
            "execute without a description; traits 0");
}

TEST(Signature, EveryStageOfATarget) {
  const HandlerBundle bundle = {.instantiate = own().handler("own_count_instantiate"),
                                .execute = own().handler("own_count")};
  const std::string text = describe_target(*make_target("count", bundle));
  EXPECT_TRUE(text.starts_with("instantiate () {")) << text;
  EXPECT_NE(text.find("; execute () {"), std::string::npos) << text;
}

TEST(Signature, OfACallable) {
  const auto target = make_target("callable", [](FARCALL_FFI_CallFrame*) { return nullptr; });
  EXPECT_EQ(describe_target(*target), "a C++ callable; traits 0");
}

TEST(Signature, AnyShapeAnyNumberAnyName) {
  using namespace ffi;
  const TypeDesc matrix = {.kind = TypeKind::kBuffer, .dtype = DataType::F32, .rank = 2};
  const TypeDesc any = {.kind = TypeKind::kBuffer};
  const TypeDesc number = {.kind = TypeKind::kScalar, .dtype = DataType::S64};
  const NamedType members[] = {{"axis", &number, false, 0}, {"keep", &number, true, 0}};
  const TypeDesc options = {.kind = TypeKind::kStruct, .children = members, .num_children = 2};
  const ParamDesc params[] = {{ParamKind::kContext, false, "stream", nullptr},
                              {ParamKind::kAttribute, false, "z", &options},
                              {ParamKind::kArgument, false, "", &matrix},
                              {ParamKind::kArgument, true, "", &any},
                              {ParamKind::kRemainingArgs, false, "", nullptr},
                              {ParamKind::kAttribute, true, "a", &number},
                              {ParamKind::kResult, false, "", &matrix},
                              {ParamKind::kRemainingRets, false, "", nullptr}};
  const HandlerDesc handler = {sizeof(HandlerDesc), 1, 0, kExecute, "h", params, 8, plain};
  EXPECT_EQ(describe_handler(handler),
            "(f32[?,?], optional a buffer, ...) {a: optional s64 scalar, z: {axis: s64 scalar, "
            "keep: optional s64 scalar}} -> (f32[?,?], ...)");
}

}  // namespace
}  // namespace farcall
