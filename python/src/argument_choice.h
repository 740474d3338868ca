// The choice of arguments of grad and the Jacobians.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <string>
#include <vector>

#include <farcall/trace/array.h>

#include "traced_function.h"

namespace farcall::python {

// The arguments of a call, some of which are differentiated, chosen by position.
class ArgumentChoice {
 public:
  // Raises TypeError if there are too few arguments.
  ArgumentChoice(const std::string& where, const std::vector<int64_t>& argnums, nb::tuple args,
                 nb::dict kwargs);

  const CallArguments& arguments() const { return arguments_; }
  // Reorders objects, one per dynamic argument in order of position, to the order of argnums. If
  // argnums was a single number, returns the object itself.
  nb::object in_order(nb::handle by_position, bool is_single) const;

 private:
  std::vector<size_t> chosen_;  // for each of argnums, the index of its dynamic argument
  CallArguments arguments_;
};

}  // namespace farcall::python
