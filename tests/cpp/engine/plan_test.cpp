// The steps of planning, tested separately on programs in text form.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/program/text.h>

#include "calls.h"
#include "engine/native/plan/allocation.h"
#include "engine/native/plan/layouts.h"
#include "engine/native/plan/sharing.h"
#include "engine/native/plan/uses.h"

namespace farcall::native {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A program after the steps up to sharing. Variables are numbered in the order of the text.
struct Steps {
  explicit Steps(std::string_view text, PlanOptions given = {})
      : program(parse_program(std::string(text))), options(std::move(given)) {
    options.donated_inputs.resize(program->inputs.size(), false);
  }
  uint32_t result_of(size_t equation) const { return program->equations[equation].outputs[0]; }
  uint32_t input(size_t i) const { return program->inputs[i]; }
  const Equation& equation(size_t i) const { return program->equations[i]; }

  ProgramPtr program;
  PlanOptions options;
  Uses uses = uses_of(*program);
  ForeignCalls calls{*program};
  Layouts layouts{*program, uses, calls};
  Sharing sharing = share_memory(*program, options, uses, calls, layouts);
};

TEST(Uses, WhereValuesAreMadeAndRead) {
  const Steps s(
      "{ lambda ; a:f32[3] b:f32[3]. let c:f32[3] = add a a d:f32[3] = mul c a in (d, b) }");
  const uint32_t a = s.input(0), b = s.input(1), c = s.result_of(0), d = s.result_of(1);
  EXPECT_EQ(s.uses.made_by[a], kNever);
  EXPECT_EQ(s.uses.made_by[c], 0u);
  EXPECT_EQ(s.uses.made_by[d], 1u);
  EXPECT_EQ(s.uses.last_read[a], 1u);
  EXPECT_EQ(s.uses.last_read[b], kNever);  // a result of the program
  EXPECT_EQ(s.uses.last_read[c], 1u);
  EXPECT_EQ(s.uses.last_read[d], kNever);
  EXPECT_THAT(s.uses.readers[a], ElementsAre(0u, 0u, 1u));
  EXPECT_THAT(s.uses.readers[d], IsEmpty());
  EXPECT_TRUE(is_result_of(*s.program, b));
  EXPECT_FALSE(is_result_of(*s.program, c));
}

TEST(Layouts, ATransposeIsFreeWhereItsResultIsRowMajor) {
  const Steps s(
      "{ lambda ; a:f32[1,3] b:f32[2,3]. let c:f32[3,1] = transpose[permutation=(1, 0)] a "
      "d:f32[3,2] = transpose[permutation=(1, 0)] b in (c, d) }");
  EXPECT_TRUE(s.layouts.is_free_transpose(0));
  EXPECT_FALSE(s.layouts.is_free_transpose(1));
  EXPECT_EQ(s.layouts.of(s.result_of(0)), std::nullopt);
  EXPECT_TRUE(s.sharing.sets.is_alias(s.result_of(0)));
  EXPECT_FALSE(s.sharing.sets.is_alias(s.result_of(1)));
}

TEST(AliasSets, ViewsAreInTheSetOfTheirOperand) {
  const Steps s(
      "{ lambda ; a:f32[6]. let b:f32[6] = neg a c:f32[2,3] = reshape[new_sizes=(2, 3)] b "
      "d:f32[6] = reshape[new_sizes=(6,)] c e:f32[6] = neg d in (e,) }");
  const AliasSets& sets = s.sharing.sets;
  const uint32_t b = s.result_of(0), d = s.result_of(2);
  EXPECT_EQ(sets.representative(d), b);
  EXPECT_EQ(sets.last_read(b), 3u);  // through the view
  EXPECT_TRUE(sets.contains(b, Atom::variable(d)));
  EXPECT_FALSE(sets.contains(b, Atom::variable(s.input(0))));
  EXPECT_TRUE(sets.is_writable(b));
  EXPECT_FALSE(sets.is_writable(s.input(0)));
}

TEST(AliasSets, WhyAnOperandIsNotOverwritten) {
  const std::string text =
      "{ lambda ; a:f32[3]. let b:f32[3] = neg a c:f32[3] = add b b d:f32[3] = mul c a "
      "e:f32[3] = exp d in (e, d) }";
  const Steps s(text), donated(text, {.donated_inputs = {true}});
  const auto why = [](const Steps& steps, size_t equation, size_t operand) {
    return steps.sharing.sets.why_not_overwrite(equation, operand);
  };
  EXPECT_EQ(why(s, 1, 0), "the call reads the operand twice");
  EXPECT_EQ(why(s, 2, 0), "");
  EXPECT_EQ(why(s, 2, 1), "the operand is an argument of the program that was not donated");
  EXPECT_EQ(why(donated, 2, 1), "");
  EXPECT_EQ(why(donated, 0, 0), "the operand is read again by mul");
  EXPECT_EQ(why(s, 3, 0), "the operand is also a result of the program");
  const Steps nested(text, {.is_nested = true});
  EXPECT_EQ(why(nested, 2, 1), "the operand comes from outside of the loop or branch");
}

TEST(Sharing, ALoopKeepsItsCarryWhereTheOperandIs) {
  const Steps s(
      "{ lambda ; a:f32[3]. let b:f32[3] = neg a c:f32[3] = scan[jaxpr={ lambda ; d:f32[3]. let "
      "e:f32[3] = neg d in (e,) } length=4 num_carry=1 num_consts=0 reverse=False "
      "unroll=1] b in (c,) }");
  EXPECT_NE(s.sharing.regions[1].region, nullptr);
  EXPECT_EQ(s.sharing.regions[0].region, nullptr);
  EXPECT_EQ(s.sharing.regions[1].children.size(), 1u);
  EXPECT_THAT(s.sharing.regions[1].in_place, ElementsAre(std::pair<size_t, size_t>(0, 0)));
  EXPECT_EQ(s.sharing.sets.representative(s.result_of(1)), s.result_of(0));
}

TEST(Allocation, MemoryIsReusedAfterTheLastRead) {
  const Steps s(
      "{ lambda ; a:f32[64]. let b:f32[64] = sin a c:f32[64] = cos b d:f32[64] = sin c "
      "e:f32[64] = cos d in (e,) }");
  Allocator allocator(*s.program, s.options, s.uses, s.sharing.sets);
  std::vector<Allocation> allocations;
  for (size_t i = 0; i < s.program->equations.size(); ++i) {
    allocations.push_back(allocator.define(s.result_of(i)));
    allocator.release_after(i);
  }
  // An operand is live while the result is written, so two ranges alternate.
  EXPECT_EQ(allocations[0].kind, Allocation::Kind::kArena);
  EXPECT_NE(allocations[0].index, allocations[1].index);
  EXPECT_EQ(allocations[0].index, allocations[2].index);
  EXPECT_EQ(allocations[3].kind, Allocation::Kind::kOutput);
  EXPECT_EQ(allocator.arena_bytes(), 2 * 64 * sizeof(float));
  EXPECT_EQ(allocator.of(Atom::variable(s.input(0))).kind, Allocation::Kind::kInput);
}

TEST(Allocation, AResultMayLieInADonatedInput) {
  const Steps s("{ lambda ; a:f32[64]. let b:f32[64] = sin a c:f32[64] = cos b in (c,) }",
                {.donated_inputs = {true}, .in_place = {{0, 0}}});
  Allocator allocator(*s.program, s.options, s.uses, s.sharing.sets);
  EXPECT_EQ(allocator.define(s.result_of(0)).kind, Allocation::Kind::kArena);
  allocator.release_after(0);
  EXPECT_FALSE(allocator.overwrites()[0]);
  const Allocation result = allocator.define(s.result_of(1));
  EXPECT_EQ(result.kind, Allocation::Kind::kInput);
  EXPECT_TRUE(allocator.overwrites()[0]);
}

TEST(Allocation, AKernelWritesOverAnOperandThatDies) {
  const Steps s(
      "{ lambda ; a:f32[64]. let b:f32[64] = sin a c:f32[64] = add b a d:f32[64] = exp c in (d,) "
      "}");
  const Kernel kernel{.can_run_in_place = true};
  Allocator allocator(*s.program, s.options, s.uses, s.sharing.sets);
  const Allocation first = allocator.define(s.result_of(0));
  allocator.release_after(0);
  allocator.reuse_operands(s.equation(1), 1, s.layouts, kernel);
  EXPECT_EQ(allocator.define(s.result_of(1)).index, first.index);
  allocator.release_after(1);
  allocator.reuse_operands(s.equation(2), 2, s.layouts, kernel);
  EXPECT_EQ(allocator.define(s.result_of(2)).kind, Allocation::Kind::kOutput);
}

// Whether values that must not be parts of others can.
std::vector<bool> none_excluded(const Steps& s) {
  return std::vector<bool>(s.program->variable_types.size());
}

TEST(Allocation, OperandsOfAConcatenationAreComputedInIt) {
  const Steps s(
      "{ lambda ; a:f32[64]. let b:f32[64] = sin a c:f32[64] = cos a d:f32[128] = "
      "concatenate[dimension=0] b c e:f32[128] = sin d in (e,) }");
  Allocator allocator(*s.program, s.options, s.uses, s.sharing.sets);
  allocator.join_operands(s.equation(2), 2, s.layouts, none_excluded(s));
  const Allocation second = allocator.define(s.result_of(1));  // in any order
  const Allocation first = allocator.define(s.result_of(0));
  allocator.release_after(0);
  allocator.release_after(1);
  const Allocation both = allocator.define(s.result_of(2));
  allocator.release_after(2);
  EXPECT_EQ(both.kind, Allocation::Kind::kArena);
  EXPECT_EQ(first.index, both.index);
  EXPECT_EQ(second.index, both.index + 64 * sizeof(float));
  allocator.define(s.result_of(3));
  allocator.release_after(3);
  EXPECT_EQ(allocator.arena_bytes(), 128 * sizeof(float));
}

TEST(Allocation, PartsOfPartsLieInAResult) {
  const Steps s(
      "{ lambda ; a:f32[1,64]. let b:f32[1,64] = sin a c:f32[1,64] = cos a d:f32[1,128] = "
      "concatenate[dimension=1] b c e:f32[1,192] = concatenate[dimension=1] a d in (e,) }");
  Allocator allocator(*s.program, s.options, s.uses, s.sharing.sets);
  for (const size_t i : {2, 3}) {
    allocator.join_operands(s.equation(i), i, s.layouts, none_excluded(s));
  }
  const Allocation last = allocator.define(s.result_of(1));
  EXPECT_EQ(last.kind, Allocation::Kind::kOutput);
  EXPECT_EQ(last.index, 0u);
  EXPECT_EQ(last.offset, 128 * sizeof(float));
  EXPECT_EQ(allocator.define(s.result_of(3)).offset, 0u);
}

TEST(Allocation, OtherOperandsOfConcatenationsHaveMemoryOfTheirOwn) {
  const auto are_parts = [](std::string_view text, bool is_excluded = false) {
    const Steps s(text);
    Allocator allocator(*s.program, s.options, s.uses, s.sharing.sets);
    std::vector<bool> excluded = none_excluded(s);
    excluded.assign(excluded.size(), is_excluded);
    for (size_t i = 0; i < s.program->equations.size(); ++i) {
      allocator.join_operands(s.equation(i), i, s.layouts, excluded);
    }
    // What is computed first would be in the concatenation, which is a result.
    return allocator.define(s.result_of(0)).kind == Allocation::Kind::kOutput;
  };
  EXPECT_TRUE(are_parts(
      "{ lambda ; a:f32[2]. let b:f32[2] = sin a c:f32[4] = concatenate[dimension=0] a b in (c,) "
      "}"));
  EXPECT_FALSE(are_parts(
      "{ lambda ; a:f32[2]. let b:f32[2] = sin a c:f32[4] = concatenate[dimension=0] a b in (c,) }",
      /*is_excluded=*/true));
  // Its elements are not contiguous in the result.
  EXPECT_FALSE(are_parts(
      "{ lambda ; a:f32[2,2]. let b:f32[2,2] = sin a c:f32[2,4] = concatenate[dimension=1] a b in "
      "(c,) }"));
  // It is read later.
  EXPECT_FALSE(are_parts(
      "{ lambda ; a:f32[2]. let b:f32[2] = sin a c:f32[4] = concatenate[dimension=0] a b d:f32[2] "
      "= cos b in (c, d) }"));
}

TEST(Allocation, AnOperandThatIsReadTwiceIsAPartOnce) {
  const Steps s(
      "{ lambda ; a:f32[2]. let b:f32[2] = sin a c:f32[4] = concatenate[dimension=0] b b in (c,) "
      "}");
  Allocator allocator(*s.program, s.options, s.uses, s.sharing.sets);
  allocator.join_operands(s.equation(1), 1, s.layouts, none_excluded(s));
  EXPECT_EQ(allocator.define(s.result_of(0)).offset, 0u);
  EXPECT_EQ(allocator.define(s.result_of(1)).kind, Allocation::Kind::kOutput);
}

// ---- instructions ----

std::unique_ptr<const Plan> planned(std::string_view text, PlanOptions options = {}) {
  return make_plan(parse_program(std::string(text)), std::move(options));
}

// The memory of operand `i` of an instruction that is no foreign call.
Allocation operand_allocation(const Plan& plan, size_t instruction, size_t i) {
  const uint32_t index = plan.instructions[instruction].first_operand + static_cast<uint32_t>(i);
  const auto found = std::ranges::find_if(plan.pointers, [&](const PointerUse& use) {
    return use.call == PointerUse::kNoCall && use.index == index;
  });
  return found == plan.pointers.end() ? Allocation() : found->allocation;
}

// The memory of an argument or a result of foreign call `number`.
Allocation buffer_allocation(const Plan& plan, uint32_t number, size_t i, bool is_result) {
  const auto found = std::ranges::find_if(plan.pointers, [&](const PointerUse& use) {
    return use.call == number && use.index == i && use.is_result == is_result;
  });
  return found == plan.pointers.end() ? Allocation() : found->allocation;
}

std::pair<Allocation::Kind, size_t> parts(const Allocation& allocation) {
  return {allocation.kind, allocation.index};
}

std::vector<uint32_t> equations_of(const Plan& plan) {
  std::vector<uint32_t> equations;
  for (const Instruction& instruction : plan.instructions) {
    equations.push_back(instruction.equation);
  }
  return equations;
}

TEST(Instructions, AKernelReadsAndWritesWhereTheValuesAre) {
  const auto plan = planned(
      "{ lambda ; a:f32[] b:f32[]. let c:f32[] = add a b d:f32[] = atan2 c 2.0:f32[] in (d,) }");
  ASSERT_THAT(equations_of(*plan), ElementsAre(0u, 1u));
  EXPECT_EQ(plan->num_operands, 6u);
  EXPECT_EQ(parts(operand_allocation(*plan, 0, 0)), std::pair(Allocation::Kind::kInput, size_t{0}));
  EXPECT_EQ(parts(operand_allocation(*plan, 0, 1)), std::pair(Allocation::Kind::kInput, size_t{1}));
  EXPECT_EQ(parts(operand_allocation(*plan, 1, 0)), parts(operand_allocation(*plan, 0, 2)));
  EXPECT_EQ(operand_allocation(*plan, 1, 1).kind, Allocation::Kind::kConstant);
  EXPECT_EQ(parts(operand_allocation(*plan, 1, 2)),
            std::pair(Allocation::Kind::kOutput, size_t{0}));
  for (const Instruction& instruction : plan->instructions) {
    EXPECT_EQ(instruction.kind, Instruction::Kind::kKernel);
    EXPECT_NE(instruction.run, nullptr);
    EXPECT_FALSE(instruction.is_copy);
  }
}

TEST(Instructions, ViewsAndEmptyResultsNeedNone) {
  const auto plan = planned(
      "{ lambda ; a:f32[6] b:f32[0]. let c:f32[2,3] = reshape[new_sizes=(2, 3)] a d:f32[0] = neg b "
      "e:f32[2,3] = neg c in (e, d) }");
  EXPECT_THAT(equations_of(*plan), ElementsAre(2u));
  EXPECT_EQ(parts(operand_allocation(*plan, 0, 0)), std::pair(Allocation::Kind::kInput, size_t{0}));
}

TEST(Instructions, OnlyPointersToInputsAndResultsChangeWithEachRun) {
  const auto plan = planned(
      "{ lambda ; a:f32[3]. let b:f32[3] = sin a c:f32[3] = atan2 b b d:f32[3] = atan2 c b in "
      "(d,) }");
  EXPECT_EQ(plan->pointers.size(), 8u);
  std::vector<Allocation::Kind> kinds;
  for (const PointerUse& use : plan->run_pointers) kinds.push_back(use.allocation.kind);
  EXPECT_THAT(kinds, ::testing::Each(
                         ::testing::AnyOf(Allocation::Kind::kInput, Allocation::Kind::kOutput)));
  EXPECT_LT(plan->run_pointers.size(), plan->pointers.size());
}

TEST(Instructions, WhatForeignCodeOrALoopWritesIsNoPart) {
  const auto is_part = [](const std::string& equations) {
    const auto plan = planned("{ lambda ; a:f32[3]. let " + equations +
                              " c:f32[6] = concatenate[dimension=0] a b in (c,) }");
    const Instruction& last = plan->instructions.back();
    EXPECT_EQ(last.kind, Instruction::Kind::kKernel);
    return operand_allocation(*plan, plan->instructions.size() - 1, 1).kind ==
           Allocation::Kind::kOutput;
  };
  EXPECT_TRUE(is_part("b:f32[3] = sin a"));
  EXPECT_FALSE(
      is_part("b:f32[3] = scan[jaxpr={ lambda ; c:f32[3]. let d:f32[3] = sin c in (d,) } length=4 "
              "num_carry=1 num_consts=0 reverse=False unroll=1] a"));
}

TEST(Instructions, ALoopIsOneWithAPlanOfItsOwn) {
  const auto plan = planned(
      "{ lambda ; a:f32[3]. let b:f32[3] = scan[jaxpr={ lambda ; c:f32[3]. let d:f32[3] = sin c "
      "in (d,) } length=4 num_carry=1 num_consts=0 reverse=False unroll=1] a in (b,) }");
  ASSERT_EQ(plan->instructions.size(), 1u);
  EXPECT_EQ(plan->instructions[0].kind, Instruction::Kind::kScan);
  EXPECT_EQ(plan->regions.size(), 1u);
  EXPECT_EQ(plan->instructions[0].data, plan->regions[0].get());
  ASSERT_EQ(plan->children.size(), 1u);
  EXPECT_THAT(equations_of(*plan->children[0]), ElementsAre(0u));
}

TEST(Instructions, ANestedProgramCopiesAResultToWhereTheRegionExpectsIt) {
  const std::string_view text = "{ lambda ; a:f32[3] b:f32[3]. let c:f32[3] = sin b in (a, c) }";
  EXPECT_THAT(equations_of(*planned(text)), ElementsAre(0u));
  const auto nested = planned(text, {.is_nested = true});
  ASSERT_THAT(equations_of(*nested), ElementsAre(0u, 1u));  // one past the last: the results
  EXPECT_TRUE(nested->instructions[1].is_copy);
  EXPECT_EQ(parts(operand_allocation(*nested, 1, 0)),
            std::pair(Allocation::Kind::kInput, size_t{0}));
  EXPECT_EQ(parts(operand_allocation(*nested, 1, 1)),
            std::pair(Allocation::Kind::kOutput, size_t{0}));
  const auto in_place = planned(text, {.is_nested = true, .in_place = {{0, 0}}});
  EXPECT_THAT(equations_of(*in_place), ElementsAre(0u));
}

TEST(Instructions, AForeignCallGetsRowMajorCopiesWhereItWantsAnotherLayout) {
  using Order = std::vector<int64_t>;
  FfiCallOptions options;
  options.input_layouts = {MajorToMinor(Order{1, 0})};
  const auto plan = testing::plan_of(
      [&](std::span<const Array> x) {
        return FfiCall(testing::add_one(), {testing::f32({2, 3})}, options)({x[0]});
      },
      {testing::f32({2, 3})});
  ASSERT_EQ(plan->instructions.size(), 2u);
  EXPECT_TRUE(plan->instructions[0].is_copy);
  EXPECT_EQ(plan->instructions[1].kind, Instruction::Kind::kForeignCall);
  EXPECT_EQ(plan->statistics.layout_copies, 1);
  EXPECT_EQ(parts(buffer_allocation(*plan, 0, 0, false)), parts(operand_allocation(*plan, 0, 1)));
  EXPECT_EQ(buffer_allocation(*plan, 0, 0, true).kind, Allocation::Kind::kOutput);
  EXPECT_TRUE(plan->has_foreign_code);
}

TEST(Instructions, AnAliasedOperandThatIsReadLaterIsCopied) {
  FfiCallOptions options;
  options.input_output_aliases = {{0, 0}};
  const auto plan_with = [&](bool is_read_later) {
    return testing::plan_of(
        [&](std::span<const Array> x) {
          const Array value = lax::sin(x[0]);
          Array result = testing::call(testing::add_one(), {value}, testing::f32({3}), options);
          if (is_read_later) result = lax::atan2(result, value);
          return std::vector<Array>{result};
        },
        {testing::f32({3})});
  };
  const auto last = plan_with(false), copied = plan_with(true);
  EXPECT_EQ(last->statistics.alias_copies, 0);
  EXPECT_EQ(parts(buffer_allocation(*last, 0, 0, false)),
            parts(buffer_allocation(*last, 0, 0, true)));
  EXPECT_EQ(copied->statistics.alias_copies, 1);
  ASSERT_EQ(copied->instructions.size(), 4u);
  EXPECT_TRUE(copied->instructions[1].is_copy);
  EXPECT_EQ(parts(operand_allocation(*copied, 1, 1)),
            parts(buffer_allocation(*copied, 0, 0, true)));
  EXPECT_EQ(parts(operand_allocation(*copied, 3, 1)), parts(operand_allocation(*copied, 0, 1)));
}

}  // namespace
}  // namespace farcall::native
