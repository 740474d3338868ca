// Reductions, argmax, argmin and dot_general compared with plain loops.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include <farcall/primitives/dot_general.h>
#include <farcall/primitives/reduce.h>

#include "kernel_testing.h"

namespace farcall::native::testing {
namespace {

using Indices = std::vector<int64_t>;
using Texts = std::vector<std::string>;

bool contains(const Indices& values, int64_t value) {
  return std::ranges::find(values, value) != values.end();
}

Shape without(std::span<const int64_t> shape, const Indices& axes) {
  Shape result;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!contains(axes, static_cast<int64_t>(i))) result.push_back(shape[i]);
  }
  return result;
}

TestArray reduce(const char* name, const TestArray& x, const Indices& axes) {
  const ShapeDtype type(x.type().dtype(), without(x.type().shape(), axes));
  return run_kernel(name, {x}, type, make_params(ReduceParams{axes}));
}

using Combine = Number (*)(Number, Number);
void check_reduce(const char* name, const TestArray& x, const Indices& axes, Number start,
                  Combine combine) {
  const TestArray result = reduce(name, x, axes);
  const auto& info = dtype_info(x.type().dtype());
  std::vector<Number> expected(static_cast<size_t>(result.size()), start);
  for_each_index(x.type().shape(), [&](std::span<const int64_t> index) {
    Indices kept;
    for (size_t i = 0; i < index.size(); ++i) {
      if (!contains(axes, static_cast<int64_t>(i))) kept.push_back(index[i]);
    }
    auto& sum = expected[flat_index(result.type().shape(), kept)];
    sum = combine(sum, x.get(flat_index(x.type().shape(), index)));
  });
  for (int64_t i = 0; i < result.size(); ++i) {
    const Number want = is_complex(info.dtype) ? expected[i] : wrapped(info, expected[i].real());
    ASSERT_TRUE(is_close(result, i, want, 2)) << name << " of " << x.type().to_string();
  }
}

TEST(ReduceKernels, EveryDtypeAndSetOfAxes) {
  std::mt19937 random(9);
  const std::vector<Shape> shapes = {{}, {7}, {0}, {3, 5}, {1, 1}, {2, 0, 3}, {2, 3, 1, 2, 3, 2}};
  for (const auto& info : all_dtypes()) {
    if (info.kind == DTypeKind::kToken || info.dtype == DType::kBool) continue;
    if (info.dtype == DType::kFloat8E8M0FNU) continue;  // has no zero to start from
    for (const Shape& shape : shapes) {
      const TestArray x = random_array(ShapeDtype(info.dtype, shape), random, 1);
      for (unsigned set = 0; set < 1u << shape.size(); ++set) {
        Indices axes;
        for (size_t i = 0; i < shape.size(); ++i) {
          if (set >> i & 1) axes.push_back(static_cast<int64_t>(i));
        }
        check_reduce("reduce_sum", x, axes, 0, [](Number a, Number b) { return a + b; });
        if (!is_complex(info.dtype)) {
          check_reduce("reduce_prod", x, axes, 1, [](Number a, Number b) { return a * b; });
        }
        if (is_complex(info.dtype) || x.size() == 0) continue;
        check_reduce("reduce_max", x, axes, -100,
                     [](Number a, Number b) { return Number(std::max(a.real(), b.real())); });
        check_reduce("reduce_min", x, axes, 100,
                     [](Number a, Number b) { return Number(std::min(a.real(), b.real())); });
      }
    }
  }
}

TEST(ReduceKernels, LongRowsAndColumns) {
  std::mt19937 random(10);
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kBFloat16,
                            DType::kUInt8, DType::kComplex64}) {
    const TestArray x = random_array(ShapeDtype(dtype, {3, 2500}), random, 1);
    const TestArray y = random_array(ShapeDtype(dtype, {300, 300}), random, 1);
    const TestArray z = random_array(ShapeDtype(dtype, {70, 5, 70}), random, 1);
    const Combine plus = [](Number a, Number b) { return a + b; };
    check_reduce("reduce_sum", x, {1}, 0, plus);
    check_reduce("reduce_sum", x, {0, 1}, 0, plus);
    check_reduce("reduce_sum", y, {0}, 0, plus);
    check_reduce("reduce_sum", z, {0, 2}, 0, plus);
    check_reduce("reduce_sum", z, {1}, 0, plus);
  }
}

TEST(ReduceKernels, SumsAreAccurate) {
  const int64_t size = 1'000'000;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const bool is_column : {false, true}) {
      TestArray x(is_column ? ShapeDtype(dtype, {size, 2}) : ShapeDtype(dtype, {2, size}));
      for (int64_t i = 0; i < x.size(); ++i) x.set(i, 0.1);
      const auto exact = static_cast<double>(static_cast<long double>(x.real(0)) * size);
      const TestArray sums = reduce("reduce_sum", x, {is_column ? 0 : 1});
      EXPECT_TRUE(is_close(sums, 0, exact, 8));
      EXPECT_TRUE(is_close(sums, 1, exact, 8));
    }
  }
  // Halves, which a float16 accumulator would lose.
  TestArray h(ShapeDtype(DType::kFloat16, {5000}));
  for (int64_t i = 0; i < h.size(); ++i) h.set(i, 0.5);
  EXPECT_EQ(reduce("reduce_sum", h, {0}).real(0), 2500);
}

TEST(ReduceKernels, OverNothing) {
  const auto over_nothing = [](const char* name, DType dtype) {
    return reduce(name, TestArray(ShapeDtype(dtype, {0, 1})), {0}).text(0);
  };
  EXPECT_EQ(over_nothing("reduce_max", DType::kFloat32), "-inf");
  EXPECT_EQ(over_nothing("reduce_min", DType::kBFloat16), "inf");
  EXPECT_EQ(over_nothing("reduce_max", DType::kFloat8E4M3FN), "-448.0");
  EXPECT_EQ(over_nothing("reduce_min", DType::kFloat4E2M1FN), "6.0");
  EXPECT_EQ(over_nothing("reduce_max", DType::kFloat8E5M2), "-inf");
  EXPECT_EQ(over_nothing("reduce_max", DType::kInt4), "-8");
  EXPECT_EQ(over_nothing("reduce_min", DType::kUInt2), "3");
  EXPECT_EQ(over_nothing("reduce_max", DType::kInt64), "-9223372036854775808");
  EXPECT_EQ(over_nothing("reduce_max", DType::kBool), "False");
  EXPECT_EQ(over_nothing("reduce_min", DType::kBool), "True");
  EXPECT_EQ(over_nothing("reduce_and", DType::kBool), "True");
  EXPECT_EQ(over_nothing("reduce_or", DType::kBool), "False");
  EXPECT_EQ(over_nothing("reduce_and", DType::kInt4), "-1");
  EXPECT_EQ(over_nothing("reduce_and", DType::kUInt4), "15");
  EXPECT_EQ(over_nothing("reduce_prod", DType::kComplex64), "(1.0+0.0j)");
  EXPECT_EQ(over_nothing("reduce_sum", DType::kFloat64), "0.0");
}

TEST(ReduceKernels, BoolsBitsAndNan) {
  const auto bools = TestArray::of_text(DType::kBool, {"True", "False", "True"});
  EXPECT_EQ(reduce("reduce_and", bools, {0}).text(0), "False");
  EXPECT_EQ(reduce("reduce_or", bools, {0}).text(0), "True");
  EXPECT_EQ(reduce("reduce_sum", bools, {0}).text(0), "True");
  EXPECT_EQ(reduce("reduce_prod", bools, {0}).text(0), "False");
  EXPECT_EQ(reduce("reduce_max", bools, {0}).text(0), "True");
  EXPECT_EQ(reduce("reduce_min", bools, {0}).text(0), "False");
  const auto integers = TestArray::of_text(DType::kInt32, {"7", "3"});
  EXPECT_EQ(reduce("reduce_and", integers, {0}).text(0), "3");
  EXPECT_EQ(reduce("reduce_or", integers, {0}).text(0), "7");
  EXPECT_EQ(reduce("reduce_sum", TestArray(DType::kUInt8, {200, 100}), {0}).text(0), "44");
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16}) {
    const auto x = TestArray::of_text(dtype, {"1.0", "nan", "5.0"});
    EXPECT_TRUE(std::isnan(reduce("reduce_max", x, {0}).real(0)));
    EXPECT_TRUE(std::isnan(reduce("reduce_min", x, {0}).real(0)));
  }
  const auto complex = TestArray::of_text(DType::kComplex64, {"(1.0+2.0j)", "(1.0+3.0j)"});
  EXPECT_EQ(reduce("reduce_max", complex, {0}).text(0), "(1.0+3.0j)");
}

TEST(ArgReduceKernels, FirstExtreme) {
  std::mt19937 random(4);
  for (const auto& info : all_dtypes()) {
    if (info.kind == DTypeKind::kToken || info.kind == DTypeKind::kComplex) continue;
    for (const Shape& shape :
         std::vector<Shape>{{9}, {1}, {4, 7}, {3, 2, 300}, {3, 0}, {2, 1100}}) {
      const TestArray x = random_array(ShapeDtype(info.dtype, shape), random);
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] == 0) continue;
        for (const bool is_max : {true, false}) {
          const Shape kept = without(shape, {static_cast<int64_t>(axis)});
          const ArgReduceParams params{static_cast<int64_t>(axis), DType::kInt32};
          const TestArray result = run_kernel(is_max ? "argmax" : "argmin", {x},
                                              {DType::kInt32, kept}, make_params(params));
          for_each_index(kept, [&](std::span<const int64_t> index) {
            Indices at(index.begin(), index.end());
            at.insert(at.begin() + static_cast<int64_t>(axis), 0);
            int64_t best = 0;
            double best_value = x.real(flat_index(shape, at));
            for (int64_t i = 1; i < shape[axis]; ++i) {
              at[axis] = i;
              const double value = x.real(flat_index(shape, at));
              const bool is_first_nan = std::isnan(value) && !std::isnan(best_value);
              if (is_first_nan || (is_max ? value > best_value : value < best_value)) {
                best = i;
                best_value = value;
              }
            }
            ASSERT_EQ(result.real(flat_index(kept, index)), best) << info.name;
          });
        }
      }
    }
  }
}

TEST(ArgReduceKernels, ExtremesFarFromTheBeginning) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kInt8}) {
    for (const int64_t place : {511, 512, 1300}) {
      TestArray x(ShapeDtype(dtype, {1500}));
      for (int64_t i = 0; i < x.size(); ++i) x.set(i, 1);
      x.set(place, 2);
      const auto params = make_params(ArgReduceParams{0, DType::kInt32});
      EXPECT_EQ(run_kernel("argmax", {x}, {DType::kInt32, {}}, params).real(0), place);
      x.set(place, 0);
      EXPECT_EQ(run_kernel("argmin", {x}, {DType::kInt32, {}}, params).real(0), place);
    }
  }
}

TEST(ArgReduceKernels, NanAndIndexDtype) {
  const auto params = make_params(ArgReduceParams{0, DType::kUInt8});
  const auto x = TestArray::of_text(DType::kFloat32, {"1.0", "nan", "5.0", "nan"});
  EXPECT_EQ(run_kernel("argmax", {x}, {DType::kUInt8, {}}, params).text(0), "1");
  EXPECT_EQ(run_kernel("argmin", {x}, {DType::kUInt8, {}}, params).text(0), "1");
  const auto first = TestArray::of_text(DType::kFloat16, {"nan", "1.0"});
  EXPECT_EQ(run_kernel("argmax", {first}, {DType::kUInt8, {}}, params).text(0), "0");
  const auto zeros = TestArray::of_text(DType::kFloat32, {"0.0", "-0.0"});
  EXPECT_EQ(run_kernel("argmin", {zeros}, {DType::kUInt8, {}}, params).text(0), "0");
}

// ---- dot_general

// Free, batch and contracting dimensions in random positions of the operands.
struct DotCase {
  Shape lhs, rhs, out;
  DotGeneralParams params;
  Indices lhs_free, rhs_free;
};

DotCase random_dot(std::mt19937& random, int largest) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  DotCase dot;
  const auto sizes = [&](int count) {
    Shape result;
    for (int i = 0; i < count; ++i) result.push_back(below(20) == 0 ? 0 : 1 + below(largest));
    return result;
  };
  const Shape batch = sizes(below(3)), contract = sizes(below(3)), m = sizes(below(3)),
              n = sizes(below(3));
  const auto place = [&](const Shape& free, Shape& shape, Indices& free_at, Indices& contract_at,
                         Indices& batch_at) {
    const size_t rank = batch.size() + contract.size() + free.size();
    Indices order(rank);
    std::iota(order.begin(), order.end(), 0);
    if (below(3) != 0) std::shuffle(order.begin(), order.end(), random);
    batch_at.assign(order.begin(), order.begin() + static_cast<int64_t>(batch.size()));
    contract_at.assign(order.begin() + static_cast<int64_t>(batch.size()),
                       order.begin() + static_cast<int64_t>(batch.size() + contract.size()));
    free_at.assign(order.begin() + static_cast<int64_t>(batch.size() + contract.size()),
                   order.end());
    std::ranges::sort(free_at);
    shape.resize(rank);
    for (size_t i = 0; i < batch.size(); ++i) shape[batch_at[i]] = batch[i];
    for (size_t i = 0; i < contract.size(); ++i) shape[contract_at[i]] = contract[i];
    for (size_t i = 0; i < free.size(); ++i) shape[free_at[i]] = free[i];
  };
  place(m, dot.lhs, dot.lhs_free, dot.params.lhs_contracting, dot.params.lhs_batch);
  place(n, dot.rhs, dot.rhs_free, dot.params.rhs_contracting, dot.params.rhs_batch);
  dot.out = batch;
  dot.out.insert(dot.out.end(), m.begin(), m.end());
  dot.out.insert(dot.out.end(), n.begin(), n.end());
  return dot;
}

void check_dot(const DotCase& dot, DType dtype, std::mt19937& random) {
  const auto& info = dtype_info(dtype);
  const TestArray a = random_array(ShapeDtype(dtype, dot.lhs), random, 3);
  const TestArray b = random_array(ShapeDtype(dtype, dot.rhs), random, 3);
  const auto& params = dot.params;
  const TestArray result = run_kernel("dot_general", {a, b}, {dtype, dot.out}, make_params(params));
  Shape contract;
  for (const int64_t i : params.lhs_contracting) contract.push_back(dot.lhs[i]);
  for_each_index(dot.out, [&](std::span<const int64_t> out) {
    Indices at_a(dot.lhs.size()), at_b(dot.rhs.size());
    size_t next = 0;
    for (size_t i = 0; i < params.lhs_batch.size(); ++i, ++next) {
      at_a[params.lhs_batch[i]] = at_b[params.rhs_batch[i]] = out[next];
    }
    for (const int64_t i : dot.lhs_free) at_a[i] = out[next++];
    for (const int64_t i : dot.rhs_free) at_b[i] = out[next++];
    Number sum = 0;
    for_each_index(contract, [&](std::span<const int64_t> index) {
      for (size_t i = 0; i < index.size(); ++i) {
        at_a[params.lhs_contracting[i]] = at_b[params.rhs_contracting[i]] = index[i];
      }
      sum += a.get(flat_index(dot.lhs, at_a)) * b.get(flat_index(dot.rhs, at_b));
    });
    if (info.kind == DTypeKind::kBool) sum = sum != 0.0;
    if (is_integer(dtype)) sum = wrapped(info, sum.real());
    ASSERT_TRUE(is_close(result, flat_index(dot.out, out), sum, 2))
        << shape_to_string(dot.lhs) << " " << shape_to_string(dot.rhs);
  });
}

TEST(DotGeneralKernels, RandomDimensions) {
  std::mt19937 random(6);
  constexpr DType kDtypes[] = {DType::kFloat32,  DType::kFloat64,    DType::kComplex64,
                               DType::kBFloat16, DType::kComplex128, DType::kInt8,
                               DType::kUInt4,    DType::kInt64,      DType::kFloat8E4M3FN,
                               DType::kFloat16,  DType::kBool,       DType::kUInt32};
  for (int round = 0; round < 1200; ++round) {
    check_dot(random_dot(random, 4), kDtypes[round % std::size(kDtypes)], random);
  }
}

TEST(DotGeneralKernels, MatricesAndVectors) {
  std::mt19937 random(8);
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kFloat16}) {
    for (const int64_t lhs_axis : {0, 1}) {
      for (const int64_t rhs_axis : {0, 1}) {
        DotCase dot;
        dot.lhs = lhs_axis == 1 ? Shape{65, 130} : Shape{130, 65};
        dot.rhs = rhs_axis == 1 ? Shape{33, 130} : Shape{130, 33};
        dot.out = {65, 33};
        dot.params = {{lhs_axis}, {rhs_axis}, {}, {}};
        dot.lhs_free = {1 - lhs_axis};
        dot.rhs_free = {1 - rhs_axis};
        check_dot(dot, dtype, random);
        dot.rhs = {130};
        dot.params.rhs_contracting = {0};
        dot.rhs_free = {};
        dot.out = {65};
        check_dot(dot, dtype, random);
      }
    }
  }
}

// The layout of attention's queries and keys: no operand needs to be rearranged.
TEST(DotGeneralKernels, BatchInsideOperandsNeedsNoScratch) {
  const ShapeDtype type(DType::kFloat32, {2, 5, 3, 4});
  const ShapeDtype out(DType::kFloat32, {2, 3, 5, 5});
  const auto params = make_params(DotGeneralParams{{3}, {3}, {0, 2}, {0, 2}});
  const std::vector<ShapeDtype> inputs = {type, type};
  const Kernel kernel = find_kernel("dot_general")(inputs, std::span(&out, 1), params.get());
  EXPECT_EQ(kernel.scratch_bytes, 0u);
}

}  // namespace
}  // namespace farcall::native::testing
