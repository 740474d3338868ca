// Batching of linear systems.
#pragma once

#include <functional>
#include <span>

#include <farcall/trace/array.h>
#include <farcall/trace/rules.h>

namespace farcall::linalg {

// Whether the right-hand sides are the columns or the rows of the last operand.
enum class Sides { kColumns, kRows };

// `solve` takes the matrices and, as the last operand, right-hand sides. If only the right-hand
// sides are batched, they become further columns (rows) of one system, so no matrix is copied or
// factored more than once.
BatchResults batch_system(std::span<const Array> operands, std::span<const int64_t> axes,
                          const BatchAxis& axis, Sides sides,
                          const std::function<Array(std::span<const Array>)>& solve);

}  // namespace farcall::linalg
