// Derivatives of flat functions: forward mode, linearisation, reverse mode.
//
// Wherever arrays stand for tangents or cotangents, a null Array is zero. Arrays that are neither
// floats nor complex numbers have no tangents; theirs are null.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/record.h>
#include <farcall/trace/rules.h>

namespace farcall {

// The function's results at `primals`, and their derivative in the direction of `tangents`. Raises
// UNIMPLEMENTED for an operation without a derivative.
FARCALL_API JvpResults jvp(const FlatFunction& function, std::span<const Array> primals,
                           std::span<const Array> tangents);

// The value alone of an array that the running function is differentiated on: what it returns
// beside its results goes through here. Other arrays are as they were.
FARCALL_API Array without_tangent(const Array& array);

// The derivative of a function at a point: a linear map, kept as a program and the values that it
// needs. May be applied any number of times, forward and backward.
class FARCALL_API LinearMap {
 public:
  LinearMap(Recording recording, std::vector<bool> has_input, std::vector<bool> has_output,
            std::vector<ShapeDtype> input_types, std::vector<ShapeDtype> output_types);

  // Tangents of the outputs from those of the inputs.
  std::vector<Array> operator()(std::span<const Array> tangents) const;
  // Cotangents of the inputs from those of the outputs.
  std::vector<Array> transpose(std::span<const Array> cotangents) const;

  const std::vector<ShapeDtype>& input_types() const { return input_types_; }
  const std::vector<ShapeDtype>& output_types() const { return output_types_; }
  // The values that it needs, and the same map with others of these types.
  const std::vector<Array>& captured() const { return recording_.captured; }
  LinearMap with_captured(std::vector<Array> captured) const;
  // Whether the maps are the same but for the values that they need.
  bool has_same_program(const LinearMap& other) const;
  // Inputs: the captured values, then the tangents of the inputs that vary.
  const ProgramPtr& program() const { return recording_.program; }

 private:
  Recording recording_;
  std::vector<bool> has_input_;   // by input of the function: it varies
  std::vector<bool> has_output_;  // by output: it is not constant
  std::vector<ShapeDtype> input_types_, output_types_;
};

struct Linearized {
  std::vector<Array> outputs;
  std::shared_ptr<const LinearMap> derivative;
};
// Calls `function` once. Inputs for which `varies` is false are constants. Raises UNIMPLEMENTED
// where the values of the results cannot be had apart from their derivative (while_loop).
FARCALL_API Linearized linearize(const FlatFunction& function, std::span<const Array> primals,
                                 const std::vector<bool>& varies);

// The transpose of a program that is linear in the inputs that are null: their cotangents.
FARCALL_API std::vector<Array> transpose(const Program& program, std::span<const Array> inputs,
                                         std::span<const Array> cotangents);

// Zeros where null.
FARCALL_API Array instantiate(const Array& tangent, ShapeDtype type);
// The sum of two tangents, either of which may be null.
FARCALL_API Array add_tangents(const Array& x, const Array& y);

}  // namespace farcall
