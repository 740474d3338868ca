// scan, while and cond: their programs, errors and transformations.
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/ops/collectives.h>
#include <farcall/ops/control_flow.h>
#include <farcall/ops/numpy.h>
#include <farcall/program/text.h>
#include <farcall/program/verify.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/derivatives.h>
#include <farcall/trace/derive.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/vmap.h>

#include "arrays.h"

namespace farcall {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::kScalar;
using testing::kVector;
using testing::shape;
using testing::values;
using Arrays = std::vector<Array>;
using Inputs = std::span<const Array>;

std::string type_error_of(const std::function<void()>& body) {
  return error_of<TypeError>(ErrorCode::kInvalidArgument, body);
}

// The running product c * x; its sine is the stacked result.
lax::LoopResults product(Inputs c, Inputs x) {
  const Array next = c[0] * x[0];
  return {{next}, {lax::sin(next)}};
}

Arrays scan_product(Inputs inputs) {
  const auto results = lax::scan(product, inputs.first(1), inputs.subspan(1));
  return {results.carry[0], results.ys[0]};
}

Array number(float value) { return Array::scalar(value); }

// ---- programs ----

TEST(Scan, IsOneEquation) {
  const ShapeDtype types[] = {kScalar, kVector};
  const ProgramPtr program = record(scan_product, types);
  verify(*program);
  ASSERT_EQ(program->equations.size(), 1u);
  EXPECT_EQ(program->equations[0].primitive->name, "scan");
  EXPECT_EQ(program->output_types()[0].to_string(), "f32[]");
  EXPECT_EQ(program->output_types()[1].to_string(), "f32[3]");
  EXPECT_EQ(*parse_program(to_text(*program)), *program);
}

TEST(While, IsOneEquation) {
  const ProgramPtr program = record(
      [](Inputs x) {
        return lax::while_loop([](Inputs c) { return Arrays{c[0] < 10.0}; },
                               [](Inputs c) { return Arrays{c[0] * 2.0}; }, x);
      },
      {&kScalar, 1});
  verify(*program);
  ASSERT_EQ(program->equations.size(), 1u);
  EXPECT_EQ(*parse_program(to_text(*program)), *program);
}

TEST(Cond, BranchesShareWhatTheyCloseOver) {
  const ShapeDtype types[] = {ShapeDtype(DType::kBool, {}), kVector};
  const ProgramPtr program = record(
      [](Inputs x) {
        const Array v = x[1];
        return lax::cond(
            x[0], [&](Inputs) { return Arrays{v * 2.0}; }, [&](Inputs) { return Arrays{v}; }, {});
      },
      types);
  verify(*program);
  EXPECT_EQ(program->equations.back().inputs.size(), 2u);  // the number and v, which is passed once
  EXPECT_EQ(*parse_program(to_text(*program)), *program);
}

TEST(Scan, CountsItsIterationsAsCost) {
  const ShapeDtype types[] = {kScalar, kVector};
  const ProgramPtr program = record(scan_product, types);
  EXPECT_EQ(program->cost().flops, 6);  // a product and a sine, three times
}

TEST(ForiLoop, IsAScanWhereBoundsAreKnown) {
  const auto program_of = [](bool is_known) {
    const ShapeDtype types[] = {kScalar, ShapeDtype(DType::kInt32, {})};
    return record(
        [&](Inputs x) {
          return lax::fori_loop(
              0, is_known ? Array(3) : x[1],
              [](const Array&, Inputs c) { return Arrays{c[0] * 2.0}; }, x.first(1));
        },
        types);
  };
  EXPECT_EQ(program_of(true)->equations[0].primitive->name, "scan");
  EXPECT_EQ(program_of(false)->equations[0].primitive->name, "while");
}

// ---- values ----

TEST(Scan, CarriesAndStacks) {
  const Array xs = Array::of<float>({2, 3, 4});
  const auto results = lax::scan(
      [](Inputs c, Inputs x) {
        return lax::LoopResults{{c[0] + x[0]}, {c[0] * x[0]}};
      },
      Arrays{number(1)}, Arrays{xs});
  EXPECT_THAT(values<float>(results.carry[0]), ElementsAre(10));
  EXPECT_THAT(values<float>(results.ys[0]), ElementsAre(2, 9, 24));
}

TEST(Scan, InReverseStacksInPlace) {
  const Array xs = Array::of<float>({2, 3, 4});
  const auto results = lax::scan(
      [](Inputs c, Inputs x) {
        return lax::LoopResults{{c[0] + x[0]}, {c[0]}};
      },
      Arrays{number(0)}, Arrays{xs}, {.reverse = true});
  EXPECT_THAT(values<float>(results.ys[0]), ElementsAre(7, 4, 0));
}

TEST(Scan, OfNoStepsReturnsTheCarry) {
  const auto results =
      lax::scan(product, Arrays{number(5)},
                Arrays{Array(ShapeDtype(DType::kFloat32, {0}), Storage::allocate(0))});
  EXPECT_THAT(values<float>(results.carry[0]), ElementsAre(5));
  EXPECT_THAT(shape(results.ys[0]), ElementsAre(0));
}

TEST(Scan, PromotesAWeakCarry) {
  const auto results = lax::scan(
      [](Inputs c, Inputs x) {
        return lax::LoopResults{{c[0] + x[0]}, {}};
      },
      Arrays{Array(1)}, Arrays{Array::of<float>({0.5f, 0.25f})});
  EXPECT_THAT(values<float>(results.carry[0]), ElementsAre(1.75f));
}

TEST(Switch, ClampsItsIndex) {
  const FlatFunction branches[] = {[](Inputs x) { return Arrays{x[0]}; },
                                   [](Inputs x) { return Arrays{x[0] * 10.0}; }};
  const auto of = [&](int index) {
    return lax::switch_(index, branches, Arrays{number(2)})[0].item<float>();
  };
  EXPECT_EQ(of(-3), 2);
  EXPECT_EQ(of(0), 2);
  EXPECT_EQ(of(1), 20);
  EXPECT_EQ(of(7), 20);
}

TEST(Map, InBatchesIsTheSame) {
  const Array xs = testing::counting({7, 2}, DType::kFloat32);
  const FlatFunction f = [](Inputs x) { return Arrays{numpy::sum(x[0] * x[0])}; };
  const auto expected = values<float>(lax::map(f, Arrays{xs})[0]);
  for (const int64_t size : {1, 2, 3, 7, 10}) {
    EXPECT_EQ(values<float>(lax::map(f, Arrays{xs}, size)[0]), expected) << size;
  }
}

TEST(AssociativeScan, GivesRunningSums) {
  for (const int64_t size : {1, 2, 3, 6, 7, 8}) {
    const Array x = testing::counting({size});
    std::vector<int32_t> expected = values<int32_t>(x);
    std::partial_sum(expected.begin(), expected.end(), expected.begin());
    const auto found = lax::associative_scan(
        [](Inputs a, Inputs b) {
          EXPECT_GT(a[0].size(), 0);
          return Arrays{a[0] + b[0]};
        },
        Arrays{x});
    EXPECT_EQ(values<int32_t>(found[0]), expected);
  }
}

// ---- derivatives ----

// d/dx of sum(results) at `inputs`, in reverse mode.
Arrays gradient(const FlatFunction& f, const Arrays& inputs) {
  const FlatFunction total = [&](Inputs x) {
    Array sum = number(0);
    for (const Array& y : f(x)) sum = sum + numpy::sum(y);
    return Arrays{sum};
  };
  const Linearized found = linearize(total, inputs, std::vector<bool>(inputs.size(), true));
  return found.derivative->transpose(Arrays{number(1)});
}

TEST(ScanDerivative, ReverseAgreesWithForward) {
  const Arrays inputs{number(1.5), Array::of<float>({0.5, 2, 1.25})};
  const auto gradients = gradient(scan_product, inputs);
  const auto forward = [&](const Array& c, const Array& x) {
    const JvpResults found = jvp(scan_product, inputs, Arrays{c, x});
    return numpy::sum(found.tangents[0]).item<float>() +
           numpy::sum(found.tangents[1]).item<float>();
  };
  EXPECT_NEAR(gradients[0].item<float>(), forward(number(1), Array()), 1e-5);
  for (int i = 0; i < 3; ++i) {
    std::vector<float> direction(3, 0);
    direction[i] = 1;
    const int64_t size = 3;
    EXPECT_NEAR(values<float>(gradients[1])[i],
                forward(Array(), Array::of(std::span<const float>(direction), {&size, 1})), 1e-5);
  }
}

TEST(ScanDerivative, KeepsWhatDoesNotChangeOnce) {
  // c * sin(w), where w is constant over the steps: sin(w) need not be stacked.
  const ShapeDtype types[] = {kScalar, kScalar};
  const FlatFunction f = [](Inputs inputs) {
    const Array w = inputs[1];
    return lax::scan(
               [&](Inputs c, Inputs) {
                 return lax::LoopResults{{c[0] * lax::sin(w)}, {}};
               },
               inputs.first(1), {}, {.length = 4})
        .carry;
  };
  const ProgramPtr program = record(
      [&](Inputs x) {
        return gradient(f, {x.begin(), x.end()});
      },
      types);
  verify(*program);
  const Equation* forward = nullptr;
  for (const Equation& equation : program->equations) {
    if (!forward && equation.primitive->name == "scan") forward = &equation;
  }
  ASSERT_NE(forward, nullptr);
  // The outputs are the carry and one residual: the carries before each step.
  EXPECT_EQ(forward->outputs.size(), 2u);
}

TEST(ScanDerivative, IsDerivedOnce) {
  const ShapeDtype types[] = {kScalar, kVector};
  const ProgramPtr program = record(scan_product, types);
  const std::vector<bool> varies{true, true};
  EXPECT_EQ(jvp_program(program, varies).program, jvp_program(program, varies).program);
  const auto body_of = [&](const ProgramPtr& p) {
    for (const Equation& equation : p->equations) {
      for (const NamedValue& field : equation.params->fields()) {
        if (field.name == "jaxpr") return std::get<ProgramPtr>(field.value);
      }
    }
    return ProgramPtr();
  };
  const auto derive = [&] {
    return record(
        [&](Inputs x) {
          return jvp([&](Inputs y) { return evaluate(*program, y); }, x, x).tangents;
        },
        types);
  };
  EXPECT_EQ(body_of(derive()), body_of(derive()));
}

TEST(WhileDerivative, WorksForwardAndNamesTheWayBack) {
  const FlatFunction f = [](Inputs x) {
    return lax::while_loop([](Inputs c) { return Arrays{c[0] < 10.0}; },
                           [](Inputs c) { return Arrays{c[0] * c[0]}; }, x);
  };
  const JvpResults found = jvp(f, Arrays{number(2)}, Arrays{number(1)});
  EXPECT_EQ(found.primals[0].item<float>(), 16);
  EXPECT_EQ(found.tangents[0].item<float>(), 32);
  EXPECT_THAT(error_of(ErrorCode::kInvalidArgument, [&] { gradient(f, {number(2)}); }),
              HasSubstr("while: reverse-mode differentiation does not work for while_loop"));
}

TEST(CondDerivative, IsThatOfTheChosenBranch) {
  const auto f = [](bool which) {
    return [which](Inputs x) {
      return lax::cond(
          which, [](Inputs y) { return Arrays{y[0] * y[0] * y[1]}; },
          [](Inputs y) { return Arrays{lax::sin(y[0])}; }, x);
    };
  };
  const Arrays inputs{number(3), number(2)};
  const auto chosen = gradient(f(true), inputs);
  EXPECT_EQ(chosen[0].item<float>(), 12);
  EXPECT_EQ(chosen[1].item<float>(), 9);
  const auto other = gradient(f(false), inputs);
  EXPECT_NEAR(other[0].item<float>(), std::cos(3.f), 1e-6);
  EXPECT_EQ(other[1].item<float>(), 0);
}

// ---- batches ----

TEST(WhileBatch, RunsUntilAllHaveEnded) {
  const Array x = Array::of<float>({1, 20, 3});
  const BatchAxis axis{3, {}};
  const auto found =
      batched_in_front(batch(
                           [](Inputs c) {
                             return lax::while_loop([](Inputs c) { return Arrays{c[0] < 10.0}; },
                                                    [](Inputs c) {
                                                      return Arrays{c[0] * 2.0, c[1] + 1};
                                                    },
                                                    Arrays{c[0], Array::scalar(0)});
                           },
                           Arrays{x}, std::vector<int64_t>{0}, axis),
                       axis);
  EXPECT_THAT(values<float>(found[0]), ElementsAre(16, 20, 12));
  EXPECT_THAT(values<int32_t>(found[1]), ElementsAre(4, 0, 2));
}

// ---- collectives ----

TEST(Collectives, NeedTheirAxis) {
  const std::string name = "rows";
  EXPECT_EQ(
      error_of<NameError>(ErrorCode::kNotFound, [&] { lax::psum(number(1), name); }),
      "psum: unbound axis name \"rows\": this function is not inside a shard_map, nor inside a "
      "vmap with an axis_name");
}

TEST(Collectives, TakeAxesByName) {
  const auto f = [](const Array& x) {
    return std::pair(lax::psum(x, "rows"), lax::axis_index({"rows", "columns"}));
  };
  const auto [sums, numbers] = vmap(vmap(f, {.axis_name = "columns"}),
                                    {.axis_name = "rows"})(Array::of<float>({1, 2, 3, 4}, {2, 2}));
  EXPECT_THAT(values<float>(sums), ElementsAre(4, 6, 4, 6));
  EXPECT_THAT(values<int32_t>(numbers), ElementsAre(0, 1, 2, 3));
}

TEST(Collectives, PsumScatterGivesEachElementItsPartOfTheSum) {
  const Array x = Array::of<float>({1, 2, 3, 4}, {2, 2});
  const auto mapped = [](auto f) { return vmap(f, {.axis_name = "rows"}); };
  EXPECT_THAT(values<float>(mapped([](const Array& x) { return lax::psum_scatter(x, "rows"); })(x)),
              ElementsAre(4, 6));
  const auto tiled = [](const Array& x) {
    return lax::psum_scatter(numpy::concatenate({x, -x}), "rows", -1, true);
  };
  EXPECT_THAT(values<float>(mapped(tiled)(x)), ElementsAre(4, 6, -4, -6));
  const auto weighted = [&](const Array& x) {
    const auto f = [](const Array& row, const Array& weight) {
      return lax::psum_scatter(row, "rows") * weight;
    };
    return numpy::sum(mapped(f)(x, Array::of<float>({10, 20})));
  };
  EXPECT_THAT(values<float>(grad(weighted)(x)), ElementsAre(10, 20, 10, 20));
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [&] {
                       mapped([](const Array& x) {
                         return lax::psum_scatter(numpy::concatenate({x, x}), "rows");
                       })(x);
                     }),
            "psum_scatter: dimension 0 of f32[4] must have the size of axis \"rows\", 2");
}

TEST(Collectives, InsideALoopAreReplaced) {
  const std::string name = "rows";
  const BatchAxis axis{3, name};
  const auto found = batch(
      [&](Inputs x) {
        return lax::scan(
                   [&](Inputs c, Inputs) {
                     return lax::LoopResults{{lax::psum(c[0], name) + x[0]}, {}};
                   },
                   x, {}, {.length = 2})
            .carry;
      },
      Arrays{Array::of<float>({1, 2, 3})}, std::vector<int64_t>{0}, axis);
  EXPECT_THAT(values<float>(found.outputs[0]), ElementsAre(25, 26, 27));
}

// ---- errors ----

TEST(ScanErrors, NameWhatDiffers) {
  const Arrays init{number(1)}, xs{Array::of<float>({1, 2}), Array::of<float>({1, 2, 3})};
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { lax::scan(product, init, xs); }),
            "scan: xs must have one leading dimension:\n  xs[0] is f32[2]\n  xs[1] is f32[3]");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [&] { lax::scan(product, init, std::span(xs).first(1), {.length = 3}); }),
            "scan: length is 3, but the leading dimension of xs is 2:\n  xs[0] is f32[2]");
  EXPECT_EQ(
      error_of(ErrorCode::kInvalidArgument, [&] { lax::scan(product, init, {}); }),
      "scan: the number of iterations is unknown; pass xs with a leading dimension, or length");
  EXPECT_EQ(
      error_of(ErrorCode::kInvalidArgument, [&] { lax::scan(product, init, Arrays{number(1)}); }),
      "scan: xs[0] must have a dimension to scan over, got f32[]");
  EXPECT_EQ(type_error_of([&] {
              lax::scan(
                  [](Inputs c, Inputs) {
                    return lax::LoopResults{{lax::convert_element_type(c[0], DType::kInt32)}, {}};
                  },
                  init, Arrays{xs[0]});
            }),
            "scan: the body must return a carry of the types that it gets:\n"
            "  carry[0] is f32[] as input, i32[] as output\n"
            "Convert the initial value, or what the body returns, so that they agree");
  EXPECT_EQ(type_error_of([&] {
              lax::scan([](Inputs, Inputs) { return lax::LoopResults{}; }, init, Arrays{xs[0]});
            }),
            "scan: the body must return a carry of as many arrays as it gets: input 1, output 0");
}

TEST(WhileErrors, NameWhatTheConditionReturned) {
  EXPECT_EQ(type_error_of([] {
              lax::while_loop([](Inputs c) { return Arrays{c[0]}; },
                              [](Inputs c) { return Arrays{c[0]}; }, Arrays{number(1)});
            }),
            "while_loop: cond_fun must return one scalar of dtype bool, it returned (f32[])");
}

TEST(ForiLoopErrors, NameTheBound) {
  const lax::ForBody same = [](const Array&, Inputs c) { return Arrays{c[0]}; };
  EXPECT_EQ(type_error_of([&] { lax::fori_loop(0.5, 3, same, Arrays{number(1)}); }),
            "fori_loop: lower must be a scalar of an integer dtype, got f32[]*");
  EXPECT_EQ(type_error_of([&] {
              lax::fori_loop(Array::scalar<int8_t>(0), Array::scalar<int16_t>(3), same,
                             Arrays{number(1)});
            }),
            "fori_loop: lower and upper must have the same type, got i8[] and i16[]");
}

TEST(CondErrors, ShowBothBranches) {
  EXPECT_EQ(type_error_of([] {
              lax::cond(
                  true, [](Inputs x) { return Arrays{x[0]}; },
                  [](Inputs x) { return Arrays{lax::convert_element_type(x[0], DType::kInt8)}; },
                  Arrays{number(1)});
            }),
            "cond: all branches must return the same types:\n"
            "  result[0] is i8[] from false_fun, f32[] from true_fun");
  EXPECT_EQ(type_error_of([] {
              const FlatFunction f = [](Inputs) { return Arrays{}; };
              lax::cond(Array::of<float>({1, 2}), f, f, {});
            }),
            "cond: the predicate must be a scalar, got f32[2]");
}

TEST(ControlFlowPrograms, ThatDoNotFitAreRefused) {
  EXPECT_THAT(error_of(ErrorCode::kInvalidArgument,
                       [] {
                         parse_program(
                             "{ lambda ; a:f32[] b:f32[3]. let c:f32[] = scan[jaxpr={ lambda ; "
                             "a:f32[] b:f32[]. let in (b,) } length=2 num_carry=1 num_consts=0 "
                             "reverse=False unroll=1] a b in (c,) }");
                       }),
              HasSubstr("scan: operand 1 is scanned over and needs the leading dimension 2, got "
                        "f32[3]"));
}

}  // namespace
}  // namespace farcall
