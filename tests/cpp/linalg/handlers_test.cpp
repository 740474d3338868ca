// The targets called by name: what they reject, and their results for empty matrices.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/error.h>
#include <farcall/ffi/registry.h>
#include <farcall/ops/ffi_call.h>
#include <farcall/ops/numpy.h>

namespace farcall {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ShapeDtype kMatrix(DType::kFloat64, {2, 2});

std::string message_of(const char* target, std::vector<ShapeDtype> results,
                       std::initializer_list<Array> operands, const Attributes& attributes = {}) {
  try {
    FfiCall(target, std::move(results))(operands, attributes);
  } catch (const Error& error) {
    return error.message();
  }
  return "no error was raised";
}

TEST(Targets, AreRegisteredWhenTheLibraryIsLoaded) {
  for (const char* name : {"farcall_cholesky", "farcall_geev", "farcall_gees", "farcall_gehrd",
                           "farcall_geqrf", "farcall_gesdd", "farcall_getrf", "farcall_laswp",
                           "farcall_lu_pivots_to_permutation", "farcall_lu_solve", "farcall_orgqr",
                           "farcall_gtsv", "farcall_syevd", "farcall_sytrd", "farcall_trsm"}) {
    EXPECT_TRUE(is_registered(name)) << name;
    EXPECT_TRUE(is_batch_partitionable(name)) << name;
  }
}

TEST(Targets, RefuseResultsThatDoNotFit) {
  const Array a = Array::of({1.0, 0.0, 0.0, 1.0}, {2, 2});
  EXPECT_THAT(message_of("farcall_cholesky", {{DType::kFloat64, {2}}}, {a}),
              HasSubstr("are (f64[2,2]) by the shape rule of the target's definition; the "
                        "call asks for (f64[2])"));
  EXPECT_THAT(message_of("farcall_getrf", {kMatrix, {DType::kInt32, {3}}}, {a}),
              HasSubstr("are (f64[2,2], i32[2]) by the shape rule"));
  EXPECT_THAT(message_of("farcall_gesdd", {{DType::kFloat64, {2}}}, {a},
                         {{"full_matrices", true}, {"compute_uv", true}}),
              HasSubstr("are (f64[2], f64[2,2], f64[2,2]) by the shape rule"));
}

TEST(Targets, RefuseOtherDtypes) {
  const Array a = Array::of<int32_t>({1, 0, 0, 1}, {2, 2});
  EXPECT_THAT(message_of("farcall_cholesky", {{DType::kInt32, {2, 2}}}, {a}),
              HasSubstr("operand a must be f32, f64, c64 or c128[...,n,n], got i32[2,2]"));
}

TEST(Targets, RefuseVectors) {
  const Array a = Array::of({1.0, 2.0});
  EXPECT_THAT(message_of("farcall_cholesky", {{DType::kFloat64, {2}}}, {a}),
              HasSubstr("operand 0 must have at least 2 dimensions, got f64[2]"));
}

TEST(Targets, RefuseMatricesThatDoNotFitTheirRightHandSides) {
  const Array a = Array::of({1.0, 0.0, 0.0, 1.0}, {2, 2}), b = Array::of({1.0, 2.0, 3.0}, {3, 1});
  const Attributes attributes = {{"left_side", true},
                                 {"lower", true},
                                 {"transpose_a", false},
                                 {"conjugate_a", false},
                                 {"unit_diagonal", false}};
  EXPECT_THAT(message_of("farcall_trsm", {b.type()}, {a, b}, attributes),
              HasSubstr("operand b must be f64[2,k], got f64[3,1]"));
}

TEST(Targets, LeaveTheirOperandsAsTheyAre) {
  const Array a = Array::of({4.0, 2.0, 2.0, 5.0}, {2, 2});
  FfiCall("farcall_cholesky", {kMatrix}, {.input_output_aliases = {{0, 0}}})({a});
  EXPECT_THAT(a.values<double>(), ElementsAre(4, 2, 2, 5));
}

TEST(Targets, GiveNothingForNothing) {
  const Array none = numpy::zeros(std::vector<int64_t>{0, 3, 3}, DType::kFloat32);
  const auto results = FfiCall("farcall_cholesky", {none.type()})({none});
  EXPECT_EQ(results[0].size(), 0);
}

}  // namespace
}  // namespace farcall
