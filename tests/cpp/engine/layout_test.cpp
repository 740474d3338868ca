// Layouts: the handler sees its arrays in the requested order, the program does not notice, and
// nothing is copied if the order in memory is the same.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/layout.h>

#include "calls.h"

namespace farcall::native {
namespace {

using testing::array_of;
using testing::Call;
using ::testing::ElementsAre;
using testing::f32;
using testing::floats;
using testing::iota;

// Copies raw bytes.
const std::string& memory_copy() {
  static const std::string name = testing::add_target([](Call call) -> FARCALL_FFI_Error* {
    std::copy_n(call.in(0), Call::size(call.argument(0)), call.out(0));
    return nullptr;
  });
  return name;
}

using Order = std::vector<int64_t>;

FfiCallOptions layouts(MajorToMinor in, MajorToMinor out) {
  FfiCallOptions options;
  options.input_layouts = {std::move(in)};
  options.output_layouts = {std::move(out)};
  return options;
}

int64_t layout_copies(ShapeDtype in, ShapeDtype out, const FfiCallOptions& options) {
  return testing::plan_of(
             [&](std::span<const Array> x) {
               return FfiCall(memory_copy(), {out}, options)({x[0]});
             },
             {in})
      ->statistics.layout_copies;
}

TEST(Layouts, ColumnMajorIn) {
  const Array x = array_of(iota(6), {2, 3});
  const auto options = layouts(Order{1, 0}, std::nullopt);
  // In memory order: column by column.
  EXPECT_THAT(floats(testing::call(memory_copy(), {x}, f32({2, 3}), options)),
              ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_EQ(layout_copies(f32({2, 3}), f32({2, 3}), options), 1);
}

TEST(Layouts, ColumnMajorOut) {
  const Array x = array_of(iota(6), {2, 3});
  const auto options = layouts(std::nullopt, Order{1, 0});
  EXPECT_THAT(floats(testing::call(memory_copy(), {x}, f32({2, 3}), options)),
              ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_EQ(layout_copies(f32({2, 3}), f32({2, 3}), options), 1);
}

TEST(Layouts, BothWaysCancel) {
  const Array x = array_of(iota(6), {2, 3});
  EXPECT_THAT(
      floats(testing::call(memory_copy(), {x}, f32({2, 3}), layouts(Order{1, 0}, Order{1, 0}))),
      ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Layouts, EveryPermutationOfRankThree) {
  const Shape shape = {2, 3, 4};
  const Array x = array_of(iota(24), {2, 3, 4});
  Order order = {0, 1, 2};
  do {
    SCOPED_TRACE(shape_to_string(order));
    // Compares what the handler sees with index arithmetic.
    const auto seen = floats(testing::call(memory_copy(), {x}, f32({2, 3, 4}),
                                           layouts(MajorToMinor(order), std::nullopt)));
    const auto strides = strides_of(shape, Layout{order});
    for (int64_t i = 0; i < 2; ++i) {
      for (int64_t j = 0; j < 3; ++j) {
        for (int64_t k = 0; k < 4; ++k) {
          EXPECT_EQ(seen[static_cast<size_t>(i * strides[0] + j * strides[1] + k * strides[2])],
                    static_cast<float>((i * 3 + j) * 4 + k));
        }
      }
    }
    // Writing in the same order gives the original values.
    EXPECT_EQ(floats(testing::call(memory_copy(), {x}, f32({2, 3, 4}),
                                   layouts(MajorToMinor(order), MajorToMinor(order)))),
              iota(24));
    EXPECT_EQ(layout_copies(f32({2, 3, 4}), f32({2, 3, 4}), layouts(order, order)),
              std::ranges::is_sorted(order) ? 0 : 2);
  } while (std::ranges::next_permutation(order).found);
}

TEST(Layouts, DimensionsOfSizeOneMayStandAnywhere) {
  EXPECT_EQ(layout_copies(f32({1, 5}), f32({5, 1}), layouts(Order{1, 0}, Order{1, 0})), 0);
  EXPECT_EQ(layout_copies(f32({3, 1, 5}), f32({3, 1, 5}), layouts(Order{1, 0, 2}, Order{0, 2, 1})),
            0);
  EXPECT_EQ(layout_copies(f32({3, 1, 5}), f32({3, 1, 5}), layouts(Order{2, 0, 1}, Order{0, 1, 2})),
            1);
  const Array x = array_of(iota(15), {3, 1, 5});
  EXPECT_EQ(floats(testing::call(memory_copy(), {x}, f32({3, 1, 5}),
                                 layouts(Order{1, 0, 2}, Order{0, 2, 1}))),
            iota(15));
}

TEST(Layouts, EmptyArraysAndScalarsNeedNoCopy) {
  EXPECT_EQ(layout_copies(f32({0, 5}), f32({0, 5}), layouts(Order{1, 0}, Order{1, 0})), 0);
  EXPECT_EQ(layout_copies(f32({}), f32({}), layouts(Order{}, Order{})), 0);
  const Array empty = testing::call(memory_copy(), {numpy::zeros(Shape{0, 5})}, f32({0, 5}),
                                    layouts(Order{1, 0}, Order{1, 0}));
  EXPECT_EQ(empty.size(), 0);
}

TEST(Layouts, OfOneOperandInTwoOrders) {
  static const std::string name = testing::add_target([](Call call) -> FARCALL_FFI_Error* {
    for (int i = 0; i < 6; ++i) call.out(0)[i] = 10 * call.in(0)[i] + call.in(1)[i];
    return nullptr;
  });
  FfiCallOptions options;
  options.input_layouts = {MajorToMinor(), MajorToMinor(Order{1, 0})};
  const Array x = array_of(iota(6), {2, 3});
  EXPECT_THAT(floats(FfiCall(name, {f32({2, 3})}, options)({x, x})[0]),
              ElementsAre(0, 13, 21, 34, 42, 55));
}

TEST(Layouts, InTheMiddleOfAProgram) {
  const auto f = jit([](const Array& x) {
    Array y = lax::neg(x);
    for (int i = 0; i < 5; ++i) {
      y = testing::call(memory_copy(), {y}, f32({2, 3}), layouts(Order{1, 0}, Order{1, 0}));
      y = lax::add(y, x);
    }
    return y;
  });
  EXPECT_THAT(floats(f(array_of(iota(6), {2, 3}))), ElementsAre(0, 4, 8, 12, 16, 20));
}

TEST(Layouts, ARowMajorCopyServesAllItsReaders) {
  const auto plan = testing::plan_of(
      [](std::span<const Array> x) {
        const Array y =
            testing::call(memory_copy(), {x[0]}, f32({2, 3}), layouts(std::nullopt, Order{1, 0}));
        return std::vector<Array>{lax::neg(y), lax::exp(y), lax::mul(y, y)};
      },
      {f32({2, 3})});
  EXPECT_EQ(plan->statistics.layout_copies, 1);
}

TEST(Layouts, ElementsOfEveryWidth) {
  static const std::string name = testing::add_target([](Call call) -> FARCALL_FFI_Error* {
    const auto& buffer = call.argument(0);
    const size_t bytes =
        Call::size(buffer) * byte_width(static_cast<DType>(static_cast<int>(buffer.dtype)));
    std::copy_n(static_cast<const char*>(buffer.data), bytes,
                static_cast<char*>(call.result(0).data));
    return nullptr;
  });
  for (const DType dtype : {DType::kBool, DType::kInt8, DType::kBFloat16, DType::kInt32,
                            DType::kFloat64, DType::kComplex64, DType::kComplex128}) {
    SCOPED_TRACE(dtype_name(dtype));
    const Array x = numpy::reshape(numpy::astype(numpy::arange(0, 35), dtype), Shape{5, 7});
    const Array y = testing::call(name, {x}, x.type(), layouts(Order{1, 0}, Order{1, 0}));
    EXPECT_TRUE(numpy::all(numpy::equal(x, y)).item<bool>());
    const Array turned =
        testing::call(name, {x}, ShapeDtype(dtype, {7, 5}), layouts(Order{1, 0}, std::nullopt));
    EXPECT_TRUE(numpy::all(numpy::equal(numpy::transpose(x), turned)).item<bool>());
  }
}

TEST(Layouts, MistakesAreRefused) {
  const Array x = array_of(iota(6), {2, 3});
  const auto error = [&](const FfiCallOptions& options) {
    return testing::error_of(ErrorCode::kInvalidArgument, [&] {
      testing::call("some_target", {x}, f32({2, 3}), options);
    });
  };
  FfiCallOptions two;
  two.input_layouts = {MajorToMinor(), MajorToMinor()};
  EXPECT_EQ(error(two),
            "ffi_call(\"some_target\"): input_layouts has 2 entries for 1 operands; give one for "
            "each, or None");
  EXPECT_EQ(error(layouts(Order{0}, std::nullopt)),
            "ffi_call(\"some_target\"): input_layouts[0] is [0], of rank 1, but operand 0 is "
            "f32[2,3], of rank 2");
  EXPECT_EQ(error(layouts(std::nullopt, Order{1, 1})),
            "ffi_call(\"some_target\"): output_layouts[0] is [1,1], which is not a permutation of "
            "0 to 1, major to minor");
}

}  // namespace
}  // namespace farcall::native
