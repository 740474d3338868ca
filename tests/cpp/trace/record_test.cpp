// Recording: the programs of functions.
#include <optional>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/program/text.h>
#include <farcall/program/verify.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/record.h>

#include "arrays.h"

namespace farcall {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::kVector;
using testing::values;

using Arrays = std::vector<Array>;

ProgramPtr record_one(const std::function<Array(const Array&)>& f, std::string name = {}) {
  return record([&](std::span<const Array> x) { return Arrays{f(x[0])}; }, {&kVector, 1}, name);
}

TEST(Record, OperationsBecomeEquations) {
  const ProgramPtr program = record_one([](const Array& x) { return lax::sin(x) * x + 1; });
  verify(*program);
  EXPECT_EQ(to_text(*program),
            "{ lambda ; a:f32[3]. let\n"
            "    b:f32[3] = sin a\n"
            "    c:f32[3] = mul b a\n"
            "    d:f32[3] = add c 1.0:f32[]\n"
            "  in (d,) }");
}

TEST(Record, OperationsOnConcreteArraysAreRecordedToo) {
  const ProgramPtr program =
      record_one([](const Array& x) { return x + lax::neg(Array::scalar(2.f)); });
  EXPECT_EQ(program->equations.size(), 2u);
}

TEST(Record, AnArrayClosedOverIsAConstantOnce) {
  const Array constant = Array::of<float>({1, 2, 3});
  const ProgramPtr program = record_one([&](const Array& x) { return (x + constant) * constant; });
  EXPECT_EQ(to_text(*program),
            "{ lambda a:f32[3]=[1.0 2.0 3.0] ; b:f32[3]. let\n"
            "    c:f32[3] = add b a\n"
            "    d:f32[3] = mul c a\n"
            "  in (d,) }");
  EXPECT_EQ(program->constants[0].storage.data(), constant.data());  // no copy
}

TEST(Record, AScalarIsALiteralOnce) {
  const Array two = Array::scalar(2.f);
  const ProgramPtr program = record_one([&](const Array& x) { return (x * two) + two; });
  EXPECT_EQ(program->literals.size(), 1u);
  EXPECT_TRUE(program->constants.empty());
}

TEST(Record, WhatIsReturnedNeedNotBeComputed) {
  const ProgramPtr program = record(
      [](std::span<const Array> x) {
        return Arrays{x[0], Array::scalar(1.f), Array::of<float>({5})};
      },
      {&kVector, 1});
  EXPECT_EQ(to_text(*program), "{ lambda a:f32[1]=[5.0] ; b:f32[3]. let in (b, 1.0:f32[], a) }");
}

TEST(Record, EquationsKnowTheUsersLine) {
  set_location_provider([]() -> SourceLocationPtr {
    return std::make_shared<const SourceLocation>(SourceLocation{"model.cpp", 7, "forward"});
  });
  const ProgramPtr program = record_one([](const Array& x) { return lax::neg(x); });
  set_location_provider(nullptr);
  EXPECT_EQ(program->equations[0].where->line, 7);
}

// ---- tracers ----

TEST(Tracers, HaveATypeAndNoValues) {
  record_one([](const Array& x) {
    EXPECT_FALSE(x.is_concrete());
    EXPECT_EQ(x.type(), kVector);
    EXPECT_EQ(x.to_string(), "traced f32[3]");
    EXPECT_FALSE(is_evaluating());
    return x;
  });
  EXPECT_TRUE(is_evaluating());
}

TEST(Tracers, TheirValuesAreNotKnown) {
  const std::string message =
      "the values of a traced f32[3] are needed, but its values are not known while the function "
      "is traced. Compute with array operations only (cond or where in place of if, while_loop in "
      "place of while, take in place of an index), make the argument that they come from static "
      "(static_argnums), or call this part outside jit and vmap";
  record_one([&](const Array& x) {
    using Class = ConcretizationError;
    EXPECT_EQ(error_of<Class>(ErrorCode::kFailedPrecondition, [&] { x.data(); }), message);
    EXPECT_EQ(error_of<Class>(ErrorCode::kFailedPrecondition, [&] { x.values<float>(); }), message);
    return x;
  });
}

TEST(Tracers, OneThatLeaksIsRefusedWhereItIsMet) {
  Array leaked;
  record_one([&](const Array& x) { return leaked = lax::neg(x); });

  EXPECT_EQ(error_of<LeakedTracerError>(ErrorCode::kFailedPrecondition, [&] { lax::neg(leaked); }),
            "neg: leaked traced array f32[3]: it was kept in a variable outside the function that "
            "was recorded. Return it from that function instead");
  const std::string in_another =
      "leaked traced array f32[3] was used while again was recorded: it belongs to another "
      "function, or to one whose recording has ended. Pass it as an argument, or return it, "
      "instead of keeping it in a variable outside";
  EXPECT_EQ(error_of<LeakedTracerError>(
                ErrorCode::kFailedPrecondition,
                [&] { record_one([&](const Array& x) { return x + leaked; }, "again"); }),
            in_another);
  EXPECT_EQ(error_of<LeakedTracerError>(
                ErrorCode::kFailedPrecondition,
                [&] { record_one([&](const Array&) { return leaked; }, "again"); }),
            in_another);
}

TEST(Tracers, OfAnOuterRecordingAreRefusedInside) {
  record_one([&](const Array& outer) {
    EXPECT_THAT(error_of<LeakedTracerError>(
                    ErrorCode::kFailedPrecondition,
                    [&] { record_one([&](const Array& inner) { return inner + outer; }); }),
                HasSubstr("leaked traced array f32[3] was used while a function was recorded"));
    return lax::neg(outer);  // and stays usable afterwards
  });
}

TEST(Record, AnExceptionEndsTheRecording) {
  EXPECT_THROW(record_one([](const Array&) -> Array { throw std::runtime_error("stop"); }),
               std::runtime_error);
  EXPECT_TRUE(is_evaluating());
  EXPECT_EQ(lax::neg(Array::scalar(1.f)).item<float>(), -1);
}

// ---- evaluate ----

TEST(Evaluate, RunsAProgramOneOperationAtATime) {
  const Array constant = Array::of<float>({1, 2, 3});
  const ProgramPtr program = record_one([&](const Array& x) { return x * 2 + constant; });
  const Array x = Array::of<float>({1, 1, 1});
  EXPECT_THAT(values<float>(evaluate(*program, {&x, 1})[0]), ElementsAre(3, 4, 5));
}

TEST(Evaluate, UnderARecordingInlines) {
  const ProgramPtr program = record_one([](const Array& x) { return lax::neg(x) * 2; });
  const ProgramPtr inlined = record_one([&](const Array& x) {
    return evaluate(*program, {&x, 1})[0];
  });
  EXPECT_TRUE(*inlined == *program);
}

TEST(Evaluate, ChecksItsInputs) {
  const ProgramPtr program = record_one([](const Array& x) { return x; });
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { evaluate(*program, {}); }),
            "evaluate: the program takes 1 inputs, got 0");
  const Array x = Array::of<float>({1, 2});
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [&] {
                       evaluate(*program, {&x, 1});
                     }),
            "evaluate: input 0 should be f32[3], got f32[2]");
}

}  // namespace
}  // namespace farcall
