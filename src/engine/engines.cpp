// The table of engines.
#include <array>

#include <farcall/program/engine.h>

#include "engine/native/engine.h"

namespace farcall {
namespace {

std::span<const Engine* const> engines() {
  static const std::array<const Engine*, 1> table = {&native::engine()};
  return table;
}

[[maybe_unused]] const bool kHandedDown = [] {
  detail::set_engine_table(engines);
  return true;
}();

}  // namespace
}  // namespace farcall
