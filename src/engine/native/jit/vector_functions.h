// Mathematical functions as instructions.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "engine/native/jit/builder.h"

namespace farcall::native::jit {

// A function on floats of this type, with the formulas of the kernels' loops, so that the bits are
// the same. It adds instructions to the builder of the current write_vector().
using VectorFunction = Arg (*)(RegType type, std::span<const Arg> args);
// By primitive.
std::span<const std::pair<std::string_view, VectorFunction>> vector_functions();

// `call` adds a call of the kernel's loop; it is used for rare arguments, such as large angles.
Arg write_vector(Builder& builder, VectorFunction function, RegType type, std::span<const Arg> args,
                 const std::function<Arg()>& call);

}  // namespace farcall::native::jit
