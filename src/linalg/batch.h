// Batching of linear systems.
#pragma once

#include <functional>
#include <span>

#include <farcall/trace/array.h>
#include <farcall/trace/rules.h>

namespace farcall::linalg {

// How the last operand holds its right-hand sides.
enum class Sides { kColumns, kRows };

// `solve` takes the matrices and, last, right-hand sides. Where only these are batched they become
// more columns (rows) of the same system, so that nothing is solved or copied twice.
BatchResults batch_system(std::span<const Array> operands, std::span<const int64_t> axes,
                          const BatchAxis& axis, Sides sides,
                          const std::function<Array(std::span<const Array>)>& solve);

}  // namespace farcall::linalg
