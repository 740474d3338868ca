// How interpreters treat functions with custom rules.
#pragma once

#include <farcall/trace/custom.h>
#include <farcall/trace/interpreter.h>

namespace farcall {

// Records the call as an equation of `recorder`, which is current.
std::vector<Array> record_custom_call(const CustomCallPtr& call, std::span<const Array> inputs,
                                      Interpreter& recorder);
// Both run under the parent of the transformation's interpreter.
JvpResults jvp_of_custom_call(const CustomCallPtr& call, std::span<const Array> primals,
                              std::span<const Array> tangents);
BatchResults batch_of_custom_call(const CustomCallPtr& call, std::span<const Array> inputs,
                                  std::span<const int64_t> axes, const BatchAxis& axis,
                                  uint64_t origin);

// batch() that also treats arrays of the interpreter with the id `origin` as mapped: both map over
// the same elements, and the function and its rules may have closed over such arrays. 0: no such
// interpreter.
BatchResults batch_again(const FlatFunction& function, std::span<const Array> inputs,
                         std::span<const int64_t> axes, const BatchAxis& axis, uint64_t origin);

// Whether an equation computes the tangents of a custom_vjp: it can be transposed, but not run.
bool is_known_by_transpose_alone(const Primitive& primitive, const Params* params);

}  // namespace farcall
