// What interpreters do with functions that bring rules of their own.
#pragma once

#include <farcall/trace/custom.h>
#include <farcall/trace/interpreter.h>

namespace farcall {

// Records the call as an equation of `recorder`, which is current.
std::vector<Array> record_custom_call(const CustomCallPtr& call, std::span<const Array> inputs,
                                      Interpreter& recorder);
// Both run under the interpreter below the transformation.
JvpResults jvp_of_custom_call(const CustomCallPtr& call, std::span<const Array> primals,
                              std::span<const Array> tangents);
BatchResults batch_of_custom_call(const CustomCallPtr& call, std::span<const Array> inputs,
                                  std::span<const int64_t> axes, const BatchAxis& axis);

}  // namespace farcall
