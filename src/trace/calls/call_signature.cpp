#include <farcall/trace/call_signature.h>

#include <farcall/program/params.h>

namespace farcall::detail {

bool CallSignature::operator==(const CallSignature& other) const {
  return config == other.config && types == other.types && axes == other.axes &&
         arguments == other.arguments;
}

size_t CallSignature::hash() const {
  size_t hash = arguments.hash();
  mix(hash, config);
  for (const ShapeDtype& type : types) mix(hash, type.hash());
  return hash;
}

}  // namespace farcall::detail
