// What grad and the Jacobians have in common: the choice of arguments and the checks of dtypes.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <string>
#include <vector>

#include <farcall/trace/array.h>

#include "traced_function.h"

namespace farcall::python {

// The arguments of a call of which some, by position, are differentiated.
class ArgumentChoice {
 public:
  // Raises TypeError when there are too few arguments.
  ArgumentChoice(const std::string& where, const std::vector<int64_t>& argnums, nb::tuple args,
                 nb::dict kwargs);

  const CallArguments& arguments() const { return arguments_; }
  // From one object for each dynamic argument, in order of position, to the order of argnums; the
  // object itself where argnums was one number.
  nb::object in_order(nb::handle by_position, bool is_single) const;

 private:
  std::vector<size_t> chosen_;  // for each of argnums, which dynamic argument it is
  CallArguments arguments_;
};

struct InputRules {
  bool holomorphic = false;
  bool allow_int = false;
  bool allow_complex = false;
};
// Raise TypeError naming the argument or the result.
void check_inputs(const std::string& where, const CallArguments& arguments,
                  std::span<const Array> inputs, const InputRules& rules);
void check_outputs(const std::string& where, const TreeDef& tree, std::span<const Array> outputs,
                   bool holomorphic);

}  // namespace farcall::python
