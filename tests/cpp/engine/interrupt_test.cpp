// Interrupting a program inside one kernel; the run loop itself only polls between instructions.
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <farcall/core/interrupt.h>
#include <farcall/program/engine.h>
#include <farcall/program/text.h>

namespace farcall::native {
namespace {

struct CtrlC {};

// True if running the program, with this value in all bytes of its inputs, ends with the exception
// of the interrupt check.
bool is_interrupted(
    const std::string& text, InterruptCheck check = [] { throw CtrlC(); }, int byte = 0) {
  const auto executable = default_engine().compile(parse_program(text), {});
  std::vector<Storage> inputs, outputs(executable->output_types().size());
  for (const ShapeDtype& type : executable->input_types()) {
    inputs.push_back(Storage::allocate(type.nbytes()));
    if (type.nbytes() > 0) std::memset(inputs.back().data(), byte, type.nbytes());
  }
  std::vector<const Storage*> pointers;
  for (const Storage& input : inputs) pointers.push_back(&input);
  // Ensures that a poll is due.
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  set_interrupt_check(check);
  bool interrupted = false;
  try {
    // On one thread: with several, the calling thread may finish its share before the next poll.
    tbb::task_arena(1).execute([&] { executable->execute(pointers, outputs, {}); });
  } catch (const CtrlC&) {
    interrupted = true;
  }
  set_interrupt_check(nullptr);
  return interrupted;
}

const char* const kLong[] = {
    "{ lambda ; a:f32[200000]. let b:f32[200000] = sort[dimension=0 is_stable=True num_keys=1] a "
    "in (b,) }",
    "{ lambda ; a:i64[200000]. let b:i64[200000] = sort[dimension=0 is_stable=True num_keys=1] a "
    "in (b,) }",
    "{ lambda ; a:f32[1000000,2]. let b:f32[1000000,2] = sort[dimension=1 is_stable=True "
    "num_keys=1] a in (b,) }",
    "{ lambda ; a:f32[1,8,90,90] b:f32[8,8,5,5]. let c:f32[1,8,86,86] = conv_general_dilated["
    "batch_group_count=1 feature_group_count=1 lhs_dilation=(1, 1) lhs_spec=(0, 1, 2, 3) "
    "out_spec=(0, 1, 2, 3) padding=((0, 0), (0, 0)) rhs_dilation=(1, 1) rhs_spec=(0, 1, 2, 3) "
    "window_strides=(1, 1)] a b in (c,) }",
    "{ lambda ; a:f32[40000,5]. let b:f32[5] = reduce_sum[axes=(0,)] a in (b,) }",
    "{ lambda ; a:f32[5,40000]. let b:f32[5] = reduce_max[axes=(1,)] a in (b,) }",
    "{ lambda ; a:f16[200000]. let b:f16[200000] = cumsum[axis=0 reverse=False] a in (b,) }",
    "{ lambda ; a:f32[50000,3]. let b:f32[50000,3] = cummax[axis=0 reverse=True] a in (b,) }",
    "{ lambda ; a:f32[200000]. let b:i32[] = argmax[axis=0 index_dtype=i32] a in (b,) }",
    "{ lambda ; a:f32[50000,3]. let b:i32[3] = argmin[axis=0 index_dtype=i32] a in (b,) }",
    "{ lambda ; a:f32[4000000]. let b:f32[4000000] = exp a in (b,) }",
    "{ lambda ; a:f16[4000000]. let b:f16[4000000] = exp a in (b,) }",
    "{ lambda ; a:i8[20000000]. let b:i16[20000000] = convert_element_type[new_dtype=i16 "
    "weak_type=False] a in (b,) }",
    "{ lambda ; a:f32[600,600]. let b:f32[600,600] = transpose[permutation=(1, 0)] a in (b,) }",
    "{ lambda ; a:i8[]. let b:i8[20000000] = broadcast_in_dim[shape=(20000000,) "
    "broadcast_dimensions=()] a in (b,) }",
    "{ lambda ; a:i32[300,300]. let b:i32[300,300] = dot_general[lhs_contracting=(1,) "
    "rhs_contracting=(0,) lhs_batch=() rhs_batch=()] a a in (b,) }",
    "{ lambda ; a:f32[900,900]. let b:f32[900,900] = dot_general[lhs_contracting=(1,) "
    "rhs_contracting=(0,) lhs_batch=() rhs_batch=()] a a in (b,) }",
    "{ lambda ; a:f32[2,1000000]. let b:f32[2,2] = dot_general[lhs_contracting=(1,) "
    "rhs_contracting=(1,) lhs_batch=() rhs_batch=()] a a in (b,) }",
    "{ lambda ; a:f32[20000,2,2]. let b:f32[20000,2,2] = dot_general[lhs_contracting=(2,) "
    "rhs_contracting=(1,) lhs_batch=(0,) rhs_batch=(0,)] a a in (b,) }",
    "{ lambda ; a:f32[5] b:i32[3000000,1]. let c:f32[3000000] = gather[offset_dims=() "
    "collapsed_slice_dims=(0,) start_index_map=(0,) operand_batching_dims=() "
    "start_indices_batching_dims=() slice_sizes=(1,) fill_value=None mode=clip "
    "unique_indices=False indices_are_sorted=False] a b in (c,) }",
    "{ lambda ; a:f32[5] b:i32[3000000,1] c:f32[3000000]. let d:f32[5] = scatter_add["
    "update_window_dims=() inserted_window_dims=(0,) scatter_dims_to_operand_dims=(0,) "
    "operand_batching_dims=() scatter_indices_batching_dims=() indices_are_sorted=False "
    "unique_indices=False mode=clip] a b c in (d,) }",
    "{ lambda ; a:i32[100000] b:f32[100000]. let c:f32[100000] = select_n a b b b in (c,) }",
    "{ lambda ;. let a:f32[200000] = iota[dtype=f32 shape=(200000,) dimension=0] in (a,) }",
    "{ lambda ; a:f32[100000]. let b:f32[99998] = reduce_window_sum[base_dilation=(1,) "
    "padding=((0, 0),) window_dilation=(1,) window_dimensions=(3,) window_strides=(1,)] a in "
    "(b,) }",
    "{ lambda ; a:f32[100000]. let b:f32[99998] = select_and_gather_add[base_dilation=(1,) "
    "padding=((0, 0),) select_prim=ge window_dilation=(1,) window_dimensions=(3,) "
    "window_strides=(1,)] a a in (b,) }",
    "{ lambda ; a:c64[300,512]. let b:c64[300,512] = fft[fft_lengths=(512,) fft_type=FFT] a in "
    "(b,) }",
    "{ lambda ; a:c64[131072]. let b:c64[131072] = fft[fft_lengths=(131072,) fft_type=FFT] a in "
    "(b,) }",
};

TEST(Interrupt, ReachesEveryLongKernel) {
  for (const char* text : kLong) EXPECT_TRUE(is_interrupted(text)) << text;
}

// Kernels whose elements or products take long, which must not look at their beginning only.
const char* const kSlow[] = {
    "{ lambda ; a:c128[400,400]. let b:c128[400,400] = dot_general[lhs_contracting=(1,) "
    "rhs_contracting=(0,) lhs_batch=() rhs_batch=()] a a in (b,) }",
    "{ lambda ; a:c128[2,2,4000000]. let b:c128[2,2,2] = dot_general[lhs_contracting=(2,) "
    "rhs_contracting=(2,) lhs_batch=(0,) rhs_batch=(0,)] a a in (b,) }",
    "{ lambda ; a:f64[60000]. let b:f64[60000] = igamma a a in (b,) }",
    "{ lambda ; a:f64[60000]. let b:f64[60000] = igamma a a c:f64[60000] = mul a b in (c,) }",
};

TEST(Interrupt, ReachesTheMiddleOfSlowKernels) {
  static int num_checks;
  const auto is_interrupted_late = [](const char* text) {
    num_checks = 0;
    const auto check = [] {
      if (++num_checks == 5) throw CtrlC();
      // The next poll is due then, on a machine of any speed.
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    };
    return is_interrupted(text, check, 0x40);
  };
  for (const char* text : kSlow) EXPECT_TRUE(is_interrupted_late(text)) << text;
  // The polls at the beginnings of a run and of its instructions are less than five.
  EXPECT_FALSE(is_interrupted_late(
      "{ lambda ; a:f64[4]. let b:f64[4] = igamma a a c:f64[4] = mul a b in (c,) }"));
}

TEST(Interrupt, IsNotAskedForByShortOnes) {
  EXPECT_FALSE(is_interrupted("{ lambda ; a:f32[4]. let b:f32[4] = exp a in (b,) }"));
}

// An interrupted program can be run again.
TEST(Interrupt, LeavesTheExecutableUsable) {
  const std::string text = "{ lambda ; a:f32[4000000]. let b:f32[4000000] = exp a in (b,) }";
  const auto executable = default_engine().compile(parse_program(text), {});
  Storage input = Storage::allocate(16000000), output;
  std::memset(input.data(), 0, input.nbytes());
  const Storage* const inputs[] = {&input};
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  set_interrupt_check([] { throw CtrlC(); });
  // One run may end before the thread looks at the clock, for example while another thread has the
  // tiles; many runs may not.
  const auto run_often = [&] {
    for (int i = 0; i < 100; ++i) executable->execute(inputs, {&output, 1}, {});
  };
  EXPECT_THROW(run_often(), CtrlC);
  set_interrupt_check(nullptr);
  executable->execute(inputs, {&output, 1}, {});
  EXPECT_EQ(static_cast<const float*>(output.data())[199999], 1.0f);
}

}  // namespace
}  // namespace farcall::native
