// Equations with known operands are evaluated at compilation.
#include <farcall/trace/record.h>

#include "passes.h"

namespace farcall {
namespace {

using testing::expect_after;

// Runs programs equation by equation and counts its calls.
struct Evaluator {
  int* num_runs = nullptr;
  std::vector<Storage> operator()(const ProgramPtr& program) const {
    verify(*program);
    if (num_runs) ++*num_runs;
    std::vector<Storage> results;
    for (const Array& result : evaluate(*program, {})) results.push_back(result.storage());
    return results;
  }
};
ProgramPtr fold(const ProgramPtr& program) { return fold_constants(program, Evaluator()); }

void expect_same(std::string_view text) { testing::expect_same(text, fold); }

TEST(FoldConstants, ScalarsBecomeLiteralsAndArraysConstants) {
  expect_after(
      "{ lambda ; a:f32[2]. let b:f32[] = add 1.5:f32[] 2.0:f32[] c:f32[2] = "
      "broadcast_in_dim[shape=(2,) broadcast_dimensions=()] b d:f32[2] = mul a c e:f32[2] = add d "
      "b in (e,) }",
      fold,
      "{ lambda c:f32[2]=[3.5 3.5] ; a:f32[2]. let d:f32[2] = mul a c e:f32[2] = add d 3.5:f32[] "
      "in (e,) }");
}

TEST(FoldConstants, ConstantsOfTheProgramAreKnown) {
  expect_after(
      "{ lambda a:f32[2]=[1.0 -0.0] ; b:f32[2]. let c:f32[2] = neg a d:f32[2] = add b c in (d,) }",
      fold,
      "{ lambda a:f32[2]=[1.0 -0.0] c:f32[2]=[-1.0 0.0] ; b:f32[2]. let d:f32[2] = add b c in (d,) "
      "}");
}

TEST(FoldConstants, OneRunForAProgramAndOneForEachInside) {
  int num_runs = 0;
  const ProgramPtr program = parse_program(
      "{ lambda ; a:f32[2]. let b:f32[] = neg 1.0:f32[] c:f32[] = neg 2.0:f32[] d:f32[2] = mul a b "
      "e:f32[2] = mul d c f:f32[2] = scan[jaxpr={ lambda ; a:f32[2]. let b:f32[] = neg 3.0:f32[] "
      "c:f32[2] = mul a b in (c,) } length=3 num_carry=1 num_consts=0 reverse=False unroll=1] e in "
      "(f,) }");
  const auto counted = [&](const ProgramPtr& p) { return fold_constants(p, Evaluator{&num_runs}); };
  expect_after(program, counted,
               "{ lambda ; a:f32[2]. let d:f32[2] = mul a -1.0:f32[] e:f32[2] = mul d -2.0:f32[] "
               "f:f32[2] = scan[jaxpr={ lambda ; a:f32[2]. let c:f32[2] = mul a -3.0:f32[] in (c,) "
               "} length=3 num_carry=1 num_consts=0 reverse=False unroll=1] e in (f,) }");
  EXPECT_EQ(num_runs, 2);
}

TEST(FoldConstants, EveryBitIsTheEngines) {
  expect_after(
      "{ lambda ; a:f32[]. let b:f32[] = div 0.0:f32[] 0.0:f32[] c:f32[] = neg b d:f32[] = "
      "integer_pow[y=3] 1.1:f32[] e:bool[] = lt a c f:f32[] = select_n e b d in (f, e) }",
      fold,
      to_text(*fold(parse_program(
          "{ lambda ; a:f32[]. let b:f32[] = div 0.0:f32[] 0.0:f32[] c:f32[] = neg b d:f32[] = "
          "integer_pow[y=3] 1.1:f32[] e:bool[] = lt a c f:f32[] = select_n e b d in (f, e) }"))));
}

TEST(FoldConstants, LargeValuesAndResultsOfTheProgramStay) {
  expect_same(
      "{ lambda ; a:f32[257]. let b:f32[257] = broadcast_in_dim[shape=(257,) "
      "broadcast_dimensions=()] 1.0:f32[] c:f32[257] = mul a b in (c,) }");
  expect_same("{ lambda ; . let a:f32[] = neg 1.0:f32[] in (a,) }");
}

TEST(FoldConstants, KeysTokensAndLoopsStay) {
  expect_same(
      "{ lambda a:u32[2]=[1 2] ; . let b:key<fry>[] = random_wrap[impl=fry] a c:u32[2] = "
      "random_bits[bit_width=32 shape=(2,)] b d:u32[2] = not c in (d,) }");
  expect_same(
      "{ lambda ; a:f32[2]. let b:f32[] = scan[jaxpr={ lambda ; a:f32[]. let b:f32[] = neg a in "
      "(b,) } length=3 num_carry=1 num_consts=0 reverse=False unroll=1] 1.0:f32[] c:f32[2] = mul a "
      "b in (c,) }");
}

TEST(FoldConstants, AnErrorOfTheEvaluatorReachesTheCaller) {
  const ProgramPtr program =
      parse_program("{ lambda ; a:f32[]. let b:f32[] = neg 1.0:f32[] c:f32[] = mul a b in (c,) }");
  const auto fails = [](const ProgramPtr&) -> std::vector<Storage> {
    throw Error(ErrorCode::kUnimplemented, "no kernel");
  };
  EXPECT_THROW(fold_constants(program, fails), Error);
}

}  // namespace
}  // namespace farcall
