// Resized images, compared with closed forms.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/nn/image.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>

#include "array_testing.h"

namespace farcall {
namespace {

using image::ResizeMethod;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

TEST(Resize, SamplesBetweenElements) {
  const Array x = Array::of<double>({0, 4});
  EXPECT_THAT(doubles(image::resize(x, {4}, ResizeMethod::kLinear)), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(doubles(image::resize(x, {4}, ResizeMethod::kNearest)), ElementsAre(0, 0, 4, 4));
  EXPECT_THAT(doubles(image::resize(x, {1}, ResizeMethod::kLinear)), ElementsAre(2));
  // All kernels preserve constants.
  const Array flat = numpy::ones({3, 5}, DType::kFloat64);
  for (const char* name : {"linear", "cubic", "lanczos3", "lanczos5"}) {
    const Array made = image::resize(flat, {7, 2}, image::parse_resize_method(name));
    EXPECT_THAT(doubles(made), Pointwise(DoubleNear(1e-12), std::vector<double>(14, 1))) << name;
  }
  const Array whole = Array::of<int32_t>({0, 4});
  EXPECT_EQ(image::resize(whole, {4}, ResizeMethod::kNearest).dtype(), DType::kInt32);
  EXPECT_EQ(image::resize(whole, {4}, ResizeMethod::kLinear).dtype(), DType::kFloat32);
}

TEST(ScaleAndTranslate, MovesAndLeavesZerosOutside) {
  const Array x = Array::of<double>({1, 2, 3});
  const Array one = Array::of<double>({1}), two = Array::of<double>({2});
  EXPECT_THAT(doubles(image::scale_and_translate(x, {5}, {0}, one, one, ResizeMethod::kLinear)),
              ElementsAre(0, 1, 2, 3, 0));
  EXPECT_THAT(doubles(image::scale_and_translate(x, {6}, {0}, two, 0 * one, ResizeMethod::kLinear)),
              ElementsAre(1, 1.25, 1.75, 2.25, 2.75, 3));
}

TEST(Resize, RefusesWhatDoesNotFit) {
  const Array x = numpy::ones({2, 2});
  EXPECT_THAT(message_of([&] { image::resize(x, {3}, ResizeMethod::kLinear); }),
              HasSubstr("resize: shape [3] must have 2 sizes, as the image"));
  EXPECT_THAT(message_of([] { image::parse_resize_method("best"); }),
              HasSubstr("resize: method must be one of nearest, linear"));
}

}  // namespace
}  // namespace farcall
