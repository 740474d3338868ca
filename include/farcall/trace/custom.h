// Functions with custom rules: custom_jvp, custom_vjp and custom_vmap of flat functions.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/record.h>
#include <farcall/trace/rules.h>

namespace farcall {

// Returns the cotangents of the inputs of a custom_vjp: one for each input, of the input's type, or
// null.
using BackwardRule = std::function<std::vector<Array>(std::span<const Array> residuals,
                                                      std::span<const Array> cotangents)>;

// What the forward rule of a custom_vjp returns: results, and residuals for the backward rule.
struct ForwardResults {
  std::vector<Array> outputs;
  std::vector<Array> residuals;
  BackwardRule backward;  // set if it depends on this run of the forward rule; else empty
};

// A function with custom rules, which replace the rules of the operations inside it. A null tangent
// or cotangent is zero. The rules run under the parent of the transformation's interpreter.
struct CustomCall {
  std::string name;
  FlatFunction function;
  // custom_jvp. Any of the result tangents may be null.
  std::function<JvpResults(std::span<const Array> primals, std::span<const Array> tangents)> jvp;
  // custom_vjp. `varies`: which inputs need a cotangent. The backward rule is
  // ForwardResults::backward if set, else `backward`.
  std::function<ForwardResults(std::span<const Array> inputs, const std::vector<bool>& varies)>
      forward;
  BackwardRule backward;
  // custom_vmap.
  std::function<BatchResults(std::span<const Array> inputs, std::span<const int64_t> axes,
                             const BatchAxis& axis)>
      batch;
  // For a linear map: returns its program, which maps residuals and non-null tangents to tangents.
  // Called when forward mode needs it.
  std::function<ProgramPtr()> forward_mode;
  // Number of leading inputs that the function closed over when it was recorded. Rules do not get
  // them; differentiating with respect to them is an error.
  size_t num_captured = 0;
};

// Applies a linear map that is defined by its transpose, `rules.backward`. Returns the tangents of
// outputs of these types (null for types without tangents), from residuals and the tangents of the
// inputs (null if zero). Running it forward needs `rules.forward_mode`; without that, it is an
// error.
FARCALL_API std::vector<Array> call_linear(const CustomCallPtr& rules, std::vector<Array> residuals,
                                           std::span<const Array> tangents,
                                           std::span<const ShapeDtype> output_types);

// Calls the function under the current interpreter, which may apply a custom rule instead.
FARCALL_API std::vector<Array> call_custom(const CustomCallPtr& call,
                                           std::span<const Array> inputs);

}  // namespace farcall
