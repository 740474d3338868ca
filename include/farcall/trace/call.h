// Calls of programs inside programs: jit within another function.
#pragma once

#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/program/params.h>
#include <farcall/trace/record.h>

namespace farcall {

// jit: runs `jaxpr`. As a part of another program it is the same as its equations.
struct JitParams {
  std::string name;
  ProgramPtr jaxpr;
  static constexpr auto fields() {
    return std::tuple(field("name", &JitParams::name), field("jaxpr", &JitParams::jaxpr));
  }
};
FARCALL_API std::vector<Array> call_program(const ProgramPtr& program,
                                            std::span<const Array> inputs);

}  // namespace farcall
