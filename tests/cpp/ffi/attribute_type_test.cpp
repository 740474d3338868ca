// Declared types of attributes, and the values that fit them.
#include <farcall/ffi/attribute_type.h>

#include <complex>

#include <farcall/ffi/library.h>

#include "testing.h"

namespace farcall {
namespace {

using testing::error_of;

Attribute convert(const Attribute& value, const Attribute& example) {
  return convert_attribute(value, AttributeType(example), "someone", "a");
}
std::string refusal(const Attribute& value, const AttributeType& type) {
  return error_of(ErrorCode::kInvalidArgument,
                  [&] { convert_attribute(value, type, "someone", "a"); });
}
std::string refusal(const Attribute& value, const Attribute& example) {
  return refusal(value, AttributeType(example));
}

TEST(PlainAttribute, IsANumberThatAnyTypeMayTake) {
  const Attribute two(int64_t{2});
  EXPECT_FALSE(two.is_plain());
  EXPECT_TRUE(two.plain().is_plain());
  EXPECT_FALSE(two == two.plain());
  EXPECT_EQ(two, two.plain().typed());
  EXPECT_EQ(two.plain().to_string(), "2:i64");
  EXPECT_FALSE(Attribute("text").plain().is_plain());
  const Attribute nested(Attributes{{"n", two.plain()}});
  EXPECT_EQ(nested.typed(), Attribute(Attributes{{"n", two}}));
}

TEST(AttributeType, PlainNumbersAreConvertedOthersAreNot) {
  EXPECT_EQ(convert(Attribute(int64_t{2}).plain(), 1.5f), Attribute(2.0f));
  EXPECT_EQ(convert(Attribute(2.0).plain(), int32_t{1}), Attribute(int32_t{2}));
  EXPECT_EQ(convert(Attribute(true).plain(), int8_t{1}), Attribute(int8_t{1}));
  EXPECT_EQ(convert(Attribute(int64_t{2}).plain(), std::complex<float>()),
            Attribute(std::complex<float>(2)));
  EXPECT_EQ(convert(std::vector<int64_t>{1, 2}, std::vector<int64_t>{}),
            Attribute(std::vector<int64_t>{1, 2}));
  EXPECT_EQ(convert(Attribute(std::vector<int64_t>{1, 2}).plain(), std::vector<float>{}),
            Attribute(std::vector<float>{1, 2}));
  EXPECT_EQ(convert(int32_t{2}, int32_t{1}), Attribute(int32_t{2}));
  EXPECT_EQ(refusal(int64_t{2}, int32_t{1}),
            "someone declares attribute a as int32; got 2:i64. Typed values are not converted: "
            "pass a plain number, or an int32");
  EXPECT_EQ(
      refusal(Attribute(int64_t{300}).plain(), int8_t{1}),
      "someone declares attribute a as int8, from -128 to 127; 300 cannot be represented exactly");
  EXPECT_EQ(refusal("x", 1.5f), "someone declares attribute a as float32; got \"x\"");
  EXPECT_EQ(refusal(1.5f, "x"), "someone declares attribute a as a string; got 1.5:f32");
}

TEST(AttributeType, NothingIsSaidOfWhatIsNotKnown) {
  const AttributeType any;
  for (const Attribute& value : {Attribute("x"), Attribute(int64_t{2}).plain(), Attribute(2.0f)}) {
    EXPECT_EQ(convert_attribute(value, any, "someone", "a"), value.typed());
  }
  const Attribute value(Attributes{{"known", Attribute(int64_t{1}).plain()}, {"other", "x"}});
  EXPECT_EQ(convert(value, Attribute(Attributes{{"known", 1.0f}})),
            Attribute(Attributes{{"known", 1.0f}, {"other", "x"}}));
}

TEST(AttributeType, OfADescription) {
  using namespace ffi;
  const TypeDesc f32 = {.kind = TypeKind::kScalar, .dtype = DataType::F32};
  const TypeDesc s32 = {.kind = TypeKind::kScalar, .dtype = DataType::S32};
  const TypeDesc list = {.kind = TypeKind::kArray, .dtype = DataType::F32};
  const TypeDesc anything = {.kind = TypeKind::kScalar};
  const NamedType either[] = {{"", &f32, false, 0}, {"", &s32, false, 0}, {"", &list, false, 0}};
  const TypeDesc variant = {.kind = TypeKind::kVariant, .children = either, .num_children = 3};
  const NamedType numbers[] = {{"kA", nullptr, false, 1}, {"kB", nullptr, false, 4}};
  const TypeDesc mode = {
      .kind = TypeKind::kEnum, .dtype = DataType::S32, .children = numbers, .num_children = 2};
  const NamedType members[] = {{"mode", &mode, false, 0}, {"x", &variant, true, 0}};
  const TypeDesc record = {.kind = TypeKind::kStruct, .children = members, .num_children = 2};

  EXPECT_EQ(AttributeType(anything).to_string(), "a number");
  EXPECT_EQ(AttributeType(variant).to_string(), "float32 or int32 or an array of float32");
  EXPECT_EQ(AttributeType(mode).to_string(), "int32, one of 1 (kA), 4 (kB)");
  EXPECT_EQ(AttributeType(record).to_string(), "a dictionary");

  const auto converted = [](const Attribute& value, const TypeDesc& type) {
    return convert_attribute(value, AttributeType(type), "it", "a").to_string();
  };
  EXPECT_EQ(converted(Attribute(int64_t{2}).plain(), anything), "2:i64");
  // The value's own type first, then a type of the same kind, then any.
  EXPECT_EQ(converted(int32_t{2}, variant), "2:i32");
  EXPECT_EQ(converted(Attribute(int64_t{2}).plain(), variant), "2:i32");
  EXPECT_EQ(converted(Attribute(2.0).plain(), variant), "2.0:f32");
  EXPECT_EQ(converted(Attribute(true).plain(), variant), "1.0:f32");
  EXPECT_EQ(converted(Attribute(int64_t{1} << 40).plain(), variant), "1099511627776.0:f32");
  EXPECT_EQ(converted(Attributes{{"mode", Attribute(4.0).plain()}}, record), "{mode=4:i32}");
  EXPECT_EQ(refusal(Attribute(int64_t{2}).plain(), AttributeType(mode)),
            "someone declares attribute a as int32, one of 1 (kA), 4 (kB); got 2");
  EXPECT_EQ(refusal(Attributes{{"x", "text"}}, AttributeType(record)),
            "someone declares attribute a.x as float32 or int32 or an array of float32; got "
            "\"text\"");
}

TEST(AttributeType, OfTheHandlersOfATarget) {
  const Library own = load_library(std::string(FARCALL_OWN_DIR) + "/own_5.so");
  EXPECT_EQ(declared_attributes("described"), nullptr);
  const uint64_t before = registry_version();
  register_ffi_target("described", {.instantiate = own.handler("own_count_instantiate"),
                                    .execute = own.handler("own_scale")});
  EXPECT_NE(registry_version(), before);
  const auto types = declared_attributes("described");
  ASSERT_NE(types, nullptr);
  ASSERT_EQ(types->size(), 3u);
  EXPECT_EQ(types->at("factor").to_string(), "float32");
  EXPECT_EQ(types->at("label").to_string(), "a string");
  EXPECT_EQ(types->at("start").to_string(), "int64");  // of the other stage
  register_ffi_target("not described",
                      [](FARCALL_FFI_CallFrame*) -> FARCALL_FFI_Error* { return nullptr; });
  EXPECT_EQ(declared_attributes("not described"), nullptr);
}

}  // namespace
}  // namespace farcall
