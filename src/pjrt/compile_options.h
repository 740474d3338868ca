// CompileOptionsProto, which plugins take with a program, as bytes.
#pragma once

#include <cstdint>
#include <string>

namespace farcall::pjrt {

// One program on one device, by its number; with the flags of XLA's compiler for CPUs or without.
std::string compile_options(int device_id, bool is_cpu);

}  // namespace farcall::pjrt
