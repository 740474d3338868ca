// Emitter: writes operations of StableHLO in the generic form, with names for their results.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <farcall/core/shape_dtype.h>

#include "stablehlo/internal/lower.h"

namespace farcall::stablehlo {

// A name in the text, and what it stands for.
struct Value {
  std::string name;
  ShapeDtype type;
};
using Values = std::vector<Value>;

// "tensor<2x3xf32>". Raises UNIMPLEMENTED for a dtype that StableHLO does not have.
std::string type_text(ShapeDtype type);
// "array<i64: 1, 2>", "[1, 2]" and "dense<[[1, 0]]> : tensor<1x2xi64>", as attributes have them.
std::string array_text(std::span<const int64_t> values);
std::string list_text(std::span<const int64_t> values);
std::string pairs_text(std::span<const std::pair<int64_t, int64_t>> pairs);

class Emitter {
 public:
  explicit Emitter(const LowerOptions& options) : options_(options) {}

  // One operation. `attributes` is the text between the braces.
  Value op(std::string_view name, std::span<const Value> operands, ShapeDtype result,
           std::string_view attributes = {});
  Value op(std::string_view name, std::initializer_list<Value> operands, ShapeDtype result,
           std::string_view attributes = {}) {
    return op(name, std::span(operands.begin(), operands.size()), result, attributes);
  }
  // With any number of results, and with regions that region() made.
  Values op(std::string_view name, std::span<const Value> operands,
            std::span<const ShapeDtype> results, std::string_view attributes,
            std::span<const std::string> regions = {});

  // A region of an operation: what `body` returns, computed from its arguments. It may read
  // everything that was named before.
  using Body = std::function<Values(const Values& arguments)>;
  std::string region(std::span<const ShapeDtype> types, const Body& body);

  // A number as an array of this type. Infinities and NaN of floats only.
  Value number(ShapeDtype type, double number);
  // Elements in memory; of one element for each of the type's, or one for all of them.
  Value splat(ShapeDtype type, const void* element);
  Value constant(ShapeDtype type, const void* elements);
  // An argument behind those of the program.
  Value hidden_constant(ShapeDtype type, const Storage& storage);
  // A scalar becomes an array of this shape; an array of the shape stays.
  Value broadcast(const Value& value, std::span<const int64_t> shape);
  Value broadcast_in_dim(const Value& value, std::span<const int64_t> shape,
                         std::span<const int64_t> dimensions);
  Value reshape(const Value& value, std::span<const int64_t> shape);
  Value convert(const Value& value, DType dtype);
  Value compare(std::string_view direction, const Value& a, const Value& b);
  Value select(const Value& which, const Value& if_true, const Value& if_false);

  // The equations of a program in place, and the values of its results.
  Values program(const Program& program, std::span<const Value> inputs);

  // The number of the run, as the last equation with effects gave it.
  const Value& run();
  void set_run(Value run) { run_ = std::move(run); }
  const LowerOptions& options() const { return options_; }

  // The function main around everything that was written.
  Module finish(const Program& program, const Values& inputs, const Values& outputs);

 private:
  Values equation(const Program& program, const Equation& equation, std::span<const Value> inputs);
  std::string fresh();

  const LowerOptions& options_;
  std::string text_;
  size_t num_names_ = 0;
  Value run_;
  bool takes_run_ = false;
  Values hidden_;
  std::vector<std::pair<ShapeDtype, Storage>> constants_;
};

}  // namespace farcall::stablehlo
