// Calls of Python functions over pytrees, for the transformations.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <string>
#include <vector>

#include <farcall/trace/leaf_call.h>

#include "traced_function.h"
#include "tree.h"

namespace farcall::python {

class PythonCall : public farcall::detail::LeafCall {
 public:
  // `leaves` are the leaves of `arguments` as arrays; a leaf that is null is passed as the original
  // object.
  PythonCall(nb::handle function, std::string where, const CallArguments& arguments,
             std::vector<Array> leaves)
      : LeafCall(std::move(where), std::move(leaves)), function_(function), arguments_(arguments) {}

  std::string argument_name(size_t leaf) const override { return describe_leaf(arguments_, leaf); }
  std::string parameter_name(size_t leaf) const override {
    return describe_parameter(function_, arguments_, leaf);
  }
  const CallArguments& arguments() const { return arguments_; }

 protected:
  std::vector<Array> run(std::span<const Array> inputs) override;
  nb::object call(std::span<const Array> inputs) const {
    return call_function(function_, arguments_, inputs, leaves());
  }
  std::vector<Array> record_result(nb::handle result);

 private:
  nb::handle function_;
  const CallArguments& arguments_;
};

// A call to be differentiated.
class Differentiable : public PythonCall {
 public:
  // With `has_aux` the function returns a pair; its second part has no derivative and may hold any
  // objects.
  Differentiable(nb::handle function, std::string where, const CallArguments& arguments,
                 bool has_aux)
      : PythonCall(function, where, arguments, leaves_to_arrays(where, arguments)),
        has_aux_(has_aux) {}

  // For each leaf, whether it varies: always true.
  std::vector<bool> varies() const { return std::vector<bool>(leaves().size(), true); }
  // Adds the auxiliary results, if the function returned any.
  nb::object with_aux(nb::object result) const;
  nb::object with_aux(nb::object first, nb::object second) const;

 protected:
  std::vector<Array> run(std::span<const Array> inputs) override;

 private:
  bool has_aux_;
  nb::object aux_;
};

// The structure of the dynamic positional arguments, a tuple.
TreeDef positional_tree(const CallArguments& arguments);

}  // namespace farcall::python
