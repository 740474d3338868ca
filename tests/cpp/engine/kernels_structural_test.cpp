// Kernels that move elements, and the copy engine below them, compared with loops over indices.
#include <algorithm>
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include <tbb/task_arena.h>

#include <farcall/core/layout.h>
#include <farcall/primitives/structural.h>

#include "engine/native/kernels/movement/strided_copy.h"
#include "kernel_testing.h"

namespace farcall::native::testing {
namespace {

using Indices = std::vector<int64_t>;

constexpr DType kWidths[] = {DType::kUInt8, DType::kUInt16, DType::kFloat32, DType::kInt64,
                             DType::kComplex128};

// 0, 1, 2, …, repeated within the dtype's range.
TestArray counted(DType dtype, std::span<const int64_t> shape) {
  TestArray array(ShapeDtype(dtype, shape));
  for (int64_t i = 0; i < array.size(); ++i) array.set(i, static_cast<double>(i % 251));
  return array;
}

// Expects that element `index` of the result is element source(index) of the operand.
template <class Source>
void expect_moved(const TestArray& result, const TestArray& operand, Source source) {
  for_each_index(result.type().shape(), [&](std::span<const int64_t> index) {
    const Indices from = source(index);
    const int64_t i = flat_index(result.type().shape(), index);
    const int64_t j = flat_index(operand.type().shape(), from);
    EXPECT_EQ(result.get(i), operand.get(j)) << result.type().to_string() << " element " << i;
  });
}

Shape picked(std::span<const int64_t> shape, const Indices& permutation) {
  Shape result;
  for (const int64_t i : permutation) result.push_back(shape[i]);
  return result;
}

void check_transpose(DType dtype, const Shape& shape, const Indices& permutation) {
  const TestArray x = counted(dtype, shape);
  const ShapeDtype type(dtype, picked(shape, permutation));
  const auto params = make_params(TransposeParams{permutation});
  expect_moved(run_kernel("transpose", {x}, type, params), x, [&](std::span<const int64_t> index) {
    Indices from(index.size());
    for (size_t i = 0; i < index.size(); ++i) from[permutation[i]] = index[i];
    return from;
  });
}

TEST(StructuralKernels, TransposeOfEveryPermutation) {
  for (const DType dtype : kWidths) {
    for (const Shape& shape : std::vector<Shape>{{5, 3, 4, 2}, {1, 3, 1, 2}, {2, 0, 3, 1}}) {
      Indices permutation = {0, 1, 2, 3};
      do {
        check_transpose(dtype, shape, permutation);
      } while (std::next_permutation(permutation.begin(), permutation.end()));
    }
    check_transpose(dtype, {}, {});
    check_transpose(dtype, {70, 131}, {1, 0});
    check_transpose(dtype, {131, 2}, {1, 0});
    check_transpose(dtype, {2, 3, 1, 4, 2, 3}, {4, 1, 5, 0, 3, 2});
    check_transpose(dtype, {3, 40, 50}, {0, 2, 1});
    check_transpose(dtype, {40, 50, 3}, {1, 0, 2});
  }
}

TEST(StructuralKernels, BroadcastInDim) {
  struct Case {
    Shape from, to;
    Indices dimensions;
  };
  for (const DType dtype : kWidths) {
    for (const auto& [from, to, dimensions] : std::vector<Case>{
             {{}, {4, 3}, {}},
             {{3}, {4, 3}, {1}},
             {{4}, {4, 3}, {0}},
             {{1}, {4, 3}, {1}},
             {{4, 1}, {2, 4, 3}, {1, 2}},
             {{2, 3}, {2, 5, 3, 2}, {0, 2}},
             {{1, 1}, {3, 600}, {0, 1}},
             {{}, {0, 3}, {}},
             {{}, {}, {}},
         }) {
      const TestArray x = counted(dtype, from);
      const auto params = make_params(BroadcastInDimParams{to, dimensions});
      expect_moved(run_kernel("broadcast_in_dim", {x}, {dtype, to}, params), x,
                   [&, &from = from, &dimensions = dimensions](std::span<const int64_t> index) {
                     Indices source(from.size());
                     for (size_t i = 0; i < from.size(); ++i) {
                       source[i] = from[i] == 1 ? 0 : index[dimensions[i]];
                     }
                     return source;
                   });
    }
  }
}

TEST(StructuralKernels, Slice) {
  for (const DType dtype : kWidths) {
    const TestArray x = counted(dtype, Shape{7, 6, 5});
    const SliceParams params{{1, 0, 2}, {7, 6, 5}, {2, 1, 2}};
    expect_moved(run_kernel("slice", {x}, {dtype, {3, 6, 2}}, make_params(params)), x,
                 [&](std::span<const int64_t> index) {
                   return Indices{1 + 2 * index[0], index[1], 2 + 2 * index[2]};
                 });
    const SliceParams nothing{{7, 0, 0}, {7, 6, 5}, {1, 1, 1}};
    run_kernel("slice", {x}, {dtype, {0, 6, 5}}, make_params(nothing));
  }
}

TEST(StructuralKernels, Rev) {
  for (const DType dtype : kWidths) {
    const TestArray x = counted(dtype, Shape{3, 4, 5});
    for (const Indices& dimensions : std::vector<Indices>{{}, {0}, {2}, {0, 2}, {0, 1, 2}}) {
      const auto params = make_params(RevParams{dimensions});
      expect_moved(run_kernel("rev", {x}, x.type(), params), x,
                   [&](std::span<const int64_t> index) {
                     Indices from(index.begin(), index.end());
                     for (const int64_t i : dimensions) from[i] = x.type().shape()[i] - 1 - from[i];
                     return from;
                   });
    }
    const TestArray empty = counted(dtype, Shape{0, 2});
    run_kernel("rev", {empty}, empty.type(), make_params(RevParams{{0, 1}}));
  }
}

TEST(StructuralKernels, Concatenate) {
  for (const DType dtype : kWidths) {
    const TestArray x = counted(dtype, Shape{2, 3, 4}), y = counted(dtype, Shape{2, 0, 4}),
                    z = counted(dtype, Shape{2, 2, 4});
    const TestArray result =
        run_kernel("concatenate", {x, y, z}, {dtype, {2, 5, 4}}, make_params(ConcatenateParams{1}));
    for_each_index(result.type().shape(), [&](std::span<const int64_t> index) {
      const bool is_first = index[1] < 3;
      const TestArray& from = is_first ? x : z;
      const Indices source = {index[0], is_first ? index[1] : index[1] - 3, index[2]};
      EXPECT_EQ(result.get(flat_index(result.type().shape(), index)),
                from.get(flat_index(from.type().shape(), source)));
    });
  }
}

TEST(StructuralKernels, ReshapeAndCopy) {
  const TestArray x = counted(DType::kFloat32, Shape{6, 4});
  const ShapeDtype type(DType::kFloat32, {2, 12});
  const TestArray result = run_kernel("reshape", {x}, type, make_params(ReshapeParams{{2, 12}}));
  EXPECT_EQ(std::memcmp(result.data(), x.data(), x.type().nbytes()), 0);
  EXPECT_TRUE(run_kernel("copy", {x}, x.type()).same_bytes(x));
  EXPECT_TRUE(run_in_place("copy", {x}, 0, x.type()).same_bytes(x));
}

TEST(StructuralKernels, Iota) {
  for (const auto& info : all_dtypes()) {
    if (info.bits < 4 || info.dtype == DType::kToken || info.dtype == DType::kBool) continue;
    if (info.dtype == DType::kFloat8E8M0FNU || info.bits == 4) continue;
    for (const Shape& shape : std::vector<Shape>{{3}, {0}, {2, 3, 4}, {3, 1}, {2, 0}}) {
      for (size_t dimension = 0; dimension < shape.size(); ++dimension) {
        const IotaParams params{info.dtype, shape, static_cast<int64_t>(dimension)};
        const TestArray result = run_kernel("iota", {}, {info.dtype, shape}, make_params(params));
        for_each_index(shape, [&](std::span<const int64_t> index) {
          EXPECT_EQ(result.get(flat_index(shape, index)), double(index[dimension])) << info.name;
        });
      }
    }
  }
  const auto wrapped =
      run_kernel("iota", {}, {DType::kInt4, {10}}, make_params(IotaParams{DType::kInt4, {10}, 0}));
  EXPECT_EQ(wrapped.text(8), "-8");
  const auto large = run_kernel("iota", {}, {DType::kInt32, {1300}},
                                make_params(IotaParams{DType::kInt32, {1300}, 0}));
  EXPECT_EQ(large.text(1299), "1299");
}

// ---- the copy engine

// Any order of dimensions on both sides, with gaps, reversal, and repeated source elements.
TEST(StridedCopy, RandomStrides) {
  std::mt19937 random(42);
  const auto below = [&](int n) {
    return static_cast<int64_t>(random() % static_cast<unsigned>(n));
  };
  for (int round = 0; round < 3000; ++round) {
    const size_t width = size_t{1} << below(5);
    const size_t rank = static_cast<size_t>(below(6));
    Shape shape;
    for (size_t i = 0; i < rank; ++i)
      shape.push_back(below(12) == 0 ? 40 : below(5) + (round % 50 != 0));
    const auto strides = [&](bool may_repeat, int64_t& offset, int64_t& extent) {
      Indices order(rank), result(rank);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      int64_t stride = 1;
      offset = 0;
      for (const int64_t i : order) {
        if (may_repeat && below(6) == 0) continue;
        if (below(5) == 0) stride += below(3);
        result[i] = stride;
        stride *= std::max<int64_t>(shape[i], 1);
        if (below(5) == 0 && shape[i] > 0) {
          offset += result[i] * (shape[i] - 1);
          result[i] = -result[i];
        }
      }
      extent = stride;
      return result;
    };
    int64_t source_offset, target_offset, source_extent, target_extent;
    const Indices from = strides(true, source_offset, source_extent);
    const Indices to = strides(false, target_offset, target_extent);
    std::vector<uint8_t> source(source_extent * width), target(target_extent * width, 0xee);
    for (auto& byte : source) byte = static_cast<uint8_t>(random() % 200);
    std::vector<uint8_t> expected = target;
    for_each_index(shape, [&](std::span<const int64_t> index) {
      int64_t i = source_offset, j = target_offset;
      for (size_t d = 0; d < rank; ++d) i += index[d] * from[d], j += index[d] * to[d];
      std::memcpy(&expected[j * width], &source[i * width], width);
    });
    strided_copy(width, shape, source.data() + source_offset * width, from,
                 target.data() + target_offset * width, to);
    ASSERT_EQ(target, expected) << "width " << width << " shape " << shape_to_string(shape);
  }
}

// Transposed, reversed and dense copies that several threads share, for elements of every width and
// sizes that are not multiples of block sizes.
TEST(StridedCopy, OfManyElements) {
  std::mt19937 random(43);
  for (const int num_threads : {1, 3}) {
    for (const size_t width : {1, 2, 4, 8, 16}) {
      for (const Shape& shape : {Shape{311, 257}, {64, 1024}, {3, 130, 201}, {1025, 3, 31}}) {
        const auto size =
            static_cast<size_t>(shape[0] * shape[1] * (shape.size() > 2 ? shape[2] : 1));
        std::vector<uint8_t> source(size * width), target(size * width), expected(size * width);
        for (auto& byte : source) byte = static_cast<uint8_t>(random());
        const auto dense = strides_of(shape, row_major(shape.size()));
        Indices order(shape.size());
        std::iota(order.begin(), order.end(), 0);
        do {
          for (const int64_t sign : {1, -1}) {
            Shape to_shape;
            Indices from;
            int64_t offset = 0;
            for (const int64_t i : order) {
              to_shape.push_back(shape[i]);
              from.push_back(sign * dense[i]);
              if (sign < 0) offset += (shape[i] - 1) * dense[i];
            }
            const auto to = strides_of(to_shape, row_major(shape.size()));
            size_t next = 0;
            for_each_index(to_shape, [&](std::span<const int64_t> index) {
              int64_t at = offset;
              for (size_t d = 0; d < index.size(); ++d) at += index[d] * from[d];
              std::memcpy(&expected[next * width], &source[at * width], width);
              ++next;
            });
            tbb::task_arena(num_threads).execute([&] {
              strided_copy(width, to_shape, source.data() + offset * width, from, target.data(),
                           to);
            });
            ASSERT_EQ(target, expected) << "width " << width << shape_to_string(to_shape) << sign;
          }
        } while (std::ranges::next_permutation(order).found);
      }
    }
  }
}

// So many elements that they are written past the caches where that pays, if the target is in whole
// cache lines.
TEST(StridedCopy, TransposedMegabytes) {
  std::mt19937 random(44);
  constexpr int64_t kBytes = int64_t{9} << 19, kRows = 1088;
  std::vector<uint8_t> source(kBytes / 16 * 17), memory(source.size() + 128);
  for (auto& byte : source) byte = static_cast<uint8_t>(random());
  auto* const lines =
      reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
  for (const int64_t width : {1, 2, 4, 8, 16}) {
    const int64_t columns = kBytes / (kRows * width) + 1;
    for (const int64_t rows : {kRows, kRows + 8, kRows + 16, kRows - 1}) {
      for (const int num_threads : {1, 3}) {
        uint8_t* const target = num_threads == 1 ? lines : lines + width % 16;
        const int64_t shape[] = {columns, rows}, from[] = {1, columns}, to[] = {rows, 1};
        tbb::task_arena(num_threads).execute([&] {
          strided_copy(static_cast<size_t>(width), shape, source.data(), from, target, to);
        });
        for (int64_t i = 0; i < columns * rows; ++i) {
          const uint8_t* const element = &source[(i % rows * columns + i / rows) * width];
          ASSERT_EQ(std::memcmp(target + i * width, element, static_cast<size_t>(width)), 0)
              << "width " << width << ", rows " << rows << ", element " << i;
        }
      }
    }
  }
}

// Runs so long that memory is requested ahead, whose parts are not whole cache lines.
TEST(StridedCopy, OfLongRuns) {
  std::mt19937 random(44);
  for (const size_t width : {1, 2, 4, 8, 16}) {
    const int64_t size = (int64_t{1} << 20) + 77;
    const Shape shape = {size};
    const size_t nbytes = static_cast<size_t>(size) * width;
    std::vector<uint8_t> source(nbytes), target(nbytes), expected(nbytes);
    for (auto& byte : source) byte = static_cast<uint8_t>(random());
    strided_copy(width, shape, source.data(), Indices{1}, target.data(), Indices{1});
    EXPECT_EQ(target, source) << width;
    for (size_t i = 0; i < nbytes; i += width) {
      std::memcpy(&expected[nbytes - width - i], &source[i], width);
    }
    strided_copy(width, shape, &source[nbytes - width], Indices{-1}, target.data(), Indices{1});
    EXPECT_EQ(target, expected) << width;
  }
}

TEST(StridedCopy, NothingAndOne) {
  uint32_t source = 5, target = 0;
  StridedCopy().run(nullptr, nullptr);
  strided_copy(4, Indices{0, 3}, nullptr, Indices{3, 1}, nullptr, Indices{3, 1});
  strided_copy(4, {}, &source, {}, &target, {});
  EXPECT_EQ(target, 5u);
}

}  // namespace
}  // namespace farcall::native::testing
