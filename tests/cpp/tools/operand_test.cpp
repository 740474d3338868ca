// The notation of operands and attributes.
#include "tools/operand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/failure.h"

namespace farcall::tools {
namespace {

using testing::HasSubstr;

TEST(Operand, HasLettersNumbersAndSums) {
  const Operand operand = parse_operand(" f32[N, 64, 2*M+1] ");
  EXPECT_EQ(operand.to_string(), "f32[N,64,2*M+1]");
  EXPECT_EQ(operand.type({{"N", 3}, {"M", 5}}), ShapeDtype(DType::kFloat32, {3, 64, 11}));
  EXPECT_EQ(parse_operand("f32[N-1]").type({{"N", 0}}), std::nullopt);
}

TEST(Operand, TakesTheSizesOfSignatures) {
  EXPECT_EQ(parse_operand("f32[?,3,?]").to_string(), "f32[N,3,K]");
}
TEST(Operand, HasSizesOfSeveralLetters) {
  const Operand operand = parse_operand("f32[(N + 7) // 8 * 8, M+N, M-2*N, N%3, -(-N//2), 7//2]");
  EXPECT_EQ(operand.to_string(), "f32[(N+7)//8*8,M+N,M-2*N,N%3,-(-N//2),7//2]");
  EXPECT_EQ(operand.type({{"N", 5}, {"M", 11}}), ShapeDtype(DType::kFloat32, {8, 16, 1, 2, 3, 3}));
  EXPECT_EQ(operand.type({{"N", 5}, {"M", 9}}), std::nullopt);
}

TEST(Operand, HasNoShapeWhereASizeIsNone) {
  for (const char* text : {"f32[N//M]", "f32[N%M]", "f32[1.5]", "f32[0.5*N]", "f32[1e17]",
                           "f32[1e9,1e9,1e9]", "f32[-N]"})
    EXPECT_EQ(parse_operand(text).type({{"N", 3}, {"M", 0}}), std::nullopt) << text;
}

TEST(Operand, SaysWhatIsWrongWithASize) {
  const auto message = [](const std::string& size) {
    try {
      parse_operand("f32[" + size + "]");
    } catch (const Failure& failure) {
      return std::string(failure.what());
    }
    return std::string();
  };
  EXPECT_EQ(message("2N"),
            "operand \"f32[2N]\": \"2N\" is not a size at \"N\": write * between factors.");
  EXPECT_THAT(message("N/2"), HasSubstr("at \"/2\": write // for a division; it rounds down."));
  EXPECT_THAT(message("N**2"), HasSubstr("write N*N for a power."));
  EXPECT_THAT(message("(N+1"), HasSubstr("a \")\" is missing."));
  EXPECT_THAT(message(std::string(1000, '(')), HasSubstr("is not a size"));
  EXPECT_THAT(message(std::string(1000, '-')), HasSubstr("is not a size"));
}

TEST(Operand, KnowsTheNamesOfBothSides) {
  EXPECT_EQ(parse_operand("s32[]").dtype, DType::kInt32);
  EXPECT_EQ(parse_operand("i32").dtype, DType::kInt32);
  EXPECT_EQ(parse_operand("pred[4]").dtype, DType::kBool);
  EXPECT_EQ(parse_operand("bf16[4]").dtype, DType::kBFloat16);
  EXPECT_EQ(parse_operand("f8e5m2[4]").dtype, DType::kFloat8E5M2);
  EXPECT_EQ(parse_operand("f8_e5m2[4]").dtype, DType::kFloat8E5M2);
}

TEST(Operand, IsPrintedWithTheNamesOfTheInterface) {
  for (const char* text : {"s32[N]", "pred[2,M]", "u8[]", "f8e5m2[3]", "c64[N]"}) {
    EXPECT_EQ(parse_operand(text).to_string(), text);
  }
  EXPECT_EQ(parse_operand("i32[N]").to_string(), "s32[N]");
  EXPECT_EQ(type_text(ShapeDtype(DType::kBool, {2, 3})), "pred[2,3]");
}

TEST(Operand, RefusesWhatIsNone) {
  for (const char* text : {"f32[N", "f32[2+]", "f32[-]", "f33[N]", "f32[,]", "[3]"})
    EXPECT_THROW(parse_operand(text), Failure) << text;
}

TEST(Operand, SaysThatBracketsAreMissing) {
  const auto message = [](const std::string& text) {
    try {
      parse_operand(text);
    } catch (const Failure& failure) {
      return std::string(failure.what());
    }
    return std::string();
  };
  EXPECT_EQ(message("f32N"), "operand \"f32N\": brackets are missing. Write f32[N].");
  EXPECT_EQ(message("f8e5m2N"), "operand \"f8e5m2N\": brackets are missing. Write f8e5m2[N].");
  EXPECT_EQ(message("f32N]"), "operand \"f32N]\": brackets are missing. Write f32[N].");
  EXPECT_EQ(
      message("q32"),
      "operand \"q32\": \"q32\" is not an element type. Write, for example, f32, s64, bool or "
      "c64.");
}

TEST(Attribute, IsComplexWithAndWithoutBrackets) {
  const auto text = [](const std::string& value) {
    Attributes attributes;
    parse_attribute("x:c64=" + value, attributes);
    return attributes.find("x")->to_string();
  };
  for (const char* value : {"1+2j", "(1+2j)"}) EXPECT_EQ(text(value), text("(1.0+2.0j)")) << value;
  EXPECT_EQ(text("1"), text("(1+0j)"));
  Attributes list;
  parse_attribute("x:c128[]=1+2j,3", list);
  EXPECT_EQ(list.find("x")->count(), 2);
  try {
    text("(1,2)");
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_STREQ(failure.what(),
                 "attribute \"x:c64=(1,2)\": \"(1,2)\" is not a value of c64. Write, for example, "
                 "1+2j.");
  }
}

TEST(Attribute, HasAName) {
  Attributes attributes;
  for (const char* text : {":f32=1", "=1", ".n=1", "sub.=1", "sub..n=1"})
    EXPECT_THROW(parse_attribute(text, attributes), Failure) << text;
}

TEST(Attribute, HasATypeOrIsPlain) {
  Attributes attributes;
  for (const char* text : {"eps:f32=1e-5", "n=3", "axes:s64[]=0,1", "none:f32[]=", "name:str=a=b",
                           "text:string=a", "on:bool=true", "sub.n:s32=1", "sub.m:s32=2"})
    parse_attribute(text, attributes);
  EXPECT_EQ(attributes.find("eps")->to_string(), "1e-05:f32");
  EXPECT_TRUE(attributes.find("n")->is_plain());
  EXPECT_EQ(attributes.find("axes")->to_string(), "[0,1]:i64");
  EXPECT_EQ(attributes.find("none")->count(), 0);
  EXPECT_EQ(attributes.find("name")->as_string(), "a=b");
  EXPECT_EQ(attributes.find("text")->as_string(), "a");
  EXPECT_EQ(attributes.find("on")->to_string(), "True:bool");
  EXPECT_EQ(attributes.find("sub")->to_string(), "{m=2:i32, n=1:i32}");
  EXPECT_THROW(parse_attribute("eps", attributes), Failure);
  EXPECT_THROW(parse_attribute("eps:f32=x", attributes), Failure);
}

}  // namespace
}  // namespace farcall::tools
