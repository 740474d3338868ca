// Text round trips: every printed program parses to an equal program.
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <farcall/core/element_text.h>
#include <farcall/program/save.h>
#include <farcall/program/text.h>
#include <farcall/program/verify.h>

#include "building.h"
#include "examples.h"

namespace farcall {
namespace {

using testing::example_equations;
using testing::ExampleEquation;
using testing::ffi_call_params;
using testing::kMatrix;
using testing::primitive;
using testing::program_of;

void expect_round_trip(const Program& program) {
  verify(program);
  const std::string text = to_text(program);
  ProgramPtr read;
  try {
    read = parse_program(text);
  } catch (const Error& error) {
    FAIL() << error.message() << "\n" << text;
  }
  EXPECT_TRUE(*read == program) << text << "\n" << to_text(*read);
  EXPECT_EQ(to_text(*read), text);
}

// The rules of these primitives are code, which text cannot hold: the parsed program differs.
bool loses_rules(const Program& program) {
  return program.equations.at(0).primitive->name.starts_with("custom_");
}

TEST(RoundTrip, EveryPrimitive) {
  std::set<std::string_view> without_example;
  for (const Primitive* each : all_primitives()) {
    // Their text names a function of this process; see callback_test.cpp.
    if (!each->is_callback()) without_example.insert(each->name);
  }
  for (const auto& [inputs, equation] : example_equations()) {
    SCOPED_TRACE(equation);
    ProgramPtr program;
    try {
      program = parse_program("{ lambda ; " + inputs + ". let " + equation + " in () }");
    } catch (const Error& error) {
      ADD_FAILURE() << error.message();
      continue;
    }
    without_example.erase(program->equations.at(0).primitive->name);
    const std::string text = to_text(*program);
    const ProgramPtr read = parse_program(text);
    EXPECT_EQ(to_text(*read), text);
    EXPECT_TRUE(loses_rules(*program) ||
                (*read == *program && hash_of(*read) == hash_of(*program)));
    const ProgramPtr loaded = deserialize_program(serialize_program(*program), {false}).program;
    EXPECT_EQ(to_text(*loaded), text);
    EXPECT_TRUE(loses_rules(*program) || *loaded == *program);
  }
  std::string names;
  for (const std::string_view name : without_example) names += ' ' + std::string(name);
  EXPECT_EQ(names, "") << "these primitives have no row in kExamples";
}

TEST(RoundTrip, LiteralsAndConstantsOfEveryDtype) {
  for (const DTypeInfo& info : all_dtypes()) {
    if (info.kind == DTypeKind::kToken) continue;
    SCOPED_TRACE(info.name);
    ProgramBuilder builder;
    std::vector<Atom> outputs;
    const auto add = [&](std::string_view text) {
      Literal literal{ShapeDtype(info.dtype, {}, text.size() % 2 == 0), {}};
      try {
        parse_element(info.dtype, text, literal.bytes.data());
      } catch (const Error&) {
        return;  // out of the range of this dtype
      }
      outputs.push_back(builder.add_literal(literal));
    };
    for (const auto text : {"True",
                            "False",
                            "0",
                            "1",
                            "-1",
                            "127",
                            "-128",
                            "255",
                            "32767",
                            "65535",
                            "2147483647",
                            "-2147483648",
                            "18446744073709551615",
                            "-9223372036854775808",
                            "0.0",
                            "-0.0",
                            "1.0",
                            "0.5",
                            "-2.0",
                            "3.4e+38",
                            "5e-324",
                            "1e-45",
                            "inf",
                            "-inf",
                            "nan",
                            "(1.0+2.0j)",
                            "(-0.0-infj)",
                            "(nan+nanj)",
                            "(1e-45-3.5j)"}) {
      add(text);
    }
    EXPECT_FALSE(outputs.empty());
    // All values of one-byte dtypes, 64 random values of wider ones.
    const size_t width = byte_width(info.dtype);
    const int64_t count = info.kind == DTypeKind::kBool ? 2
                          : info.bits <= 8              ? int64_t{1} << info.bits
                                                        : 64;
    Storage storage = Storage::allocate(count * width);
    auto* bytes = static_cast<unsigned char*>(storage.data());
    uint32_t state = 1;
    for (size_t i = 0; i < count * width; ++i) {
      bytes[i] = static_cast<unsigned char>(width == 1 ? i : (state = state * 1664525 + 77) >> 24);
    }
    if (info.kind == DTypeKind::kSigned && info.bits < 8) {
      for (int64_t i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>(i - count / 2);
    }
    // Normalizes the values by one round trip through text: NaN has a single text form.
    for (int64_t i = 0; i < count; ++i) {
      parse_element(info.dtype, format_element(info.dtype, bytes + i * width), bytes + i * width);
    }
    outputs.push_back(Atom::variable(
        builder.add_constant(ShapeDtype(info.dtype, {count, 1}), std::move(storage))));
    outputs.push_back(
        Atom::variable(builder.add_constant(ShapeDtype(info.dtype, {0, 2}), Storage::allocate(0))));
    outputs.push_back(Atom::variable(builder.add_input(ShapeDtype(info.dtype, {2, 0}, true))));
    expect_round_trip(*builder.build(outputs));
  }
}

TEST(RoundTrip, LiteralsAsOperands) {
  ProgramBuilder builder;
  const float kAwkward[] = {std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(), -0.0f, 1e-45f};
  const Atom x = Atom::variable(builder.add_input(kMatrix));
  std::vector<Atom> outputs;
  for (const float value : kAwkward) {
    const Atom literal = builder.add_literal(testing::literal(DType::kFloat32, value));
    const Atom both[] = {literal, x}, turned[] = {x, literal}, same[] = {literal, literal};
    for (const auto& operands : {both, turned, same}) {
      outputs.push_back(
          Atom::variable(builder.add_equation(primitive("add"), nullptr, {operands, 2})[0]));
    }
  }
  const Atom flag = builder.add_literal(testing::literal(DType::kBool, true));
  outputs.push_back(Atom::variable(builder.add_equation(primitive("not"), nullptr, {&flag, 1})[0]));
  const Atom number =
      builder.add_literal(testing::literal(DType::kComplex64, std::complex<float>(1, -2)));
  outputs.push_back(
      Atom::variable(builder.add_equation(primitive("conj"), nullptr, {&number, 1})[0]));
  outputs.push_back(flag);
  expect_round_trip(*builder.build(outputs));
}

TEST(RoundTrip, AttributesOfEveryKind) {
  std::vector<std::pair<std::string, Attribute>> entries = {
      {"", "empty name"},
      {"lambda", 1},
      {"in", 2},
      {"None", "None"},
      {"with space", "quotes \" and \\ and \n \t \r \x01 \xff and é"},
      {"empty", ""},
      {"nested", Attributes{{"lambda", Attributes{{"x", Attributes()}}}, {"y", -1}}},
      {"none_inside", Attributes()},
      {"u64", std::numeric_limits<uint64_t>::max()},
      {"i64", std::numeric_limits<int64_t>::min()},
      {"bool", true},
      {"nan", std::numeric_limits<double>::quiet_NaN()},
      {"inf", -std::numeric_limits<float>::infinity()},
      {"c128", std::complex<double>(-0.0, 1e-300)},
      {"no_numbers", std::vector<float>()},
      {"numbers", std::vector<double>{0.1, -0.0, std::numeric_limits<double>::infinity()}},
      {"complexes", std::vector<std::complex<float>>{{1, 2}, {-3, -4}}},
  };
  for (const DTypeInfo& info : all_dtypes()) {
    if (info.kind == DTypeKind::kToken) continue;
    const std::byte one[16] = {std::byte(info.dtype == DType::kInt1 ? 0xff : 1)};
    entries.emplace_back("scalar_" + std::string(info.name),
                         Attribute::scalar(info.dtype, std::span(one).first(info.byte_width)));
    entries.emplace_back("array_" + std::string(info.name),
                         Attribute::array(info.dtype, 1, std::span(one).first(info.byte_width)));
    entries.emplace_back("none_" + std::string(info.name), Attribute::array(info.dtype, 0, {}));
  }
  FfiCallParams params = ffi_call_params("f", 0, {});
  params.attributes = Attributes(std::move(entries));
  params.has_side_effect = true;
  expect_round_trip(*program_of("ffi_call", {}, make_params(params)));
}

TEST(RoundTrip, OptionsOfForeignCalls) {
  for (const std::string name :
       {"plain", "None", "True", "nan", "inf", "in", "lambda", "let", "f32", "a-b", "1st", "",
        "with \"quotes\"", "a::b", "\xff\n", "é"}) {
    FfiCallParams params = ffi_call_params(name, 2, {kMatrix, ShapeDtype(DType::kToken, {})});
    params.input_layouts = {MajorToMinor({1, 0}), std::nullopt};
    params.output_layouts = {MajorToMinor({1, 0}), MajorToMinor(std::vector<int64_t>())};
    params.input_output_aliases = {{0, 0}};
    params.custom_call_api_version = 1;
    params.legacy_backend_config = name;
    expect_round_trip(
        *program_of("ffi_call", {kMatrix, ShapeDtype(DType::kToken, {})}, make_params(params)));
  }
}

TEST(RoundTrip, HighRanks) {
  const std::vector<int64_t> shape(kMaxRank, 1);
  ProgramBuilder builder;
  const Atom x = Atom::variable(builder.add_input(ShapeDtype(DType::kInt8, shape)));
  expect_round_trip(*builder.build({&x, 1}));
}

TEST(RoundTrip, CommentsAndWhitespaceDoNotCount) {
  const ProgramPtr a = parse_program("{ lambda ; a:f32[2]. let b:f32[2] = neg a in (b,) }");
  const ProgramPtr b = parse_program(
      "# made by hand\n{lambda;x : f32[ 2 ,].let # here\n y:f32[2]=neg x in(y)}\n# end");
  EXPECT_TRUE(*a == *b);
}

}  // namespace
}  // namespace farcall
