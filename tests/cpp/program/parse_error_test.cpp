// The parser's errors for invalid text, and their positions.
#include <string>

#include <gtest/gtest.h>

#include <farcall/program/text.h>

#include "building.h"

namespace farcall {
namespace {

std::string error_in(const std::string& text) {
  return testing::error_of(ErrorCode::kInvalidArgument, [&] { parse_program(text); });
}

TEST(ParseError, LineAndColumn) {
  EXPECT_EQ(error_in(""), "program text, line 1, column 1: expected '{'");
  EXPECT_EQ(error_in("\n  x"), "program text, line 2, column 3: expected '{'");
  EXPECT_EQ(error_in("{ lamda ; . let in () }"),
            "program text, line 1, column 3: expected \"lambda\"");
  EXPECT_EQ(error_in("{ lambda ; a:f32[]. let\n    b:f32[] = nag a\n  in (b,) }"),
            "program text, line 2, column 18: there is no primitive \"nag\"");
}

TEST(ParseError, Types) {
  EXPECT_EQ(error_in("{ lambda ; a:float[]. let in (a,) }"),
            "program text, line 1, column 19: \"float\" is not a dtype");
  EXPECT_EQ(error_in("{ lambda ; a:f32[x]. let in (a,) }"),
            "program text, line 1, column 18: expected an integer");
  EXPECT_EQ(error_in("{ lambda ; a:f32[1;2]. let in (a,) }"),
            "program text, line 1, column 19: expected ',' or ']'");
  EXPECT_EQ(error_in("{ lambda ; a:f32[-1]. let in (a,) }").substr(0, 34),
            "program text, line 1, column 21: s");
  EXPECT_EQ(error_in("{ lambda ; a:f32[9999999999999999999999]. let in (a,) }"),
            "program text, line 1, column 18: expected an integer");
}

TEST(ParseError, Variables) {
  EXPECT_EQ(error_in("{ lambda ; a:f32[] a:f32[]. let in (a,) }"),
            "program text, line 1, column 27: variable \"a\" is defined twice");
  EXPECT_EQ(error_in("{ lambda ; a:f32[]. let b:f32[] = neg c in (b,) }"),
            "program text, line 1, column 39: variable \"c\" is not defined");
  EXPECT_EQ(error_in("{ lambda ; a:f32[]. let in (b,) }"),
            "program text, line 1, column 29: variable \"b\" is not defined");
  EXPECT_EQ(error_in("{ lambda ; a:f32[]. let _:f32[] = neg a in (_,) }"),
            "program text, line 1, column 45: expected a value");
}

TEST(ParseError, Literals) {
  EXPECT_EQ(error_in("{ lambda ;. let in (1.5:i32[],) }").substr(0, 33),
            "program text, line 1, column 24: ");
  EXPECT_EQ(error_in("{ lambda ;. let in (1.5:f32[2],) }"),
            "program text, line 1, column 21: a literal must be a scalar");
  EXPECT_EQ(error_in("{ lambda ;. let in (1.5,) }"),
            "program text, line 1, column 24: expected ':'");
}

TEST(ParseError, Constants) {
  EXPECT_EQ(error_in("{ lambda a:f32[2]=[1.0] ;. let in (a,) }"),
            "program text, line 1, column 23: expected a value");
  EXPECT_EQ(error_in("{ lambda a:f32[1]=[1.0 2.0] ;. let in (a,) }"),
            "program text, line 1, column 24: expected ']'");
  EXPECT_EQ(error_in("{ lambda a:f32[9]=... ;. let in (a,) }"),
            "program text, line 1, column 22: the values of constant \"a\" were left out when this "
            "was printed");
  EXPECT_EQ(error_in("{ lambda a:f32[1000000000000]=[1.0] ;. let in (a,) }"),
            "program text, line 1, column 32: f32[1000000000000] has 1000000000000 elements, but "
            "the text is too short");
}

TEST(ParseError, Equations) {
  EXPECT_EQ(error_in("{ lambda ; a:f32[]. let b:f32[2] = neg a in (b,) }"),
            "program text, line 1, column 42: result 0 of neg is f32[], not f32[2]");
  EXPECT_EQ(error_in("{ lambda ; a:f32[]. let = neg a in () }"),
            "program text, line 1, column 33: neg returns 1 results, but 0 are named");
  EXPECT_EQ(error_in("{ lambda ; a:f32[] b:i32[]. let c:f32[] = add a b in (c,) }").substr(0, 65),
            "program text, line 1, column 51: add: operands must have one dtyp");
}

TEST(ParseError, Parameters) {
  EXPECT_EQ(error_in("{ lambda ; a:f32[2]. let b:f32[2] = neg[x=1] a in (b,) }"),
            "program text, line 1, column 45: neg has no parameters");
  EXPECT_EQ(error_in("{ lambda ; a:f32[2]. let b:f32[2] = rev a in (b,) }"),
            "program text, line 1, column 41: rev: parameter \"dimensions\" is missing");
  EXPECT_EQ(error_in("{ lambda ; a:f32[2]. let b:f32[2] = rev[dimensions=0] a in (b,) }"),
            "program text, line 1, column 54: rev: expected a list in parentheses, got 0");
  EXPECT_EQ(error_in("{ lambda ; a:f32[2]. let b:f32[2] = rev[dimensions=(0;)] a in (b,) }"),
            "program text, line 1, column 54: expected ',' or ')'");
}

TEST(ParseError, StringsAndAttributes) {
  const auto with = [](const std::string& attributes) {
    return error_in("{ lambda ;. let = ffi_call[attributes=" + attributes + "] in () }");
  };
  EXPECT_EQ(with("{a=\"x"), "program text, line 1, column 53: the string has no end");
  EXPECT_EQ(with("{a=\"\\xg0\"}"),
            "program text, line 1, column 45: expected two hexadecimal digits");
  EXPECT_EQ(with("{a=1}"), "program text, line 1, column 43: expected ':'");
  EXPECT_EQ(with("{a=1:x8}"), "program text, line 1, column 46: \"x8\" is not a dtype");
  EXPECT_EQ(with("{a=300:u8}").substr(0, 33), "program text, line 1, column 45: ");
  EXPECT_EQ(with("{a=1:i8, a=2:i8}").substr(0, 33), "program text, line 1, column 55: ");
}

TEST(ParseError, TheVmapMethodOfAForeignCall) {
  EXPECT_EQ(error_in("{ lambda ;. let = ffi_call[attributes={} batched_operands=() "
                     "custom_call_api_version=4 has_side_effect=False input_layouts=() "
                     "input_output_aliases=() "
                     "legacy_backend_config=None output_layouts=() result_types=() target_name=f "
                     "vmap_method=quick] in () }"),
            "program text, line 1, column 244: ffi_call(\"f\"): vmap_method must be one of "
            "broadcast_all, expand_dims, legacy_vectorized, sequential, sequential_unrolled or "
            "None, got \"quick\"");
}

TEST(ParseError, TheEnd) {
  EXPECT_EQ(error_in("{ lambda ;. let in () } x"),
            "program text, line 1, column 25: the program has ended, but text follows");
  EXPECT_EQ(error_in("{ lambda ;. let in ("), "program text, line 1, column 21: expected a value");
  EXPECT_EQ(error_in("{ lambda ;. let"), "program text, line 1, column 16: expected a name");
}

TEST(ParseError, DeepNestingIsRefused) {
  const std::string deep(100000, '(');
  EXPECT_EQ(error_in("{ lambda ;. let = rev[dimensions=" + deep),
            "program text, line 1, column 646: the text is nested too deeply");
  std::string attributes;
  for (int i = 0; i < 100000; ++i) attributes += "{a=";
  EXPECT_NE(error_in("{ lambda ;. let = ffi_call[attributes=" + attributes).find("too deeply"),
            std::string::npos);
}

// Every proper prefix of a program's text gives a parse error.
TEST(ParseError, EveryPrefixIsAnError) {
  const std::string text =
      "{ lambda a:c64[1]=[(1.0-2.0j)] ; b:f32[2]*. let\n"
      "    c:f32[2] = ffi_call[\n      attributes={d={e=[1,2]:u4, lambda=\"x\\\"\\n\"}}\n"
      "      batched_operands=((0,),)\n      custom_call_api_version=4\n      "
      "has_side_effect=True\n      input_layouts=((0,),)\n"
      "      input_output_aliases=((0, 0),)\n      legacy_backend_config=None\n"
      "      output_layouts=(None,)\n      result_types=(f32[2],)\n      target_name=\"a-b\"\n"
      "      vmap_method=None\n    ] b\n  in (c, -inf:bf16[], a) }";
  parse_program(text);
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(error_in(text.substr(0, size)).substr(0, 19), "program text, line ") << size;
  }
}

}  // namespace
}  // namespace farcall
