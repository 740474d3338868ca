// Tables of results and expected numbers.
#pragma once

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/array.h>

#include "array_testing.h"

namespace farcall {

struct Row {
  const char* name;
  Array found;
  std::vector<double> expected;
};
inline void check(const std::vector<Row>& rows, double tolerance = 1e-6) {
  for (const Row& row : rows) {
    EXPECT_THAT(doubles(row.found),
                testing::Pointwise(testing::NanSensitiveDoubleNear(tolerance), row.expected))
        << row.name;
  }
}

}  // namespace farcall
