// Mathematical functions as instructions.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "engine/native/jit/builder.h"

namespace farcall::native::jit {

// Adds the function of this name on floats of this type, with the formulas of the kernels' loops,
// so that the bits are the same. Without a value, the caller must call the loop. `call` adds a call
// of the loop; it is used for rare arguments, such as large angles.
std::optional<Arg> vector_function(Builder& builder, std::string_view name, RegType type,
                                   std::span<const Arg> args, const std::function<Arg()>& call);

}  // namespace farcall::native::jit
