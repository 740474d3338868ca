// The named axes around the running function, which collectives refer to.
#pragma once

#include <farcall/trace/rules.h>

namespace farcall {

// Puts the axis, if it has a name, among those around this thread's running function for the life
// of the scope. The axis must live as long.
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
