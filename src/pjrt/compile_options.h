// CompileOptionsProto, which a plugin takes with a program, in serialized form.
#pragma once

#include <span>
#include <string>

namespace farcall::pjrt {

// Options to compile one program for the devices with these numbers; it is partitioned over them if
// there are several. `is_cpu` adds flags of XLA's CPU compiler.
std::string compile_options(std::span<const int> devices, bool is_cpu);

}  // namespace farcall::pjrt
