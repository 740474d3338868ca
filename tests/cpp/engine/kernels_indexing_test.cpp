// Kernels that read and write at computed indices, for every dtype, compared with loops.
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
    EXPECT_EQ(trait_of_kernel(name), KernelTrait::kUpdatesFirstInput);
    const std::vector<TestArray> inputs = {x, at, updates};
    EXPECT_TRUE(run_in_place(name, inputs, 0, x.type(), params)
                    .same_bytes(run_kernel(name, inputs, x.type(), params)));
  }
  const TestArray start(ShapeDtype(DType::kInt32, {}), std::vector<double>{1});
  const std::vector<TestArray> inputs = {x, updates, start, start};
  EXPECT_TRUE(run_in_place("dynamic_update_slice", inputs, 0, x.type())
                  .same_bytes(run_kernel("dynamic_update_slice", inputs, x.type())));
  EXPECT_EQ(trait_of_kernel("gather"), KernelTrait::kNone);
}

// ---- many windows

// A gather or scatter of windows of shape `slice`. `starts` is the shape of the start indices, and
// `numbers` says which dimensions of the result belong to the windows.
struct Case {
  Shape operand, starts;  // `starts` without the index components
  GatherDimensionNumbers numbers;
  Shape slice;

  Shape result() const {
    Shape windows, all;
    for (size_t i = 0; i < operand.size(); ++i) {
      const auto is_in = [&](const std::vector<int64_t>& dims) {
        return std::ranges::find(dims, static_cast<int64_t>(i)) != dims.end();
      };
      const bool stays =
          !is_in(numbers.collapsed_slice_dims) && !is_in(numbers.operand_batching_dims);
      if (stays) windows.push_back(slice[i]);
    }
    size_t window = 0, start = 0;
    for (size_t i = 0; i < windows.size() + starts.size(); ++i) {
      all.push_back(is_offset(i) ? windows[window++] : starts[start++]);
    }
    return all;
  }
  bool is_offset(size_t dim) const {
    return std::ranges::find(numbers.offset_dims, static_cast<int64_t>(dim)) !=
           numbers.offset_dims.end();
  }

  // The flat index in the operand of an element of the result; -1 if out of range.
  int64_t place(std::span<const int64_t> index, const TestArray& indices, bool clips) const {
    Shape at_start, at_window;
    for (size_t i = 0; i < index.size(); ++i) {
      (is_offset(i) ? at_window : at_start).push_back(index[i]);
    }
    Shape at(operand.size(), 0);
    const auto num_components = static_cast<int64_t>(numbers.start_index_map.size());
    for (int64_t k = 0; k < num_components; ++k) {
      const int64_t dim = numbers.start_index_map[k];
      const double start = indices.real(flat_index(starts, at_start) * num_components + k);
      const auto limit = static_cast<double>(operand[dim] - slice[dim]);
      if (!clips && (start < 0 || start > limit)) return -1;
      at[dim] = static_cast<int64_t>(std::clamp(start, 0.0, limit));
    }
    for (size_t k = 0; k < numbers.operand_batching_dims.size(); ++k) {
      at[numbers.operand_batching_dims[k]] = at_start[numbers.start_indices_batching_dims[k]];
    }
    for (size_t i = 0, next = 0; i < operand.size(); ++i) {
      const auto dim = static_cast<int64_t>(i);
      if (std::ranges::find(numbers.collapsed_slice_dims, dim) ==
              numbers.collapsed_slice_dims.end() &&
          std::ranges::find(numbers.operand_batching_dims, dim) ==
              numbers.operand_batching_dims.end()) {
        at[i] += at_window[next++];
      }
    }
    return flat_index(operand, at);
  }
};

std::vector<Case> cases_of_many_windows() {
  std::vector<Case> cases;
  const GatherDimensionNumbers elements = {{}, {0}, {0}, {}, {}};
  for (const int64_t count : {1, 255, 256, 257, 70'000}) {
    cases.push_back({{501}, {count}, elements, {1}});
  }
  for (const int64_t columns : {2, 3, 8, 15, 16, 17, 33, 70, 300}) {
    cases.push_back({{90, columns}, {600}, {{1}, {0}, {0}, {}, {}}, {1, columns}});
  }
  cases.push_back({{90, 9}, {9000}, {{1}, {0}, {0}, {}, {}}, {1, 9}});
  // The window dimension before the others; a part of each row; two components; two rows.
  cases.push_back({{90, 9}, {30, 25}, {{0}, {0}, {0}, {}, {}}, {1, 9}});
  cases.push_back({{90, 9}, {30, 25}, {{1}, {0}, {0, 1}, {}, {}}, {1, 4}});
  cases.push_back({{90, 9}, {700}, {{}, {0, 1}, {1, 0}, {}, {}}, {1, 1}});
  cases.push_back({{90, 9}, {300}, {{1, 2}, {}, {0}, {}, {}}, {2, 9}});
  // With batching dimensions.
  cases.push_back({{300, 5, 6}, {300, 4}, {{2}, {1}, {1}, {0}, {0}}, {1, 1, 6}});
  cases.push_back({{5, 7, 6}, {4, 5}, {{1}, {1}, {1}, {0}, {1}}, {1, 1, 6}});
  return cases;
}

TestArray starts_of(const Case& given, DType dtype, std::mt19937& random) {
  Shape shape = given.starts;
  shape.push_back(static_cast<int64_t>(given.numbers.start_index_map.size()));
  TestArray indices(ShapeDtype(dtype, shape));
  for (int64_t i = 0; i < indices.size(); ++i) {
    indices.set(i, static_cast<double>(random() % 100) - (dtype == DType::kInt32 ? 3 : 0));
  }
  return indices;
}

TEST(IndexingKernels, GathersOfManyWindows) {
  std::mt19937 random(5);
  for (const Case& given : cases_of_many_windows()) {
    for (const DType dtype : {DType::kInt8, DType::kFloat16, DType::kFloat32, DType::kComplex128}) {
      if (given.starts[0] > 1000 && dtype != DType::kFloat32) continue;  // limits the run time
      const TestArray x = random_array({dtype, given.operand}, random, 100);
      const TestArray fill(ShapeDtype(dtype, {}), std::vector<double>{7});
      for (const DType index : {DType::kInt32, DType::kUInt8, DType::kInt64}) {
        const TestArray indices = starts_of(given, index, random);
        for (const bool clips : {true, false}) {
          GatherParams params{given.numbers, given.slice, fill.text(0)};
          params.mode = clips ? GatherScatterMode::kClip : GatherScatterMode::kFillOrDrop;
          const ShapeDtype type(dtype, given.result());
          const TestArray found = run_kernel("gather", {x, indices}, type, make_params(params));
          for_each_index(type.shape(), [&](std::span<const int64_t> at) {
            const int64_t place = given.place(at, indices, clips);
            const Number expected = place < 0 ? Number(7) : x.get(place);
            ASSERT_EQ(found.get(flat_index(type.shape(), at)), expected)
                << type.to_string() << " from " << x.type().to_string();
          });
        }
      }
    }
  }
}

// Overlapping windows are combined in order.
TEST(IndexingKernels, ScattersOfManyWindows) {
  std::mt19937 random(6);
  for (const Case& given : cases_of_many_windows()) {
    for (const DType dtype : {DType::kInt16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
      if (given.starts[0] > 1000 && dtype != DType::kFloat32) continue;  // limits the run time
      const TestArray x = random_array({dtype, given.operand}, random, 8);
      const TestArray updates = random_array({dtype, given.result()}, random, 1);
      const TestArray indices = starts_of(given, DType::kInt32, random);
      for (const bool clips : {true, false}) {
        const auto& n = given.numbers;
        ScatterParams params{{n.offset_dims, n.collapsed_slice_dims, n.start_index_map,
                              n.operand_batching_dims, n.start_indices_batching_dims}};
        params.mode = clips ? GatherScatterMode::kClip : GatherScatterMode::kFillOrDrop;
        TestArray replaced = x.copy(), largest = x.copy();
        std::vector<double> sums;
        for (int64_t i = 0; i < x.size(); ++i) sums.push_back(x.real(i));
        for_each_index(given.result(), [&](std::span<const int64_t> at) {
          const int64_t place = given.place(at, indices, clips);
          if (place < 0) return;
          const double update = updates.real(flat_index(given.result(), at));
          replaced.set(place, update);
          largest.set(place, std::max(largest.real(place), update));
          sums[place] += update;
        });
        const auto run = [&](const char* name) {
          return run_kernel(name, {x, indices, updates}, x.type(), make_params(params));
        };
        // Otherwise windows are not visited in the order of the result, so another one is the last.
        const bool is_in_order =
            n.offset_dims.empty() || n.offset_dims[0] == std::ssize(given.starts);
        if (is_in_order) {
          EXPECT_TRUE(run("scatter").same_bytes(replaced))
              << x.type().to_string() << " " << updates.type().to_string() << " " << clips;
        }
        EXPECT_TRUE(run("scatter_max").same_bytes(largest));
        const TestArray sum = run("scatter_add");
        for (int64_t i = 0; i < x.size(); ++i) {
          if (std::abs(sums[i]) > 200) continue;  // beyond what all these dtypes represent exactly
          ASSERT_EQ(sum.real(i), sums[i]) << x.type().to_string() << " element " << i;
        }
      }
    }
  }
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

// Negative padding removes elements between interior padding.
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
  EXPECT_EQ(padded(3, -8, 2), (Values{-1, -1}));  // all of x is cut off at the end
  EXPECT_EQ(padded(-7, 2, 2), (Values{-1, -1}));  // all of x is cut off at the beginning

  // In a row, an element beyond the end would appear in the next row.
  const TestArray rows(ShapeDtype(DType::kFloat32, {2, 1}), std::vector<double>{5, 6});
  const auto params = make_params(PadParams{{{0, 0, 0}, {3, -2, 2}}});
  const TestArray empty = run_kernel("pad", {rows, value}, {DType::kFloat32, {2, 2}}, params);
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(empty.real(i), -1);
}

}  // namespace
}  // namespace farcall::native::testing
