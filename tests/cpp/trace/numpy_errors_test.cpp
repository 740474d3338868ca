// The errors of operations whose operands do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arrays.h"

namespace farcall {
namespace {

using numpy::Axes;
using numpy::Index;
using testing::counting;
using testing::error_of;
using Sizes = std::vector<int64_t>;

template <class Body>
std::string invalid(Body&& body) {
  return error_of(ErrorCode::kInvalidArgument, std::forward<Body>(body));
}

const auto matrix = [] { return numpy::ones(Shape{2, 3}); };

TEST(OpErrors, Broadcasting) {
  EXPECT_EQ(invalid([] { matrix() + numpy::ones(Shape{2}); }),
            "add: shapes [2,3], [2] cannot be broadcast: dimension 1 from the last is 3 and 2");
  EXPECT_EQ(invalid([] { numpy::where(true, matrix(), numpy::ones(Shape{4})); }),
            "where: shapes [2,3], [4] cannot be broadcast: dimension 1 from the last is 3 and 4");
  EXPECT_EQ(invalid([] { numpy::broadcast_to(matrix(), Shape{3}); }),
            "broadcast_to: f32[2,3] cannot be broadcast to [3], which has fewer dimensions");
  EXPECT_EQ(invalid([] {
              numpy::broadcast_to(matrix(), Shape{2, 4});
            }),
            "broadcast_in_dim: dimension 1 of f32[2,3] has size 3 and cannot become 4: only size 1 "
            "can be broadcast");
}

TEST(OpErrors, Axes) {
  EXPECT_EQ(invalid([] { numpy::sum(matrix(), Axes{{2}}); }),
            "sum: axis 2 is out of range for an array of rank 2");
  EXPECT_EQ(invalid([] {
              numpy::max(matrix(), Axes{{0, -2}});
            }),
            "max: an axis is named twice in [0,-2]");
  EXPECT_EQ(invalid([] { numpy::expand_dims(matrix(), Sizes{4}); }),
            "expand_dims: axis 4 is out of range for an array of rank 3");
  EXPECT_EQ(invalid([] { numpy::squeeze(matrix(), Axes{{1}}); }),
            "squeeze: dimension 1 of f32[2,3] has size 3, not 1");
  EXPECT_EQ(invalid([] {
              numpy::transpose(matrix(), Axes{{0, 0}});
            }),
            "transpose: [0,0] is not a permutation of the dimensions of f32[2,3]");
}

TEST(OpErrors, Reshape) {
  EXPECT_EQ(invalid([] { numpy::reshape(matrix(), Shape{4}); }),
            "reshape: f32[2,3] has 6 elements, [4] would have 4");
  EXPECT_EQ(invalid([] {
              numpy::reshape(matrix(), Shape{4, -1});
            }),
            "reshape: f32[2,3] cannot become [4,-1]: its 6 elements do not divide into 4");
  EXPECT_EQ(invalid([] {
              numpy::reshape(matrix(), Shape{-1, -1});
            }),
            "reshape: only one size may be -1, got [-1,-1]");
}

TEST(OpErrors, Products) {
  EXPECT_EQ(invalid([] { numpy::matmul(matrix(), matrix()); }),
            "matmul: dimension 1 of f32[2,3] is 3, dimension 0 of f32[2,3] is 2; they are summed "
            "over and must agree");
  EXPECT_EQ(invalid([] { numpy::matmul(matrix(), 2); }),
            "matmul: a scalar has no dimension to sum over; got f32[2,3] and i32[]*. Use *");
  EXPECT_EQ(invalid([] { numpy::dot(matrix(), matrix()); }),
            "dot_general: contracting dimensions must agree in size: dimension 1 of f32[2,3] is 3, "
            "dimension 0 of f32[2,3] is 2");
}

TEST(OpErrors, Joins) {
  EXPECT_EQ(invalid([] { numpy::concatenate({}); }), "concatenate: needs at least one array");
  const Array parts[] = {matrix(), numpy::ones(Shape{2, 2})};
  EXPECT_EQ(invalid([&] { numpy::concatenate(parts, 0); }),
            "concatenate: operands may differ only in dimension 0; got f32[2,3], f32[2,2]");
  EXPECT_EQ(invalid([&] { numpy::stack(parts); }),
            "stack: all arrays must have one shape; got f32[2,3] and f32[2,2]");
}

TEST(OpErrors, Indexing) {
  const auto take = [](std::vector<Index> indices) { return numpy::take(matrix(), indices); };
  EXPECT_EQ(error_of(ErrorCode::kOutOfRange, [&] { take({int64_t{2}}); }),
            "indexing f32[2,3]: index 2 is out of range for dimension 0 of size 2");
  EXPECT_EQ(error_of(ErrorCode::kOutOfRange,
                     [&] {
                       take({int64_t{0}, int64_t{-4}});
                     }),
            "indexing f32[2,3]: index -4 is out of range for dimension 1 of size 3");
  EXPECT_EQ(error_of(ErrorCode::kOutOfRange,
                     [&] {
                       take({int64_t{0}, int64_t{0}, int64_t{0}});
                     }),
            "indexing f32[2,3]: 3 indices were given for 2 dimensions");
  EXPECT_EQ(invalid([&] {
              take({numpy::Slice{{}, {}, 0}});
            }),
            "indexing f32[2,3]: a slice cannot have step 0");
  EXPECT_EQ(invalid([&] {
              take({numpy::Ellipsis(), numpy::Ellipsis()});
            }),
            "indexing f32[2,3]: only one ellipsis is allowed");
}

TEST(OpErrors, Dtypes) {
  EXPECT_EQ(invalid([] {
              lax::add(matrix(), counting({2, 3}));
            }),
            "add: operands must have one dtype; got f32[2,3], i32[2,3]. Convert them with "
            "convert_element_type, or use the functions of farcall.numpy, which promote");
  EXPECT_EQ(invalid([] { lax::add(matrix(), numpy::ones(Shape{3})); }),
            "add: operands must have one shape, or be scalars; got f32[2,3], f32[3]");
  EXPECT_EQ(invalid([] { -Array(true); }),
            "neg: takes signed integers, unsigned integers, floats, complex numbers; got bool[]");
  EXPECT_EQ(invalid([] { numpy::left_shift(matrix(), 1); }),
            "shift_left: takes signed integers, unsigned integers; got f32[2,3], f32[]");
  EXPECT_EQ(invalid([] { lax::create_token() + 1; }),
            "add: a token has no elements to compute with");
  EXPECT_EQ(invalid([] { lax::complex(Array::scalar(int8_t{1}), Array::scalar(int8_t{1})); }),
            "complex: takes floats; got i8[], i8[]");
  EXPECT_EQ(invalid([] { lax::convert_element_type(matrix(), DType::kToken); }),
            "convert_element_type: an array cannot become a token");
  EXPECT_EQ(invalid([] { lax::bitcast_convert_type(matrix(), DType::kComplex64); }),
            "bitcast_convert_type: the dtypes must be of one width; got f32 (32 bits) and c64 (64 "
            "bits)");
  EXPECT_EQ(invalid([] { lax::bitcast_convert_type(matrix(), DType::kInt64); }),
            "bitcast_convert_type: the last dimension of f32[2,3] must have size 2, which makes "
            "one element of int64 (64 bits)");
}

TEST(OpErrors, Parameters) {
  EXPECT_EQ(invalid([] {
              lax::slice(matrix(), Sizes{0, 2}, Sizes{2, 1});
            }),
            "slice: [2:1:1] does not lie in dimension 1 of f32[2,3]");
  EXPECT_EQ(invalid([] { lax::iota(DType::kInt32, Shape{3}, 1); }),
            "iota: dimension 1 does not lie in shape [3]");
  EXPECT_EQ(invalid([] { lax::iota(DType::kBool, Shape{3}, 0); }),
            "iota: dtype must be numeric, got bool");
  EXPECT_EQ(invalid([] { lax::round(matrix(), 2); }),
            "round: rounding_method is 0 (away from zero) or 1 (to even), got 2");
  EXPECT_EQ(invalid([] { lax::integer_pow(counting({2}), -1); }),
            "integer_pow: integers cannot be raised to a negative power; convert them to floats "
            "first");
  EXPECT_EQ(invalid([] {
              numpy::argmax(numpy::zeros(Shape{0, 2}), 0);
            }),
            "argmax: dimension 0 of f32[0,2] is empty and has no extreme");
  EXPECT_EQ(invalid([] { numpy::arange(0, 1, 0); }),
            "arange: step must be nonzero and the bounds finite, got start 0, stop 1, step 0");
  const Array cases[] = {matrix(), matrix(), matrix()};
  EXPECT_EQ(invalid([&] { lax::select_n(Array(true), cases); }),
            "select_n: a bool selects among two cases, got 3");
  EXPECT_EQ(invalid([&] { lax::select_n(Array(true), std::span(cases, 1)); }),
            "select_n: a bool selects among two cases, got 1");
  EXPECT_EQ(invalid([&] { lax::select_n(matrix(), cases); }),
            "select_n: the selector must be bool or i32, got f32[2,3]");
}

}  // namespace
}  // namespace farcall
