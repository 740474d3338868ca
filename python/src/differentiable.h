// A Python function as the flat function that is differentiated.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <string>
#include <vector>

#include <farcall/trace/differentiate.h>

#include "traced_function.h"
#include "tree.h"

namespace farcall::python {

// Lives as long as one differentiation; what the function returned last can be asked for after it.
class Differentiable {
 public:
  // `primals` are the leaves of `arguments` as arrays. With `has_aux` the function returns a pair,
  // of which the second part has no derivative and may hold any objects.
  Differentiable(nb::handle function, const std::string& where, const CallArguments& arguments,
                 std::span<const Array> primals, bool has_aux)
      : function_(function),
        where_(where),
        arguments_(arguments),
        primals_(primals),
        has_aux_(has_aux) {}

  std::vector<Array> operator()(std::span<const Array> inputs);
  FlatFunction as_function() {
    return [this](std::span<const Array> inputs) { return (*this)(inputs); };
  }

  const TreeDefPtr& result_tree() const { return result_tree_; }
  const nb::object& aux() const { return aux_; }
  bool has_aux() const { return has_aux_; }
  // The results, and after them what the function returned beside its result.
  nb::object with_aux(nb::object first, nb::object second) const;

 private:
  nb::handle function_;
  const std::string& where_;
  const CallArguments& arguments_;
  std::span<const Array> primals_;
  bool has_aux_;
  TreeDefPtr result_tree_;
  nb::object aux_;
};

// The structure of the dynamic positional arguments, a tuple.
TreeDefPtr positional_tree(const CallArguments& arguments);

}  // namespace farcall::python
