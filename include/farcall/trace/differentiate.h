// Derivatives of flat functions: forward mode, linearization, reverse mode.
//
// A null tangent or cotangent is zero. Arrays that are neither floats nor complex numbers have no
// tangents: their tangents are null.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/record.h>
#include <farcall/trace/rules.h>

namespace farcall {

// The function's results at `primals`, and their derivative in the direction of `tangents`. Raises
// UNIMPLEMENTED for an operation without a derivative.
FARCALL_API JvpResults jvp(const FlatFunction& function, std::span<const Array> primals,
                           std::span<const Array> tangents);

// The value of an array without its tangent, for auxiliary data of the function that is being
// differentiated. Arrays without a tangent are returned unchanged.
FARCALL_API Array without_tangent(const Array& array);

// The derivative of a function at a point: a linear map, kept as a program and the values that it
// needs. It may be applied any number of times, forward and backward.
class FARCALL_API LinearMap {
 public:
  LinearMap(Recording recording, std::vector<bool> has_input, std::vector<bool> has_output,
            std::vector<ShapeDtype> input_types, std::vector<ShapeDtype> output_types);

  // Maps tangents of the inputs to tangents of the outputs.
  std::vector<Array> operator()(std::span<const Array> tangents) const;
  // Maps cotangents of the outputs to cotangents of the inputs.
  std::vector<Array> transpose(std::span<const Array> cotangents) const;

  const std::vector<ShapeDtype>& input_types() const { return input_types_; }
  const std::vector<ShapeDtype>& output_types() const { return output_types_; }
  // The values that it needs; with_captured() replaces them by others of the same types.
  const std::vector<Array>& captured() const { return recording_.captured; }
  LinearMap with_captured(std::vector<Array> captured) const;
  // Whether the maps are equal except for the captured values.
  bool has_same_program(const LinearMap& other) const;
  // Inputs: the captured values, then the tangents of the inputs that vary.
  const ProgramPtr& program() const { return recording_.program; }

 private:
  Recording recording_;
  std::vector<bool> has_input_;   // by input of the function: whether it varies
  std::vector<bool> has_output_;  // by output: whether it depends on the inputs
  std::vector<ShapeDtype> input_types_, output_types_;
};

struct Linearized {
  std::vector<Array> outputs;
  std::shared_ptr<const LinearMap> derivative;
};
// Calls `function` once. Inputs for which `varies` is false are constants. Raises UNIMPLEMENTED if
// the results cannot be computed separately from their derivative (while_loop).
FARCALL_API Linearized linearize(const FlatFunction& function, std::span<const Array> primals,
                                 const std::vector<bool>& varies);

// Transposes a program that is linear in the inputs that are null. Returns the cotangents of these
// inputs; null for the other inputs.
FARCALL_API std::vector<Array> transpose(const Program& program, std::span<const Array> inputs,
                                         std::span<const Array> cotangents);

// The tangent, or zeros if it is null.
FARCALL_API Array instantiate(const Array& tangent, ShapeDtype type);
// How a wrong dtype or shape of a tangent is reported, as in JAX: INVALID_ARGUMENT for both,
// TypeError for both, or TypeError only for the dtype.
enum class TangentErrors : uint8_t { kValue, kType, kTypeForDtype };
// A tangent of a value of this type, which has tangents. Weakly typed numbers get the value's
// dtype. `what` names the tangent in errors.
FARCALL_API Array checked_tangent(const Array& tangent, ShapeDtype type, const std::string& what,
                                  TangentErrors errors = TangentErrors::kTypeForDtype);
// The tangent, weakly typed if its value is; a null tangent of such a value becomes zeros.
FARCALL_API Array weak_like(const Array& tangent, ShapeDtype type);
// The sum of two tangents, either of which may be null.
FARCALL_API Array add_tangents(const Array& x, const Array& y);

}  // namespace farcall
