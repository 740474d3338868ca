// Emitter: writes StableHLO operations in the generic form, and names their results.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <farcall/core/shape_dtype.h>
#include <farcall/primitives/ffi_call.h>
#include <farcall/primitives/indexing.h>
#include <farcall/primitives/reduce_window.h>

#include "stablehlo/internal/lower.h"

namespace farcall::stablehlo {

// A value in the text: its name and type.
struct Value {
  std::string name;
  ShapeDtype type;
};
using Values = std::vector<Value>;
std::vector<ShapeDtype> types_of(std::span<const Value> values);
// The type of the real and of the imaginary parts of complex numbers.
ShapeDtype part_of(ShapeDtype complex);

// "tensor<2x3xf32>". Raises UNIMPLEMENTED for a dtype that StableHLO does not have.
std::string type_text(ShapeDtype type);
// The dimensions of a sharding of an array of this type: "<@mesh, [{"x"}, {}]>".
std::string sharding_text(ShapeDtype type, const PartitionSpec& spec);
// "array<i64: 1, 2>", "[1, 2]" and "dense<[[1, 0]]> : tensor<1x2xi64>": the forms of attributes.
std::string array_text(std::span<const int64_t> values);
std::string list_text(std::span<const int64_t> values);
std::string pairs_text(std::span<const std::pair<int64_t, int64_t>> pairs);
// The attributes of slice and of reduce_window.
std::string slice_text(std::span<const int64_t> starts, std::span<const int64_t> limits,
                       std::span<const int64_t> strides);
std::string windows_text(const ReduceWindowParams& windows);
// The layouts of a custom call's operands and results; row-major without `of_operands` and
// `of_results`. Compilers choose their own layouts where a call has none.
std::string layouts_text(std::span<const Value> operands, std::span<const ShapeDtype> results,
                         std::span<const MajorToMinor> of_operands = {},
                         std::span<const MajorToMinor> of_results = {});
// A custom call's (operand, result) pairs that share memory.
std::string aliases_text(std::span<const std::pair<int64_t, int64_t>> aliases, size_t num_results);

struct Call;

class Emitter {
 public:
  explicit Emitter(const LowerOptions& options) : options_(options) {}

  // Writes an operation. `attributes` is the text between the braces.
  Value op(std::string_view name, std::span<const Value> operands, ShapeDtype result,
           std::string_view attributes = {});
  Value op(std::string_view name, std::initializer_list<Value> operands, ShapeDtype result,
           std::string_view attributes = {}) {
    return op(name, std::span(operands.begin(), operands.size()), result, attributes);
  }
  // Writes an operation with any number of results, and with regions that region() made.
  Values op(std::string_view name, std::span<const Value> operands,
            std::span<const ShapeDtype> results, std::string_view attributes,
            std::span<const std::string> regions = {});

  // A region of an operation: returns what `body` computes from the region's arguments. It may read
  // all values named before.
  using Body = std::function<Values(const Values& arguments)>;
  std::string region(std::span<const ShapeDtype> types, const Body& body);

  // A number as an array of this type. Infinities and NaN only for floats.
  Value number(ShapeDtype type, double number);
  // A constant array from elements in memory: splat() repeats one element, constant() has one for
  // each.
  Value splat(ShapeDtype type, const void* element);
  Value constant(ShapeDtype type, const void* elements);
  // A constant passed as an argument after those of the program.
  Value hidden_constant(ShapeDtype type, const Storage& storage);
  // Broadcasts a scalar to this shape; an array must have the shape already.
  Value broadcast(const Value& value, std::span<const int64_t> shape);
  Value broadcast_in_dim(const Value& value, std::span<const int64_t> shape,
                         std::span<const int64_t> dimensions);
  Value reshape(const Value& value, std::span<const int64_t> shape);
  Value convert(const Value& value, DType dtype);
  // `config`: one for each dimension.
  Value pad(const Value& value, const Value& padding_value,
            std::span<const PaddingDimension> config, ShapeDtype result);
  Value compare(std::string_view direction, const Value& a, const Value& b);
  Value select(const Value& which, const Value& if_true, const Value& if_false);

  // Writes the equations of a program inline, and returns the values of its results.
  Values program(const Program& program, std::span<const Value> inputs);

  // An operation on whole arrays: each device computes `body` on its shards. `body` reads nothing
  // from outside, and its collectives use the axes of the program's mesh.
  Values on_each_device(std::span<const Value> inputs, std::span<const PartitionSpec> in_specs,
                        std::span<const ShapeDtype> results,
                        std::span<const PartitionSpec> out_specs, const Body& body);
  // The same for a computation on replicated arrays, which all devices do alike. If there is one
  // device, or inside on_each_device(), this is `body` itself. Calls with effects must be inside of
  // it.
  Values on_all_devices(std::span<const Value> inputs, std::span<const ShapeDtype> results,
                        const Body& body);
  bool is_on_each_device() const { return inner_.has_value(); }
  // The mesh axes if on_each_device() is possible here; else none.
  std::span<const MeshAxis> free_axes() const;
  // The axes that collectives may use here.
  std::span<const MeshAxis> bound_axes() const;
  // Calls a relay, without counting it.
  Values call_relay(int64_t id, std::span<const Value> operands,
                    std::span<const ShapeDtype> results, bool is_ordered);
  // The relays after which loops around must test whether the run has failed.
  size_t num_relays() const { return num_relays_; }
  void count_relay() { ++num_relays_; }
  // Whether the operations are those of a loop.
  bool is_in_loop() const { return is_in_loop_; }
  void set_in_loop(bool is_in_loop) { is_in_loop_ = is_in_loop; }

  // The number of the run, as the last equation with effects returned it.
  const Value& run();
  void set_run(Value run) { run_ = std::move(run); }
  const LowerOptions& options() const { return options_; }
  // Whether the program is for another platform than a CPU.
  bool is_for_accelerator() const {
    return !options_.platform.empty() && options_.platform != "cpu";
  }
  // Whether a plugin compiles the program for a CPU, not somebody who reads the text.
  bool is_for_cpu_plugin() const { return options_.relay && !is_for_accelerator(); }

  // Writes the function main around the text so far.
  Module finish(const Program& program, const Values& inputs, const Values& outputs);

 private:
  // The computation of on_each_device(), and the constants that it uses from outside.
  struct Inner {
    std::string name;  // prefix of its names
    std::vector<size_t> hidden;
    Values constants;
  };

  Values equation(const Program& program, const Equation& equation, std::span<const Value> inputs);
  Values relay(const Call& call, int64_t id);
  Values callback(const Call& call, const DirectCall& direct);
  RelayPlace relay_place() const;
  // The number of the run at the start of the function, or of the computation of on_each_device().
  Value run_argument() const;
  size_t hidden_number(ShapeDtype type, const Storage& storage);
  std::string fresh();

  const LowerOptions& options_;
  std::string text_;
  size_t num_names_ = 0;
  std::optional<Inner> inner_;
  size_t num_relays_ = 0;
  bool is_in_loop_ = false;
  Value run_;
  bool takes_run_ = false;
  Values hidden_;
  std::vector<std::pair<ShapeDtype, Storage>> constants_;
};

}  // namespace farcall::stablehlo
