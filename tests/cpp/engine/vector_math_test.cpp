// Vectorized math functions: accuracy, the special cases of C, subnormal numbers, and the same bits
// for each instruction set.
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/instruction_sets.h"
#include "engine/native/kernels/special/special.h"
#include "engine/native/kernels/vector/math.h"

namespace farcall::native {
namespace {

using testing::for_each_instruction_set;
using Wide = long double;

struct Row {
  const char* name;
  MathFunction function;
  Wide (*exact)(Wide x);
  double low, high;  // the range of random arguments
  double limit = 3.5;
};

Wide logistic(Wide x) { return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x)); }
Wide rsqrt(Wide x) { return 1 / sqrtl(x); }
// Of the distance from the nearest multiple of 1/2, which is exact.
Wide sin_pi(Wide x);
Wide cos_pi(Wide x) {
  const Wide rest = fabsl(remainderl(x, 2));
  return rest < 0.25L ? cosl(std::numbers::pi_v<Wide> * rest) : sin_pi(0.5L - rest);
}
Wide sin_pi(Wide x) {
  const Wide rest = remainderl(x, 2);
  if (rest == 0 || fabsl(rest) == 1) return copysignl(0, x);
  if (fabsl(rest) <= 0.25L) return sinl(std::numbers::pi_v<Wide> * rest);
  if (fabsl(rest) > 0.75L) return sin_pi(copysignl(1, rest) - rest);
  return copysignl(cosl(std::numbers::pi_v<Wide> * (fabsl(rest) - 0.5L)), rest);
}

Wide ndtr(Wide x) {
  const Wide z = -x / sqrtl(2), square = z * z;
  // e^(-x^2 / 2) / e^(-z^2) - 1: z is rounded.
  const Wide change = fmal(z, z, -square) - fmal(x / 2, x, -square);
  return erfcl(z) * (z > 0 && z < 100 ? 1 + change : 1) / 2;
}

constexpr double kAll = 1e300;
const Row kRows[] = {
    {"exp", MathFunction::kExp, expl, -750, 715},
    {"exp2", MathFunction::kExp2, exp2l, -1080, 1030},
    {"expm1", MathFunction::kExpm1, expm1l, -50, 715},
    {"tanh", MathFunction::kTanh, tanhl, -25, 25},
    {"logistic", MathFunction::kLogistic, logistic, -750, 40},
    {"sinh", MathFunction::kSinh, sinhl, -712, 712},
    {"cosh", MathFunction::kCosh, coshl, -712, 712},
    {"sqrt", MathFunction::kSqrt, sqrtl, 0, kAll},
    {"rsqrt", MathFunction::kRsqrt, rsqrt, 0, kAll},
    {"cbrt", MathFunction::kCbrt, cbrtl, -kAll, kAll},
    {"log", MathFunction::kLog, logl, 0, kAll},
    {"log2", MathFunction::kLog2, log2l, 0, kAll},
    {"log10", MathFunction::kLog10, log10l, 0, kAll},
    {"log1p", MathFunction::kLog1p, log1pl, -1, kAll},
    {"asinh", MathFunction::kAsinh, asinhl, -kAll, kAll},
    {"acosh", MathFunction::kAcosh, acoshl, 1, kAll},
    {"atanh", MathFunction::kAtanh, atanhl, -1, 1},
    {"sin", MathFunction::kSin, sinl, -1e9, 1e9},
    {"cos", MathFunction::kCos, cosl, -1e9, 1e9},
    {"tan", MathFunction::kTan, tanl, -1e9, 1e9},
    {"sin_pi", MathFunction::kSinPi, sin_pi, -1e9, 1e9},
    {"cos_pi", MathFunction::kCosPi, cos_pi, -1e9, 1e9},
    {"asin", MathFunction::kAsin, asinl, -1, 1},
    {"acos", MathFunction::kAcos, acosl, -1, 1},
    {"atan", MathFunction::kAtan, atanl, -kAll, kAll},
    {"erf", MathFunction::kErf, erfl, -7, 7},
    {"erfc", MathFunction::kErfc, erfcl, -7, 28},
    {"ndtr", MathFunction::kNdtr, ndtr, -39, 10, 4},
};

// Of floats only. The exact functions are those that compute doubles.
Wide log_of_gamma(Wide x) {
  int sign;
  return lgammal_r(x, &sign);
}
Wide log_ndtr_of(Wide x) { return log_ndtr(x); }
Wide ndtri_of(Wide p) { return ndtri(p); }
const Row kFloatRows[] = {
    {"erfcx", MathFunction::kErfcx, erfcx<Wide>, -100, kAll},
    {"log_ndtr", MathFunction::kLogNdtr, log_ndtr_of, -1e15, kAll, 4.6},
    {"ndtri", MathFunction::kNdtri, ndtri_of, 0, 1, 4},
    {"logit", MathFunction::kLogit, logit<Wide>, 0, 1},
    {"bessel_i0", MathFunction::kBesselI0, bessel_i0<Wide>, -100, 100, 4},
    {"bessel_i1", MathFunction::kBesselI1, bessel_i1<Wide>, -100, 100, 4},
    {"bessel_i0e", MathFunction::kBesselI0e, bessel_i0e<Wide>, -kAll, kAll, 4},
    {"bessel_i1e", MathFunction::kBesselI1e, bessel_i1e<Wide>, -kAll, kAll, 4},
    {"lgamma", MathFunction::kLgamma, log_of_gamma, -60, kAll, 1},
    {"gamma", MathFunction::kGamma, gamma_function<Wide>, -60, 40, 1},
    {"factorial", MathFunction::kFactorial, factorial<Wide>, -60, 40, 1},
    {"digamma", MathFunction::kDigamma, digamma<Wide>, -60, kAll, 1},
};

template <class T>
std::vector<Row> rows_of() {
  std::vector<Row> rows(std::begin(kRows), std::end(kRows));
  if (sizeof(T) == 4) rows.insert(rows.end(), std::begin(kFloatRows), std::end(kFloatRows));
  return rows;
}

template <class T>
constexpr DType kType = sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64;

template <class T>
std::vector<T> run(MathFunction function, const std::vector<T>& x,
                   const std::vector<T>* y = nullptr) {
  const MathLoop loop = math_loop(function, kType<T>);
  std::vector<T> result(x.size());
  const void* inputs[] = {x.data(), y ? y->data() : nullptr};
  loop(inputs, result.data(), static_cast<int64_t>(x.size()), 0);
  return result;
}

template <class T>
std::vector<T> special_numbers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x;
  for (const T value : {T(0),
                        Limits::infinity(),
                        Limits::quiet_NaN(),
                        Limits::denorm_min(),
                        3 * Limits::denorm_min(),
                        Limits::min(),
                        Limits::min() - Limits::denorm_min(),
                        2 * Limits::min(),
                        Limits::max(),
                        Limits::max() / 3,
                        Limits::epsilon(),
                        1 - Limits::epsilon() / 2,
                        1 + Limits::epsilon(),
                        T(0.5),
                        T(1),
                        T(1.5),
                        T(2),
                        T(3),
                        T(10),
                        T(0.25),
                        T(100),
                        T(1000),
                        T(1e-5),
                        T(1e5),
                        T(0.47),
                        T(0.48)}) {
    x.push_back(value);
    x.push_back(-value);
  }
  return x;
}

template <class T>
std::vector<T> numbers(double low, double high, size_t count) {
  using Limits = std::numeric_limits<T>;
  std::mt19937_64 random(7);
  std::vector<T> x = special_numbers<T>();
  const auto largest = static_cast<double>(Limits::max());
  std::uniform_real_distribution<double> spread(std::max(low, -1e5), std::min(high, 1e5));
  std::uniform_real_distribution<double> small(std::max(low, -3.0), std::min(high, 3.0));
  std::uniform_real_distribution<double> exponent(Limits::min_exponent - 23,
                                                  Limits::max_exponent - 1);
  for (size_t i = 0; i < count; ++i) {
    const double any = std::exp2(exponent(random)) * (i & 64 ? 1 : -1);
    const double value = i % 3 == 0 ? spread(random) : (i % 3 == 1 ? small(random) : any);
    if (value >= low && value <= high && std::abs(value) <= largest)
      x.push_back(static_cast<T>(value));
  }
  return x;
}

// The error in units of the last place of the exact value.
template <class T>
Wide distance(T got, Wide want) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : 1e30L;
  const Wide top = ldexpl(1, Limits::max_exponent);
  if (std::fabs(want) >= top)
    return std::isinf(got) && (got > 0) == (want > 0)
               ? 0
               : (std::isinf(want) ? 1e30L : fabsl(got - want) / ldexpl(top, -Limits::digits));
  if (want == 0) return got == 0 && std::signbit(got) == std::signbit(want) ? 0 : 1e30L;
  const int power = std::max(ilogbl(want), Limits::min_exponent - 1) - Limits::digits + 1;
  const Wide given = std::isinf(got) ? std::copysign(top, got) : Wide(got);
  return fabsl(given - want) / ldexpl(1, power);
}

template <class T>
void check_accuracy(const Row& row) {
  const std::vector<T> x = numbers<T>(row.low, row.high, 60'000);
  const std::vector<T> got = run(row.function, x);
  Wide worst = 0;
  T where = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const Wide far = distance(got[i], row.exact(x[i]));
    if (far > worst) worst = far, where = x[i];
  }
  EXPECT_LE(worst, row.limit) << row.name << " at " << where;
}

TEST(VectorMath, IsExactToTheLastPlaces) {
  for (const Row& row : rows_of<float>()) check_accuracy<float>(row);
  for (const Row& row : rows_of<double>()) check_accuracy<double>(row);
}

TEST(VectorMath, HasTheSameBitsForAllInstructionSets) {
  const auto check = []<class T>(const Row& row, T) {
    const std::vector<T> x = numbers<T>(row.low, row.high, 3'000);
    std::vector<T> first;
    for_each_instruction_set([&](int64_t) {
      const std::vector<T> got = run(row.function, x);
      if (first.empty()) first = got;
      for (size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(got[i]) && std::isnan(first[i])) continue;
        ASSERT_EQ(std::memcmp(&got[i], &first[i], sizeof(T)), 0)
            << row.name << "(" << x[i] << ") = " << got[i] << ", " << first[i];
      }
    });
  };
  for (const Row& row : rows_of<float>()) check(row, float());
  for (const Row& row : rows_of<double>()) check(row, double());
  check({"erf_inv", MathFunction::kErfInv, nullptr, -1, 1}, float());
}

// Memory around the elements stays unchanged, and an output may be an input.
TEST(VectorMath, OfAnySizeAndAddressAndInPlace) {
  const auto check = []<class T>(T) {
    for_each_instruction_set([](int64_t) {
      for (const Row& row : rows_of<T>()) {
        for (const size_t size : {0, 1, 3, 4, 7, 15, 16, 17, 33, 65}) {
          std::vector<T> buffer(size + 3, T(0.75));
          for (size_t i = 0; i < size; ++i) buffer[i + 1] = T(0.01) * static_cast<T>(i);
          const std::vector<T> x(buffer.begin() + 1,
                                 buffer.begin() + 1 + static_cast<int64_t>(size));
          const void* inputs[] = {buffer.data() + 1};
          math_loop(row.function, kType<T>)(inputs, buffer.data() + 1, static_cast<int64_t>(size),
                                            0);
          EXPECT_EQ(buffer[0], T(0.75));
          EXPECT_EQ(buffer[size + 1], T(0.75));
          for (size_t i = 0; i < size; ++i) {
            const T alone = run(row.function, std::vector<T>{x[i]})[0];
            if (std::isnan(alone)) continue;
            EXPECT_EQ(buffer[i + 1], alone) << row.name << size;
          }
        }
      }
    });
  };
  check(float());
  check(double());
}

template <class T>
void check_pairs(MathFunction function, Wide (*exact)(Wide, Wide), Wide limit,
                 bool is_positive = false) {
  std::vector<T> x, y;
  for (const T a : special_numbers<T>()) {
    for (const T b : special_numbers<T>()) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 50'000; ++i) {
    x.push_back(static_cast<T>(normal(random) * std::exp2(normal(random) * 20)));
    y.push_back(static_cast<T>(normal(random) * std::exp2(normal(random) * 5)));
    if (i & 1) y.back() = std::round(y.back());
    if (i & 2) x.back() = std::abs(x.back());
  }
  if (is_positive) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::abs(x[i]), y[i] = std::abs(y[i]);
  }
  std::vector<T> first;
  for_each_instruction_set([&](int64_t) {
    const std::vector<T> got = run(function, x, &y);
    Wide worst = 0;
    size_t where = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const Wide far = distance(got[i], exact(x[i], y[i]));
      if (far > worst) worst = far, where = i;
    }
    EXPECT_LE(worst, limit) << x[where] << " " << y[where] << " " << got[where];
    if (first.empty()) first = got;
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(got[i]) && std::isnan(first[i])) continue;
      ASSERT_EQ(std::memcmp(&got[i], &first[i], sizeof(T)), 0) << x[i] << " " << y[i];
    }
  });
}

TEST(VectorMath, OfPairs) {
  check_pairs<float>(MathFunction::kAtan2, atan2l, 3);
  check_pairs<double>(MathFunction::kAtan2, atan2l, 3);
  check_pairs<float>(MathFunction::kPow, powl, 1);
  check_pairs<float>(MathFunction::kZeta, zeta<Wide>, 1, true);
  check_pairs<float>(MathFunction::kBetaln, log_beta<Wide>, 1, true);
}

TEST(VectorMath, InvertsErf) {
  for (const float x : numbers<float>(-0.999999, 0.999999, 20'000)) {
    const float y = run(MathFunction::kErfInv, std::vector<float>{x})[0];
    if (std::abs(x) > 1 || std::isnan(x)) {
      EXPECT_TRUE(std::isnan(y));
    } else if (std::abs(x) == 1) {
      EXPECT_EQ(y, std::copysign(std::numeric_limits<float>::infinity(), x));
    } else if (x == 0 || std::abs(x) < 1e-30f) {
      EXPECT_NEAR(y, x * 0.886226925452758f, std::abs(x) * 2e-7f + 1e-45f);
      EXPECT_EQ(std::signbit(x), std::signbit(y));
    } else {
      // The error of y, computed from the error of erf(y).
      const Wide slope = 2 / sqrtl(3.14159265358979323846L) * expl(-Wide(y) * y);
      const Wide miss = std::abs(x) < 0.5f ? erfl(y) - x
                        : y > 0            ? (1 - Wide(x)) - erfcl(y)
                                           : erfcl(-Wide(y)) - (1 + Wide(x));
      EXPECT_LE(fabsl(miss / slope), 3.5L * 0x1p-24L * 2 * fabsl(y)) << x << " " << y;
    }
  }
}

}  // namespace
}  // namespace farcall::native
