// Products of transposed arrays read the original arrays.
#include <gtest/gtest.h>

#include <farcall/program/text.h>

#include "calls.h"
#include "engine/native/fold_transposes.h"

namespace farcall::native {
namespace {

std::string folded(const std::string& text) {
  return to_text(*remove_dead_code(fold_transposes(parse_program(text))));
}

// The program as printed.
std::string reprinted(const std::string& text) { return to_text(*parse_program(text)); }

TEST(FoldTransposes, OnEitherSide) {
  EXPECT_EQ(folded("{ lambda ; a:f32[3,2] b:f32[4,3]. let c:f32[2,3] = transpose[permutation=(1, "
                   "0)] a d:f32[3,4] = transpose[permutation=(1, 0)] b e:f32[2,4] = "
                   "dot_general[lhs_contracting=(1,) rhs_contracting=(0,) lhs_batch=() "
                   "rhs_batch=()] c d in (e,) }"),
            reprinted("{ lambda ; a:f32[3,2] b:f32[4,3]. let c:f32[2,4] = "
                      "dot_general[lhs_contracting=(0,) rhs_contracting=(1,) lhs_batch=() "
                      "rhs_batch=()] a b in (c,) }"));
}

TEST(FoldTransposes, OfBatchesAndOfSeveralTransposes) {
  EXPECT_EQ(folded("{ lambda ; a:f32[3,5,2] b:f32[5,3,4]. let c:f32[5,3,2] = "
                   "transpose[permutation=(1, 0, 2)] a d:f32[5,2,3] = transpose[permutation=(0, 2, "
                   "1)] c e:f32[5,2,4] = dot_general[lhs_contracting=(2,) rhs_contracting=(1,) "
                   "lhs_batch=(0,) rhs_batch=(0,)] d b in (e,) }"),
            reprinted("{ lambda ; a:f32[3,5,2] b:f32[5,3,4]. let c:f32[5,2,4] = "
                      "dot_general[lhs_contracting=(0,) rhs_contracting=(1,) lhs_batch=(1,) "
                      "rhs_batch=(0,)] a b in (c,) }"));
}

TEST(FoldTransposes, OfTheResult) {
  EXPECT_EQ(folded("{ lambda ; a:f32[2,3] b:f32[3,4]. let c:f32[2,4] = "
                   "dot_general[lhs_contracting=(1,) rhs_contracting=(0,) lhs_batch=() "
                   "rhs_batch=()] a b d:f32[4,2] = transpose[permutation=(1, 0)] c in (d,) }"),
            reprinted("{ lambda ; a:f32[2,3] b:f32[3,4]. let c:f32[4,2] = "
                      "dot_general[lhs_contracting=(0,) rhs_contracting=(1,) lhs_batch=() "
                      "rhs_batch=()] b a in (c,) }"));
}

TEST(FoldTransposes, NotWhereTheResultsDimensionsWouldChange) {
  const std::string text = reprinted(
      "{ lambda ; a:f32[3,5,2] b:f32[2,4]. let c:f32[5,3,2] = transpose[permutation=(1, 0, 2)] a "
      "d:f32[5,3,4] = dot_general[lhs_contracting=(2,) rhs_contracting=(0,) lhs_batch=() "
      "rhs_batch=()] c b in (d,) }");
  EXPECT_EQ(folded(text), text);
}

TEST(FoldTransposes, NotOfAProductThatOthersRead) {
  const std::string text = reprinted(
      "{ lambda ; a:f32[2,3] b:f32[3,4]. let c:f32[2,4] = dot_general[lhs_contracting=(1,) "
      "rhs_contracting=(0,) lhs_batch=() rhs_batch=()] a b d:f32[4,2] = transpose[permutation=(1, "
      "0)] c in (c, d) }");
  EXPECT_EQ(folded(text), text);
}

TEST(FoldTransposes, InTheBodiesOfLoops) {
  const std::string text =
      "{ lambda ; w:f32[2,2] h:f32[2]. let a:f32[2] = scan[jaxpr={ lambda ; w:f32[2,2] "
      "h:f32[2]. let t:f32[2,2] = transpose[permutation=(1, 0)] w o:f32[2] = "
      "dot_general[lhs_contracting=(0,) rhs_contracting=(0,) lhs_batch=() rhs_batch=()] h t in "
      "(o,) } length=3 reverse=False num_consts=1 num_carry=1 unroll=1] w h in (a,) }";
  EXPECT_EQ(folded(text).find("transpose"), std::string::npos) << folded(text);
}

TEST(FoldTransposes, GivesTheSameProducts) {
  const auto f = [](const Array& x, const Array& y) {
    const std::vector<int64_t> turned = {1, 0};
    return lax::transpose(numpy::matmul(lax::transpose(x, turned), lax::transpose(y, turned)),
                          turned);
  };
  const auto array = [](int64_t rows, int64_t columns) {
    return numpy::reshape(
        numpy::sin(numpy::arange(0, static_cast<double>(rows * columns), 1, DType::kFloat32)),
        Shape{rows, columns});
  };
  const Array x = array(70, 33), y = array(50, 70);
  EXPECT_EQ(testing::floats(jit(f)(x, y)), testing::floats(f(x, y)));
}

}  // namespace
}  // namespace farcall::native
