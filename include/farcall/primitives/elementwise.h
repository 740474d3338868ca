// Parameters of elementwise primitives. Their operands have one shape; most have no parameters.
#pragma once

#include <cstdint>
#include <tuple>

#include <farcall/program/params.h>

namespace farcall {

// integer_pow: x to an integer power, by multiplication.
struct IntegerPowParams {
  int64_t y = 1;
  static constexpr auto fields() { return std::tuple(field("y", &IntegerPowParams::y)); }
};

// convert_element_type: to another dtype. Floats become integers by truncation toward zero.
struct ConvertElementTypeParams {
  DType new_dtype = DType::kInvalid;
  bool weak_type = false;
  static constexpr auto fields() {
    return std::tuple(field("new_dtype", &ConvertElementTypeParams::new_dtype),
                      field("weak_type", &ConvertElementTypeParams::weak_type));
  }
};

// bitcast_convert_type: the same bits as another dtype of the same width.
struct BitcastConvertTypeParams {
  DType new_dtype = DType::kInvalid;
  static constexpr auto fields() {
    return std::tuple(field("new_dtype", &BitcastConvertTypeParams::new_dtype));
  }
};

// round: to the nearest integer. Method 0 rounds halves away from zero, 1 to even.
struct RoundParams {
  int64_t rounding_method = 0;
  static constexpr auto fields() {
    return std::tuple(field("rounding_method", &RoundParams::rounding_method));
  }
};

// reduce_precision: rounds (to nearest, ties to even) to a float with so many exponent and mantissa
// bits. Overflow gives infinity; numbers below the normal range become zero.
struct ReducePrecisionParams {
  int64_t exponent_bits = 8;
  int64_t mantissa_bits = 23;
  static constexpr auto fields() {
    return std::tuple(field("exponent_bits", &ReducePrecisionParams::exponent_bits),
                      field("mantissa_bits", &ReducePrecisionParams::mantissa_bits));
  }
};

}  // namespace farcall
