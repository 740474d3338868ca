// Kernels that read and write at computed places, for every dtype, against loops.
#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include <farcall/primitives/indexing.h>

#include "kernel_testing.h"

namespace farcall::native::testing {
namespace {

std::vector<DType> element_dtypes() {
  std::vector<DType> dtypes;
  for (const DTypeInfo& info : all_dtypes()) {
    if (info.dtype != DType::kToken) dtypes.push_back(info.dtype);
  }
  return dtypes;
}

bool is_number(DType dtype) { return is_integer(dtype) || is_floating(dtype) || is_complex(dtype); }

const std::vector<DType> kIndexDTypes = {DType::kInt8,   DType::kInt16, DType::kInt32,
                                         DType::kInt64,  DType::kUInt8, DType::kUInt16,
                                         DType::kUInt32, DType::kUInt64};

const GatherDimensionNumbers kRows = {{1}, {0}, {0}, {}, {}};
const ScatterDimensionNumbers kScatterRows = {{1}, {0}, {0}, {}, {}};

TEST(IndexingKernels, GatherOfEveryDType) {
  std::mt19937 random(1);
  for (const DType dtype : element_dtypes()) {
    const TestArray x = random_array({dtype, {4, 3}}, random, 1);
    const TestArray at(ShapeDtype(DType::kInt32, {3, 1}), std::vector<double>{2, 7, -1});
    const auto params = make_params(GatherParams{kRows, {1, 3}, {}, GatherScatterMode::kClip});
    const TestArray found = run_kernel("gather", {x, at}, {dtype, {3, 3}}, params);
    const int64_t rows[] = {2, 3, 0};
    for (int64_t i = 0; i < 9; ++i) {
      EXPECT_EQ(found.text(i), x.text(rows[i / 3] * 3 + i % 3)) << dtype_name(dtype);
    }
  }
}

TEST(IndexingKernels, IndicesOfEveryDType) {
  const TestArray x(DType::kFloat32, {10, 11, 12, 13});
  for (const DType dtype : kIndexDTypes) {
    const TestArray at(ShapeDtype(dtype, {3, 1}), std::vector<double>{3, 0, 100});
    const auto params = make_params(
        GatherParams{{{}, {0}, {0}, {}, {}}, {1}, "-1.0", GatherScatterMode::kFillOrDrop});
    const TestArray found = run_kernel("gather", {x, at}, {DType::kFloat32, {3}}, params);
    EXPECT_EQ(found.texts(), (std::vector<std::string>{"13.0", "10.0", "-1.0"}))
        << dtype_name(dtype);
    const TestArray start(ShapeDtype(dtype, {}), std::vector<double>{100});
    const TestArray part = run_kernel("dynamic_slice", {x, start}, {DType::kFloat32, {2}},
                                      make_params(DynamicSliceParams{{2}}));
    EXPECT_EQ(part.texts(), (std::vector<std::string>{"12.0", "13.0"})) << dtype_name(dtype);
  }
  const TestArray huge = TestArray::of_text(DType::kUInt64, {"18446744073709551615"});
  const TestArray at(ShapeDtype(DType::kUInt64, {}), std::vector<double>{0});
  std::memcpy(at.data(), huge.data(), sizeof(uint64_t));
  EXPECT_EQ(run_kernel("dynamic_slice", {x, at}, {DType::kFloat32, {1}},
                       make_params(DynamicSliceParams{{1}}))
                .texts(),
            std::vector<std::string>{"13.0"});
}

TEST(IndexingKernels, ScattersOfEveryDType) {
  std::mt19937 random(2);
  const TestArray at(ShapeDtype(DType::kInt32, {3, 1}), std::vector<double>{2, 7, 2});
  const auto params = make_params(ScatterParams{kScatterRows});
  for (const DType dtype : element_dtypes()) {
    const TestArray x = random_array({dtype, {4, 3}}, random, 1);
    const TestArray updates = random_array({dtype, {3, 3}}, random, 1);
    const auto run = [&](const char* name) {
      return run_kernel(name, {x, at, updates}, {dtype, {4, 3}}, params);
    };
    const TestArray replaced = run("scatter");
    for (int64_t i = 0; i < 12; ++i) {
      EXPECT_EQ(replaced.text(i), i / 3 == 2 ? updates.text(6 + i % 3) : x.text(i))
          << dtype_name(dtype);
    }
    if (!is_number(dtype) || dtype_info(dtype).bits < 4) continue;
    const TestArray sums = run("scatter_add"), products = run("scatter_mul");
    const TestArray lowest = run("scatter_min");
    for (int64_t i = 0; i < 12; ++i) {
      Number sum = x.get(i), product = x.get(i);
      double low = x.real(i);
      for (const int64_t row : {0, 2}) {
        if (i / 3 != 2) continue;
        const Number update = updates.get(row * 3 + i % 3);
        sum += update;
        product *= update;
        low = std::min(low, update.real());
      }
      if (dtype == DType::kFloat8E8M0FNU) continue;  // has no zero and no sign
      EXPECT_TRUE(is_close(sums, i, sum, 0)) << dtype_name(dtype);
      EXPECT_TRUE(is_close(products, i, product, 0)) << dtype_name(dtype);
      if (!is_complex(dtype)) {
        EXPECT_EQ(lowest.real(i), low) << dtype_name(dtype);
      }
    }
  }
}

TEST(IndexingKernels, UpdatesInPlaceAreThoseOfACopy) {
  std::mt19937 random(3);
  const TestArray x = random_array({DType::kFloat32, {4, 3}}, random);
  const TestArray updates = random_array({DType::kFloat32, {3, 3}}, random);
  const TestArray at(ShapeDtype(DType::kInt32, {3, 1}), std::vector<double>{1, 0, 1});
  const auto params = make_params(ScatterParams{kScatterRows});
  for (const char* name : {"scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max"}) {
    EXPECT_TRUE(updates_first_input(name));
    const std::vector<TestArray> inputs = {x, at, updates};
    EXPECT_TRUE(run_in_place(name, inputs, 0, x.type(), params)
                    .same_bytes(run_kernel(name, inputs, x.type(), params)));
  }
  const TestArray start(ShapeDtype(DType::kInt32, {}), std::vector<double>{1});
  const std::vector<TestArray> inputs = {x, updates, start, start};
  EXPECT_TRUE(run_in_place("dynamic_update_slice", inputs, 0, x.type())
                  .same_bytes(run_kernel("dynamic_update_slice", inputs, x.type())));
  EXPECT_FALSE(updates_first_input("gather"));
}

TEST(IndexingKernels, PadOfEveryDType) {
  std::mt19937 random(4);
  const auto params = make_params(PadParams{{{1, -1, 1}, {-1, 2, 0}}});
  for (const DType dtype : element_dtypes()) {
    const TestArray x = random_array({dtype, {3, 2}}, random, 1);
    const TestArray value = random_array({dtype, {}}, random, 1);
    const TestArray found = run_kernel("pad", {x, value}, {dtype, {5, 3}}, params);
    for (int64_t i = 0; i < 5; ++i) {
      for (int64_t j = 0; j < 3; ++j) {
        const bool is_inside = i % 2 == 1 && j == 0;
        EXPECT_EQ(found.text(i * 3 + j), is_inside ? x.text((i - 1) / 2 * 2 + 1) : value.text(0))
            << dtype_name(dtype) << " " << i << " " << j;
      }
    }
  }
}

// Where padding takes elements away, between others that it puts in.
TEST(IndexingKernels, PadThatKeepsFewElementsOrNone) {
  const auto value = TestArray(DType::kFloat32, {-1});
  const TestArray x(DType::kFloat32, {1, 2, 3});
  const auto padded = [&](int64_t low, int64_t high, int64_t interior) {
    const int64_t size = 3 + 2 * interior + low + high;
    const auto params = make_params(PadParams{{{low, high, interior}}});
    std::vector<double> found;
    const TestArray y = run_kernel("pad", {x, value}, {DType::kFloat32, {size}}, params);
    for (int64_t i = 0; i < size; ++i) found.push_back(y.real(i));
    return found;
  };
  using Values = std::vector<double>;
  EXPECT_EQ(padded(-1, 0, 1), (Values{-1, 2, -1, 3}));
  EXPECT_EQ(padded(-1, -2, 1), (Values{-1, 2}));
  EXPECT_EQ(padded(-3, 0, 3), (Values{-1, 2, -1, -1, -1, 3}));
  EXPECT_EQ(padded(2, -6, 2), (Values{-1, -1, 1}));
  EXPECT_EQ(padded(3, -8, 2), (Values{-1, -1}));  // all of x lies behind the end
  EXPECT_EQ(padded(-7, 2, 2), (Values{-1, -1}));  // and here before the beginning

  // Of rows, what lies behind the end of one would show in the next.
  const TestArray rows(ShapeDtype(DType::kFloat32, {2, 1}), std::vector<double>{5, 6});
  const auto params = make_params(PadParams{{{0, 0, 0}, {3, -2, 2}}});
  const TestArray empty = run_kernel("pad", {rows, value}, {DType::kFloat32, {2, 2}}, params);
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(empty.real(i), -1);
}

}  // namespace
}  // namespace farcall::native::testing
