// The choice of arguments of grad and the Jacobians.
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

}  // namespace farcall::python
