#include "engine/native/jit/places.h"

#include "engine/native/jit/elementwise.h"

namespace farcall::native::jit {

Value Places::add(ShapeDtype type, Arg address) {
  addresses_.push_back(address);
  versions_.push_back(++last_);
  return {type, {}, {}, Place{addresses_.size() - 1, last_}};
}

Value Places::changed(const Value& before) {
  renew(before.place->number);
  return current(before);
}

Value Places::current(const Value& version) const {
  const size_t number = version.place->number;
  return {version.type, {}, {}, Place{number, versions_[number]}};
}

std::vector<size_t> Places::changed_since(const std::vector<uint32_t>& versions) const {
  std::vector<size_t> changed;
  for (size_t i = 0; i < versions.size(); ++i) {
    if (versions_[i] != versions[i]) changed.push_back(i);
  }
  return changed;
}

std::optional<Arg> Places::address_of(const Value& value) const {
  if (!value.place) return value.address;
  if (value.place->version != versions_[value.place->number]) {
    throw Refusal{"an array that is read after it was changed in place"};
  }
  return addresses_[value.place->number];
}

}  // namespace farcall::native::jit
