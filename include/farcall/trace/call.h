// Calls of programs inside programs: jit within another function, and checkpoint.
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

// checkpoint: runs `jaxpr`. Reverse-mode differentiation keeps its inputs and runs it again, in
// place of keeping what it computed on the way.
struct CheckpointParams {
  ProgramPtr jaxpr;
  bool prevent_cse = true;
  static constexpr auto fields() {
    return std::tuple(field("jaxpr", &CheckpointParams::jaxpr),
                      field("prevent_cse", &CheckpointParams::prevent_cse));
  }
};
// Calls `function`, recorded first, as a checkpoint.
FARCALL_API std::vector<Array> checkpoint(const FlatFunction& function,
                                          std::span<const Array> inputs,
                                          const std::string& name = {}, bool prevent_cse = true);

}  // namespace farcall
