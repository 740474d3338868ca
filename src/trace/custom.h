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
                                  std::span<const int64_t> axes, const BatchAxis& axis,
                                  uint64_t origin);

// batch() in the place of the interpreter with the id `origin`, which maps over the same elements:
// the function and its rules may have closed over its arrays. 0 is none.
BatchResults batch_again(const FlatFunction& function, std::span<const Array> inputs,
                         std::span<const int64_t> axes, const BatchAxis& axis, uint64_t origin);

// Whether an equation is the tangents of a custom_vjp, which can be transposed but not run.
bool is_known_by_transpose_alone(const Primitive& primitive, const Params* params);

}  // namespace farcall
