// Sorting compared with the standard library: of words, for each instruction set of this processor
// and any number of threads; of the kernel's lanes, keys and operands, for every sortable dtype;
// and top_k.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <hwy/targets.h>
#include <tbb/task_arena.h>

#include <farcall/core/storage.h>
#include <farcall/primitives/cumulative.h>

#include "engine/instruction_sets.h"
#include "engine/native/kernels/elementwise/lanes.h"
#include "engine/native/kernels/order/sort_words.h"
#include "kernel_testing.h"

namespace farcall::native::testing {
namespace {

// ---- words

enum class Kind : uint8_t { kRandom, kFew, kEqual, kRising, kFalling };

template <class Word>
Word word_of(uint64_t high, uint64_t low) {
  if constexpr (sizeof(Word) == 16) {
    return {low, high};
  } else {
    return static_cast<Word>(high);
  }
}

template <class Word>
std::vector<Word> words(int64_t size, Kind kind, std::mt19937_64& random) {
  std::vector<Word> result(static_cast<size_t>(size));
  for (size_t i = 0; i < result.size(); ++i) {
    const uint64_t high = kind == Kind::kRandom   ? random()
                          : kind == Kind::kFew    ? random() % 3
                          : kind == Kind::kEqual  ? 7
                          : kind == Kind::kRising ? i
                                                  : result.size() - i;
    result[i] = word_of<Word>(high, kind == Kind::kEqual ? 1 : random() % 5);
  }
  return result;
}

constexpr std::initializer_list<Kind> kKinds = {Kind::kRandom, Kind::kFew, Kind::kEqual,
                                                Kind::kRising, Kind::kFalling};

template <class Word>
void check_words(int64_t size, bool by_vectors, std::initializer_list<Kind> kinds = kKinds) {
  std::mt19937_64 random(static_cast<uint64_t>(size));
  for (const Kind kind : kinds) {
    std::vector<Word> given = words<Word>(size, kind, random), other(given.size());
    std::vector<Word> expected = given;
    std::sort(expected.begin(), expected.end());
    const Word* sorted = sort_words(given.data(), other.data(), size, by_vectors);
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), sorted))
        << size << " of kind " << static_cast<int>(kind);
  }
}

TEST(SortWords, ForEveryInstructionSet) {
  for_each_instruction_set([](int64_t target) {
    const bool by_vectors = (target & (HWY_SCALAR | HWY_EMU128)) == 0;
    for (const int64_t size : {0, 1, 2, 63, 64, 65, 100, 257, 1000, 5003}) {
      check_words<uint32_t>(size, by_vectors);
      check_words<uint64_t>(size, by_vectors);
      check_words<hwy::uint128_t>(size, by_vectors);
    }
  });
}

TEST(SortWords, OnAnyNumberOfThreads) {
  for (const int num_threads : {1, 2, 8}) {
    tbb::task_arena(num_threads).execute([] {
      for (const int64_t size : {kSortedAtOnce + 1, 3 * kSortedAtOnce - 5}) {
        check_words<uint32_t>(size, sorts_by_vectors());
        check_words<uint64_t>(size, sorts_by_vectors());
        check_words<hwy::uint128_t>(size, sorts_by_vectors());
      }
    });
  }
}

TEST(SortWords, InBlocksOfLimitedSizeOnOneThread) {
  tbb::task_arena(1).execute([] {
    check_words<uint32_t>((int64_t{8} << 20) / 4 + 3, sorts_by_vectors(), {Kind::kRandom});
  });
}

// ---- the kernel

std::vector<TestArray> run_sort(const std::vector<TestArray>& inputs, int64_t axis,
                                int64_t num_keys) {
  std::vector<ShapeDtype> types;
  std::vector<TestArray> results;
  std::vector<void*> operands;
  for (const TestArray& input : inputs) {
    types.push_back(input.type());
    results.emplace_back(input.type());
    operands.push_back(input.data());
  }
  for (const TestArray& result : results) operands.push_back(result.data());
  const ParamsPtr params = make_params(SortParams{axis, true, num_keys});
  const Kernel kernel = find_kernel("sort")(types, types, params.get());
  const Storage scratch = Storage::allocate(kernel.scratch_bytes);
  kernel.run({operands.data(), scratch.data(), kernel.data.get()});
  return results;
}

// The order of SortParams.
int compare(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return static_cast<int>(std::isnan(a)) - std::isnan(b);
  return a < b ? -1 : a > b;
}
bool comes_first(const std::vector<TestArray>& keys, int64_t i, int64_t j) {
  for (const TestArray& key : keys) {
    const Number a = key.get(i), b = key.get(j);
    if (const int real = compare(a.real(), b.real())) return real < 0;
    if (const int imaginary = compare(a.imag(), b.imag())) return imaginary < 0;
  }
  return false;
}

void check_sort(const std::vector<TestArray>& inputs, int64_t axis, int64_t num_keys) {
  const std::vector<TestArray> results = run_sort(inputs, axis, num_keys);
  const std::vector<TestArray> keys(inputs.begin(), inputs.begin() + num_keys);
  const Lanes lanes = lanes_of(inputs[0].type().shape(), axis);
  std::vector<int64_t> order(static_cast<size_t>(lanes.size));
  for (int64_t lane = 0; lane < lanes.outer * lanes.inner; ++lane) {
    const int64_t first = lane / lanes.inner * lanes.size * lanes.inner + lane % lanes.inner;
    for (int64_t i = 0; i < lanes.size; ++i) {
      order[static_cast<size_t>(i)] = first + i * lanes.inner;
    }
    std::ranges::stable_sort(order, [&](int64_t i, int64_t j) { return comes_first(keys, i, j); });
    for (size_t k = 0; k < inputs.size(); ++k) {
      const size_t width = byte_width(inputs[k].type().dtype());
      for (int64_t i = 0; i < lanes.size; ++i) {
        const int64_t from = order[static_cast<size_t>(i)], to = first + i * lanes.inner;
        ASSERT_EQ(std::memcmp(results[k].element(to), inputs[k].element(from), width), 0)
            << "operand " << k << " of " << inputs.size() << ", keys " << num_keys << ", "
            << inputs[0].type().to_string() << " along " << axis << ", element " << to << ": got "
            << results[k].text(to) << ", expected " << inputs[k].text(from);
      }
    }
  }
}

// A few distinct numbers, so that many are equal, and all special values.
TestArray numbers(ShapeDtype type, std::mt19937& random) {
  TestArray x = random_array(type, random, 3);
  if (!is_floating(type.dtype()) && !is_complex(type.dtype())) return x;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double special[] = {0.0, -0.0, std::nan(""), -std::nan(""), kInfinity, -kInfinity};
  for (int64_t i = 0; i < x.size(); ++i) {
    if (random() % 3 == 0) x.set(i, Number(special[random() % 6], i % 2 == 0 ? 0.0 : -0.0));
  }
  return x;
}

TEST(SortKernel, AlongAnyAxisWithAnyNumberOfKeys) {
  std::mt19937 random(1);
  const DType dtypes[] = {DType::kBool,      DType::kInt8,    DType::kUInt16,  DType::kInt32,
                          DType::kUInt32,    DType::kInt64,   DType::kUInt64,  DType::kFloat16,
                          DType::kBFloat16,  DType::kFloat32, DType::kFloat64, DType::kComplex64,
                          DType::kComplex128};
  for (const DType dtype : dtypes) {
    for (const Shape& shape : {Shape{0}, {1}, {70}, {5, 200}, {200, 5}, {3, 40, 7}, {2, 0}}) {
      const ShapeDtype type(dtype, shape);
      for (int64_t axis = 0; axis < std::ssize(shape); ++axis) {
        const TestArray x = numbers(type, random);
        const TestArray other = numbers({DType::kFloat32, shape}, random);
        const TestArray wide = numbers({DType::kFloat64, shape}, random);
        const TestArray carried = random_array({DType::kInt16, shape}, random, 100);
        check_sort({x}, axis, 1);
        check_sort({x, carried}, axis, 1);
        const TestArray plain = random_array({DType::kFloat32, shape}, random, 3);
        check_sort({x, plain}, axis, 2);
        check_sort({plain, x}, axis, 2);
        check_sort({x, other, carried}, axis, 2);
        check_sort({other, x, wide}, axis, 3);
      }
    }
  }
}

TEST(SortKernel, OfLanesThatSeveralThreadsShare) {
  std::mt19937 random(2);
  const Shape shape = {kSortedAtOnce + 1001};
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBFloat16}) {
    const TestArray x = numbers({dtype, shape}, random);
    const TestArray other = random_array({DType::kInt32, shape}, random, 1000);
    const TestArray plain = random_array({DType::kFloat32, shape}, random, 1000);
    for (const int num_threads : {1, 4}) {
      tbb::task_arena(num_threads).execute([&] {
        check_sort({x}, 0, 1);
        check_sort({other, x}, 0, 2);
        check_sort({other, plain}, 0, 2);
      });
    }
  }
}

TEST(SortKernel, OfIntegersAtTheEndsOfTheirRange) {
  const auto x = TestArray::of_text(
      DType::kInt64, {"9223372036854775807", "-9223372036854775808", "0", "9223372036854775806"});
  const auto texts = run_sort({x}, 0, 1)[0].texts();
  EXPECT_EQ(texts, (std::vector<std::string>{"-9223372036854775808", "0", "9223372036854775806",
                                             "9223372036854775807"}));
  const auto y = TestArray::of_text(DType::kUInt64, {"18446744073709551615", "0", "1"});
  EXPECT_EQ(run_sort({y, y}, 0, 1)[1].texts(),
            (std::vector<std::string>{"0", "1", "18446744073709551615"}));
}

// ---- top_k

// The order of TopKParams, where `a` precedes `b`.
bool is_larger(const TestArray& x, int64_t a, int64_t b) {
  const double u = x.get(a).real(), v = x.get(b).real();
  if (std::isnan(u) || std::isnan(v)) return std::isnan(u) && !std::isnan(v);
  if (u == 0 && v == 0) return !std::signbit(u) && std::signbit(v);
  return u > v;
}

void check_top_k(const TestArray& x, int64_t k, int64_t axis) {
  const Lanes lanes = lanes_of(x.type().shape(), axis);
  std::vector<int64_t> shape(x.type().shape().begin(), x.type().shape().end());
  shape[static_cast<size_t>(axis)] = k;
  const TestArray values({x.type().dtype(), shape}), indices({DType::kInt32, shape});
  const std::vector<ShapeDtype> inputs = {x.type()}, outputs = {values.type(), indices.type()};
  const ParamsPtr params = make_params(TopKParams{k, axis});
  const Kernel kernel = find_kernel("top_k")(inputs, outputs, params.get());
  const Storage scratch = Storage::allocate(kernel.scratch_bytes);
  void* const operands[] = {x.data(), values.data(), indices.data()};
  kernel.run({operands, scratch.data(), kernel.data.get()});
  std::vector<int64_t> order(static_cast<size_t>(lanes.size));
  for (int64_t lane = 0; lane < lanes.outer * lanes.inner; ++lane) {
    const auto at = [&](int64_t size, int64_t i) {
      return (lane / lanes.inner * size + i) * lanes.inner + lane % lanes.inner;
    };
    for (int64_t i = 0; i < lanes.size; ++i) order[static_cast<size_t>(i)] = i;
    std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
      return is_larger(x, at(lanes.size, a), at(lanes.size, b));
    });
    for (int64_t i = 0; i < k; ++i) {
      const int64_t expected = order[static_cast<size_t>(i)], to = at(k, i);
      int32_t found = 0;
      std::memcpy(&found, indices.element(to), sizeof(found));
      ASSERT_EQ(found, expected) << x.type().to_string() << ", k " << k << ", axis " << axis;
      ASSERT_EQ(std::memcmp(values.element(to), x.element(at(lanes.size, expected)),
                            byte_width(x.type().dtype())),
                0);
    }
  }
}

TEST(TopKKernel, AlongAnyAxisOfAnyDtype) {
  std::mt19937 random(3);
  for (const DType dtype :
       {DType::kBool, DType::kInt8, DType::kUInt16, DType::kInt32, DType::kUInt32, DType::kInt64,
        DType::kUInt64, DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    for (const Shape& shape : {Shape{1}, {70}, {5, 200}, {200, 5}, {3, 40, 7}, {2, 0}}) {
      for (int64_t axis = 0; axis < std::ssize(shape); ++axis) {
        const TestArray x = numbers({dtype, shape}, random);
        const int64_t size = shape[static_cast<size_t>(axis)];
        for (const int64_t k : {int64_t{0}, size / 9, size / 2, size}) check_top_k(x, k, axis);
      }
    }
  }
}

// Equal numbers are in the parts of all threads; the first ones precede.
TEST(TopKKernel, OfLanesThatThreadsShare) {
  constexpr int64_t kSize = 5 * kSortedAtOnce + 7;
  std::mt19937 random(5);
  for (const Shape& shape : {Shape{kSize}, {kSize, 2}}) {
    const ShapeDtype type(DType::kFloat32, shape);
    TestArray falling(type), few(type), nans(type);
    for (int64_t i = 0; i < type.size(); ++i) {
      falling.set(i, Number(static_cast<double>(-i)));
      few.set(i, Number(random() % 30000 == 0 ? 1.0 : random() % 7 == 0 ? 0.0 : -0.0));
      nans.set(i, Number(random() % 8000 == 0 ? std::nan("") : static_cast<double>(random() % 9)));
    }
    for (const TestArray& x : {falling, few, nans}) check_top_k(x, 40, 0);
  }
}

// The candidates are pruned never, occasionally, or at each block.
TEST(TopKKernel, OfLongLanesInAnyOrder) {
  constexpr int64_t kSize = kSortedAtOnce + 5000;
  std::mt19937 random(4);
  for (const DType dtype : {DType::kFloat32, DType::kInt64}) {
    const ShapeDtype type(dtype, Shape{kSize});
    TestArray rising(type), falling(type), equal(type);
    for (int64_t i = 0; i < kSize; ++i) {
      rising.set(i, Number(static_cast<double>(i)));
      falling.set(i, Number(static_cast<double>(-i)));
      equal.set(i, Number(7.0));
    }
    const TestArray mixed = random_array(type, random, 1000);
    for (const TestArray& x : {rising, falling, equal, mixed}) {
      for (const int64_t k : {int64_t{1}, int64_t{50}, kSize / 5, kSize - 1}) check_top_k(x, k, 0);
    }
  }
}

}  // namespace
}  // namespace farcall::native::testing
