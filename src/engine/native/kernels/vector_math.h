// Functions of mathematics as loops over float and double, compiled for each instruction set, with
// the same bits for all of them. Results are wrong by less than 4 units of the last place;
// subnormal numbers are kept.
#pragma once

#include <cstdint>

#include <farcall/core/dtype.h>

namespace farcall::native {

enum class MathFunction : uint8_t {
  // ---- vector_exp.cpp
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
  // ---- vector_log.cpp
  kLog,
  kLog2,
  kLog10,
  kLog1p,
  kAsinh,
  kAcosh,
  kAtanh,
  kPow,  // of float
  // ---- vector_trig.cpp
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kAtan2,
  // ---- vector_erf.cpp
  kErf,
  kErfc,
  kErfInv,  // of float
};

using MathLoop = void (*)(const void* const* inputs, void* output, int64_t size, int64_t extra);

// The loop of the instruction set in use; null where there is none. The output may be an input.
MathLoop math_loop(MathFunction function, DType dtype);

// What math_loop is made of: the loops of a family, in the order of the functions above.
MathLoop exp_loop(MathFunction function, bool is_float);
MathLoop log_loop(MathFunction function, bool is_float);
MathLoop trig_loop(MathFunction function, bool is_float);
MathLoop erf_loop(MathFunction function, bool is_float);

}  // namespace farcall::native
