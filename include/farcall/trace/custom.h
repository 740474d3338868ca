// Functions that bring rules of their own: custom_jvp, custom_vjp and custom_vmap over flat
// functions.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/record.h>
#include <farcall/trace/rules.h>

namespace farcall {

// Cotangents of the inputs of a custom_vjp, one for each, of its type or null.
using BackwardRule = std::function<std::vector<Array>(std::span<const Array> residuals,
                                                      std::span<const Array> cotangents)>;

// Results of the forward half of custom_vjp, and what its backward half needs.
struct ForwardResults {
  std::vector<Array> outputs;
  std::vector<Array> residuals;
  BackwardRule backward;  // where it depends on this forward half; else empty
};

// A function, and the rules that replace those of what it is made of. A null array is a tangent or
// cotangent that is zero. The rules run under the interpreter below the transformation.
struct CustomCall {
  std::string name;
  FlatFunction function;
  // custom_jvp; results of any pattern of null tangents.
  std::function<JvpResults(std::span<const Array> primals, std::span<const Array> tangents)> jvp;
  // custom_vjp. `varies` tells for which inputs a cotangent is wanted. The forward half brings a
  // backward half of its own, or `backward` is it.
  std::function<ForwardResults(std::span<const Array> inputs, const std::vector<bool>& varies)>
      forward;
  BackwardRule backward;
  // custom_vmap.
  std::function<BatchResults(std::span<const Array> inputs, std::span<const int64_t> axes,
                             const BatchAxis& axis)>
      batch;
  // Of a linear map: its program, from residuals and the tangents that are not null, made when
  // forward mode needs it.
  std::function<ProgramPtr()> forward_mode;
  // Inputs before the function's own: what it closed over when it was recorded. Rules do not get
  // them, and it is an error to differentiate with respect to them.
  size_t num_captured = 0;
};

// A linear map known by its transpose, `rules.backward`: the tangents of outputs of these types (of
// those that can have one) from residuals and the tangents of inputs, null where they are zero.
// Forward mode runs `rules.forward_mode`, and is refused without it.
FARCALL_API std::vector<Array> call_linear(const CustomCallPtr& rules, std::vector<Array> residuals,
                                           std::span<const Array> tangents,
                                           std::span<const ShapeDtype> output_types);

// Calls the function under the current interpreter, which may use a rule instead.
FARCALL_API std::vector<Array> call_custom(const CustomCallPtr& call,
                                           std::span<const Array> inputs);

}  // namespace farcall
