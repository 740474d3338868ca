// The functions of mathematics as instructions.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "engine/native/jit/builder.h"

namespace farcall::native::jit {

// The function of this name on floats of this type, by the same formulas as the kernels' loops, so
// that the bits are the same; nothing where a call of the loop, which `call` writes, is to do it.
// It does so for rare arguments too, such as large angles.
std::optional<Arg> vector_function(Builder& builder, std::string_view name, RegType type,
                                   std::span<const Arg> args, const std::function<Arg()>& call);

}  // namespace farcall::native::jit
