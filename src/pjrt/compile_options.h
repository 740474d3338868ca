// CompileOptionsProto, which plugins take with a program, as bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace farcall::pjrt {

// One program on these devices, by their numbers, among which it is cut where there are several;
// with the flags of XLA's compiler for CPUs or without.
std::string compile_options(std::span<const int> devices, bool is_cpu);

}  // namespace farcall::pjrt
