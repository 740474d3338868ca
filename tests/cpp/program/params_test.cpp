// Parameter structs: comparison, hashing, and conversion to values and back.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/primitives/reduce.h>
#include <farcall/primitives/structural.h>
#include <farcall/program/text.h>

#include "building.h"

namespace farcall {
namespace {

using testing::error_of;

// A struct of every type that a parameter may have.
struct Sample {
  bool flag = false;
  int64_t number = 0;
  double real = 0;
  std::string text;
  DType dtype = DType::kFloat32;
  ShapeDtype type = ShapeDtype(DType::kFloat32, {2});
  Attributes attributes;
  std::optional<std::vector<int64_t>> maybe;
  std::vector<std::pair<int64_t, double>> pairs;
  static constexpr auto fields() {
    return std::tuple(field("flag", &Sample::flag), field("number", &Sample::number),
                      field("real", &Sample::real), field("text", &Sample::text),
                      field("dtype", &Sample::dtype), field("type", &Sample::type),
                      field("attributes", &Sample::attributes), field("maybe", &Sample::maybe),
                      field("pairs", &Sample::pairs));
  }
};

Sample all_kinds() {
  Sample s;
  s.flag = true;
  s.number = std::numeric_limits<int64_t>::min();
  s.real = -0.0;
  s.text = "None";
  s.dtype = DType::kFloat8E4M3FN;
  s.type = ShapeDtype(DType::kInt4, {0, 3}, true);
  s.attributes = {{"a", 1}};
  s.maybe.emplace();
  s.pairs = {{1, 0.5}, {2, std::numeric_limits<double>::quiet_NaN()}};
  return s;
}

TEST(Params, EqualWhenEveryFieldIs) {
  const ParamsPtr a = make_params(all_kinds());
  EXPECT_TRUE(a->equals(*make_params(all_kinds())));
  EXPECT_EQ(a->hash(), make_params(all_kinds())->hash());
  const auto differs = [&](auto change) {
    Sample other = all_kinds();
    change(other);
    return !a->equals(*make_params(other));
  };
  EXPECT_TRUE(differs([](Sample& s) { s.flag = false; }));
  EXPECT_TRUE(differs([](Sample& s) { s.number = 0; }));
  EXPECT_TRUE(differs([](Sample& s) { s.real = 0.0; }));
  EXPECT_TRUE(differs([](Sample& s) { s.text = "none"; }));
  EXPECT_TRUE(differs([](Sample& s) { s.dtype = DType::kInt8; }));
  EXPECT_TRUE(differs([](Sample& s) { s.type = s.type.strengthened(); }));
  EXPECT_TRUE(differs([](Sample& s) { s.attributes = {{"a", int64_t{1}}}; }));
  EXPECT_TRUE(differs([](Sample& s) { s.maybe.reset(); }));
  EXPECT_TRUE(differs([](Sample& s) { s.pairs.pop_back(); }));
}

TEST(Params, ANaNEqualsItself) {
  Sample s;
  s.real = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(make_params(s)->equals(*make_params(s)));
}

TEST(Params, AnotherStructIsNeverEqual) {
  EXPECT_FALSE(make_params(ReduceParams{{0}})->equals(*make_params(RevParams{{0}})));
  EXPECT_FALSE(params_equal(make_params(ReduceParams{}).get(), nullptr));
  EXPECT_TRUE(params_equal(nullptr, nullptr));
}

TEST(Params, FieldsReadBack) {
  const ParamsPtr params = make_params(all_kinds());
  const ParamsPtr again = parse_params<Sample>(params->fields());
  Sample expected = all_kinds();
  // NaN in a vector of pairs compares unequal, so it is checked separately.
  EXPECT_TRUE(std::isnan(params_as<Sample>(again.get()).pairs[1].second));
  EXPECT_EQ(params_as<Sample>(again.get()).text, expected.text);
  EXPECT_EQ(params_as<Sample>(again.get()).maybe, expected.maybe);
  EXPECT_EQ(params_as<Sample>(again.get()).attributes, expected.attributes);
  EXPECT_EQ(params_as<Sample>(again.get()).type, expected.type);
}

TEST(Params, MissingAndMistakenFields) {
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [] { parse_params<ReduceParams>({}); }),
            "parameter \"axes\" is missing");
  const NamedValue number[] = {{"axes", int64_t{3}}};
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { parse_params<ReduceParams>(number); }),
            "expected a list in parentheses, got 3");
  const NamedValue text[] = {{"axes", ValueList{Value("x")}}};
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { parse_params<ReduceParams>(text); }),
            "expected an integer, got x");
}

TEST(Value, Text) {
  EXPECT_EQ(to_text(Value()), "None");
  EXPECT_EQ(to_text(Value(true)), "True");
  EXPECT_EQ(to_text(Value(int64_t{-7})), "-7");
  EXPECT_EQ(to_text(Value(1e300)), "1e+300");
  EXPECT_EQ(to_text(Value(2.0)), "2.0");
  EXPECT_EQ(to_text(Value(std::string("name_1"))), "name_1");
  EXPECT_EQ(to_text(Value(std::string("None"))), "\"None\"");
  EXPECT_EQ(to_text(Value(std::string("nan"))), "\"nan\"");
  EXPECT_EQ(to_text(Value(std::string("a \"b\""))), "\"a \\\"b\\\"\"");
  EXPECT_EQ(to_text(Value(std::string())), "\"\"");
  EXPECT_EQ(to_text(Value(ShapeDtype(DType::kInt8, {1, 2}, true))), "i8[1,2]*");
  EXPECT_EQ(to_text(Value(ValueList{})), "()");
  EXPECT_EQ(to_text(Value(ValueList{Value(int64_t{1})})), "(1,)");
  EXPECT_EQ(to_text(Value(ValueList{Value(), Value(false)})), "(None, False)");
  EXPECT_EQ(to_text(Value(Attributes{{"a", 1}})), "{a=1:i32}");
}

}  // namespace
}  // namespace farcall
