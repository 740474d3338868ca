// Mathematical functions as loops over float and double, compiled for each instruction set, with
// the same bits for all. Errors are less than 4 units in the last place, of kLogNdtr less than 5.
// Subnormal numbers are kept.
#pragma once

#include <cstdint>

#include <farcall/core/dtype.h>

namespace farcall::native {

enum class MathFunction : uint8_t {
  // ---- exp.cpp
  kExp,
  kExp2,
  kExpm1,
  kTanh,
  kLogistic,
  kSinh,
  kCosh,
  kSqrt,
  kRsqrt,
  kCbrt,
  // ---- log.cpp
  kLog,
  kLog2,
  kLog10,
  kLog1p,
  kAsinh,
  kAcosh,
  kAtanh,
  kPow,  // float only
  // ---- trig.cpp
  kSin,
  kCos,
  kTan,
  kSinPi,
  kCosPi,
  kAsin,
  kAcos,
  kAtan,
  kAtan2,
  // ---- erf.cpp
  kErf,
  kErfc,
  kNdtr,
  kErfInv,
  // ---- special.cpp; those before lgamma have loops of float64 too
  kErfcx,
  kLogNdtr,
  kNdtri,
  kLogit,
  kBesselI0,
  kBesselI1,
  kBesselI0e,
  kBesselI1e,
  kLgamma,
  kGamma,
  kFactorial,
  kDigamma,
  kZeta,
  kBetaln,
};

using MathLoop = void (*)(const void* const* inputs, void* output, int64_t size, int64_t extra);

// The loop for the instruction set in use; null if there is none. The output may be an input.
MathLoop math_loop(MathFunction function, DType dtype);

// Used by math_loop: the loops of each family of functions, in the order above.
MathLoop exp_loop(MathFunction function, bool is_float);
MathLoop log_loop(MathFunction function, bool is_float);
MathLoop trig_loop(MathFunction function, bool is_float);
MathLoop erf_loop(MathFunction function, bool is_float);
MathLoop special_loop(MathFunction function, bool is_float);

}  // namespace farcall::native
