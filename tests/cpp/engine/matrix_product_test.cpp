// Matrix products compared with plain loops: for each instruction set of this processor, any number
// of threads, at the end of mapped memory, and with NaNs, infinities and denormals.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <tbb/task_arena.h>

#include "engine/instruction_sets.h"
#include "engine/products.h"

namespace farcall::native {
namespace {

using testing::for_each_instruction_set;

template <class T>
constexpr DType kDType = sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64;

template <class T>
void multiply(const Sizes& s, const T* a, const T* b, T* c) {
  find_multiply(kDType<T>)({s.m, s.k, s.n, matrix(a, s.m, s.k, s.is_a_transposed),
                            matrix(b, s.k, s.n, s.is_b_transposed), c, s.n});
}

template <class T>
void check(const Sizes& s, std::mt19937& random) {
  const Fenced<T> a(s.m * s.k), b(s.k * s.n), c(s.m * s.n);
  a.fill(random);
  b.fill(random);
  std::fill_n(c.data(), s.m * s.n, std::numeric_limits<T>::quiet_NaN());
  multiply(s, a.data(), b.data(), c.data());
  const Matrix left = matrix(nullptr, s.m, s.k, s.is_a_transposed);
  const Matrix right = matrix(nullptr, s.k, s.n, s.is_b_transposed);
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      long double sum = 0, magnitude = 0;
      for (int64_t p = 0; p < s.k; ++p) {
        const long double term =
            static_cast<long double>(a[i * left.row_stride + p * left.column_stride]) *
            b[p * right.row_stride + j * right.column_stride];
        sum += term;
        magnitude += std::abs(term);
      }
      const auto error = std::abs(static_cast<long double>(c[i * s.n + j]) - sum);
      ASSERT_LE(error, 6 * std::numeric_limits<T>::epsilon() * magnitude) << s << i << " " << j;
    }
  }
}

TEST(MatrixProduct, OfAllSmallShapes) {
  for_each_instruction_set([](int64_t) {
    std::mt19937 random(1);
    for (const int64_t m : {1, 2, 3, 7, 8, 13}) {
      for (const int64_t n : {1, 2, 5, 16, 31, 49, 130}) {
        for (const int64_t k : {1, 2, 31, 64, 65, 70}) {
          for (const bool ta : {false, true}) {
            for (const bool tb : {false, true}) {
              check<float>({m, k, n, ta, tb}, random);
              check<double>({m, k, n, ta, tb}, random);
            }
          }
        }
      }
    }
  });
}

TEST(MatrixProduct, OfShapesWithPackedOperandsAndSeveralDepths) {
  for_each_instruction_set([](int64_t) {
    std::mt19937 random(2);
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        check<float>({61, 515, 301, ta, tb}, random);
        check<double>({61, 300, 301, ta, tb}, random);
        check<float>({1, 700, 203, ta, tb}, random);
        check<float>({203, 700, 1, ta, tb}, random);
      }
    }
  });
}

TEST(MatrixProduct, HasTheSameBitsForAllInstructionSetsThatFuse) {
  for (const Sizes& s : {Sizes{65, 600, 133}, Sizes{1, 333, 77}, Sizes{77, 333, 1},
                         Sizes{40, 300, 50, true, true}}) {
    std::mt19937 random(3);
    const Fenced<float> a(s.m * s.k), b(s.k * s.n);
    a.fill(random);
    b.fill(random);
    std::vector<float> first;
    for_each_instruction_set([&](int64_t target) {
      if ((target & (HWY_AVX3 | HWY_AVX2 | HWY_NEON)) == 0) return;
      std::vector<float> c(static_cast<size_t>(s.m * s.n));
      multiply(s, a.data(), b.data(), c.data());
      if (first.empty()) first = c;
      EXPECT_EQ(std::memcmp(first.data(), c.data(), c.size() * sizeof(float)), 0) << s;
    });
  }
}

TEST(MatrixProduct, HasTheSameBitsForAnyNumberOfThreads) {
  for (const Sizes& s :
       {Sizes{500, 400, 300}, Sizes{3000, 3000, 1}, Sizes{1, 5000, 2000},
        Sizes{17, 300, 3001, true, true}, Sizes{1900, 300, 9}, Sizes{17, 65536, 48},
        Sizes{601, 700, 430}, Sizes{777, 300, 601, false, true}}) {
    std::mt19937 random(4);
    const Fenced<float> a(s.m * s.k), b(s.k * s.n);
    a.fill(random);
    b.fill(random);
    std::vector<float> first;
    for (const int num_threads : {1, 2, 3, 8}) {
      std::vector<float> c(static_cast<size_t>(s.m * s.n));
      tbb::task_arena(num_threads).execute([&] { multiply(s, a.data(), b.data(), c.data()); });
      if (first.empty()) first = c;
      EXPECT_EQ(std::memcmp(first.data(), c.data(), c.size() * sizeof(float)), 0)
          << s << num_threads;
    }
  }
}

// Compares some rows with the product of these rows alone.
template <class T>
void check_rows_alone(const Sizes& s, std::mt19937& random) {
  constexpr int64_t kRows = 10;
  const Fenced<T> a(s.m * s.k), b(s.k * s.n), c(s.m * s.n);
  a.fill(random);
  b.fill(random);
  multiply(s, a.data(), b.data(), c.data());
  const Matrix left = matrix(nullptr, s.m, s.k, s.is_a_transposed);
  for (const int64_t first : {int64_t{0}, s.m / 2 - 3, s.m - kRows}) {
    std::vector<T> rows, alone(static_cast<size_t>(kRows * s.n));
    for (int64_t i = first; i < first + kRows; ++i) {
      for (int64_t p = 0; p < s.k; ++p) {
        rows.push_back(a[i * left.row_stride + p * left.column_stride]);
      }
    }
    multiply({kRows, s.k, s.n, false, s.is_b_transposed}, rows.data(), b.data(), alone.data());
    EXPECT_EQ(std::memcmp(alone.data(), c.data() + first * s.n, alone.size() * sizeof(T)), 0) << s;
  }
}

TEST(MatrixProduct, OfLargeMatricesHasTheBitsOfProductsOfAFewRows) {
  std::mt19937 random(6);
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      check_rows_alone<float>({530, 601, 451, ta, tb}, random);
      check_rows_alone<float>({257, 300, 2101, ta, tb}, random);
      check_rows_alone<double>({263, 1310, 1070, ta, tb}, random);
    }
  }
}

TEST(MatrixProduct, OfBatchesInAnyOrder) {
  // 40 by 3 products, with batch dimensions ordered differently in operands and result.
  const int64_t m = 9, k = 17, n = 20;
  for (const int num_threads : {1, 4}) {
    std::mt19937 random(5);
    const Fenced<double> a(120 * m * k), b(120 * k * n), c(120 * m * n);
    a.fill(random);
    b.fill(random);
    const std::vector<int64_t> sizes = {40, 3}, a_strides = {m * k, 40 * m * k},
                               b_strides = {3 * k * n, k * n};
    tbb::task_arena(num_threads).execute([&] {
      find_multiply(DType::kFloat64)({m,
                                      k,
                                      n,
                                      {a.data(), k, 1},
                                      {b.data(), n, 1},
                                      c.data(),
                                      n,
                                      {sizes, a_strides, b_strides, 120}});
    });
    for (int64_t i = 0; i < 120; ++i) {
      std::vector<double> one(static_cast<size_t>(m * n));
      multiply<double>({m, k, n}, a.data() + i / 3 * m * k + i % 3 * 40 * m * k,
                       b.data() + i * k * n, one.data());
      EXPECT_EQ(std::memcmp(one.data(), c.data() + i * m * n, one.size() * sizeof(double)), 0) << i;
    }
  }
}

// Batches of one shape, with gaps between the matrices, compared with each product alone.
template <class T>
void check_small(const Sizes& s, std::mt19937& random, int64_t gap, bool repeats_b) {
  constexpr int64_t kCount = 37;
  const int64_t a_step = s.m * s.k + gap, b_step = repeats_b ? 0 : s.k * s.n + gap;
  const Fenced<T> a((kCount - 1) * a_step + s.m * s.k), b((kCount - 1) * b_step + s.k * s.n);
  const Fenced<T> c(kCount * s.m * s.n);
  a.fill(random);
  b.fill(random);
  constexpr T kTiny = std::numeric_limits<T>::denorm_min();
  for (const T special : {T(0), T(-0.0), kTiny, -kTiny, std::numeric_limits<T>::infinity(),
                          -std::numeric_limits<T>::max()}) {
    for (int i = 0; i < 5; ++i) {
      a[static_cast<int64_t>(random()) % ((kCount - 1) * a_step + 1)] = special;
      b[static_cast<int64_t>(random()) % ((kCount - 1) * b_step + 1)] = special;
    }
  }
  const int64_t sizes[] = {kCount}, a_steps[] = {a_step}, b_steps[] = {b_step};
  find_multiply(kDType<T>)({s.m,
                            s.k,
                            s.n,
                            matrix(a.data(), s.m, s.k, s.is_a_transposed),
                            matrix(b.data(), s.k, s.n, s.is_b_transposed),
                            c.data(),
                            s.n,
                            {sizes, a_steps, b_steps, kCount}});
  std::vector<T> one(static_cast<size_t>(s.m * s.n));
  for (int64_t i = 0; i < kCount; ++i) {
    multiply<T>(s, a.data() + i * a_step, b.data() + i * b_step, one.data());
    for (int64_t j = 0; j < s.m * s.n; ++j) {
      const T got = c[i * s.m * s.n + j], want = one[static_cast<size_t>(j)];
      if (std::isnan(got) && std::isnan(want)) continue;
      ASSERT_EQ(std::memcmp(&got, &want, sizeof(T)), 0) << s << ", " << got << " not " << want;
    }
  }
}

TEST(MatrixProduct, OfManySmallMatrices) {
  for_each_instruction_set([](int64_t) {
    std::mt19937 random(6);
    for (int64_t m = 1; m <= 5; ++m) {
      for (int64_t k = 1; k <= 5; ++k) {
        for (int64_t n = 1; n <= 5; ++n) {
          for (int forms = 0; forms < 8; ++forms) {
            const Sizes s{m, k, n, (forms & 1) != 0, (forms & 2) != 0};
            check_small<float>(s, random, forms / 2, (forms & 4) != 0);
            check_small<double>(s, random, forms / 2, (forms & 4) != 0);
          }
        }
      }
    }
  });
}

TEST(MatrixProduct, OfNumbersThatAreNotOrdinary) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  for_each_instruction_set([&](int64_t) {
    for (const int64_t n : {1, 3, 50}) {
      // Rows of A: a NaN, an infinity, infinities of both signs, denormals.
      const std::vector<float> a = {NAN, 1, kInfinity, 1, kInfinity, -kInfinity, kTiny, kTiny};
      const std::vector<float> b(static_cast<size_t>(2 * n), 1.0f);
      std::vector<float> c(static_cast<size_t>(4 * n));
      multiply<float>({4, 2, n}, a.data(), b.data(), c.data());
      for (size_t j = 0; j < static_cast<size_t>(n); ++j) {
        EXPECT_TRUE(std::isnan(c[j]));
        EXPECT_EQ(c[static_cast<size_t>(n) + j], kInfinity);
        EXPECT_TRUE(std::isnan(c[2 * static_cast<size_t>(n) + j]));
        EXPECT_EQ(c[3 * static_cast<size_t>(n) + j], 2 * kTiny);
      }
    }
  });
}

}  // namespace
}  // namespace farcall::native
