// Registration of primitives at load time.
#pragma once

#include <farcall/program/primitive.h>

namespace farcall {

struct RegisterPrimitive {
  explicit RegisterPrimitive(const Primitive& primitive) { register_primitive(primitive); }
};

#define FARCALL_REGISTER_PRIMITIVE(primitive) \
  const ::farcall::RegisterPrimitive register_##primitive { primitive }

}  // namespace farcall
