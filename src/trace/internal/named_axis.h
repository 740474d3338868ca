// The named axes that enclose the running function; collectives refer to them.
#pragma once

#include <farcall/trace/rules.h>

namespace farcall {

// During the scope, adds the axis, if it has a name, to the enclosing named axes of this thread.
// The axis must outlive the scope.
class NamedAxis {
 public:
  explicit NamedAxis(const BatchAxis& axis);
  ~NamedAxis();
  NamedAxis(const NamedAxis&) = delete;
  NamedAxis& operator=(const NamedAxis&) = delete;

 private:
  bool is_named_;
};

// Whether the application refers to the axis by its name.
bool names_axis(const Primitive& primitive, const ParamsPtr& params, const BatchAxis& axis);

}  // namespace farcall
