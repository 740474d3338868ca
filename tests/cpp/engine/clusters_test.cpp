// Clusters give bitwise the results of separate equations.
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <tbb/task_arena.h>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/program/engine.h>
#include <farcall/program/text.h>
#include <farcall/trace/placement.h>
#include <farcall/trace/record.h>

#include "engine/native/form_clusters.h"
#include "kernel_testing.h"

namespace farcall::native {
namespace {

using Bytes = std::vector<std::string>;

Bytes bytes_of(const std::vector<Array>& arrays) {
  Bytes all;
  for (const Array& array : arrays) {
    all.emplace_back(static_cast<const char*>(array.data()), array.type().nbytes());
  }
  return all;
}

std::vector<Array> random_inputs(const Program& program) {
  std::mt19937 random(7);
  std::vector<Array> inputs;
  for (const ShapeDtype& type : program.input_types()) {
    const testing::TestArray values = testing::random_array(type, random, 3);
    Storage storage = Storage::allocate(type.nbytes());
    std::memcpy(storage.data(), values.data(), type.nbytes());
    inputs.emplace_back(type, std::move(storage));
  }
  return inputs;
}

Bytes compiled(const ProgramPtr& program, bool is_donated) {
  const std::vector<Array> inputs = random_inputs(*program);
  const auto executable =
      compile(program, host_device(), std::vector<bool>(inputs.size(), is_donated));
  std::vector<Storage> own;
  for (const Array& input : inputs) {
    own.push_back(Storage::allocate(input.type().nbytes()));
    std::memcpy(own.back().data(), input.data(), input.type().nbytes());
  }
  std::vector<const Storage*> pointers;
  for (const Storage& each : own) pointers.push_back(&each);
  std::vector<Storage> outputs(program->outputs.size());
  executable->execute(pointers, outputs, {});
  Bytes all;
  for (size_t i = 0; i < outputs.size(); ++i) {
    all.emplace_back(static_cast<const char*>(outputs[i].data()),
                     executable->output_types()[i].nbytes());
  }
  return all;
}

// Expects the engine to form `num_clusters` clusters; the reference runs each equation separately.
void expect_same_bits(const std::string& text, int64_t num_clusters = 1) {
  SCOPED_TRACE(text);
  const ProgramPtr program = parse_program(text);
  EXPECT_EQ(compile(program, host_device())->fusion().clusters, num_clusters);
  const Bytes alone = bytes_of(evaluate(*program, random_inputs(*program)));
  for (const bool is_donated : {false, true}) {
    EXPECT_EQ(compiled(program, is_donated), alone) << is_donated;
  }
}

std::string replaced(const std::string& text, std::string_view from, std::string_view to) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const bool is_found = std::string_view(text).substr(at).starts_with(from);
    result.append(is_found ? to : std::string_view(text).substr(at, 1));
    at += is_found ? from.size() : 1;
  }
  return result;
}

TEST(Clusters, OfEveryDtypeAndOddSizes) {
  const std::string text =
      "{ lambda ; a:T[N] b:T[N] s:T[]. let c:T[N] = mul a b d:T[N] = add c s e:bool[N] = lt d a "
      "f:T[N] = select_n e d a g:T[N] = max f b in (g, d) }";
  for (const std::string dtype :
       {"f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u32", "i4", "f8_e4m3fn"}) {
    for (const std::string size : {"1", "2", "17", "1023", "5000"}) {
      expect_same_bits(replaced(replaced(text, "T[", dtype + "["), "N]", size + "]"));
    }
  }
}

TEST(Clusters, OfComplexNumbersAndConversions) {
  expect_same_bits(
      "{ lambda ; a:c64[700]. let b:c64[700] = mul a a c:f32[700] = real b d:f16[700] = "
      "convert_element_type[new_dtype=f16 weak_type=False] c e:i32[700] = "
      "convert_element_type[new_dtype=i32 weak_type=False] d f:i32[700] = integer_pow[y=3] e in "
      "(f, d, b) }");
}

TEST(Clusters, OfNoElements) {
  expect_same_bits("{ lambda ; a:f32[0,4]. let b:f32[0,4] = neg a c:f32[0,4] = exp b in (c,) }", 0);
}

TEST(Clusters, OfScalars) {
  expect_same_bits(
      "{ lambda ; a:f32[] b:f32[]. let c:f32[] = mul a b d:f32[] = add c 1.0:f32[] e:bool[] = lt c "
      "d f:f32[] = select_n e a d g:f16[] = convert_element_type[new_dtype=f16 weak_type=False] f "
      "in (d, g, c) }");
}

// Slices of all kinds, reversed and transposed operands, single elements and iota, in tiles that
// end within rows.
TEST(Clusters, OfPartsOfOperands) {
  const std::string text =
      "{ lambda ; x:T[R,C] y:T[R,3,C] s:T[C]. let a:T[R,C] = rev[dimensions=(0, 1)] x b:T[R,C] = "
      "rev[dimensions=(0,)] x c:T[R,1,C] = slice[start_indices=(0, 2, 0) limit_indices=(R, 3, C) "
      "strides=(1, 1, 1)] y d:T[R,C] = reshape[new_sizes=(R, C)] c e:T[1] = "
      "slice[start_indices=(5,) "
      "limit_indices=(6,) strides=(1,)] s f:T[] = reshape[new_sizes=()] e g:T[R,C] = "
      "iota[dtype=T shape=(R, C) dimension=0] h:T[R,C] = iota[dtype=T shape=(R, C) dimension=1] "
      "i:T[R,C] = add a b j:T[R,C] = mul i d k:T[R,C] = add j f l:T[R,C] = sub g h m:T[R,C] = add "
      "k l n:T[R,C] = max m x in (n, b, f, g, j) }";
  for (const std::string dtype : {"f32", "f16", "i8", "f64"}) {
    for (const auto& [rows, columns] : std::vector<std::pair<std::string, std::string>>{
             {"2", "16"}, {"7", "130"}, {"500", "17"}, {"33", "77"}, {"5", "3000"}}) {
      expect_same_bits(replaced(
          replaced(replaced(replaced(text, "T[", dtype + "["), "=T", "=" + dtype), "R", rows), "C",
          columns));
    }
  }
  // Strided slices; and dense slices of an operand that is also read as a whole.
  const std::string steps =
      "{ lambda ; x:f32[9000] y:f32[4,50,3,40]. let a:f32[3000] = slice[start_indices=(1,) "
      "limit_indices=(9000,) strides=(3,)] x b:f32[3000] = slice[start_indices=(4000,) "
      "limit_indices=(7000,) strides=(1,)] x c:f32[3000] = mul a b d:f32[4,3,50,40] = "
      "transpose[permutation=(0, 2, 1, 3)] y e:f32[4,3,50,40] = mul d d f:f32[24000] = "
      "reshape[new_sizes=(24000,)] y g:f32[24000] = neg f in (c, e, g) }";
  expect_same_bits(steps, 2);
  // No result may reuse an operand that is read elsewhere.
  expect_same_bits(
      "{ lambda ; x:f32[5000]. let a:f32[5000] = rev[dimensions=(0,)] x b:f32[5000] = exp a "
      "c:f32[5000] = sub b 1.0:f32[] in (c,) }");
}

// Matrices of several shapes, one or more of them. Their rows are reduced by another cluster.
TEST(Clusters, OfTransposedOperands) {
  const std::string text =
      "{ lambda ; x:T[B,C,R] y:T[B,R,C]. let a:T[B,R,C] = transpose[permutation=(0, 2, 1)] x "
      "b:T[B,R,C] = mul a y c:T[B,R,C] = sub b a d:T[B,R] = reduce_max[axes=(2,)] c e:T[B,R,C] = "
      "broadcast_in_dim[shape=(B, R, C) broadcast_dimensions=(0, 1)] d f:T[B,R,C] = sub c e in (c, "
      "f) }";
  const auto expect = [&](const std::string& dtype, const char* count, const char* rows,
                          const char* columns) {
    std::string sized = replaced(text, "T[", dtype + "[");
    if (dtype == "c128") sized = replaced(sized, "reduce_max", "reduce_sum");
    sized = replaced(replaced(replaced(sized, "B", count), "R", rows), "C", columns);
    expect_same_bits(sized, 2);
  };
  for (const std::string dtype : {"f32", "bf16", "i8", "f64", "c128"}) {
    expect(dtype, "200", "90", "60");
  }
  expect("f32", "1", "701", "450");
  expect("f32", "5", "70001", "3");
  // The last dimension comes from the first; few elements and long rows are transposed separately.
  expect_same_bits(
      "{ lambda ; x:f32[20,600,50]. let a:f32[600,50,20] = transpose[permutation=(1, 2, 0)] x "
      "b:f32[600,50,20] = mul a a c:f32[600,50,20] = add b a in (c,) }");
  expect_same_bits(
      "{ lambda ; x:f32[30,20]. let a:f32[20,30] = transpose[permutation=(1, 0)] x b:f32[20,30] = "
      "mul a a c:f32[20,30] = add b a in (c,) }");
  expect_same_bits(
      "{ lambda ; x:f32[5000,90]. let a:f32[90,5000] = transpose[permutation=(1, 0)] x "
      "b:f32[90,5000] = mul a a c:f32[90,5000] = add b a in (c,) }");
}

TEST(Clusters, OfConcatenatedOperands) {
  const std::string text =
      "{ lambda ; x:T[R,C] y:T[R,16] z:T[R,C]. let a:T[R,C+16] = concatenate[dimension=1] x y "
      "b:T[R+R,C] = concatenate[dimension=0] x z c:T[R,C+16] = neg a d:T[R+R,C] = mul b b in (c, "
      "d) }";
  for (const std::string dtype : {"f32", "f16", "i8", "f64"}) {
    for (const auto& [rows, columns] :
         std::vector<std::pair<int, int>>{{1, 16}, {7, 130}, {500, 17}, {3, 5000}}) {
      std::string sized = replaced(text, "T[", dtype + "[");
      sized = replaced(sized, "C+16", std::to_string(columns + 16));
      sized = replaced(sized, "R+R", std::to_string(2 * rows));
      sized = replaced(sized, "R", std::to_string(rows));
      expect_same_bits(replaced(sized, "C", std::to_string(columns)), 2);
    }
  }
  // The same operand twice, and one that the cluster also reads; a donated operand is not
  // overwritten before another tile reads it.
  expect_same_bits(
      "{ lambda ; x:f32[3000] y:f32[6000]. let a:f32[6000] = concatenate[dimension=0] x x "
      "b:f32[6000] = mul a y c:f32[6000] = sub b a in (c, b) }");
}

TEST(Clusters, OfSlicesSideBySide) {
  const auto rolled = [](int a, int b, int c, int axis, int by) {
    const int shape[] = {a, b, c};
    const auto slice = [&](const char* name, int first, int last) {
      int start[] = {0, 0, 0}, limit[] = {a, b, c}, size[] = {a, b, c};
      start[axis] = first;
      limit[axis] = last;
      size[axis] = last - first;
      return fmt::format(
          "{}:T[{}] = slice[start_indices=({}) limit_indices=({}) strides=(1, 1, 1)] x ", name,
          fmt::join(size, ","), fmt::join(start, ", "), fmt::join(limit, ", "));
    };
    const std::string type = fmt::format("T[{}]", fmt::join(shape, ","));
    return fmt::format(
        "{{ lambda ; x:{0}. let {1}{2}c:{0} = concatenate[dimension={3}] a b d:{0} = "
        "sub c x e:{0} = mul d x in (e,) }}",
        type, slice("a", shape[axis] - by, shape[axis]), slice("b", 0, shape[axis] - by), axis);
  };
  for (const std::string dtype : {"f32", "i8", "f64", "c128"}) {
    for (const auto& [a, b, c] : std::vector<std::tuple<int, int, int>>{
             {5, 7, 33}, {2, 300, 16}, {40, 3, 1000}, {3, 9, 9}}) {
      for (int axis = 0; axis < 3; ++axis) {
        const int size = axis == 0 ? a : axis == 1 ? b : c;
        for (const int by : {1, size / 2, size - 1}) {
          expect_same_bits(replaced(rolled(a, b, c, axis, by), "T[", dtype + "["));
        }
      }
    }
  }
}

TEST(Clusters, OfBroadcastsThatFitNoRows) {
  const std::string text =
      "{ lambda ; x:T[A,C] y:T[B,C] z:T[A,B,C] r:T[A,B]. let a:T[A,B,C] = "
      "broadcast_in_dim[shape=(A, B, C) broadcast_dimensions=(0, 2)] x b:T[A,B,C] = "
      "broadcast_in_dim[shape=(A, B, C) broadcast_dimensions=(1, 2)] y c:T[A,B,C] = sub a b "
      "d:T[A,B,C] = mul c z e:T[A,B] = reduce_max[axes=(2,)] d f:T[A,B,C] = "
      "broadcast_in_dim[shape=(A, B, C) broadcast_dimensions=(0, 1)] e g:T[A,B,C] = sub d f "
      "h:T[A,B,C] = broadcast_in_dim[shape=(A, B, C) broadcast_dimensions=(0, 1)] r i:T[A,B,C] = "
      "mul g h j:T[A,B] = reduce_sum[axes=(2,)] i in (j, i) }";
  for (const std::string dtype : {"f32", "f16", "f64"}) {
    for (const auto& [a, b, c] : std::vector<std::tuple<int, int, int>>{
             {5, 7, 16}, {3, 2, 9}, {40, 3, 130}, {1, 6, 20}, {6, 1, 20}, {2, 3, 3000}}) {
      std::string sized = replaced(text, "T[", dtype + "[");
      sized = replaced(sized, "A", std::to_string(a));
      sized = replaced(sized, "B", std::to_string(b));
      expect_same_bits(replaced(sized, "C", std::to_string(c)));
    }
  }
  // A column reduction of a vector that was first taken for a row of the cluster.
  expect_same_bits(
      "{ lambda ; v:f32[7,16] x:f32[5,7,16] y:f32[16]. let a:f32[5,7,16] = "
      "broadcast_in_dim[shape=(5, 7, 16) broadcast_dimensions=(1, 2)] v b:f32[5,7,16] = add a x "
      "c:f32[5,7,16] = broadcast_in_dim[shape=(5, 7, 16) broadcast_dimensions=(2,)] y "
      "d:f32[5,7,16] = mul b c e:f32[16] = reduce_sum[axes=(0, 1)] d f:f32[16] = "
      "reduce_sum[axes=(0, "
      "1)] c in (e, f) }");
}

TEST(Clusters, OfDynamicSlices) {
  const auto slices = [](int row, int column) {
    return fmt::format(
        "{{ lambda ; x:f32[90,200] i:i32[] y:f32[60,150] j:i32[]. let r:i32[] = mul i 0:i32[] "
        "s:i32[] = add r {}:i32[] a:f32[60,150] = dynamic_slice[slice_sizes=(60, 150)] x s "
        "{}:i32[] "
        "b:f32[60,150] = mul a y c:f32[1,150] = dynamic_slice[slice_sizes=(1, 150)] x 3:i32[] s "
        "d:f32[150] = reshape[new_sizes=(150,)] c e:f32[60,150] = broadcast_in_dim[shape=(60, 150) "
        "broadcast_dimensions=(1,)] d f:f32[60,150] = add b e in (f,) }}",
        row, column);
  };
  for (const auto& [row, column] :
       std::vector<std::pair<int, int>>{{0, 0}, {30, 50}, {7, 13}, {-4, 1000}, {1000, -4}}) {
    const ProgramPtr program = parse_program(slices(row, column));
    EXPECT_EQ(compiled(program, false), bytes_of(evaluate(*program, random_inputs(*program))));
    EXPECT_EQ(compiled(program, true), bytes_of(evaluate(*program, random_inputs(*program))));
  }
  // The index is a donated scalar, and a result of the same size is computed from it.
  expect_same_bits(
      "{ lambda ; x:f32[9000] i:i32[]. let a:f32[6000] = dynamic_slice[slice_sizes=(6000,)] x i "
      "j:i32[] = add i 1:i32[] k:f32[] = convert_element_type[new_dtype=f32 weak_type=False] j "
      "b:f32[6000] = mul a k in (b, j) }");
}

// Rows and columns of all sizes, with fewer columns than a tile has elements, and with more.
TEST(Clusters, OfBroadcastOperands) {
  const std::string text =
      "{ lambda ; x:T[R,C] r:T[R] c:T[C] s:T[]. let a:T[R,C] = broadcast_in_dim[shape=(R, C) "
      "broadcast_dimensions=(0,)] r b:T[R,C] = broadcast_in_dim[shape=(R, C) "
      "broadcast_dimensions=(1,)] c d:T[R,C] = broadcast_in_dim[shape=(R, C) "
      "broadcast_dimensions=()] s e:T[R,C] = mul x a f:T[R,C] = add e b g:T[R,C] = exp a h:T[R,C] "
      "= exp b i:T[R,C] = add g h j:T[R,C] = exp d k:T[R,C] = mul j f l:T[R,C] = sub k i in (l, a, "
      "b, d, j) }";
  for (const std::string dtype : {"f32", "f16", "f64"}) {
    for (const auto& [rows, columns] : std::vector<std::pair<std::string, std::string>>{
             {"3", "5"}, {"7", "130"}, {"500", "3"}, {"33", "77"}, {"5", "3000"}, {"2", "9000"}}) {
      expect_same_bits(
          replaced(replaced(replaced(text, "T[", dtype + "["), "R", rows), "C", columns));
    }
  }
}

TEST(Clusters, OfRowsWithReductions) {
  const std::string softmax =
      "{ lambda ; a:T[R,C]. let b:T[R] = reduce_max[axes=(1,)] a c:T[R,1] = reshape[new_sizes=(R, "
      "1)] b d:T[R,C] = broadcast_in_dim[shape=(R, C) broadcast_dimensions=(0, 1)] c e:T[R,C] = "
      "sub a d f:T[R,C] = exp e g:T[R] = reduce_sum[axes=(1,)] f h:T[R,C] = "
      "broadcast_in_dim[shape=(R, C) broadcast_dimensions=(0,)] g i:T[R,C] = div f h j:T[R] = log "
      "g k:T[R] = add j b in (i, k) }";
  for (const std::string dtype : {"f32", "f16", "bf16", "f64"}) {
    for (const auto& [rows, columns] : std::vector<std::pair<std::string, std::string>>{
             {"2", "3"}, {"300", "5"}, {"31", "70"}, {"6", "1025"}, {"3", "8000"}}) {
      expect_same_bits(
          replaced(replaced(replaced(softmax, "T[", dtype + "["), "R", rows), "C", columns));
    }
  }
  expect_same_bits(
      "{ lambda ; a:i32[4,5,6]. let b:i32[4,5,6] = mul a a c:i32[4] = reduce_prod[axes=(1, 2)] b "
      "d:bool[4,5,6] = lt a b e:bool[4] = reduce_and[axes=(1, 2)] d f:i32[4] = "
      "reduce_min[axes=(1, 2)] b in (c, e, f) }");
}

// Few columns and many; rows that are reduced sequentially, in halves and on several threads; the
// reduced values are outputs or not.
TEST(Clusters, OfColumnsWithReductions) {
  const std::string text =
      "{ lambda ; x:T[R,C] m:T[C] r:T[R]. let a:T[R,C] = broadcast_in_dim[shape=(R, C) "
      "broadcast_dimensions=(1,)] m b:T[R,C] = sub x a c:T[R,C] = broadcast_in_dim[shape=(R, C) "
      "broadcast_dimensions=(0,)] r d:T[R,C] = mul b c e:T[C] = reduce_sum[axes=(0,)] d in RESULTS "
      "}";
  for (const std::string dtype : {"f32", "f16", "f64", "i8", "c64"}) {
    for (const auto& [rows, columns] : std::vector<std::pair<std::string, std::string>>{
             {"2", "2"}, {"33", "7"}, {"70", "31"}, {"500", "3"}, {"129", "1025"}, {"3", "9000"}}) {
      for (const std::string results : {"(e,)", "(e, d)", "(b, e)"}) {
        expect_same_bits(replaced(
            replaced(replaced(replaced(text, "T[", dtype + "["), "RESULTS", results), "R", rows),
            "C", columns));
      }
    }
  }
  // Several reduced dimensions, with every operation.
  for (const std::string name : {"sum", "max", "min", "prod"}) {
    expect_same_bits(
        replaced("{ lambda ; x:f32[6,50,4,30] s:f32[]. let a:f32[6,50,4,30] = mul x s "
                 "b:f32[4,30] = reduce_NAME[axes=(0, 1)] a in (b,) }",
                 "NAME", name));
  }
  expect_same_bits(
      "{ lambda ; x:bf16[60,40]. let a:bf16[60,40] = mul x x b:bf16[40] = reduce_max[axes=(0,)] a "
      "in (b, a) }");
  for (const std::string name : {"and", "or"}) {
    expect_same_bits(
        replaced("{ lambda ; x:i32[6,40] y:i32[6,40]. let a:bool[6,40] = lt x y "
                 "b:bool[6,40] = not a c:bool[40] = reduce_NAME[axes=(0,)] b in (c,) }",
                 "NAME", name));
  }
}

TEST(Clusters, OfAReductionOverEverything) {
  expect_same_bits(
      "{ lambda ; a:f32[60,20]. let b:f32[60,20] = mul a a c:f32[] = reduce_sum[axes=(0, 1)] b "
      "d:f32[] = sqrt c e:f32[60,20] = broadcast_in_dim[shape=(60, 20) broadcast_dimensions=()] d "
      "f:f32[60,20] = div a e in (f, d) }");
}

// One output is written while other steps still read the input.
TEST(Clusters, WriteOverNothingThatIsReadLater) {
  expect_same_bits(
      "{ lambda ; a:f32[3000] b:f32[3000]. let c:f32[3000] = neg a d:f32[3000] = exp b e:f32[3000] "
      "= add c d f:f32[3000] = mul e a g:f32[3000] = sub f b in (c, d, f, g) }");
  expect_same_bits(
      "{ lambda ; a:f32[40,40]. let b:f32[40] = reduce_sum[axes=(1,)] a c:f32[40,40] = neg a "
      "d:f32[40,40] = broadcast_in_dim[shape=(40, 40) broadcast_dimensions=(0,)] b e:f32[40,40] = "
      "mul d a in (c, e) }");
  // The same through a view of the same memory.
  expect_same_bits(
      "{ lambda ; a:f32[64] b:f32[8,8]. let x:f32[64] = rev[dimensions=(0,)] a y:f32[8,8] = "
      "reshape[new_sizes=(8, 8)] x z:f32[64] = exp x c:f32[8,8] = neg y d:f32[64] = "
      "reshape[new_sizes=(64,)] c e:f32[64] = add d z f:f32[64] = mul e x in (f, e) }");
}

TEST(Clusters, OneOutputLiesInADonatedInput) {
  const ProgramPtr program = parse_program(
      "{ lambda ; a:f32[3000]. let b:f32[3000] = exp a c:f32[3000] = mul a b in (c,) }");
  const auto executable = compile(program, host_device(), {true});
  EXPECT_THAT(executable->overwrites(), ElementsAre(true));
  EXPECT_EQ(executable->memory().alias_bytes, 12000u);
}

TEST(Clusters, KeepNoArrayBetweenTheirEquations) {
  std::string text = "{ lambda ; a:f32[100000]. let ", last = "a";
  for (int i = 0; i < 20; ++i) {
    const std::string name = fmt::format("v{}", i);
    text += fmt::format("{}:f32[100000] = add {} a ", name, last);
    last = name;
  }
  const auto executable = compile(parse_program(text + "in (" + last + ",) }"), host_device());
  EXPECT_LT(executable->memory().temp_bytes, size_t{64} << 10);
  EXPECT_EQ(executable->fusion().clusters, 1);
  EXPECT_EQ(executable->fusion().equations, 20);
}

// 16-bit floats are rounded after every operation, whether stored or not.
TEST(Clusters, OfNarrowFloatsWithReductions) {
  const std::string text =
      "{ lambda ; a:T[19,70]. let b:T[19] = reduce_max[axes=(1,)] a c:T[19,70] = "
      "broadcast_in_dim[shape=(19, 70) broadcast_dimensions=(0,)] b d:T[19,70] = sub a c "
      "e:T[19,70] "
      "= exp d f:T[19] = reduce_sum[axes=(1,)] e g:T[19,70] = broadcast_in_dim[shape=(19, 70) "
      "broadcast_dimensions=(0,)] f h:T[19,70] = div e g i:f32[19,70] = "
      "convert_element_type[new_dtype=f32 weak_type=False] h in (h, b, i) }";
  for (const std::string dtype : {"f16", "bf16", "f8_e4m3fn"}) {
    expect_same_bits(replaced(text, "T[", dtype + "["));
  }
}

// Every bfloat16 and every tie between two, and float32 bits spread over all others, NaNs included.
TEST(Clusters, RoundToNarrowFloats) {
  const std::string text =
      "{ lambda ; a:u32[140000]. let b:u32[140000] = iota[dtype=u32 shape=(140000,) dimension=0] "
      "c:u32[140000] = mul b M:u32[] d:f32[140000] = bitcast_convert_type[new_dtype=f32] c "
      "e:T[140000] = convert_element_type[new_dtype=T weak_type=False] d f:T[140000] = neg e "
      "g:u32[140000] = add a c in (f, g) }";
  for (const std::string dtype : {"f16", "bf16"}) {
    for (const std::string factor : {"32768", "2654435761"}) {
      expect_same_bits(replaced(replaced(text, "T", dtype), "M", factor));
    }
  }
}

// Operands and results that are requested from memory ahead of their use.
TEST(Clusters, OfLargeResults) {
  expect_same_bits(
      "{ lambda ; a:f32[2100003] b:f32[2100003]. let c:f32[2100003] = mul a b d:f32[2100003] = add "
      "c a e:bool[2100003] = lt c d f:f64[2100003] = convert_element_type[new_dtype=f64 "
      "weak_type=False] d in (d, e, f, c) }");
  expect_same_bits(
      "{ lambda ; a:f32[2100003]. let b:f32[2100003] = rev[dimensions=(0,)] a c:f32[2100003] = add "
      "b 0.5:f32[] in (c,) }");
}

TEST(Elementwise, OfALargeResultAloneAndInPlace) {
  const ProgramPtr program =
      parse_program("{ lambda ; a:f32[2100003]. let b:f32[2100003] = neg a in (b,) }");
  std::string expected = bytes_of(random_inputs(*program))[0];
  for (size_t i = 3; i < expected.size(); i += 4)
    expected[i] = static_cast<char>(expected[i] ^ 0x80);
  for (const bool is_donated : {false, true}) EXPECT_EQ(compiled(program, is_donated)[0], expected);
}

// Tiles give the same bits on any number of threads.
TEST(Clusters, OnSeveralThreads) {
  for (const std::string text :
       {"{ lambda ; a:f32[300001] b:f32[]. let c:f32[300001] = mul a b d:f32[300001] = exp c "
        "e:f32[300001] = add d 1.0:f32[] in (e, c) }",
        "{ lambda ; a:f32[700,1000]. let b:f32[700] = reduce_sum[axes=(1,)] a c:f32[700,1000] = "
        "broadcast_in_dim[shape=(700, 1000) broadcast_dimensions=(0,)] b d:f32[700,1000] = div a c "
        "in (d, b) }",
        "{ lambda ; a:f32[1700,1000]. let b:f32[1700,1000] = tanh a c:f32[1700,1000] = mul b b "
        "d:f32[1000] = reduce_sum[axes=(0,)] c in (d,) }",
        "{ lambda ; a:f16[300001]. let b:f16[300001] = tanh a in (b,) }"}) {
    SCOPED_TRACE(text);
    const ProgramPtr program = parse_program(text);
    Bytes one, several;
    tbb::task_arena(1).execute([&] { one = compiled(program, false); });
    tbb::task_arena(4).execute([&] { several = compiled(program, true); });
    EXPECT_EQ(one, several);
    EXPECT_EQ(one, bytes_of(evaluate(*program, random_inputs(*program))));
  }
}

// The comparison above notices a cluster that computes something else.
TEST(Clusters, AWrongOneIsNoticed) {
  const std::string text =
      "{ lambda ; a:f32[100] b:f32[100]. let c:f32[100] = mul a b d:f32[100] = add c b in (d,) }";
  const ProgramPtr right = form_clusters(parse_program(text));
  const ProgramPtr wrong = parse_program(replaced(to_text(*right), "add", "sub"));
  const Bytes expected = bytes_of(evaluate(*parse_program(text), random_inputs(*right)));
  EXPECT_EQ(compiled(right, false), expected);
  EXPECT_NE(compiled(wrong, false), expected);
}

TEST(Clusters, StopForAnInterrupt) {
  const ProgramPtr program = parse_program(
      "{ lambda ; a:f32[30000000]. let b:f32[30000000] = lgamma a c:f32[30000000] = lgamma b in "
      "(c,) }");
  const auto executable = compile(program, host_device());
  EXPECT_EQ(executable->fusion().clusters, 1);
  Storage input = Storage::allocate(size_t{30000000} * sizeof(float));
  std::memset(input.data(), 0, input.nbytes());
  const Storage* pointer = &input;
  std::vector<Storage> outputs(1);
  struct Stop {};
  set_interrupt_check([] { throw Stop(); });
  EXPECT_THROW(executable->execute({&pointer, 1}, outputs, {}), Stop);
  set_interrupt_check(nullptr);
}

}  // namespace
}  // namespace farcall::native
