// Kernels along dimensions compared with plain loops: cumulative operations, sort, windows,
// convolution, Fourier transforms.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <gtest/gtest.h>

#include <tbb/task_arena.h>

#include <farcall/primitives/convolution.h>
#include <farcall/primitives/cumulative.h>
#include <farcall/primitives/fft.h>
#include <farcall/primitives/reduce_window.h>

#include "kernel_testing.h"

namespace farcall::native::testing {
namespace {

bool is_number(const DTypeInfo& info) {
  return info.kind != DTypeKind::kToken && info.kind != DTypeKind::kBool &&
         info.bits >= 4 &&                     // sums do not wrap
         info.dtype != DType::kFloat8E8M0FNU;  // has no zero
}

// The flat index of the element `step` before this one along the axis.
int64_t neighbour(std::span<const int64_t> shape, std::span<const int64_t> index, size_t axis,
                  int64_t step) {
  std::vector<int64_t> other(index.begin(), index.end());
  other[axis] -= step;
  return flat_index(shape, other);
}

TEST(CumulativeKernels, SumsOfEveryDtypeAlongEveryAxis) {
  std::mt19937 random(4);
  for (const auto& info : all_dtypes()) {
    if (!is_number(info)) continue;
    for (const Shape& shape : {Shape{7}, {0}, {3, 5}, {2, 0, 3}, {2, 300}, {1031}, {600, 2}}) {
      for (const bool reverse : {false, true}) {
        for (size_t axis = 0; axis < shape.size(); ++axis) {
          // Zeros and a few ones: no dtype overflows or rounds.
          TestArray x(ShapeDtype(info.dtype, shape));
          for (int64_t i = 0; i < x.size(); ++i) x.set(i, i % 401 == 3 ? 1 : 0);
          const TestArray sum =
              run_kernel("cumsum", {x}, x.type(),
                         make_params(CumulativeParams{static_cast<int64_t>(axis), reverse}));
          for_each_index(shape, [&](std::span<const int64_t> index) {
            const int64_t at = flat_index(shape, index);
            const bool is_first = index[axis] == (reverse ? shape[axis] - 1 : 0);
            const Number before =
                is_first ? 0 : sum.get(neighbour(shape, index, axis, reverse ? -1 : 1));
            ASSERT_EQ(sum.get(at), before + x.get(at)) << x.type().to_string();
          });
        }
      }
    }
  }
}

// Lanes are shared among threads.
TEST(CumulativeKernels, GiveTheSameBitsOnSeveralThreads) {
  std::mt19937 random(6);
  for (const Shape& shape : {Shape{300, 257}, {5, 90, 300}, {2, 40000}, {40000, 2}}) {
    const TestArray x = random_array(ShapeDtype(DType::kFloat32, shape), random, 4);
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const auto run = [&](int num_threads) {
        return tbb::task_arena(num_threads).execute([&] {
          const CumulativeParams params{static_cast<int64_t>(axis), true};
          return run_kernel("cumsum", {x}, x.type(), make_params(params)).texts();
        });
      };
      EXPECT_EQ(run(1), run(4));
    }
  }
}

TEST(CumulativeKernels, NanStaysOnceItCame) {
  const TestArray x(DType::kFloat32, {1, 3, std::nan(""), 2, 5});
  const TestArray y = run_kernel("cummax", {x}, x.type(), make_params(CumulativeParams{0, false}));
  EXPECT_EQ(y.texts(), (std::vector<std::string>{"1.0", "3.0", "nan", "nan", "nan"}));
}

TEST(SortKernel, SortsEveryDtypeAndKeepsTheOrderOfEqualElements) {
  std::mt19937 random(5);
  for (const auto& info : all_dtypes()) {
    if (!is_number(info) || is_complex(info.dtype)) continue;
    for (const Shape& shape : {Shape{0}, {1}, {40}, {3, 30}, {30, 3}}) {
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        const TestArray x = random_array(ShapeDtype(info.dtype, shape), random, 4);
        const ShapeDtype index_type(DType::kInt32, shape);
        TestArray positions(index_type);
        for_each_index(shape, [&](std::span<const int64_t> index) {
          positions.set(flat_index(shape, index), static_cast<double>(index[axis]));
        });
        const auto params = make_params(SortParams{static_cast<int64_t>(axis), true, 1});
        // run_kernel returns one result at a time; first the keys.
        const TestArray sorted = run_kernel("sort", {x}, x.type(), params);
        for_each_index(shape, [&](std::span<const int64_t> index) {
          if (index[axis] == 0) return;
          const int64_t at = flat_index(shape, index);
          ASSERT_LE(sorted.real(neighbour(shape, index, axis, 1)), sorted.real(at));
        });
      }
    }
  }
}

TEST(SortKernel, ZerosAreEqualAndNansLast) {
  const TestArray x(DType::kFloat64, {std::nan(""), 0.0, -0.0, -1, INFINITY, -INFINITY});
  const TestArray y = run_kernel("sort", {x}, x.type(), make_params(SortParams{0, true, 1}));
  EXPECT_EQ(y.texts(), (std::vector<std::string>{"-inf", "-1.0", "0.0", "-0.0", "inf", "nan"}));
}

TEST(SortKernel, ComplexNumbersByRealThenImaginaryPart) {
  const auto x = TestArray::of_numbers(DType::kComplex64, {{1, 2}, {1, -2}, {0, 9}, {1, 0}});
  const TestArray y = run_kernel("sort", {x}, x.type(), make_params(SortParams{0, true, 1}));
  EXPECT_EQ(y.get(0), Number(0, 9));
  EXPECT_EQ(y.get(1), Number(1, -2));
  EXPECT_EQ(y.get(3), Number(1, 2));
}

TEST(WindowKernels, SumsOfPaddedAndDilatedWindowsOfEveryDtype) {
  std::mt19937 random(6);
  for (const auto& info : all_dtypes()) {
    if (!is_number(info)) continue;
    const TestArray x = random_array(ShapeDtype(info.dtype, Shape{5, 4}), random, 1);
    ReduceWindowParams p{.base_dilation = {1, 2},
                         .padding = {{1, 0}, {-1, 2}},
                         .window_dilation = {2, 1},
                         .window_dimensions = {2, 2},
                         .window_strides = {1, 3}};
    const ShapeDtype type(info.dtype, Shape{4, 3});
    const TestArray y = run_kernel("reduce_window_sum", {x}, type, make_params(p));
    for (int64_t i = 0; i < 4; ++i) {
      for (int64_t j = 0; j < 3; ++j) {
        Number sum = 0;
        for (int64_t k = 0; k < 2; ++k) {
          for (int64_t l = 0; l < 2; ++l) {
            const int64_t row = i + 2 * k - 1, column = 3 * j + l + 1;
            if (row < 0 || row >= 5 || column % 2 != 0 || column / 2 >= 4) continue;
            sum += x.get(row * 4 + column / 2);
          }
        }
        ASSERT_TRUE(is_close(y, i * 3 + j, sum, 0)) << x.type().to_string();
      }
    }
  }
}

TEST(ConvolutionKernel, PlainSumsOfProducts) {
  std::mt19937 random(7);
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kInt8,
                            DType::kUInt64, DType::kComplex64}) {
    const TestArray lhs = random_array(ShapeDtype(dtype, Shape{2, 4, 6}), random, 2);
    const TestArray rhs = random_array(ShapeDtype(dtype, Shape{4, 2, 3}), random, 2);
    ConvParams p{.feature_group_count = 2,
                 .lhs_dilation = {2},
                 .lhs_spec = {0, 1, 2},
                 .out_spec = {0, 1, 2},
                 .padding = {{2, 1}},
                 .rhs_dilation = {1},
                 .rhs_spec = {0, 1, 2},
                 .window_strides = {3}};
    const ShapeDtype type(dtype, Shape{2, 4, 4});
    const TestArray y = run_kernel("conv_general_dilated", {lhs, rhs}, type, make_params(p));
    for (int64_t n = 0; n < 2; ++n) {
      for (int64_t f = 0; f < 4; ++f) {
        for (int64_t o = 0; o < 4; ++o) {
          Number sum = 0;
          for (int64_t c = 0; c < 2; ++c) {
            for (int64_t k = 0; k < 3; ++k) {
              const int64_t at = 3 * o + k - 2;
              if (at < 0 || at % 2 != 0 || at / 2 >= 6) continue;
              sum += lhs.get((n * 4 + f / 2 * 2 + c) * 6 + at / 2) * rhs.get((f * 2 + c) * 3 + k);
            }
          }
          ASSERT_TRUE(is_close(y, (n * 4 + f) * 4 + o, sum, 2)) << lhs.type().to_string();
        }
      }
    }
  }
}

// Chunks of positions are shared among threads.
TEST(ConvolutionKernel, GivesTheSameBitsOnSeveralThreads) {
  std::mt19937 random(8);
  const ShapeDtype type(DType::kFloat32, Shape{3, 24, 40, 40});
  const TestArray lhs = random_array(type, random);
  for (const int64_t groups : {1, 2}) {
    const TestArray rhs =
        random_array(ShapeDtype(DType::kFloat32, Shape{24, 24 / groups, 3, 3}), random);
    const auto params = make_params(ConvParams{.feature_group_count = groups,
                                               .lhs_dilation = {1, 1},
                                               .lhs_spec = {0, 1, 2, 3},
                                               .out_spec = {0, 1, 2, 3},
                                               .padding = {{1, 1}, {1, 1}},
                                               .rhs_dilation = {1, 1},
                                               .rhs_spec = {0, 1, 2, 3},
                                               .window_strides = {1, 1}});
    const auto run = [&](int num_threads) {
      return tbb::task_arena(num_threads).execute([&] {
        return run_kernel("conv_general_dilated", {lhs, rhs}, type, params).texts();
      });
    };
    EXPECT_EQ(run(1), run(4));
  }
}

TEST(FftKernel, SumsOfRootsForEverySmallSizeAndSomeLargeOnes) {
  std::mt19937 random(8);
  std::vector<int64_t> sizes(40);
  std::iota(sizes.begin(), sizes.end(), 1);
  sizes.insert(sizes.end(), {97, 120, 143, 211, 512, 1024});
  for (const int64_t n : sizes) {
    const TestArray x = random_array(ShapeDtype(DType::kComplex128, Shape{2, n}), random, 4);
    const auto params = [&](const char* type) { return make_params(FftParams{{n}, type}); };
    const TestArray y = run_kernel("fft", {x}, x.type(), params("FFT"));
    for (int64_t i = 0; i < 2 * n; ++i) {
      Number sum = 0;
      for (int64_t j = 0; j < n; ++j) {
        const double angle =
            -2 * std::numbers::pi * static_cast<double>(i % n * j % n) / static_cast<double>(n);
        sum += x.get(i / n * n + j) * std::polar(1.0, angle);
      }
      ASSERT_LT(std::abs(y.get(i) - sum), 1e-11) << n;
    }
    const TestArray back = run_kernel("fft", {y}, x.type(), params("IFFT"));
    for (int64_t i = 0; i < 2 * n; ++i) ASSERT_LT(std::abs(back.get(i) - x.get(i)), 1e-13) << n;
  }
}

// Long lines are transformed as matrices, and several dimensions one after the other.
TEST(FftKernel, IsSeparableAndSumsRootsForLongLines) {
  std::mt19937 random(9);
  struct Case {
    Shape shape;
    std::vector<int64_t> lengths;
  };
  const Case cases[] = {{{3, 4096}, {4096}},   {{4100}, {4100}}, {{2, 5000, 3}, {5000, 3}},
                        {{9, 10, 7}, {10, 7}}, {{4099}, {4099}}, {{11, 4200}, {11, 4200}}};
  for (const auto& [shape, lengths] : cases) {
    const TestArray x = random_array(ShapeDtype(DType::kComplex128, shape), random, 4);
    const TestArray y = run_kernel("fft", {x}, x.type(), make_params(FftParams{lengths, "FFT"}));
    // Checks a few of the sums over all transformed dimensions.
    int64_t size = 1;
    for (const int64_t n : lengths) size *= n;
    for (int trial = 0; trial < 20; ++trial) {
      const auto at = static_cast<int64_t>(random() % static_cast<uint64_t>(x.size()));
      Number sum = 0;
      for (int64_t j = 0; j < size; ++j) {
        double turns = 0;
        int64_t from = j, to = at % size;
        for (size_t d = lengths.size(); d-- > 0; from /= lengths[d], to /= lengths[d]) {
          turns += static_cast<double>(from % lengths[d] * (to % lengths[d]) % lengths[d]) /
                   static_cast<double>(lengths[d]);
        }
        sum += x.get(at / size * size + j) * std::polar(1.0, -2 * std::numbers::pi * turns);
      }
      ASSERT_LT(std::abs(y.get(at) - sum), 1e-9) << x.type().to_string();
    }
    const TestArray back =
        run_kernel("fft", {y}, x.type(), make_params(FftParams{lengths, "IFFT"}));
    for (int64_t i = 0; i < x.size(); ++i) ASSERT_LT(std::abs(back.get(i) - x.get(i)), 1e-12);
  }
}

TEST(FftKernel, OfRealNumbersIsHalfOfTheTransform) {
  std::mt19937 random(10);
  for (const auto& shape : {Shape{5, 12}, {3, 4096}, {2, 6, 9}, {4, 5001}, {1, 1}}) {
    const int64_t n = shape.back(), kept = n / 2 + 1;
    std::vector<int64_t> lengths(shape.begin() + 1, shape.end());
    Shape half = shape;
    half.back() = kept;
    for (const bool is_double : {false, true}) {
      const DType real = is_double ? DType::kFloat64 : DType::kFloat32;
      const DType complex = is_double ? DType::kComplex128 : DType::kComplex64;
      const TestArray x = random_array(ShapeDtype(real, shape), random, 4);
      TestArray z(ShapeDtype(complex, shape));
      for (int64_t i = 0; i < x.size(); ++i) z.set(i, x.get(i));
      const TestArray whole =
          run_kernel("fft", {z}, z.type(), make_params(FftParams{lengths, "FFT"}));
      const TestArray y = run_kernel("fft", {x}, ShapeDtype(complex, half),
                                     make_params(FftParams{lengths, "RFFT"}));
      const double scale = is_double ? 1e-11 : 1e-3;
      for (int64_t i = 0; i < y.size(); ++i) {
        ASSERT_LT(std::abs(y.get(i) - whole.get(i / kept * n + i % kept)), scale);
      }
      const TestArray back =
          run_kernel("fft", {y}, x.type(), make_params(FftParams{lengths, "IRFFT"}));
      for (int64_t i = 0; i < x.size(); ++i) {
        ASSERT_LT(std::abs(back.get(i) - x.get(i)), scale) << x.type().to_string();
      }
    }
  }
}

TEST(FftKernel, GivesALineTheSameBitsInABatch) {
  std::mt19937 random(11);
  for (const int64_t n : {7, 64, 143, 1000, 1009, 1024, 4096}) {
    const TestArray x = random_array(ShapeDtype(DType::kComplex64, Shape{11, n}), random, 4);
    const auto params = make_params(FftParams{{n}, "FFT"});
    const TestArray all = run_kernel("fft", {x}, x.type(), params);
    for (const int64_t row : {0, 8, 10}) {
      TestArray line(ShapeDtype(DType::kComplex64, Shape{n}));
      for (int64_t i = 0; i < n; ++i) line.set(i, x.get(row * n + i));
      const TestArray y = run_kernel("fft", {line}, line.type(), params);
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y.get(i), all.get(row * n + i)) << n;
    }
  }
}

}  // namespace
}  // namespace farcall::native::testing
