// Attributes: all parameter types, names, defaults, and error messages.
#include <complex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "frame.h"

namespace ffi = farcall::ffi;
using ffi::testing::Attributes;
using ffi::testing::Frame;
using ffi::testing::invalid;
using ffi::testing::ok;

namespace {

// ---- scalars ----------------------------------------------------------------------------------

template <typename T>
T seen;

template <typename T>
void See(T value) {
  seen<T> = value;
}

template <typename T>
void expect_scalar(FARCALL_FFI_Handler* handler, const char* name, T value) {
  Frame frame;
  frame.attrs.scalar("x", value);
  EXPECT_EQ(frame.call(handler), ok());
  EXPECT_EQ(seen<T>, value) << name;
}

#define SCALARS(X)        \
  X(bool, true)           \
  X(int8_t, -5)           \
  X(int16_t, -500)        \
  X(int32_t, -70000)      \
  X(int64_t, -5000000000) \
  X(uint8_t, 200)         \
  X(uint16_t, 60000) X(uint32_t, 4000000000) X(uint64_t, 1ull << 63) X(float, 1.5f) X(double, 0.1)
#define DEFINE(type, value) FARCALL_DEFINE_HANDLER(see_##type, See<type>, "x");
SCALARS(DEFINE)
#undef DEFINE

TEST(Attributes, ScalarsOfEveryNativeType) {
#define EXPECT(type, value) expect_scalar<type>(see_##type, #type, value);
  SCALARS(EXPECT)
#undef EXPECT
}

void SeeNarrow(ffi::float16 half, ffi::bfloat16 brain, ffi::float8_e4m3fn eight,
               std::complex<float> c64, ffi::Complex<double> c128) {
  EXPECT_EQ(half, 0.5f);
  EXPECT_EQ(brain, -2.0f);
  EXPECT_EQ(eight, 448.0f);
  EXPECT_EQ(c64, std::complex<float>(1, 2));
  EXPECT_EQ(std::complex<double>(c128), std::complex<double>(3, 4));
}
FARCALL_DEFINE_HANDLER(see_narrow, SeeNarrow, "half", "brain", "eight", "c64", "c128");

TEST(Attributes, NarrowFloatsAndComplexNumbers) {
  Frame frame;
  frame.attrs.scalar("half", ffi::float16(0.5f))
      .scalar("brain", ffi::bfloat16(-2.0f))
      .scalar("eight", ffi::float8_e4m3fn(448.0f))
      .scalar("c64", std::complex<float>(1, 2))
      .scalar("c128", std::complex<double>(3, 4));
  EXPECT_EQ(frame.call(see_narrow), ok());
}

// ---- strings and arrays -------------------------------------------------------------------------

void SeeText(std::string_view view, std::string owned, ffi::Span<const int64_t> ints,
             ffi::Span<const bool> flags, ffi::Span<const ffi::bfloat16> floats) {
  EXPECT_EQ(view, "abc");
  EXPECT_EQ(owned, "");
  const std::vector<int64_t> wanted = {3, -4};
  EXPECT_EQ(ints, ffi::Span<const int64_t>(wanted));
  EXPECT_EQ(flags.size(), 0u);
  EXPECT_EQ(floats[0], 1.5f);
}
FARCALL_DEFINE_HANDLER(see_text, SeeText, "view", "owned", "ints", "flags", "floats");

TEST(Attributes, StringsAndArrays) {
  Frame frame;
  frame.attrs.string("view", "abc")
      .string("owned", "")
      .array<int64_t>("ints", {3, -4})
      .array<bool>("flags", {})
      .array<ffi::bfloat16>("floats", {ffi::bfloat16(1.5f)});
  EXPECT_EQ(frame.call(see_text), ok());

  Frame wrong;
  wrong.attrs.scalar("view", 1.0)
      .array<float>("owned", {})
      .array<int32_t>("ints", {})
      .string("flags", "")
      .scalar("floats", 1.0f);
  EXPECT_EQ(wrong.call(see_text),
            invalid("see_text: 5 problems: attribute \"view\": wanted string, got f64 scalar; "
                    "attribute \"owned\": wanted string, got f32 array; "
                    "attribute \"ints\": wanted s64 array, got s32 array; "
                    "attribute \"flags\": wanted pred array, got string; "
                    "attribute \"floats\": wanted bf16 array, got f32 scalar"));
}

// ---- names, defaults, optional ------------------------------------------------------------------

ffi::Error Norm(ffi::Buffer<ffi::F32>, ffi::ResultBuffer<ffi::F32>, float eps, int32_t axis) {
  seen<float> = eps;
  seen<int32_t> = axis;
  return ffi::Error::Success();
}
FARCALL_DEFINE_HANDLER(rms_norm, Norm, "eps", "axis");

TEST(Attributes, NamesMayBeGivenInAnyOrder) {
  Frame frame;
  frame.arg(ffi::F32, {}).ret(ffi::F32, {});
  frame.attrs.scalar("axis", int32_t{-1}).scalar("eps", 0.25f);
  EXPECT_EQ(frame.call(rms_norm), ok());
  EXPECT_EQ(seen<float>, 0.25f);
  EXPECT_EQ(seen<int32_t>, -1);
}

TEST(Attributes, MistakesOfArgumentsAndAttributesComeInOneMessage) {
  Frame frame;
  frame.arg(ffi::F64, {2, 3}).ret(ffi::F32, {});
  frame.attrs.scalar("eps", int32_t{1}).scalar("axis", int32_t{0});
  EXPECT_EQ(frame.call(rms_norm),
            invalid("rms_norm: 2 problems: argument 0: wanted f32, got f64[2,3]; "
                    "attribute \"eps\": wanted f32 scalar, got s32 scalar"));
}

TEST(Attributes, MissingAndUnknownNamesListTheOthers) {
  Frame frame;
  frame.arg(ffi::F32, {}).ret(ffi::F32, {});
  frame.attrs.scalar("epsilon", 1.0f).scalar("axis", int32_t{0});
  EXPECT_EQ(frame.call(rms_norm),
            invalid("rms_norm: 2 problems: attribute \"eps\": missing (the call has \"axis\", "
                    "\"epsilon\"); attribute \"epsilon\": unknown (wanted \"eps\", \"axis\")"));
  Frame none;
  none.arg(ffi::F32, {}).ret(ffi::F32, {});
  EXPECT_EQ(none.call(rms_norm),
            invalid("rms_norm: 2 problems: attribute \"eps\": missing (the call has none); "
                    "attribute \"axis\": missing (the call has none)"));
  Frame many;
  many.arg(ffi::F32, {}).ret(ffi::F32, {});
  many.attrs.scalar("axis", int32_t{0}).scalar("eps", 1.0f).scalar("z", 1.0f);
  EXPECT_EQ(many.call(rms_norm),
            invalid("rms_norm: attribute \"z\": unknown (wanted \"eps\", \"axis\")"));
}

void Defaults(float eps, int64_t axis, std::optional<double> scale, std::string_view mode) {
  seen<float> = eps;
  seen<int64_t> = axis;
  seen<double> = scale.value_or(-1);
  seen<std::string_view> = mode;
}
FARCALL_DEFINE_HANDLER(defaults, Defaults, ffi::attr("eps").default_to(1e-5), "axis",
                       ffi::attr("scale"), ffi::attr("mode").default_to("fast"));

TEST(Attributes, DefaultsAndOptionalsStandInForMissingNames) {
  Frame frame;
  frame.attrs.scalar("axis", int64_t{2});
  EXPECT_EQ(frame.call(defaults), ok());
  EXPECT_EQ(seen<float>, 1e-5f);
  EXPECT_EQ(seen<int64_t>, 2);
  EXPECT_EQ(seen<double>, -1);
  EXPECT_EQ(seen<std::string_view>, "fast");
  frame.attrs.scalar("eps", 2.0f).scalar("scale", 3.0).string("mode", "exact");
  EXPECT_EQ(frame.call(defaults), ok());
  EXPECT_EQ(seen<float>, 2.0f);
  EXPECT_EQ(seen<double>, 3.0);
  EXPECT_EQ(seen<std::string_view>, "exact");
}

TEST(Attributes, AnOptionalOfAnotherTypeIsAMistakeAllTheSame) {
  Frame frame;
  frame.attrs.scalar("axis", int64_t{2}).scalar("scale", 1.0f);
  EXPECT_EQ(frame.call(defaults),
            invalid("defaults: attribute \"scale\": wanted f64 scalar, got f32 scalar"));
  Frame missing;
  missing.attrs.scalar("scale", 1.0);
  EXPECT_EQ(missing.call(defaults),
            invalid("defaults: attribute \"axis\": missing (the call has \"scale\")"));
}

void Nothing() {}
FARCALL_DEFINE_HANDLER(nothing, Nothing);

TEST(Attributes, AHandlerThatNamesNoneIgnoresThem) {
  Frame frame;
  frame.attrs.scalar("eps", 1.0f);
  EXPECT_EQ(frame.call(nothing), ok());
}

// ---- enums, variants, structs, dictionaries ----

enum class Mode : int32_t { kFast = 1, kExact = 4 };
FARCALL_ATTR_ENUM(Mode, kFast, kExact);
enum Open : uint8_t { kSome = 1 };

void Enums(Mode mode, Open open) {
  seen<int32_t> = static_cast<int32_t>(mode);
  seen<uint8_t> = open;
}
FARCALL_DEFINE_HANDLER(enums, Enums, "mode", "open");

TEST(Attributes, EnumsAreIntegersAndListedOnesAreChecked) {
  Frame frame;
  frame.attrs.scalar("mode", int32_t{4}).scalar("open", uint8_t{200});
  EXPECT_EQ(frame.call(enums), ok());
  EXPECT_EQ(seen<int32_t>, 4);
  EXPECT_EQ(seen<uint8_t>, 200);
  frame.attrs.scalar("mode", int32_t{7});
  EXPECT_EQ(frame.call(enums),
            invalid("enums: attribute \"mode\": wanted s32 scalar of kFast=1, kExact=4, got s32 "
                    "scalar 7"));
  frame.attrs.scalar("mode", int64_t{1});
  EXPECT_EQ(frame.call(enums),
            invalid("enums: attribute \"mode\": wanted s32 scalar of kFast=1, kExact=4, got s64 "
                    "scalar 1"));
}

void Variants(std::variant<int64_t, float, ffi::Span<const float>> value) {
  seen<size_t> = value.index();
}
FARCALL_DEFINE_HANDLER(variants, Variants, "value");

TEST(Attributes, VariantsTakeTheFirstAlternativeThatFits) {
  Frame frame;
  frame.attrs.scalar("value", 1.0f);
  EXPECT_EQ(frame.call(variants), ok());
  EXPECT_EQ(seen<size_t>, 1u);
  frame.attrs.array<float>("value", {1.0f});
  EXPECT_EQ(frame.call(variants), ok());
  EXPECT_EQ(seen<size_t>, 2u);
  frame.attrs.scalar("value", 1.0);
  EXPECT_EQ(frame.call(variants),
            invalid("variants: attribute \"value\": wanted s64 scalar or f32 scalar or f32 array, "
                    "got f64 scalar"));
}

struct Inner {
  int64_t size = 0;
};
FARCALL_ATTR_STRUCT(Inner, size);

struct Window {
  Inner inner;
  std::optional<float> stride;
  Mode mode{};
};
FARCALL_ATTR_STRUCT(Window, inner, stride, mode);

void Structs(Window window) {
  seen<int64_t> = window.inner.size;
  seen<float> = window.stride.value_or(-1);
}
FARCALL_DEFINE_HANDLER(structs, Structs, "window");
FARCALL_DEFINE_HANDLER(struct_of_all, Structs, ffi::all_attributes);

TEST(Attributes, StructsComeFromDictionaries) {
  Attributes inner, window;
  inner.scalar("size", int64_t{9});
  window.dictionary("inner", inner).scalar("mode", int32_t{1});
  Frame frame;
  frame.attrs.dictionary("window", window);
  EXPECT_EQ(frame.call(structs), ok());
  EXPECT_EQ(seen<int64_t>, 9);
  EXPECT_EQ(seen<float>, -1);
  window.scalar("stride", 2.0f);
  frame.attrs.dictionary("window", window);
  EXPECT_EQ(frame.call(structs), ok());
  EXPECT_EQ(seen<float>, 2.0f);
}

TEST(Attributes, MistakesInStructsAreNamedByTheirPath) {
  Attributes inner, window;
  inner.scalar("size", 9.0).scalar("extra", 1.0);
  window.dictionary("inner", inner).scalar("mode", int32_t{2});
  Frame frame;
  frame.attrs.dictionary("window", window);
  EXPECT_EQ(frame.call(structs),
            invalid("structs: 3 problems: attribute \"window.inner.size\": wanted s64 scalar, got "
                    "f64 scalar; attribute \"window.inner.extra\": unknown (wanted \"size\"); "
                    "attribute \"window.mode\": wanted s32 scalar of kFast=1, kExact=4, got s32 "
                    "scalar 2"));
  Frame flat;
  flat.attrs.scalar("window", 1.0f);
  EXPECT_EQ(flat.call(structs),
            invalid("structs: attribute \"window\": wanted dictionary, got f32 scalar"));
}

TEST(Attributes, AStructMayTakeAllAttributesOfTheCall) {
  Attributes inner;
  inner.scalar("size", int64_t{5});
  Frame frame;
  frame.attrs.dictionary("inner", inner).scalar("mode", int32_t{4});
  EXPECT_EQ(frame.call(struct_of_all), ok());
  EXPECT_EQ(seen<int64_t>, 5);
  EXPECT_EQ(Frame().call(struct_of_all),
            invalid("struct_of_all: 2 problems: attribute \"inner\": missing (the call has none); "
                    "attribute \"mode\": missing (the call has none)"));
}

ffi::Error Dynamic(ffi::Dictionary attrs) {
  EXPECT_EQ(attrs.size(), 3u);
  std::string names;
  for (std::string_view name : attrs) names += std::string(name) + " ";
  EXPECT_EQ(names, "a b nested ");
  EXPECT_TRUE(attrs.contains("a"));
  EXPECT_FALSE(attrs.contains("z"));
  EXPECT_TRUE(attrs.contains<float>("a"));
  EXPECT_FALSE(attrs.contains<int32_t>("a"));
  EXPECT_EQ(*attrs.get<float>("a"), 1.5f);
  EXPECT_EQ(*attrs.get<ffi::Dictionary>("nested")->get<int64_t>("size"), 8);
  EXPECT_EQ(attrs.get<float>("z").error().message(), "attribute \"z\": missing");
  EXPECT_EQ(attrs.get<float>("z").error().errc(), ffi::ErrorCode::kNotFound);
  return attrs.get<int32_t>("b").error();
}
FARCALL_DEFINE_HANDLER(dynamic, Dynamic, ffi::all_attributes);

TEST(Attributes, ADictionaryIsReadByName) {
  Attributes nested;
  nested.scalar("size", int64_t{8});
  Frame frame;
  frame.attrs.scalar("a", 1.5f).string("b", "text").dictionary("nested", nested);
  EXPECT_EQ(frame.call(dynamic), invalid("attribute \"b\": wanted s32 scalar, got string"));
}

// ---- user-defined decoding ----

struct Celsius {
  double degrees = 0;
};
void Temperature(Celsius celsius) { seen<double> = celsius.degrees; }

}  // namespace

template <>
struct farcall::ffi::AttrDecoding<Celsius> {
  static constexpr TypeDesc kType = custom_type<Celsius>("temperature");
  static bool decode(FARCALL_FFI_AttrType kind, const void* attribute, Celsius& out) {
    return AttrDecoding<double>::decode(kind, attribute, out.degrees);
  }
};

namespace {

FARCALL_DEFINE_HANDLER(temperature, Temperature, "t");

TEST(Attributes, AuthorsMayDecodeTypesOfTheirOwn) {
  Frame frame;
  frame.attrs.scalar("t", 21.5);
  EXPECT_EQ(frame.call(temperature), ok());
  EXPECT_EQ(seen<double>, 21.5);
  frame.attrs.string("t", "hot");
  EXPECT_EQ(frame.call(temperature),
            invalid("temperature: attribute \"t\": wanted temperature, got string"));
}

// ---- malformed frames ---------------------------------------------------------------------------

TEST(Attributes, MalformedFramesAreErrorsAndNoCrash) {
  Frame frame;
  frame.attrs.raw("x", FARCALL_FFI_AttrType_SCALAR, nullptr);
  EXPECT_EQ(frame.call(see_float),
            invalid("see_float: attribute \"x\": wanted f32 scalar, got null"));
  FARCALL_FFI_Scalar empty = {FARCALL_FFI_DataType_F32, nullptr};
  frame.attrs.raw("x", FARCALL_FFI_AttrType_SCALAR, &empty);
  EXPECT_EQ(
      frame.call(see_float),
      invalid("see_float: attribute \"x\": wanted f32 scalar, got f32 scalar without a value"));
  frame.attrs.raw("x", 17, &empty);
  EXPECT_EQ(frame.call(see_float),
            invalid("see_float: attribute \"x\": wanted f32 scalar, got unknown kind 17"));
  frame.frame.attrs.names = nullptr;
  EXPECT_EQ(frame.call_as_it_is(see_float),
            invalid("see_float: attributes: the call frame is malformed"));
}

}  // namespace
