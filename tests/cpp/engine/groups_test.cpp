// Equations that run at the same time: which ones, where their values are, and what a run does.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <farcall/core/interrupt.h>
#include <farcall/core/stop.h>
#include <farcall/program/text.h>

#include "calls.h"
#include "engine/native/parallel.h"
#include "engine/native/parts.h"
#include "engine/native/plan/groups.h"
#include "engine/native/state.h"

namespace farcall::native {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// ---- forming groups; in these programs only sines run long ----

bool is_sine(const Program&, const Equation& equation) { return equation.primitive->name == "sin"; }

// The names of the equations in order, those of a group in brackets.
std::string groups_in(const ProgramPtr& program, size_t most = 8) {
  const GroupedProgram grouped = group_equations(program, is_sine, most);
  std::string text;
  for (size_t i = 0; i < grouped.program->equations.size(); ++i) {
    for (const EquationGroup group : grouped.groups) text += group.begin == i ? "(" : "";
    text += grouped.program->equations[i].primitive->name;
    for (const EquationGroup group : grouped.groups) text += group.end == i + 1 ? ")" : "";
    text += " ";
  }
  return text.substr(0, text.size() - 1);
}
std::string groups_in(std::string_view text, size_t most = 8) {
  return groups_in(parse_program(std::string(text)), most);
}

TEST(Groups, WhatAnEquationNeedsComesBeforeAndWhatNeedsItsResultAfter) {
  EXPECT_EQ(groups_in("{ lambda ; a:f32[3] b:f32[3]. let c:f32[3] = sin a d:f32[3] = neg c "
                      "e:f32[3] = exp b f:f32[3] = sin e g:f32[3] = add d f in (g,) }"),
            "exp (sin sin) neg add");
}

TEST(Groups, AChainIsOneAfterTheOther) {
  EXPECT_EQ(groups_in("{ lambda ; a:f32[3]. let b:f32[3] = sin a c:f32[3] = neg b d:f32[3] = sin c "
                      "in (d,) }"),
            "sin neg sin");
}

TEST(Groups, TwoChainsRunSideBySide) {
  EXPECT_EQ(groups_in("{ lambda ; a:f32[3] b:f32[3]. let c:f32[3] = sin a d:f32[3] = sin c "
                      "e:f32[3] = sin b f:f32[3] = sin e in (d, f) }"),
            "(sin sin) (sin sin)");
}

TEST(Groups, AGroupHasAMostSize) {
  const std::string_view text =
      "{ lambda ; a:f32[3] b:f32[3] c:f32[3]. let d:f32[3] = sin a e:f32[3] = sin b f:f32[3] = sin "
      "c in (d, e, f) }";
  EXPECT_EQ(groups_in(text, 3), "(sin sin sin)");
  EXPECT_EQ(groups_in(text, 2), "(sin sin) sin");
  EXPECT_EQ(groups_in(text, 1), "sin sin sin");
}

TEST(Groups, NothingMovesAcrossForeignCalls) {
  const auto program = record(
      [](std::span<const Array> x) {
        const Array first = lax::sin(x[0]);
        const Array called = testing::call(testing::add_one(), {x[0]}, testing::f32({3}));
        return std::vector<Array>{first, called, lax::sin(x[1])};
      },
      std::vector<ShapeDtype>{testing::f32({3}), testing::f32({3})});
  EXPECT_EQ(groups_in(program), "sin ffi_call sin");
}

TEST(Groups, MemoryStaysNearWhatTheProgramNeedsAnyway) {
  const auto sums = [](int64_t size) {
    return fmt::format(
        "{{ lambda ; a:f32[] b:f32[]. let c:f32[{0}] = broadcast_in_dim[shape=({0},) "
        "broadcast_dimensions=()] a d:f32[{0}] = sin c e:f32[] = reduce_sum[axes=(0,)] d "
        "f:f32[{0}] = broadcast_in_dim[shape=({0},) broadcast_dimensions=()] b g:f32[{0}] = sin f "
        "h:f32[] = reduce_sum[axes=(0,)] g in (e, h) }}",
        size);
  };
  EXPECT_EQ(groups_in(sums(1000)),
            "broadcast_in_dim broadcast_in_dim (sin sin) reduce_sum reduce_sum");
  EXPECT_EQ(groups_in(sums(4'000'000)),
            "broadcast_in_dim sin reduce_sum broadcast_in_dim sin reduce_sum");
}

TEST(Groups, AProgramWithoutGroupsIsUnchanged) {
  const ProgramPtr program = parse_program("{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }");
  const GroupedProgram grouped = group_equations(program, is_sine, 8);
  EXPECT_EQ(grouped.program, program);
  EXPECT_THAT(grouped.groups, IsEmpty());
}

// ---- what runs long ----

bool first_runs_long(const std::string& text) {
  const ProgramPtr program = parse_program(text);
  return runs_long(*program, program->equations[0]);
}

// A scan of `length` steps over `size` numbers.
std::string scan_text(int64_t length, int64_t size, std::string_view step = "sin") {
  return fmt::format(
      "scan[jaxpr={{ lambda ; c:f32[{1}]. let d:f32[{1}] = {2} c in (d,) }} length={0} num_carry=1 "
      "num_consts=0 reverse=False unroll=1]",
      length, size, step);
}

TEST(RunsLong, LoopsWithEnoughStepsThatStayOnTheirThread) {
  const auto with = [](int64_t length, int64_t size) {
    return first_runs_long(fmt::format("{{ lambda ; a:f32[{0}]. let b:f32[{0}] = {1} a in (b,) }}",
                                       size, scan_text(length, size)));
  };
  EXPECT_TRUE(with(10'000, 1000));
  EXPECT_FALSE(with(10, 1000));
  EXPECT_FALSE(with(10'000, 1'000'000));  // each step divides its work
}

TEST(RunsLong, KernelsThatUseOneThread) {
  EXPECT_TRUE(first_runs_long(
      "{ lambda ; a:f32[4000000]. let b:f32[4000000] = cumsum[axis=0 reverse=False] a in (b,) }"));
  EXPECT_FALSE(first_runs_long(
      "{ lambda ; a:f32[4000]. let b:f32[4000] = cumsum[axis=0 reverse=False] a in (b,) }"));
  EXPECT_FALSE(first_runs_long("{ lambda ; a:f32[4000000]. let b:f32[4000000] = sin a in (b,) }"));
  EXPECT_FALSE(
      first_runs_long("{ lambda ; a:f32[4000000]. let b:f32[4000000] = sort[dimension=0 "
                      "is_stable=True num_keys=1] a in (b,) }"));
}

// ---- plans ----

// Runs `f` with this many threads, even on fewer processors.
template <class F>
auto with_threads(int num_threads, const F& f) {
  const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism, 8);
  return tbb::task_arena(num_threads).execute(f);
}

std::unique_ptr<const Plan> plan_with_groups(const std::string& text, PlanOptions options = {}) {
  options.runs_long = is_sine;
  return with_threads(4, [&] { return make_plan(parse_program(text), options); });
}

using Place = std::pair<Allocation::Kind, size_t>;
Place place_of(const Plan& plan, size_t instruction, uint32_t operand) {
  for (const PointerUse& use : plan.pointers) {
    if (use.index != plan.instructions[instruction].first_operand + operand) continue;
    return {use.allocation.kind, use.allocation.index};
  }
  return {};
}

TEST(GroupsOfPlans, ValuesOfAGroupDoNotShareMemory) {
  const auto plan = plan_with_groups(
      "{ lambda ; a:f32[64]. let b:f32[64] = neg a c:f32[64] = sin b d:f32[64] = sin b e:f32[64] = "
      "atan2 c d in (e,) }");
  ASSERT_EQ(plan->groups.size(), 1u);
  ASSERT_EQ(plan->groups[0].size(), 2u);
  const size_t first = plan->groups[0][0].begin, second = plan->groups[0][1].begin;
  const Place operand = place_of(*plan, first, 0),
              results[] = {place_of(*plan, first, 1), place_of(*plan, second, 1)};
  EXPECT_NE(results[0], results[1]);
  for (const Place& result : results) EXPECT_NE(result, operand);
}

TEST(GroupsOfPlans, AnOperandOfOneEquationOnlyIsOverwritten) {
  const auto plan = plan_with_groups(
      "{ lambda ; a:f32[64] b:f32[64]. let c:f32[64] = exp a d:f32[64] = exp b e:f32[64] = sin c "
      "f:f32[64] = sin d g:f32[64] = atan2 e f in (g,) }");
  ASSERT_EQ(plan->groups.size(), 1u);
  EXPECT_EQ(plan->arena_bytes, 64 * sizeof(float));  // the other chain is in the result's memory
}

TEST(GroupsOfPlans, ADonatedInputThatAGroupReadsTwiceIsKept) {
  const std::string text =
      "{ lambda ; a:f32[64]. let b:f32[64] = sin a c:f32[64] = sin a in (b, c) }";
  const auto plan = plan_with_groups(text, {.donated_inputs = {true}, .in_place = {{0, 1}}});
  ASSERT_EQ(plan->groups.size(), 1u);
  EXPECT_FALSE(plan->overwrites[0]);
}

// ---- runs of parts ----

struct Interruption {};

TEST(Parts, EachRunsOnce) {
  for (const int num_threads : {1, 2, 8}) {
    std::vector<int> counts(20);
    with_threads(num_threads, [&] {
      run_parts(20, [&](size_t part) {
        run_tiles(4, 4, [&](Tiles& tiles) {
          for (int64_t i = 0; tiles.next(i);) {
            if (i == 3) ++counts[part];
          }
        });
      });
    });
    EXPECT_EQ(counts, std::vector<int>(20, 1));
  }
}

TEST(Parts, TheFirstErrorInOrderIsRaisedWhenAllHaveEnded) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::atomic<int> num_ended = 0;
    const std::string message = testing::error_of(ErrorCode::kInternal, [&] {
      with_threads(4, [&] {
        run_parts(4, [&](size_t part) {
          std::this_thread::sleep_for(std::chrono::milliseconds(4 - part));
          ++num_ended;
          if (part > 0) throw Error(ErrorCode::kInternal, fmt::format("part {}", part));
        });
      });
    });
    EXPECT_EQ(message, "part 1");
    EXPECT_EQ(num_ended, 4);
  }
}

TEST(Parts, AnInterruptStopsAllOfThem) {
  std::atomic<int> num_waiting = 0, num_asked_by_others = 0;
  static std::atomic<std::thread::id> caller;
  static std::atomic<int>* asked_by_others;
  asked_by_others = &num_asked_by_others;
  const auto begin = std::chrono::steady_clock::now();
  with_threads(3, [&] {
    caller = std::this_thread::get_id();
    EXPECT_THROW(run_parts(3,
                           [&](size_t) {
                             // The last thread to come here lets the front end interrupt.
                             if (++num_waiting == 3) {
                               set_interrupt_check([] {
                                 if (std::this_thread::get_id() == caller.load())
                                   throw Interruption();
                                 ++*asked_by_others;
                               });
                             }
                             for (;;) {
                               check_interrupt();
                               std::this_thread::sleep_for(std::chrono::milliseconds(1));
                             }
                           }),
                 Interruption);
  });
  set_interrupt_check(nullptr);
  EXPECT_EQ(num_asked_by_others, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(Parts, ACallerWithoutAPartIsInterruptedToo) {
  std::atomic<bool> is_caller_done = false;
  with_threads(2, [&] {
    const auto caller = std::this_thread::get_id();
    const auto wait_for_the_caller = [&] {
      set_interrupt_check([] { throw Interruption(); });
      for (;;) {
        check_interrupt();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    };
    std::atomic<bool> has_helper = false;
    EXPECT_THROW(run_parts(2,
                           [&](size_t) {
                             if (std::this_thread::get_id() != caller) {
                               has_helper = true;
                               while (!is_caller_done) std::this_thread::yield();
                               wait_for_the_caller();
                             }
                             while (!has_helper) std::this_thread::yield();
                             is_caller_done = true;
                           }),
                 Interruption);
  });
  set_interrupt_check(nullptr);
}

TEST(Parts, AStoppedRunStopsItsParts) {
  std::atomic<bool> is_stopped = false;
  with_threads(2, [&] {
    const StopScope scope(is_stopped);
    EXPECT_THROW(run_parts(2,
                           [&](size_t) {
                             for (;;) {
                               is_stopped = true;
                               check_interrupt();
                               std::this_thread::sleep_for(std::chrono::milliseconds(1));
                             }
                           }),
                 StoppedError);
  });
}

// ---- runs of programs ----

// What the program computes on this many threads from inputs that are ramps.
std::vector<float> results_of(const std::string& text, int num_threads, bool* has_groups) {
  return with_threads(num_threads, [&] {
    const ProgramPtr program = parse_program(text);
    *has_groups = !make_plan(program)->groups.empty();
    std::vector<Array> inputs;
    for (const ShapeDtype& type : program->input_types()) {
      std::vector<float> values = testing::iota(type.size(), 1);
      for (float& value : values) value /= static_cast<float>(type.size());
      inputs.push_back(Array::of(std::span<const float>(values), type.shape()));
    }
    std::vector<float> all;
    for (const Array& result : run(*testing::compile(program), inputs)) {
      const std::vector<float> values = testing::floats(result);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  });
}

TEST(GroupsInRuns, GiveTheBitsOfOneThread) {
  const std::string loops = fmt::format(
      "{{ lambda ; a:f32[512] b:f32[512]. let c:f32[512] = {} a d:f32[512] = neg c e:f32[512] = {} "
      "b "
      "f:f32[512] = add d e in (f, c) }}",
      scan_text(2000, 512), scan_text(2000, 512, "neg"));
  const std::string nested = fmt::format(
      "{{ lambda ; a:f32[512]. let b:f32[512] = scan[jaxpr={{ lambda ; c:f32[512]. let d:f32[512] "
      "= "
      "{} c e:f32[512] = neg c f:f32[512] = {} e g:f32[512] = add d f in (g,) }} length=3 "
      "num_carry=1 "
      "num_consts=0 reverse=False unroll=1] a in (b,) }}",
      scan_text(2000, 512), scan_text(2000, 512));
  const std::string sums =
      "{ lambda ; a:f32[1000000] b:f32[1000000]. let c:f32[1000000] = cumsum[axis=0 reverse=False] "
      "a "
      "d:f32[1000000] = cummax[axis=0 reverse=True] b e:f32[1000000] = add c d in (e,) }";
  for (const std::string& text : {loops, nested, sums}) {
    bool has_groups = false;
    const std::vector<float> wanted = results_of(text, 1, &has_groups);
    EXPECT_FALSE(has_groups) << text;
    const std::vector<float> got = results_of(text, 4, &has_groups);
    EXPECT_EQ(has_groups, text != nested) << text;  // those of `nested` are in its step
    ASSERT_EQ(got.size(), wanted.size());
    EXPECT_EQ(std::memcmp(got.data(), wanted.data(), got.size() * sizeof(float)), 0) << text;
  }
}

TEST(GroupsInRuns, EndlessLoopsAreInterrupted) {
  const std::string loop =
      "while[cond_jaxpr={ lambda ; d:f32[64,64]. let in (True:bool[],) } body_jaxpr={ lambda ; "
      "d:f32[64,64]. let e:f32[64,64] = dot_general[lhs_contracting=(1,) rhs_contracting=(0,) "
      "lhs_batch=() rhs_batch=()] d d in (e,) } cond_nconsts=0 body_nconsts=0]";
  const std::string text = "{ lambda ; a:f32[64,64] b:f32[64,64]. let c:f32[64,64] = " + loop +
                           " a f:f32[64,64] = " + loop + " b in (c, f) }";
  const auto begin = std::chrono::steady_clock::now();
  with_threads(4, [&] {
    const auto program = parse_program(text);
    EXPECT_EQ(make_plan(program)->groups.size(), 1u);
    const auto executable = testing::compile(program);
    set_interrupt_check([] { throw Interruption(); });
    const Array x = Array::of(std::span<const float>(std::vector<float>(4096)), Shape{64, 64});
    EXPECT_THROW(run(*executable, std::vector<Array>{x, x}), Interruption);
  });
  set_interrupt_check(nullptr);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

}  // namespace
}  // namespace farcall::native
