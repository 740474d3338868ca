// Collectives over the axes of a mesh.
#pragma once

#include <span>

#include "engine/native/kernels/movement/rows.h"

namespace farcall::native {

std::span<const KernelRow> collective_rows();

}  // namespace farcall::native
